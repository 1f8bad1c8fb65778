"""`explain` shows every stage of a function's way to native code."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain


def test_explain_shows_graphs_kernels_buffers_tier_and_times() -> None:
    @tf.function
    def f(x: tf.Tensor, w: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.abs(x * w) + 1.0, axis=0) * tf.cast(tf.shape(x)[0], tf.float32)

    found = explain(f)(tf.ones([5, 3]), tf.ones([3]))
    text = str(found)
    for part in (
        "graph, traced",
        "after simplify",
        "units",
        "kernel 0",
        "buffers",
        "workspace",
        "tier",
        "a native call",
    ):
        assert part in text
    assert found.tier.startswith("native")
    assert found.kernels
    assert found.seconds["a native call"] > 0


def test_explain_takes_graphs_and_values_and_variables() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        return x * v

    assert "mul" in str(explain(f)(tf.constant([1.0, 2.0])))
    graph = f.get_concrete_function(tf.TensorSpec([2])).graph
    from graphad.core.tensor import Handle

    handle = v if isinstance(v, Handle) else v.handle
    assert explain(graph)(np.ones(2, "float32"), handle).units


def test_explain_refuses_what_is_no_function() -> None:
    with pytest.raises(TypeError, match="explain"):
        explain(lambda x: x)(1.0)


def test_variables_keep_their_values_and_nothing_is_printed(capsys):
    v = tf.Variable(1.0)
    step = tf.function(lambda x: v.assign_add(tf.reduce_sum(x)))
    text = str(tf.explain(step)(tf.ones([3])))
    assert v.numpy() == 1.0
    assert "a native call" in text and "a call with numpy" in text
    assert step(tf.ones([3])).numpy() == 4.0

    @tf.function
    def speaking(x):
        tf.print("spoken")
        return x * 2.0

    assert "a native call" not in str(tf.explain(speaking)(tf.ones([3])))
    told = capsys.readouterr()
    assert "spoken" not in told.out + told.err


def test_explain_takes_a_concrete_function() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x: tf.Tensor, n: int) -> tf.Tensor:
        return x * v * float(n)

    concrete = f.get_concrete_function(tf.TensorSpec([2]), 3)
    assert "mul" in str(explain(concrete)(tf.constant([1.0, 2.0])))
    assert explain(concrete)(np.ones(2, "float32")).name == concrete.graph.name
    with pytest.raises(TypeError):
        explain(concrete)()
