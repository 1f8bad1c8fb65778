"""The derivatives of determinants of singular matrices: those of the polynomial that the determinant is.

The reference is Leibniz' formula over all permutations, a polynomial whose derivatives need no inverse.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops.linalg import determinants

RANDOM = np.random.default_rng(11)


def of_rank(rank: int, n: int, dtype: Any) -> np.ndarray:
    """A matrix of whole numbers, of which LAPACK finds a pivot that is 0."""
    x = RANDOM.integers(-3, 4, (n, n)) + np.eye(n) * 5
    if np.dtype(dtype).kind == "c":
        x = x + 1j * RANDOM.integers(-3, 4, (n, n))
    x[rank:] = x[:1] if rank and np.dtype(dtype).kind == "f" else 0
    return x.astype(dtype)


def by_permutations(x: Any) -> Any:
    n, total = x.shape[-1], 0.0
    for order in itertools.permutations(range(n)):
        sign = np.linalg.det(np.eye(n)[list(order)])
        term = sign
        for i, j in enumerate(order):
            term = term * x[..., i, j]
        total = total + term
    return total


def derivative(function: Any, order: int) -> Any:
    """The function of a matrix that differentiates `order` times, weighted between."""

    def found(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = function(x) if order == 1 else weighted(derivative(function, order - 1)(x))
            y = tf.reduce_sum(tf.math.real(y * (1.0 - 0.5j if y.dtype.is_complex else 1.0)))
        return tape.gradient(y, x, unconnected_gradients="zero")

    return found


def weighted(y: Any) -> Any:
    weights = np.cos(np.arange(1.0, 1 + y.shape[-1] ** 2)).reshape(y.shape[-2:])
    return tf.reduce_sum(y * tf.constant(weights, y.dtype))


@pytest.mark.parametrize("dtype", ["float64", "complex128", "float32"])
@pytest.mark.parametrize(("rank", "n"), [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (2, 4), (3, 4)])
def test_derivatives_up_to_the_third_are_those_of_the_polynomial(rank: int, n: int, dtype: str) -> None:
    x = tf.constant(of_rank(rank, n, dtype))
    assert np.linalg.det(x.numpy()) == 0
    scale = max(1.0, float(np.abs(x).max())) ** (n - 1)
    for order in (1, 2, 3):
        want = derivative(by_permutations, order)(
            tf.cast(x, "complex128" if x.dtype.is_complex else "float64")
        )
        call = derivative(tf.linalg.det, order)
        for found in (call(x), tf.function(call)(x)):
            assert found.dtype == x.dtype
            np.testing.assert_allclose(
                found, want, rtol=0, atol=scale * (1e-4 if dtype == "float32" else 1e-12)
            )


def test_forward_mode_and_rows_agree_with_the_gradient() -> None:
    x = tf.constant(np.stack([of_rank(2, 3, "float64"), of_rank(3, 3, "float64"), of_rank(1, 3, "float64")]))
    dot = tf.constant(RANDOM.normal(size=(3, 3, 3)))
    with tf.GradientTape(persistent=True) as tape, tf.autodiff.ForwardAccumulator(x, dot) as accumulator:
        tape.watch(x)
        y = tf.linalg.det(x)
    slope = tape.gradient(y, x)
    np.testing.assert_allclose(accumulator.jvp(y), tf.reduce_sum(slope * dot, [1, 2]), atol=1e-12)
    np.testing.assert_allclose(tf.einsum("iijk->ijk", tape.jacobian(y, x)), slope, atol=1e-12)
    one_by_one = tf.stack([derivative(tf.linalg.det, 1)(row) for row in tf.unstack(x)])
    np.testing.assert_allclose(slope, one_by_one, atol=1e-12)
    np.testing.assert_array_equal(slope[2], np.zeros((3, 3)))
    assert np.linalg.matrix_rank(slope[0].numpy()) == 1
    second = tf.vectorized_map(derivative(tf.linalg.det, 2), x)
    np.testing.assert_allclose(
        second, tf.stack([derivative(tf.linalg.det, 2)(row) for row in tf.unstack(x)]), atol=1e-12
    )


def test_a_determinant_below_the_range_has_its_gradient() -> None:
    x = tf.constant(np.diag([1e-200, 1e-200, 2.0]))
    with np.errstate(under="ignore"):
        assert np.linalg.det(x.numpy()) == 0
    np.testing.assert_allclose(
        derivative(tf.linalg.det, 1)(x), np.diag([2e-200, 2e-200, 0.0]), rtol=1e-12, atol=1e-300
    )


def test_what_would_take_too_long_is_refused() -> None:
    x = np.eye(20)
    x[0] = 0.0
    np.testing.assert_allclose(derivative(tf.linalg.det, 1)(tf.constant(x))[0, 0], 1.0)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"det: the derivative of order 4 .* with 20 rows takes 8000"
    ):
        derivative(tf.linalg.det, 4)(tf.constant(x))


def test_matrices_with_nan_have_nan_and_leave_the_others_alone() -> None:
    x = np.stack([of_rank(2, 3, "float64"), np.full((3, 3), np.nan)])
    slope = derivative(tf.linalg.det, 1)(tf.constant(x))
    assert np.isfinite(slope[0]).all() and np.isnan(slope[1]).all()


@pytest.mark.parametrize(
    ("x", "want"),
    [
        (np.full((3, 3), 1e200), np.zeros((3, 3))),
        (np.diag([0.0, 1e160, 1e-160]), np.diag([1.0, 0.0, 0.0])),
        (np.diag([0.0, 1e-200, 1e-200j]) * 1e180, np.diag([-1e-40j, 0.0, 0.0])),
    ],
)
def test_neither_sizes_nor_their_products_decide_the_rank(x: np.ndarray, want: np.ndarray) -> None:
    found = tf.grad(lambda x: tf.math.real(tf.linalg.det(x)))(tf.constant(x))
    np.testing.assert_allclose(found, want, rtol=1e-12)


def test_rows_and_columns_of_all_sizes_have_cofactors_of_their_sizes() -> None:
    x = np.array([[0.0, 2.0, -1.0, 3.0], [1.0, 0.0, 4.0, -2.0], [0.0, 4.0, -2.0, 6.0], [2.0, 1.0, 0.0, 5.0]])
    sizes = 2.0 ** np.array([-400, 300, 20, -5])
    others = 2.0 ** np.array([18, -20, 3, 0])
    cofactors = tf.grad(tf.linalg.det)
    scale = np.prod(sizes) / sizes[:, None] * np.prod(others) / others
    want = cofactors(tf.constant(x)).numpy()
    found = cofactors(tf.constant(x * sizes[:, None] * others)).numpy() / scale
    np.testing.assert_allclose(found, want, atol=1e-12)


def test_rows_with_elements_far_from_their_mean_have_finite_scaled_elements() -> None:
    # scaled by their mean exponents alone they would overflow, and LAPACK's SVD of an infinity may not return
    row = [1e300, 1e-300, 1e-300, 1e-300]
    power = determinants._usual_power(np.array([row]), -1)
    assert np.isfinite(determinants._times_power(np.array([row]), -power)).all()
    x = tf.constant([row] * 4, tf.float64)
    np.testing.assert_array_equal(tf.grad(tf.linalg.det)(x), np.zeros((4, 4)))


def test_an_infinite_part_of_a_cofactor_leaves_the_other_part() -> None:
    parts = determinants._times_power(np.array([1 + 2j, 2 - 1j]), np.array([1023, 1023]))
    np.testing.assert_array_equal(parts.real, [2.0**1023, np.inf])
    np.testing.assert_array_equal(parts.imag, [np.inf, -(2.0**1023)])
