"""Derivatives of any order through functions of functions, from tapes outside, inside and both; nothing runs twice."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import executable_of
from graphad.gradient.transforms import TRANSFORMS


def derivatives(f, x, order):
    """f and its derivatives at x, from nested tapes outside."""
    tapes = [tf.GradientTape() for _ in range(order)]
    for tape in tapes:
        tape.__enter__()
        tape.watch(x)
    y = f(x)
    out = [y]
    for tape in reversed(tapes):
        tape.__exit__(None, None, None)
        y = tape.gradient(y, x)
        out.append(y)
    return [float(v) for v in out]


@tf.function
def cube(x):
    return x * x * x


@tf.function
def sixth(x):
    return cube(x) * cube(x)


@tf.function
def mixed(x):
    return tf.sin(sixth(x)) + cube(tf.exp(x * 0.1))


def exact_mixed(x):
    """mixed and three derivatives, by mpmath."""
    import mpmath

    f = lambda t: mpmath.sin(t**6) + mpmath.exp(mpmath.mpf("0.3") * t)  # noqa: E731
    return [float(mpmath.diff(f, x, n)) for n in range(4)]


@pytest.mark.parametrize(
    ("f", "exact"),
    [
        (cube, lambda x: [x**3, 3 * x**2, 6 * x, 6.0]),
        (sixth, lambda x: [x**6, 6 * x**5, 30 * x**4, 120 * x**3]),
        (mixed, exact_mixed),
    ],
)
@pytest.mark.parametrize("inside", [False, True])
def test_three_derivatives_through_functions_of_functions(f, exact, inside):
    call = tf.function(f) if inside else f
    for x in (0.5, 1.1):
        np.testing.assert_allclose(derivatives(call, tf.constant(x, tf.float64), 3), exact(x), rtol=1e-8)


def test_tapes_inside_functions_inside_tapes():
    @tf.function
    def slope(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = sixth(x)
        return tape.gradient(y, x)

    @tf.function
    def curvature(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = slope(x)
        return tape.gradient(y, x)

    x = 1.3
    got = derivatives(curvature, tf.constant(x, tf.float64), 2)
    np.testing.assert_allclose(got, [30 * x**4, 120 * x**3, 360 * x**2], rtol=1e-9)


def test_a_persistent_tape_differentiates_a_function_many_times():
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = sixth(x)
        z = cube(y)
    assert tape.gradient(y, x).numpy() == 192.0
    assert tape.gradient(y, x).numpy() == 192.0
    np.testing.assert_allclose(tape.gradient(z, x), 18 * 2.0**17)
    np.testing.assert_allclose(tape.gradient(z, y), 3 * 64.0**2)
    with tape:
        with tape.stop_recording():
            g = tape.gradient(z, [x, y])
    np.testing.assert_allclose(g[0], 18 * 2.0**17)


def test_a_tape_made_outside_and_entered_inside_does_not_see_the_function_from_outside():
    tape = tf.GradientTape(persistent=True)
    v = tf.Variable(3.0)

    @tf.function
    def f(x):
        with tape:
            tape.watch(x)
            return x * v

    x = tf.constant(2.0)
    y = f(x)
    assert tape.gradient(y, [x, v]) == [None, None]


def test_variables_read_in_nested_functions_are_watched_from_outside():
    v, frozen, unread = tf.Variable(2.0), tf.Variable(3.0, trainable=False), tf.Variable(1.0)

    @tf.function
    def inner(x):
        return x * v * frozen

    @tf.function
    def outer(x):
        return inner(x) + inner(x * 2.0)

    x = tf.constant(5.0)
    for _ in range(2):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = outer(x)
        assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
        of_x, of_v, of_frozen, of_unread = tape.gradient(y, [x, v, frozen, unread])
        assert (of_x.numpy(), of_v.numpy(), of_frozen, of_unread) == (18.0, 45.0, None, None)


def test_watch_accessed_variables_holds_for_functions():
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    f = tf.function(lambda: v * w)
    with tf.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(w)
        y = f()
    assert tape.gradient(y, [v, w])[0] is None
    assert [u.ref() for u in tape.watched_variables()] == [w.ref()]


def test_second_derivatives_with_respect_to_variables():
    v, w = tf.Variable(2.0), tf.Variable(3.0)

    @tf.function
    def loss():
        return v**3 * w**2

    @tf.function
    def gradient():
        with tf.GradientTape() as tape:
            y = loss()
        return tape.gradient(y, [v, w])

    with tf.GradientTape(persistent=True) as tape:
        of_v, of_w = gradient()
    assert (of_v.numpy(), of_w.numpy()) == (108.0, 48.0)
    assert [float(g) for g in tape.gradient(of_v, [v, w])] == [108.0, 72.0]
    assert [float(g) for g in tape.gradient(of_w, [v, w])] == [72.0, 16.0]


def test_results_of_every_kind_have_gradients():
    v = tf.Variable(2.0)

    @tf.function
    def f(x, n):
        return {
            "sum": x + v,
            "n": n + 1,
            "same": x,
            "list": [x * x, (v.value(), None)],
            "constant": tf.constant(5.0),
        }

    x, n = tf.constant(3.0), tf.constant(1)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        out = f(x, n)
    assert [None if g is None else float(g) for g in tape.gradient(out["sum"], [x, v])] == [1.0, 1.0]
    assert tape.gradient(out["n"], x) is None
    assert tape.gradient(out["same"], x).numpy() == 1.0
    assert tape.gradient(out["list"][0], x).numpy() == 6.0
    assert tape.gradient(out["list"][1][0], v).numpy() == 1.0
    assert tape.gradient(out["constant"], x) is None
    out["list"] = out["list"][0]
    assert tape.gradient(out, x).numpy() == 1.0 + 1.0 + 6.0


def test_unconnected_arguments_get_none_or_zeros():
    f = tf.function(lambda x, y: x * 2.0)
    x, y = tf.constant(3.0), tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = f(x, y)
    assert tape.gradient(z, y) is None
    np.testing.assert_array_equal(tape.gradient(z, y, unconnected_gradients="zero"), [0.0, 0.0])


def test_upstream_gradients_reach_into_functions():
    f = tf.function(lambda x: (x * 2.0, x * x))
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        a, b = f(x)
    np.testing.assert_array_equal(
        tape.gradient([a, b], x, output_gradients=[tf.constant([1.0, 10.0]), tf.constant([100.0, 1000.0])]),
        [202.0, 4020.0],
    )


# -- nothing runs twice ----------------------------------------------------------------------------------------------------


def lines_printed(body):
    """How many lines the body prints."""
    stream = io.StringIO()
    with redirect_stderr(stream):
        body()
        sys.stderr.flush()
    return len(stream.getvalue().splitlines())


@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("nested", [False, True])
def test_effects_happen_once_whatever_the_order_of_the_derivative(order, nested):
    counter = tf.Variable(0.0, trainable=False)

    @tf.function
    def f(x):
        counter.assign_add(1.0)
        tf.print("called", x)
        return x**4

    call = tf.function(lambda x: f(x) * 1.0) if nested else f
    x = tf.constant(1.0)
    call(x)
    counter.assign(0.0)
    got = []
    assert lines_printed(lambda: got.extend(derivatives(call, x, order))) == 1
    assert counter.numpy() == 1.0
    assert got == [1.0, 4.0, 12.0, 24.0][: order + 1]


@pytest.mark.parametrize("order", [1, 2])
def test_effects_happen_once_under_a_persistent_tape(order):
    counter = tf.Variable(0.0, trainable=False)

    @tf.function
    def f(x):
        counter.assign_add(1.0)
        return x**4

    x = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        with pytest.warns(UserWarning, match=r"significantly less efficient"):
            for _ in range(order):
                y = tape.gradient(y, x)
    assert counter.numpy() == 1.0
    assert y.numpy() == (4.0 if order == 1 else 12.0)


def test_a_variable_updated_inside_is_read_as_it_was_at_each_point():
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        a = x * v
        v.assign_add(1.0)
        return a + x * v * v

    x = tf.constant(5.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert y.numpy() == 5 * 2 + 5 * 9
    of_x, of_v = tape.gradient(y, [x, v])
    assert of_x.numpy() == 11.0
    assert of_v.numpy() == 5 + 5 * 6
    assert v.numpy() == 3.0


def test_a_training_step_inside_a_function():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum((x - v) ** 2)
        v.assign_sub(0.25 * tape.gradient(loss, v))
        return loss

    x = tf.constant([3.0, 2.0])
    assert [float(step(x)) for _ in range(4)] == [4.0, 1.0, 0.25, 0.0625]
    np.testing.assert_array_equal(v, [2.875, 2.0])


def test_jacobians_of_functions():
    f = tf.function(lambda x: tf.stack([tf.reduce_sum(x * x), tf.reduce_prod(x)]))
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.jacobian(y, x), [[2.0, 4.0, 6.0], [6.0, 3.0, 2.0]], rtol=1e-6)


def test_functions_called_on_variables():
    v = tf.Variable([1.0, 2.0])
    seen = []

    @tf.function
    def f(x):
        seen.append(isinstance(x, tf.Variable))
        return tf.reduce_sum(x * x)

    with tf.GradientTape() as tape:
        y = f(v)
    np.testing.assert_array_equal(tape.gradient(y, v), [2.0, 4.0])
    assert [w.ref() for w in tape.watched_variables()] == [v.ref()]
    assert seen == [True]


def test_the_record_of_a_function_is_one_entry():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = sixth(x)
    assert len(tape.entries) == 1
    assert tape.gradient(y, x).numpy() == 192.0


def test_compiled_code_is_waited_for_under_a_tape_as_well():
    w = tf.Variable(np.full((4, 4), 0.5, "float32"))
    f = tf.function(lambda x: tf.reduce_sum(tf.tanh(tf.matmul(x, w))), jit_compile=True)
    x = tf.constant(np.ones((2, 4), "float32"))
    with tf.GradientTape() as tape:
        y = f(x)
    gradient = tape.gradient(y, w)
    expected = 2 * (1 - np.tanh(2.0) ** 2)
    np.testing.assert_allclose(gradient.numpy(), np.full((4, 4), expected), rtol=1e-5)

    graph = f.get_concrete_function(x).graph
    pullback = TRANSFORMS.pullback_of(graph, (False, True))
    for made in (pullback.forward, pullback.full.graph):
        (sizes,) = executable_of(made)._sizes.values()
        assert sizes.native is not None


def test_a_call_is_followed_whoever_called_the_function_before():
    f = tf.function(lambda x, y: x * y + x)
    outer = tf.function(lambda x: f(x, tf.constant([5.0, 6.0])) * 2.0)
    x, y = tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0])

    def followed(x, y):
        with tf.GradientTape(persistent=True) as first, tf.GradientTape() as second:
            first.watch(x)
            second.watch(y)
            z = f(x, y)
        np.testing.assert_array_equal(z, x.numpy() * y.numpy() + x.numpy())
        np.testing.assert_array_equal(first.gradient(z, x), y.numpy() + 1.0)
        np.testing.assert_array_equal(second.gradient(z, y), x.numpy())
        assert first.gradient(z, y) is None

    for _ in range(2):
        followed(x, y)
        np.testing.assert_array_equal(f(x, y), [4.0, 10.0])
        np.testing.assert_array_equal(outer(x), [12.0, 28.0])
        followed(tf.ones([3]), tf.ones([3]))
        followed(tf.ones([], tf.float64), tf.constant(2.0, tf.float64))
        rows = tf.vectorized_map(lambda row: f(row, y), tf.stack([x, y]))
        np.testing.assert_array_equal(rows, [[4.0, 10.0], [12.0, 20.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        z = outer(x)
    np.testing.assert_array_equal(tape.gradient(z, x), [12.0, 14.0])
    assert f.experimental_get_tracing_count() == 3
