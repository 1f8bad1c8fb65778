"""Activations at their kinks, at the ends of the range, for other dtypes and options, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

A = tf.keras.activations
AT = [-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0]


def with_slope(function: Callable[..., Any], x: Any, **options: Any) -> tuple[Any, Any]:
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x, **options)
    return y.numpy(), tape.gradient(y, x).numpy()


@pytest.mark.parametrize(
    ("name", "options", "values", "slopes"),  # those of Keras 3, but for the slope of celu at 0, which is 2 there
    [
        ("hard_shrink", {}, [-2, -1, 0, 0, 0, 1, 2], [1, 1, 0, 0, 0, 1, 1]),
        ("hard_shrink", {"threshold": 1.0}, [-2, 0, 0, 0, 0, 0, 2], [1, 0, 0, 0, 0, 0, 1]),
        ("soft_shrink", {}, [-1.5, -0.5, 0, 0, 0, 0.5, 1.5], [1, 1, 0, 0, 0, 1, 1]),
        ("soft_shrink", {"threshold": 1.0}, [-1, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 1]),
        ("hard_tanh", {}, [-1, -1, -0.5, 0, 0.5, 1, 1], [0, 1, 1, 1, 1, 1, 0]),
        ("sparse_plus", {}, [0, 0, 0.0625, 0.25, 0.5625, 1, 2], [0, 0, 0.25, 0.5, 0.75, 1, 1]),
        ("sparse_sigmoid", {}, [0, 0, 0.25, 0.5, 0.75, 1, 1], [0, 0, 0.5, 0.5, 0.5, 0, 0]),
        ("threshold", {"threshold": 0.5, "default_value": 7.0}, [7, 7, 7, 7, 7, 1, 2], [0, 0, 0, 0, 0, 1, 1]),
        ("squareplus", {"b": 0}, [0, 0, 0, 0, 0.5, 1, 2], [0, 0, 0, 0.5, 1, 1, 1]),
        ("celu", {"alpha": 2.0}, [2 * np.expm1(x / 2) if x < 0 else x for x in AT], [np.exp(min(x, 0) / 2) for x in AT]),
    ],
)  # fmt: skip
def test_values_and_slopes_at_kinks(name: str, options: Any, values: Any, slopes: Any) -> None:
    function = getattr(A, name)
    for call in (function, tf.function(function, jit_compile=True)):
        for dtype in (np.float32, np.float64):
            y, slope = with_slope(call, np.array(AT, dtype), **options)
            assert y.dtype == slope.dtype == dtype
            np.testing.assert_allclose(y, values, rtol=1e-6)
            np.testing.assert_allclose(slope, slopes, rtol=1e-6)


def test_squareplus_has_its_limits_at_infinities() -> None:
    y, slope = with_slope(A.squareplus, np.array([-np.inf, np.inf]))
    assert np.array_equal(y, [0, np.inf])
    assert np.array_equal(slope, [0, 1])


def test_squareplus_keeps_the_digits_of_its_tail_and_does_not_overflow() -> None:
    y, slope = with_slope(A.squareplus, np.array([-1e4, -1e30, 1e30], np.float32))
    np.testing.assert_allclose(y, [1e-4, 1e-30, 1e30], rtol=1e-6)
    np.testing.assert_allclose(slope, [1e-8, 0.0, 1.0], rtol=1e-6, atol=1e-37)


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:  # Keras' does not sum to 1
    x = np.random.default_rng(0).normal(size=(40, 6)) * 2
    y = A.sparsemax(tf.constant(x)).numpy()
    np.testing.assert_allclose(y.sum(-1), 1.0)
    assert (y >= 0).all() and (y == 0).any()
    # At the nearest point x - y is one number on what is positive, and no larger one elsewhere.
    rest = x - y
    most = rest.max(-1, keepdims=True)
    np.testing.assert_allclose(np.where(y > 0, rest, most), np.broadcast_to(most, x.shape))
    np.testing.assert_array_equal(A.sparsemax(tf.constant(x.T), axis=0).numpy(), y.T)
    np.testing.assert_array_equal(A.sparsemax(tf.constant([1e8, 1e8 - 8, 0.0])).numpy(), [1, 0, 0])
    tf.debugging.check_gradients(A.sparsemax)(tf.constant(x[:3]))


def test_activations_by_name_and_of_unknown_sizes() -> None:
    names = "celu glu hard_shrink hard_tanh soft_shrink sparse_plus sparse_sigmoid sparsemax squareplus tanh_shrink"
    x = np.random.default_rng(1).normal(size=(3, 4)).astype(np.float32)
    for name in [*names.split(), "threshold"]:
        assert A.get(name) is getattr(A, name) is A.deserialize(name)
        assert A.serialize(getattr(A, name)) == name
    for name in names.split():
        traced = tf.function(A.get(name), input_signature=[tf.TensorSpec([None, None], tf.float32)])
        np.testing.assert_allclose(traced(x), A.get(name)(x), rtol=1e-6, atol=1e-7)
        half = A.get(name)(tf.constant(x, tf.float16))
        assert half.dtype == tf.float16
        empty = A.get(name)(np.zeros((0, 4), np.float32))
        assert empty.shape == ((0, 2) if name == "glu" else (0, 4))


def test_what_activations_refuse() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="size 3 at axis 0, which 2 does not divide"):
        A.glu([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="axis -1 is out of range"):
        A.sparsemax(1.0)
    for name in "celu glu hard_shrink sparse_plus sparse_sigmoid sparsemax squareplus tanh_shrink".split():
        with pytest.raises(TypeError):
            getattr(A, name)(tf.constant([1, 2]))
    assert A.threshold(tf.constant([1, 2]), 1, 5).numpy().tolist() == [5, 2]
    with pytest.raises(TypeError, match="a number with a fraction"):
        A.threshold(tf.constant([1, 2]), 1, 0.5)
