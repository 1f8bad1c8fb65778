"""One tensor in two places: every op that holds a function keeps its arguments apart, with tapes inside and out."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from tests.support.both import in_both


def cube(a, b):
    """a * a * b, whose derivative by both at once is 3 x^2."""
    return a * a * b


def slopes(a, b):
    """The derivatives by each argument, by a tape inside, weighed differently: 2 a b + 10 a^2."""
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = a * a * b
    of_a, of_b = tape.gradient(y, [a, b])
    return of_a + 10.0 * of_b


HOLDERS = {
    "function": lambda f, x: tf.function(f)(x, x),
    "cond": lambda f, x: tf.cond(tf.reduce_sum(x) > -100.0, lambda: f(*twice(x)), lambda: x),
    "while_loop": lambda f, x: tf.while_loop(
        lambda i, a, b, y: i < 1, lambda i, a, b, y: (i + 1, a, b, f(a, b)), [0, x, x, x]
    )[3],
    "map_fn": lambda f, x: tf.map_fn(lambda pair: f(*pair), (x, x), fn_output_signature=x.dtype),
    "vectorized_map": lambda f, x: tf.vectorized_map(lambda pair: f(*pair), (x, x)),
    "custom_gradient": lambda f, x: tf.recompute_grad(f)(x, x),
    "scan": lambda f, x: tf.scan(lambda _, pair: f(*pair), (x, x), initializer=x[0]),
}


def twice(x):
    """Branches close over tensors; a user who wants two arguments makes two."""
    return x, tf.identity(x)


@in_both
@pytest.mark.parametrize("name", HOLDERS)
def test_derivatives_from_outside_add_up_over_the_places(run, name):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = HOLDERS[name](cube, x)
        return tape.gradient(y, x)

    np.testing.assert_allclose(run(body, tf.constant([2.0, 3.0])), [12.0, 27.0], rtol=1e-6)


@in_both
@pytest.mark.parametrize("name", HOLDERS)
def test_a_tape_inside_tells_the_places_apart(run, name):
    def body(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = HOLDERS[name](slopes, x)
        return y, tape.gradient(y, x)

    y, slope = run(body, tf.constant([2.0, 3.0]))
    np.testing.assert_allclose(y, [48.0, 108.0], rtol=1e-6)  # 2 x^2 + 10 x^2
    np.testing.assert_allclose(slope, [48.0, 72.0], rtol=1e-6)


@in_both
@pytest.mark.parametrize("name", HOLDERS)
def test_forward_mode_adds_up_over_the_places(run, name):
    def body(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            y = HOLDERS[name](cube, x)
        return accumulator.jvp(y)

    np.testing.assert_allclose(run(body, tf.constant([2.0, 3.0])), [12.0, 27.0], rtol=1e-6)


@in_both
def test_a_variable_and_its_value_are_two_places_in_a_function(run):
    v = tf.Variable([2.0, 3.0])
    f = tf.function(lambda a: a * a * v)

    def body():
        with tf.GradientTape(persistent=True) as tape:
            value = tf.convert_to_tensor(v)
            y = f(value)
        return tape.gradient(y, value), tape.gradient(y, v)

    of_value, of_v = run(body)
    np.testing.assert_allclose(of_value, [8.0, 18.0])
    np.testing.assert_allclose(of_v, [12.0, 27.0])
