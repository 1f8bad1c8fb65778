"""Functions and their derivatives where squares leave the range, next to 0, and of NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf


def _derivatives(function: Callable[[Any], Any], x: np.ndarray) -> list[np.ndarray]:
    """The value and two derivatives, each the same compiled."""

    def all_of(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            slope = inner.gradient(y, x)
        return y, slope, outer.gradient(slope, x)

    found = [y.numpy() for y in all_of(tf.constant(x))]
    for y, compiled in zip(found, tf.function(all_of)(tf.constant(x)), strict=True):
        np.testing.assert_array_equal(y, compiled)
    return found


def test_second_derivatives_of_products_with_logarithms_hold_where_squares_leave_the_range() -> None:
    x = np.array([1e-300, 1e-200, 0.5, 3.0, 1e200, 1e300])
    for function in (lambda x: tf.math.xlogy(x, x), lambda x: tf.math.xlogy(x, x + 0.0)):
        _, slope, second = _derivatives(function, x)
        np.testing.assert_allclose(slope, np.log(x) + 1, rtol=1e-14)
        np.testing.assert_allclose(second, 1 / x, rtol=1e-14)
    with tf.GradientTape(persistent=True) as tape:
        y = tf.constant([1e200, 2.0, -1e-200], "float64")
        numerator = tf.constant([1e200, 3.0, 1e-300], "float64")
        tape.watch([y, numerator])
        quotient = tf.math.xdivy(numerator, y)
    np.testing.assert_allclose(tape.gradient(quotient, y), [-1e-200, -0.75, -1e100], rtol=1e-14)
    for found, wanted in zip(
        tape.gradient(quotient, [numerator, y]),
        ([1e-200, 0.5, -1e200], [-1e-200, -0.75, -1e100]),
        strict=True,
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-14)


@pytest.mark.parametrize("function", [tf.math.erf, tf.math.erfc])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_derivatives_of_error_functions_of_nan_are_nan(function: Callable[[Any], Any], dtype: str) -> None:
    for y in _derivatives(function, np.array([np.nan, 0.5], dtype)):
        np.testing.assert_array_equal(np.isnan(y), [True, False])


def test_derivatives_of_error_functions_are_0_at_infinity() -> None:
    _, *slopes = _derivatives(tf.math.erf, np.array([np.inf, -np.inf, 30.0, -1e300]))
    for y in slopes:
        np.testing.assert_array_equal(y, np.zeros(4))


def test_lgamma_is_a_logarithm_next_to_0() -> None:
    x = np.array([5e-324, 1.5e-323, 1e-310, 1e-300, 1e-100])
    for y in (tf.math.lgamma(x), tf.math.lgamma(-x)):
        np.testing.assert_allclose(y, -np.log(x), rtol=4e-16)


@pytest.mark.parametrize(
    "function",
    [
        tf.norm, tf.linalg.norm, tf.math.reduce_euclidean_norm, tf.math.reduce_std, tf.numpy.std, tf.numpy.linalg.norm,
        lambda x: tf.linalg.global_norm([x]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("n", [1, 3])
def test_norms_and_deviations_of_0_have_no_derivative_in_either_direction(
    function: Callable[[Any], Any], n: int
) -> None:
    x = tf.zeros(n)
    for call in (function, tf.function(function)):
        with tf.GradientTape() as tape, tf.autodiff.ForwardAccumulator(x, tf.ones(n)) as accumulator:
            tape.watch(x)
            y = call(x)
        assert y == 0 and np.isnan(accumulator.jvp(y)) and np.isnan(tape.gradient(y, x)).all()
    with tf.autodiff.ForwardAccumulator(x, tf.ones(n)) as accumulator:
        y = tf.where(function(x) > 0, function(x), 0.0)
    assert accumulator.jvp(y) == 0


def test_derivatives_of_atan_of_all_orders_are_0_at_infinity_and_hold_where_squares_leave_the_range() -> None:
    x = np.array([np.inf, -np.inf, 1e200, -1e160, 1e100, 1e5, 0.5, 0.0, -0.0])

    def slopes(x: Any, order: int) -> list[Any]:
        if not order:
            return [tf.math.atan(x)]
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = slopes(x, order - 1)
        return [*found, tape.gradient(found[-1], x)]

    with np.errstate(all="ignore"):
        p, q = 1 / (1 + x * x), np.where(np.abs(x) > 1e9, 1 / x, x / (1 + x * x))
    wanted = [p, -2 * p * q, -2 * p * p * p + 6 * p * q * q, 24 * p * p * p * q - 24 * p * q**3]
    for call in (slopes, tf.function(slopes)):
        found = call(tf.constant(x), 4)[1:]
        for y, z in zip(found, wanted, strict=True):
            np.testing.assert_allclose(y, z, rtol=1e-12, atol=1e-320)
    for y in _derivatives(tf.math.atan, np.array([np.nan, 1.0])):
        np.testing.assert_array_equal(np.isnan(y), [True, False])


@pytest.mark.parametrize("name", ["asinh", "acosh"])
def test_slopes_of_inverse_hyperbolic_functions_lose_digits_with_their_logarithm_alone(name: str) -> None:
    size = 10.0 ** np.random.default_rng(5).uniform(-3, 307, 2000)
    x = size if name == "asinh" else 1.0 + size
    wanted = 1 / np.hypot(1.0, x) if name == "asinh" else 1 / (np.sqrt(x - 1) * np.sqrt(x + 1))
    y, slope, _ = _derivatives(getattr(tf.math, name), x)
    assert (np.abs(slope - wanted) <= (2 * (1 + np.abs(y)) + 4) * np.spacing(wanted)).all()


def test_derivatives_of_acosh_at_1_are_infinite() -> None:
    found = _derivatives(tf.math.acosh, np.array([1.0]))
    np.testing.assert_array_equal(np.concatenate(found), [0.0, np.inf, -np.inf])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_derivatives_of_atan2_hold_where_squares_leave_the_range(dtype: str) -> None:
    least, most = {"float64": (-500, 500), "float32": (-62, 62), "float16": (-7, 7), "bfloat16": (-62, 62)}[
        dtype
    ]
    scales = [2.0 * least, 1.6 * least, float(least), -3.0, 0.0, 2.0, float(most), 1.6 * most, 2.0 * most]
    exponents = np.repeat(np.array(scales), 4)
    ys = tf.cast(np.exp2(exponents) * np.tile([1.0, -0.75, 3.0, 1e-3], len(scales)), dtype)
    xs = tf.cast(np.exp2(exponents) * np.tile([1.5, 1.0, -1.0, -1.0], len(scales)), dtype)

    def derivatives(y: Any, x: Any) -> Any:
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([y, x])
            with tf.GradientTape() as tape:
                tape.watch([y, x])
                angle = tf.atan2(y, x)
            by_y, by_x = tape.gradient(angle, [y, x])
        with tf.autodiff.ForwardAccumulator(primals=[y], tangents=[tf.ones_like(y)]) as accumulator:
            angle = tf.atan2(y, x)
        return (
            by_y,
            by_x,
            accumulator.jvp(angle),
            *outer.gradient(by_y, [y, x]),
            *outer.gradient(by_x, [y, x]),
        )

    found = derivatives(ys, xs)
    for one, compiled in zip(found, tf.function(derivatives)(ys, xs), strict=True):
        np.testing.assert_array_equal(one.numpy(), compiled.numpy())
    y, x = [z.numpy().astype(np.longdouble) for z in (ys, xs)]
    square = x * x + y * y
    p, q = x / square, y / square
    wanted = [p, -q, p, -2 * p * q, (q - p) * (q + p), (q - p) * (q + p), 2 * p * q]
    info = tf.experimental.numpy.finfo(tf.as_dtype(dtype).as_numpy_dtype)
    for k, (one, want) in enumerate(zip(found, wanted, strict=True)):
        is_inside = (np.abs(want) < float(info.max)) & (np.abs(want) > float(info.tiny))
        assert is_inside.sum() >= 8
        np.testing.assert_allclose(
            one.numpy().astype(np.float64)[is_inside],
            want[is_inside].astype(np.float64),
            rtol=(4 if k < 3 else 40) * float(info.eps),
        )


def test_derivatives_of_atan2_at_infinity_are_0_and_at_the_origin_nan() -> None:
    y = tf.constant([np.inf, 1.0, -np.inf, 0.0, np.nan], "float64")
    x = tf.constant([1.0, -np.inf, np.inf, 0.0, np.inf], "float64")

    def slopes(y: Any, x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([y, x])
            angle = tf.atan2(y, x)
        return tape.gradient(angle, [y, x])

    for ways in (slopes, tf.function(slopes)):
        for slope in ways(y, x):
            np.testing.assert_array_equal(slope, [0, 0, 0, np.nan, np.nan])


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_sigmoid_is_the_exponential_where_that_of_minus_x_overflows(dtype: str) -> None:
    low = {
        "float64": [-709.5, -710.0, -730.0, -745.0],
        "float32": [-88.5, -90.0, -103.0],
        "float16": [-11.0, -16.0],
    }[dtype]
    x = np.array([*low, -np.inf, -1e4, 0.0, np.inf, np.nan] * 5, dtype)
    wanted = np.array([*np.exp(np.array(low)), 0.0, 0.0, 0.5, 1.0, np.nan] * 5).astype(dtype)
    for found in (tf.sigmoid(tf.constant(x)), tf.function(tf.sigmoid)(tf.constant(x))):
        np.testing.assert_allclose(found, wanted, rtol=1e-6 if dtype != "float16" else 1e-3, atol=0)
    assert all(
        tf.sigmoid(tf.constant(number)).numpy() == wanted[k] for k, number in enumerate(x[:-1][: len(low)])
    )
    with np.errstate(all="raise"):
        np.testing.assert_array_equal(tf.sigmoid(tf.constant(x)), wanted)
        np.testing.assert_array_equal(
            tf.nn.silu(tf.constant(x[: len(low)])), x[: len(low)] * wanted[: len(low)]
        )
    with tf.GradientTape() as tape:
        given = tf.constant(x[: len(low)])
        tape.watch(given)
        y = tf.math.log_sigmoid(-given)
    np.testing.assert_allclose(
        tape.gradient(y, given), -wanted[: len(low)], rtol=1e-6 if dtype != "float16" else 1e-3
    )
