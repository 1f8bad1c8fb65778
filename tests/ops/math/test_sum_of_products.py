"""Sums of products: no array of the products, digits of sums in pairs, every way through them, and one product for squares."""

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.ops.math.sum_of_products import SumOfProducts, sum_of_products
from tests.support.memory import least_peak


def _numbers(*shape: int, dtype: str = "float32", seed: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize(
    "norm", [tf.norm, tf.nn.l2_loss, lambda x: tf.linalg.global_norm([x]), tf.numpy.linalg.norm]
)
def test_a_norm_makes_no_array_of_squares(norm) -> None:
    x = tf.constant(_numbers(1 << 20))
    norm(x)
    bound = x.numpy().nbytes / 64
    assert least_peak(lambda: norm(x), bound) < bound


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("count", [0, 1, 31, 32, 511, 512, 513, 100_003])
def test_sums_have_the_digits_of_sums_in_pairs(dtype, count) -> None:
    x, y = _numbers(count, dtype=dtype), _numbers(count, dtype=dtype, seed=4)
    exact = (x.astype(np.longdouble) * y).sum()
    scale = np.abs(x.astype(np.longdouble) * y).sum() + np.finfo(dtype).tiny
    found = sum_of_products(tf.constant(x), tf.constant(y)).numpy()
    assert found.dtype == dtype
    assert abs(found - exact) <= 8 * np.finfo(dtype).eps * scale


@pytest.mark.parametrize("axis", [None, 0, 1, 2, -1, [1, 2], [0, 2], [0, 1, 2], []])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_every_choice_of_axes_is_the_sum_of_the_products(axis, keepdims, turned) -> None:
    x, y = _numbers(3, 40, 50, dtype="float64"), _numbers(3, 40, 50, dtype="float64", seed=4)
    if turned:
        x, y = (z.transpose(2, 0, 1) for z in (x, y))
    axes = tuple(axis) if isinstance(axis, list) else axis
    expected = np.sum(x * y, axes, keepdims=keepdims)

    def function(a, b):
        return sum_of_products(a, b, axis, keepdims)

    a, b = tf.constant(x), tf.constant(y)
    for way in (function, tf.function(function)):
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            found = way(a, b)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12, atol=1e-12)
        for g, other in zip(tape.gradient(found, [a, b]), (y, x), strict=True):
            np.testing.assert_array_equal(g.numpy(), other)


def test_squares_of_one_tensor_have_the_gradient_of_both_factors() -> None:
    x = tf.constant([3.0, -4.0])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = sum_of_products(x, x)
        first = tape.gradient(y, x)
    np.testing.assert_array_equal(first.numpy(), [6.0, -8.0])
    np.testing.assert_array_equal(outer.gradient(first, x).numpy(), [2.0, 2.0])


def test_rows_are_batched_with_and_without_a_factor_of_their_own() -> None:
    X, y = _numbers(5, 7, dtype="float64"), _numbers(7, dtype="float64")
    each = tf.vectorized_map(lambda x: sum_of_products(x, tf.constant(y)), tf.constant(X))
    np.testing.assert_allclose(each.numpy(), X @ y, rtol=1e-14)
    each = tf.vectorized_map(lambda x: sum_of_products(x, x, 0, True), tf.constant(X))
    np.testing.assert_allclose(each.numpy(), np.sum(X * X, 1, keepdims=True), rtol=1e-14)


def test_a_size_that_is_one_at_run_time_still_broadcasts() -> None:
    signature = [tf.TensorSpec([None], tf.float64)] * 2
    vecdot = tf.function(tf.numpy.vecdot, input_signature=signature)
    assert vecdot(tf.constant([1.0, 2.0], tf.float64), tf.constant([3.0, 4.0], tf.float64)).numpy() == 11


def test_shapes_and_dtypes_that_differ_are_refused_by_the_op() -> None:
    with pytest.raises(InvalidArgumentError, match="sum_of_products"):
        bind(SumOfProducts(), tf.ones([2]), tf.ones([3]))
    with pytest.raises(DTypeError, match="sum_of_products"):
        bind(SumOfProducts(), tf.ones([2]), tf.ones([2], tf.float64))


def test_half_precision_is_added_wide_and_integers_exactly() -> None:
    ones = tf.ones([5000], tf.float16)
    assert bind(SumOfProducts(), ones, ones).numpy() == 5000
    whole = tf.constant(np.full(40, 3_000_001, np.int64))
    assert bind(SumOfProducts(), whole, whole).numpy() == 40 * 3_000_001**2
