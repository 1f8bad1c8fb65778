"""Complex functions where an obvious formula has no digits left, or overflows on the way to a number of moderate size."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import graphad as tf

# near 0, near the circle |1 + z| = 1, and where neither is near
POINTS = [
    scale * complex(math.cos(angle), math.sin(angle)) + offset
    for offset, scale in ((0.0, 1e-20), (0.0, 1e-9), (0.0, 1e-4), (-1.0, 1.0), (-1.0, 1.2), (0.0, 3.0), (0.0, 1e160))
    for angle in np.linspace(0.05, 6.2, 14)
]  # fmt: skip


def exact_log_of_size(z: complex) -> float:
    """log |1 + z|, from the exact square of the size."""
    a, b = Fraction(z.real), Fraction(z.imag)
    square = 2 * a + a * a + b * b
    if -0.5 < square < 1:
        return 0.5 * math.log1p(square)
    halvings = max(0, int(1 + square).bit_length() - 1000)  # of a square that is no float
    return 0.5 * (math.log((1 + square) / 2**halvings) + halvings * math.log(2))


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_log1p_of_complex_numbers_has_its_digits_near_0_and_near_the_circle_around_minus_1(
    dtype: type,
) -> None:
    z = np.array([x for x in POINTS if dtype is np.complex128 or abs(x) < 1e30], dtype)
    found = tf.math.log1p(z).numpy()
    assert found.dtype == dtype
    close = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(found.real, [exact_log_of_size(complex(x)) for x in z], rtol=close)
    whole = np.complex128(1) + z
    np.testing.assert_allclose(found.imag, np.arctan2(z.imag.astype(float), whole.real), rtol=close)
    one = tf.math.log1p(tf.constant(z[3])).numpy()
    assert one.shape == () and one == found[3]
    traced = tf.function(tf.math.log1p, jit_compile=True)
    np.testing.assert_array_equal(traced(tf.constant(z)).numpy(), found)


def test_log1p_of_complex_numbers_without_near_ones_is_that_of_numpy() -> None:
    z = np.array(
        [-1.0, complex(-1.0, -0.0), complex(np.inf, 1.0), complex(-np.inf, 1.0), complex(np.nan, 1.0), 5 + 2j]
    )
    with np.errstate(all="ignore"):
        want = np.log1p(z)
    np.testing.assert_array_equal(tf.math.log1p(z).numpy(), want)
    assert tf.math.log1p(np.zeros((0, 3), np.complex64)).numpy().shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sigmoid_of_complex_numbers_far_to_the_left_is_the_exponential_and_its_slope(dtype: type) -> None:
    z = np.array(
        [-4035 - 10436j, -90 + 1j, -41 + 2j, -39 + 2j, complex(-np.inf, 1.0), 800 + 1j, 0.5 - 1j], dtype
    )
    with tf.GradientTape() as tape:
        x = tf.constant(z)
        tape.watch(x)
        y = tf.sigmoid(x)
    slope = tape.gradient(y, x, output_gradients=tf.ones_like(y)).numpy()
    e = np.exp(z[:4].astype(complex))
    close = 8 * np.finfo(dtype).eps
    np.testing.assert_allclose(y.numpy()[:4], e / (1 + e), rtol=close)
    np.testing.assert_allclose(slope[:4], np.conj(e / (1 + e) ** 2), rtol=close)
    assert y.numpy()[4:6].tolist() == [0, 1] and slope[4:6].tolist() == [0, 0]
    np.testing.assert_allclose(y.numpy()[6], 1 / (1 + np.exp(-(0.5 - 1j))), rtol=close)
    one = tf.sigmoid(tf.constant(z[0])).numpy()
    assert one.shape == () and one == y.numpy()[0]
    assert np.isnan(tf.sigmoid(tf.constant(complex(np.nan, 1.0))).numpy())
