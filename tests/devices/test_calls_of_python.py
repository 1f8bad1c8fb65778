"""Python code and SciPy's solvers between ops of a device: what they are given, where their results are, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad import optimize
from graphad.devices.tensor import DeviceTensor


def there(x: Any) -> Any:
    with tf.device("cuda"):
        return tf.constant(x)


X = np.array([1.0, 2.0, 3.0])
WAYS = {
    "eager": lambda f: f,
    "traced": tf.function,
    "compiled": lambda f: tf.function(f, jit_compile=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_function_of_tensors_is_given_those_of_the_device(way: str) -> None:
    given: list[Any] = []

    def square(y: Any) -> Any:
        given.append(y)
        return y * y

    run = WAYS[way](lambda x: 3.0 * tf.py_function(square, [x + 1.0], tf.float64))
    x = there(X)
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = run(x)
        slope = tape.gradient(z, x)
    assert isinstance(z, DeviceTensor) and all(isinstance(y, DeviceTensor) for y in given)
    np.testing.assert_allclose(z, 3 * (X + 1) ** 2)
    np.testing.assert_allclose(slope, 6 * (X + 1))
    np.testing.assert_allclose(outer.gradient(slope, x), np.full(3, 6.0))


@pytest.mark.parametrize("way", WAYS)
def test_a_function_of_arrays_is_given_numpys(way: str) -> None:
    given: list[Any] = []

    def square(y: Any) -> Any:
        given.append(y)
        return y * y

    y = WAYS[way](lambda x: tf.numpy_function(square, [x], tf.float64) + x)(there(X))
    assert isinstance(y, DeviceTensor) and all(type(x) is np.ndarray for x in given)
    np.testing.assert_allclose(y, X * X + X)


def test_outside_of_traces_the_device_stays() -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tf.init_scope():
            ones = tf.ones([3], tf.float64)
        return x + ones

    with tf.device("cuda"), tf.init_scope():
        assert tf.constant(1.0).device.endswith("GPU:0")
        x = tf.constant(X)
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.init_scope():
                y = x * 2.0
        assert tape.gradient(y, x) is None
    with tf.device("cuda"):
        np.testing.assert_allclose(f(x), X + 1)


SOLVERS = {
    "root": lambda a: optimize.root(lambda x: x * x - a, np.array(1.0)),
    "fixed point": lambda a: optimize.fixed_point(lambda x: 0.5 * (x + a / x), np.array(1.0)),
    "minimum": lambda a: optimize.minimize(lambda x: (x * x - a) ** 2, np.array(1.0), tol=1e-12).x,
    "least squares": lambda a: (
        optimize.least_squares(
            lambda x: tf.stack([x * x - a, a - x * x]), np.array(1.0), xtol=1e-15, ftol=1e-15, gtol=1e-15
        ).x
    ),
}


@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_in_a_block_of_a_device_have_derivatives(name: str) -> None:
    """Without one they would be 0, silently."""
    with tf.device("cuda"):
        for a in (tf.constant(np.array(2.0)), np.array(2.0)):
            np.testing.assert_allclose(SOLVERS[name](a), 2.0**0.5, rtol=1e-6)
            np.testing.assert_allclose(tf.grad(SOLVERS[name])(a), 0.5 / 2.0**0.5, rtol=1e-5)


def test_what_a_rule_reads_beside_its_arguments_is_seen_on_a_device() -> None:
    with tf.device("cuda"):
        w = tf.Variable(X)

        @tf.custom_gradient
        def scaled(x: Any) -> Any:
            def back(g: Any, variables: Any = None) -> Any:
                return g * w, [g * x * 2.0]

            return x * w, back

        x = tf.constant(X + 1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = scaled(x)
        by_x, by_w = tape.gradient(y, [x, w])
    np.testing.assert_allclose(by_x, X)
    np.testing.assert_allclose(by_w, 2 * (X + 1))
