"""Gradient graphs of functions: residuals, layers for several tapes, partial cotangents, nothing run twice."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.gradient.reverse import pullback_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.graph.evaluate import evaluate
from graphad.graph.verify import verify


def two_outputs(x, w):
    h = tf.tanh(x * w)
    return h * x, tf.reduce_sum(h)


def graph_of(f, *specs):
    return tf.function(f).get_concrete_function(*specs).graph


SPEC = tf.TensorSpec([3], tf.float64)
X, W = np.array([0.3, -1.2, 2.0]), np.array([1.5, 0.4, -0.7])


def expected(a_bar, b_bar):
    h = np.tanh(X * W)
    h_bar = a_bar * X + b_bar
    inner = h_bar * (1 - h * h)
    return inner * W + a_bar * h, inner * X


@pytest.mark.parametrize("given", [(True, True), (True, False), (False, True)])
def test_backward_graphs_for_every_set_of_cotangents(given):
    pullback = pullback_of(graph_of(two_outputs, SPEC, SPEC), (True, True), TRANSFORMS)
    verify(pullback.forward)
    backward, taken = pullback.backward(given)
    assert taken == given
    verify(backward.graph)
    values = evaluate(pullback.forward, [X, W])
    a_bar, b_bar = np.array([1.0, 2.0, -1.0]), np.float64(0.5)
    bars = [bar for bar, has in zip((a_bar, b_bar), given, strict=True) if has]
    operands = [[X, W][i] for i in backward.inputs] + [values[i] for i in backward.residuals] + bars
    got = evaluate(backward.graph, operands)
    wanted = expected(a_bar * given[0], b_bar * given[1])
    for i, want in enumerate(wanted):
        np.testing.assert_allclose(got[backward.places[i]], want, rtol=1e-12)


def test_inputs_that_need_no_cotangent_get_none():
    pullback = pullback_of(graph_of(two_outputs, SPEC, SPEC), (False, True), TRANSFORMS)
    assert list(pullback.full.places) == [1]


def test_pullbacks_are_made_once():
    graph = graph_of(two_outputs, SPEC, SPEC)
    assert pullback_of(graph, (True, True), TRANSFORMS) is pullback_of(graph, (True, True), TRANSFORMS)


def test_a_function_under_three_tapes_runs_once():
    count = tf.Variable(0.0)

    @tf.function
    def cube(x):
        count.assign_add(1.0)
        return x * x * x

    x = tf.constant(2.0)
    with tf.GradientTape() as t3:
        t3.watch(x)
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t1:
                t1.watch(x)
                y = cube(x)
            first = t1.gradient(y, x)
        second = t2.gradient(first, x)
    third = t3.gradient(second, x)
    assert [float(v) for v in (y, first, second, third)] == [8.0, 12.0, 12.0, 6.0]
    assert count.numpy() == 1.0


def test_a_persistent_tape_differentiates_its_own_gradient():
    @tf.function
    def cube(x):
        return x * x * x

    x = tf.constant(2.0)
    with pytest.warns(UserWarning, match="persistent tape"), tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = cube(x)
        slope = tape.gradient(y, x)
    assert tape.gradient(slope, x).numpy() == 12.0


def test_functions_of_functions_to_the_third_order():
    @tf.function
    def inner(x):
        return tf.sin(x)

    @tf.function
    def outer(x):
        return inner(x) * x

    def derivative(f):
        def g(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.gradient(y, x)

        return g

    x = tf.constant(0.7, tf.float64)
    third = derivative(derivative(derivative(outer)))
    wanted = -3 * np.sin(0.7) - 0.7 * np.cos(0.7)
    assert float(third(x)) == pytest.approx(wanted, rel=1e-12)
    assert float(tf.function(third)(x)) == pytest.approx(wanted, rel=1e-12)


def test_tape_inside_and_outside_at_once():
    w = tf.Variable(3.0)

    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = w * x * x
        return tape.gradient(y, x)

    x = tf.constant(2.0)
    with tf.GradientTape() as outer:
        outer.watch(x)
        s = slope(x)
    of_x, of_w = outer.gradient(s, [x, w])
    assert [float(v) for v in (s, of_x, of_w)] == [12.0, 6.0, 4.0]


def test_an_output_that_is_not_asked_for_takes_no_part_though_a_variable_is_read():
    """Each set of outputs has a backward graph of its own; what a rule reads of a variable is kept once and found again."""
    v = tf.Variable([1.0, -2.0, 3.0])
    x = tf.constant([0.0, 1.0, 4.0])
    for f in (
        lambda x: (tf.abs(v), tf.sqrt(x)),
        lambda x: ((tf.abs(v) + 0.5) ** 0.5, v, tf.norm(x)),
        lambda x: (tf.sin(v) * tf.cos(v), tf.math.log(x)),
    ):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            ys = tf.function(f)(x)
        v.assign(v * 2.0)  # what was read then counts
        found = tape.gradient(ys[0], v)
        v.assign(v / 2.0)
        with tf.GradientTape() as eager:
            y = f(x)[0]
        np.testing.assert_allclose(found, eager.gradient(y, v), rtol=1e-6)
        assert tape.gradient(ys[0], x) is None
        assert tape.jacobian(ys[0], x) is None


def test_zeros_stand_for_no_output_in_a_second_derivative_though_a_variable_is_read():
    """A residual that two differentiations computed anew is found by either number: a zero would meet the pole of acos."""
    v = tf.Variable([[1.0, 2.0]])
    x = tf.constant([0.5, -2.0])

    def f(x):
        return tf.tanh(tf.reduce_min(v)), tf.where(tf.abs(x) < 1.0, tf.acos(x), 0.0)

    def second(f):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                ys = f(x)
            first = inner.gradient(ys, [x, v])
            parts = [tf.reduce_sum(g) for g in first]
        return outer.gradient(parts, x).numpy()

    np.testing.assert_allclose(second(f), [-0.5 / 0.75**1.5, 0.0], rtol=1e-6)
    np.testing.assert_allclose(second(tf.function(f)), second(f), rtol=1e-6)
