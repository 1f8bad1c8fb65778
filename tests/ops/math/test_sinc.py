"""sin(pi x) / (pi x): digits of all derivatives, 0 and its surroundings, the ends of the range."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops.math.cardinal_sine import Sinc

POINTS = (0.0, 5e-324, 1e-300, 1e-12, 1e-5, 1e-3, 0.1, 0.3, 0.5, 1.0, 1.25, 2.0, 2.4, 3.5, 10.0, 17.3, 40.7)


def derivative(order: int, x: Any) -> Any:
    """That of `tf.math.sinc`, by as many tapes."""
    if not order:
        return tf.math.sinc(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = derivative(order - 1, x)
    return tape.gradient(y, x)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4, 8, 20])
def test_digits_of_the_value_and_of_all_derivatives(order: int) -> None:
    mpmath = pytest.importorskip("mpmath")
    x = np.array([*POINTS, *[-p for p in POINTS]])
    found = derivative(order, tf.constant(x)).numpy()
    for at, y in zip(x, found, strict=True):
        with mpmath.workdps(200):
            z, k, want = mpmath.pi * mpmath.mpf(at), (order + 1) // 2, mpmath.mpf(0)
            term = mpmath.mpf(1)
            while k < 20 + order + 2 * abs(z) or abs(term) > 1e-40:
                term = (-1) ** k * z ** (2 * k - order) / ((2 * k + 1) * mpmath.factorial(2 * k - order))
                want, k = want + term, k + 1
            want *= mpmath.pi**order
        size = max(math.pi**order / (order + 1) / (1 + abs(at)), abs(float(want)))
        assert abs(y - float(want)) <= 4e-15 * size
        if abs(at) <= 1e-3:  # odd orders pass through 0: every digit counts there
            assert abs(y - float(want)) <= 2e-15 * abs(float(want)) + 5e-324 * 8 * math.pi**order


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("traced", [False, True])
def test_derivatives_at_zero(dtype: str, traced: bool) -> None:
    x = tf.cast(tf.zeros([2]), dtype)
    for order, want in enumerate([1.0, 0.0, -(math.pi**2) / 3, 0.0, math.pi**4 / 5]):
        f = functools.partial(derivative, order)
        y = (tf.function(f) if traced else f)(x)
        assert y.dtype.name == dtype
        last_digit = np.spacing(np.abs(y.dtype.as_numpy_dtype(want)))
        assert np.all(np.abs(y.numpy() - y.dtype.as_numpy_dtype(want)) <= last_digit * bool(want))


@pytest.mark.parametrize("order", [0, 1, 2, 5])
def test_ends_of_the_range(order: int) -> None:
    x = tf.constant([np.inf, -np.inf, np.nan, 1e300, -1e300, 4e15 + 0.5], tf.float64)
    y = derivative(order, x).numpy()
    np.testing.assert_array_equal(y[:3], [0.0, 0.0, np.nan])
    assert np.all(np.abs(y[3:]) <= math.pi**order * 1e-15)
    assert y[5] or order  # half a turn is not lost, however large x is


def test_whole_numbers_are_roots() -> None:
    x = np.array([1.0, -2.0, 3.0, 1e8 + 1, -1e15])
    assert not np.any(tf.math.sinc(x).numpy())


def test_complex_numbers() -> None:
    x = np.array([0.0, 1e-9j, 0.5 + 1j, 3 - 2j, 0.25 + 30j, 60 + 1j])
    np.testing.assert_allclose(tf.math.sinc(x), np.sinc(x), rtol=1e-13)
    small = tf.math.sinc(tf.constant(x[:4], tf.complex64))
    assert small.dtype is tf.complex64
    np.testing.assert_allclose(small, np.sinc(x[:4]), rtol=1e-6)
    step = 1e-6
    slope = (np.sinc(x[2:] + step) - np.sinc(x[2:] - step)) / (2 * step)
    np.testing.assert_allclose(np.conj(derivative(1, tf.constant(x[2:]))), slope, rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_slopes_of_narrow_floats_keep_their_digits_next_to_their_zeros(dtype: str) -> None:
    x = np.array([1.4302966531242027, 2.459024, 3.4708885, 4.4774085]) + np.linspace(-1e-3, 1e-3, 41)[:, None]
    x = np.append(x, np.linspace(-9, 9, 300)).astype(dtype)
    found, want = (derivative(1, tf.constant(x, d)).numpy() for d in (dtype, "float64"))
    assert np.all(np.abs(found - want) <= 4 * np.spacing(np.abs(want.astype(dtype))))


def test_complex_numbers_far_from_the_real_axis_keep_their_digits() -> None:
    mpmath = pytest.importorskip("mpmath")
    x = np.linspace(-2, 2, 40) + 1j * np.linspace(-215, 215, 40)
    found = tf.math.sinc(x).numpy()
    with mpmath.workdps(60):
        for at, y in zip(x.tolist(), found.tolist(), strict=True):
            want = mpmath.sinc(mpmath.pi * mpmath.mpc(at))
            assert abs(mpmath.mpc(y) - want) <= 4 * 2.0**-52 * abs(want)


def test_integers_and_too_high_orders_are_refused() -> None:
    with pytest.raises(TypeError, match="sinc: x has dtype int32; a float or complex dtype is needed"):
        tf.math.sinc([1, 2])
    x = tf.constant([0.0, 0.5], tf.float64)
    assert np.all(np.isfinite(Sinc(600).eval(x.numpy())))
    with pytest.raises(ValueError, match="sinc: the derivative is 601, which is not from 0 to 600"):
        Sinc(601)


def test_the_function_of_numpy_is_recorded() -> None:
    x = tf.Variable([0.0, 0.5])
    with tf.GradientTape() as tape:
        y = np.sinc(x)
    np.testing.assert_allclose(tape.gradient(y, x), [0.0, -4 / math.pi], rtol=1e-6)
