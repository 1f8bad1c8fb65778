"""Small branches become selections: the same bits, no error and no NaN of the branch that would not have run."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.passes import branches
from graphad.compiler.pipeline import optimise
from graphad.core.spec import TensorSpec
from graphad.graph.evaluate import evaluate
from graphad.graph.walk import sub_graphs
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat
from tests.support.bits import assert_same_bits


def definite(function, *values):
    specs = [TensorSpec(np.shape(x), np.asarray(x).dtype) for x in values]
    return specialise(trace_flat(lambda *xs: [function(*xs)], specs).graph, specs)


def names(graph):
    found = []
    for node in graph.nodes:
        found.append(node.op.name)
        for inner in sub_graphs(node.op):
            found += names(inner)
    return found


def small(x):
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x), lambda: tf.math.log(-x))


def nested(x):
    return tf.cond(x[0] > 0.0, lambda: tf.cond(x[1] > 0.0, lambda: x + 1.0, lambda: x * 2.0), lambda: -x)


@pytest.mark.parametrize("f", [small, nested])
@pytest.mark.parametrize("x", [[1.0, 2.0], [-1.0, -2.0], [1.0, -2.0]])
def test_a_selection_has_the_bits_of_the_branch(f, x):
    x = np.float32(x)
    graph = definite(f, x)
    after = optimise(graph)
    assert "cond" in names(graph)
    assert "cond" not in names(after)
    assert "select" in names(after)
    for a, b in zip(evaluate(graph, [x]), evaluate(after, [x]), strict=True):
        assert_same_bits(a, b)


@pytest.mark.parametrize(
    "branch",
    [
        lambda x: tf.cast(1 // tf.cast(x[0], tf.int32), tf.float32),  # raises where it must not run
        lambda x: tf.reduce_sum(tf.zeros([branches.ELEMENTS]) + x[0]),  # costs too much
        lambda x: tf.while_loop(lambda y: y < 9.0, lambda y: y + 1.0, [x[0]])[0],
        lambda x: tf.gather(x, tf.cast(x[0], tf.int32)),
    ],
)
def test_branches_that_must_not_run_for_nothing_stay(branch):
    x = np.float32([0.0, 1.0])
    graph = optimise(definite(lambda x: tf.cond(x[0] > 0.5, lambda: branch(x), lambda: x[1]), x))
    assert "cond" in names(graph)
    assert evaluate(graph, [x])[0] == 1.0


def test_branches_with_effects_stay():
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x):
        tf.cond(x > 0.0, lambda: v.assign_add(x), lambda: v)
        return v.read_value()

    assert f(tf.constant(-1.0)).numpy() == 0.0
    assert f(tf.constant(2.0)).numpy() == 2.0


def test_no_nan_comes_from_the_branch_that_would_not_have_run():
    @tf.function(jit_compile=True)
    def f(x):
        for _ in tf.range(3):
            x = tf.cond(x > 0.0, lambda x=x: tf.sqrt(x), lambda x=x: x * 2.0)
        return x

    def derivatives(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            g = inner.gradient(y, x)
        return [z.numpy() for z in (y, g, outer.gradient(g, x, unconnected_gradients="zero"))]

    assert derivatives(tf.constant(-1.0)) == [-8.0, 8.0, 0.0]
    x = 4.0
    np.testing.assert_allclose(
        derivatives(tf.constant(x)), [x**0.125, 0.125 * x**-0.875, -0.109375 * x**-1.875], rtol=1e-5
    )


def test_a_loop_around_a_small_branch_is_one_kernel():
    @tf.function(jit_compile=True)
    def f(x):
        for _ in tf.range(100):
            x = tf.cond(x > 1.5, lambda x=x: x - 0.001, lambda x=x: x * 1.001)
        return x

    wanted = 1.0
    for _ in range(100):
        wanted = wanted - 0.001 if wanted > 1.5 else wanted * 1.001
    assert f(tf.constant(1.0)).numpy() == pytest.approx(wanted, rel=1e-5)
    text = str(tf.explain(f)(tf.constant(1.0)))
    assert "== tier ==\nnative: " in text
