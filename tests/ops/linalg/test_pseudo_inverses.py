"""Derivatives of pseudo-inverses, of matrices with equal singular values and of less than full rank too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.ops.linalg.pseudo_inverse import PseudoInverse

pinv = tf.linalg.pinv
RNG = np.random.default_rng(0)
MATRICES = {
    "unit": np.eye(3),
    "two equal singular values": np.diag([2.0, 2.0, 1.0]),
    "orthogonal": np.linalg.qr(RNG.normal(size=(4, 4)))[0],
    "of rank 1": np.array([[1.0, 2.0], [2.0, 4.0]]),
    "with a kernel of two dimensions": np.diag([2.0, 0.0, 0.0]),
    "zero": np.zeros((2, 3)),
    "tall, of rank 2": RNG.normal(size=(5, 2)) @ RNG.normal(size=(2, 3)),
    "wide, of rank 2": RNG.normal(size=(3, 2)) @ RNG.normal(size=(2, 5)),
    "a stack": RNG.normal(size=(2, 4, 3)),
    "complex, of rank 1": np.outer([1.0, 2j], [1.0 - 1j, 3.0]),
}


def random_like(x: np.ndarray, *shape: int) -> np.ndarray:
    found = RNG.normal(size=shape or x.shape)
    return found + 1j * RNG.normal(size=found.shape) if x.dtype.kind == "c" else found


@pytest.mark.parametrize("x", MATRICES.values(), ids=MATRICES)
def test_slopes_along_changes_that_keep_the_rank(x: np.ndarray) -> None:
    m, n = x.shape[-2:]
    weights = random_like(x, *x.shape[:-2], n, m)
    left, right = random_like(x, m, m), random_like(x, n, n)

    def moved(t: float) -> Any:
        return (np.eye(m) + t * left) @ x @ (np.eye(n) + t * right)

    def gradient(a: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.reduce_sum(tf.math.real(pinv(a) * np.conj(weights)))
        return tape.gradient(y, a)

    def value(t: float) -> Any:
        return np.sum(np.real(np.linalg.pinv(moved(t), rcond=1e-10) * np.conj(weights)))

    change, h = left @ x + x @ right, 1e-5
    found = gradient(tf.constant(x))
    np.testing.assert_allclose(
        np.sum(np.real(np.conj(found) * change)), (value(h) - value(-h)) / (2 * h), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_array_equal(tf.function(gradient)(tf.constant(x)), found)
    # The second ones, against differences of the first.
    others = random_like(x)
    with tf.GradientTape() as tape:
        a = tf.constant(x)
        tape.watch(a)
        slope = tf.reduce_sum(tf.math.real(gradient(a) * np.conj(others)))
    second = np.sum(np.real(np.conj(tape.gradient(slope, a)) * change))
    ends = [np.sum(np.real(gradient(tf.constant(moved(t))) * np.conj(others))) for t in (h, -h)]
    np.testing.assert_allclose(second, (ends[0] - ends[1]) / (2 * h), rtol=1e-5, atol=1e-7)


def test_forward_and_batched_derivatives_are_the_same() -> None:
    x, along = tf.constant(MATRICES["two equal singular values"]), tf.constant(RNG.normal(size=(3, 3)))
    p = np.diag([0.5, 0.5, 1.0])
    with tf.autodiff.ForwardAccumulator(x, along) as accumulator:
        y = pinv(x)
    np.testing.assert_allclose(accumulator.jvp(y), -p @ along.numpy() @ p, rtol=1e-12)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = pinv(x)
    np.testing.assert_allclose(tape.jacobian(y, x), -np.einsum("ij,kl->iljk", p, p), rtol=1e-12)


@pytest.mark.parametrize("traced", [False, True])
def test_slopes_where_singular_values_that_are_not_zero_are_left_out(traced: bool) -> None:
    x, weights, along = RNG.normal(size=(4, 3)), RNG.normal(size=(3, 4)), RNG.normal(size=(4, 3))
    u, _, v = np.linalg.svd(x, full_matrices=False)
    x = u @ np.diag([3.0, 2.0, 0.5]) @ v

    def slope(a: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(a)
            y = tf.reduce_sum(pinv(a, rcond=0.3) * weights)
        return tape.gradient(y, a)

    def value(t: float) -> Any:
        return np.sum(np.linalg.pinv(x + t * along, rcond=0.3) * weights)

    found = (tf.function(slope) if traced else slope)(tf.constant(x))
    np.testing.assert_allclose(np.sum(found * along), (value(1e-5) - value(-1e-5)) / 2e-5, rtol=1e-6)


def test_slopes_where_the_threshold_leaves_out_zeros() -> None:
    x = tf.constant(MATRICES["with a kernel of two dimensions"])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, expected = pinv(x, rcond=1e-6), pinv(x)
    np.testing.assert_array_equal(tape.gradient(y, x), tape.gradient(expected, x))


def test_one_matrix_beside_a_stack_of_pseudo_inverses() -> None:
    """A file, or a map over one operand, may give the op such pairs."""
    x = RNG.normal(size=(3, 2))
    ys = np.stack([np.linalg.pinv(x)] * 2)
    found = tf.vectorized_map(lambda y: bind(PseudoInverse(), y, tf.constant(x)), tf.constant(ys))
    np.testing.assert_array_equal(found, ys)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"pseudo_inverse: y has shape \(2, 3\), x has shape \(2, 3\)"
    ):
        bind(PseudoInverse(), tf.ones([2, 3]), tf.ones([2, 3]))
