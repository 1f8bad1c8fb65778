"""Determinants of singular matrices that a `where` leaves out: they add nothing to a gradient, which has that of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.errors import MatrixError

SINGULAR = np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 1.0, 1.0]])
REGULAR = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.5], [0.0, 0.25, 1.0]])
FUNCTIONS = {
    "det": tf.linalg.det,
    "log": lambda x: tf.linalg.slogdet(x)[1],
    "both": lambda x: tf.linalg.slogdet(x)[1] * tf.linalg.slogdet(x)[0],
}


def taken(function: Callable[..., Any], x: Any) -> Any:
    y = function(x)
    return tf.reduce_sum(tf.where(tf.constant([True, False, True]), y, tf.zeros_like(y)))


def derivatives(function: Callable[..., Any], x: Any) -> tuple[Any, Any]:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        slope = inner.gradient(y, x)
        weighted = tf.reduce_sum(slope * tf.constant(np.arange(9.0).reshape(3, 3), slope.dtype))
    return slope, outer.gradient(weighted, x)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_the_matrices_that_are_taken(name: str, dtype: type) -> None:
    function = FUNCTIONS[name]
    turned = (REGULAR + 0.5j * np.eye(3) if dtype is np.complex128 else REGULAR.T).astype(dtype)
    x = tf.constant(np.stack([REGULAR.astype(dtype), SINGULAR.astype(dtype), turned]))

    def masked(x: Any) -> Any:
        return derivatives(lambda x: taken(function, x), x)

    alone = derivatives(lambda x: tf.reduce_sum(function(x)), tf.gather(x, [0, 2]))
    close = {"rtol": 1e-4 if dtype is np.float32 else 1e-10, "atol": 1e-5 if dtype is np.float32 else 1e-12}
    for call in (masked, tf.function(masked), tf.function(masked, jit_compile=True)):
        for found, want in zip(call(x), alone, strict=True):
            np.testing.assert_array_equal(found[1], np.zeros((3, 3)))
            np.testing.assert_allclose(tf.gather(found, [0, 2]), want, **close)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_matrices_with_nan_that_are_left_out_add_nothing(name: str) -> None:
    lost = np.array(
        [[np.nan, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    )  # LAPACK has no inverse of this one
    x, function = tf.constant(np.stack([REGULAR, lost, REGULAR.T])), FUNCTIONS[name]

    def masked(x: Any) -> Any:
        return derivatives(lambda x: taken(function, x), x)

    alone = derivatives(lambda x: tf.reduce_sum(function(x)), tf.gather(x, [0, 2]))
    for call in (masked, tf.function(masked), tf.function(masked, jit_compile=True)):
        for found, want in zip(call(x), alone, strict=True):
            np.testing.assert_array_equal(found[1], np.zeros((3, 3)))
            np.testing.assert_allclose(tf.gather(found, [0, 2]), want, rtol=1e-10, atol=1e-12)


def test_a_zero_cotangent_of_a_matrix_that_is_taken_has_its_own_derivative() -> None:
    def residual(x: Any) -> Any:  # 0, and its square has the slope 0, but a second derivative
        y = tf.linalg.det(x)
        return tf.square(y - tf.stop_gradient(y))

    x = tf.constant(np.stack([REGULAR, SINGULAR, REGULAR.T]))
    slope, second = derivatives(lambda x: taken(residual, x), x)
    alone = derivatives(lambda x: tf.reduce_sum(residual(x)), tf.gather(x, [0, 2]))
    assert not slope.numpy().any() and not second[1].numpy().any()
    assert np.abs(alone[1].numpy()).max() > 1
    np.testing.assert_allclose(tf.gather(second, [0, 2]), alone[1])


def test_a_singular_matrix_whose_logarithm_is_taken_is_an_error() -> None:
    with pytest.raises(MatrixError, match="not invertible"):
        derivatives(FUNCTIONS["log"], tf.constant(SINGULAR))
    both = tf.constant(np.stack([SINGULAR, REGULAR, REGULAR]))
    with pytest.raises(MatrixError, match="not invertible"):
        derivatives(lambda x: taken(FUNCTIONS["log"], x), both)


def test_a_singular_matrix_that_is_taken_with_a_zero_cotangent_has_its_second_derivative() -> None:
    def residual(x: Any) -> Any:
        return tf.square(tf.linalg.det(x))

    slope, second = derivatives(
        lambda x: taken(residual, x), tf.constant(np.stack([SINGULAR, REGULAR, REGULAR.T]))
    )
    with tf.GradientTape() as tape:
        x = tf.constant(SINGULAR)
        tape.watch(x)
        y = tf.linalg.det(x)
    normal = tape.gradient(y, x).numpy()
    assert not slope[0].numpy().any() and normal.any()
    weights = np.arange(9.0).reshape(3, 3)
    np.testing.assert_allclose(second[0], 2 * np.sum(normal * weights) * normal, rtol=1e-12, atol=1e-12)


def test_a_sign_that_is_taken_has_a_derivative_by_all_matrices():
    """A `where` around the logarithm alone leaves no matrix out: the sign of the singular one is added up too."""
    x = tf.constant([[[2.0, 1j], [0.0, 1.0]], [[1.0, 1.0], [1.0, 1.0]]], tf.complex128)

    def slope(takes_sign):
        with tf.GradientTape() as tape:
            tape.watch(x)
            sign, logarithm = tf.linalg.slogdet(x)
            parts = [tf.where([True, False], y, tf.zeros_like(y)) for y in (sign, logarithm)]
            y = tf.reduce_sum(tf.math.real(sign if takes_sign else parts[0])) + tf.reduce_sum(
                tf.math.real(parts[1])
            )
        return tape.gradient(y, x)

    assert not slope(False).numpy()[1].any()
    with pytest.raises(tf.errors.InvalidArgumentError, match="singular"):
        slope(True)
