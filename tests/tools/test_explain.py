"""`explain` shows every stage of a function's way to native code."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.graph.text import print_graph
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


def test_the_text_of_a_kernel_says_to_which_op_and_line_a_value_belongs() -> None:
    def step(k: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return k + 1, tf.tanh(y) * 0.5

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        y = tf.nn.softmax(tf.sin(x) * 3.0)
        return tf.while_loop(lambda k, _: k < 3, step, (0, y))[1]

    text = "\n".join(explain(f)(tf.ones([40, 100])).kernels.values())
    first = step.__code__.co_firstlineno
    lines = {
        line.split("  # ")[0].strip().split("(")[0]: line.split("  # ")[1]
        for line in text.splitlines()
        if "  # " in line
    }
    assert lines["z0_v0 = sin_f32"] == f"sin, {__file__}:{first + 5} in f"
    assert lines["z1_v1 = exp_f32"] == f"exp, {__file__}:{first + 5} in f"
    assert lines["v0 = tanh_f32"] == f"tanh, {__file__}:{first + 1} in step"


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


def _printed(program, *specs):
    return print_graph(tf.function(program).get_concrete_function(*specs).graph)


_X, _N, _V = tf.TensorSpec([None, None]), tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)


@pytest.mark.parametrize(
    "program, specs, line",
    [
        (lambda x, n: tf.reshape(x, [n, 3]), (_X, _N), "reshape(%0, shape=[%1, 3])"),
        (lambda x, v: tf.reshape(x, v), (_X, _V), "reshape(%0, shape=[*%1])"),
        (lambda x, v: tf.broadcast_to(x, [2, v[1], 3]), (_X, _V), "broadcast_to(%0, shape=[2, %2, 3])"),
        (
            lambda x: tf.broadcast_to(x, tf.concat([[2], tf.shape(x)], 0)),
            (_X,),
            "broadcast_to(%0, shape=[2, %3[1], %3[2]])",
        ),
        (lambda n: tf.linspace(0.0, 1.0, n), (_N,), "n=%0"),
        (lambda x: tf.reduce_sum(x, 0), (_X,), "reduce_sum(%0, axes=[0])"),
        (lambda x: tf.reduce_sum(x, 0, keepdims=True), (_X,), "reduce_sum(%0, axes=[0], keepdims=True)"),
        (lambda x: tf.cast(x, tf.float16), (_X,), "cast(%0, dtype=float16)"),
        (
            lambda x, n: x[n, 1:n, tf.newaxis, ::-2],
            (tf.TensorSpec([None] * 3), _N),
            "key=[%1, 1:%1, newaxis, ::-2])",
        ),
        (lambda x: x[..., 2], (_X,), "getitem(%0, key=[..., 2])"),
        (lambda x: tf.nn.max_pool2d(x, 2, 2, "SAME"), (tf.TensorSpec([1, 4, 4, 1]),), "padding='SAME'"),
    ],
)
def test_attributes_are_written_as_the_schema_says(program, specs, line) -> None:
    """A size that an input gives stands where it is read, and is no further input."""
    text = _printed(program, *specs)
    assert line in text, text
    assert "'at'" not in text and "'all'" not in text


def test_explain_shows_where_sizes_come_from() -> None:
    f = tf.function(lambda x, n: tf.reshape(x, [n, 3]), input_signature=[_X, _N])
    assert "reshape(%0, shape=[%1, 3])" in str(explain(f)(tf.ones([2, 3]), 2))
