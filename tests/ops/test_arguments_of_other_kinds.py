"""Arguments in a form of their own: a tensor for a list, floats for lengths, lists of real numbers for complex ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


def _equal(found: Any, wanted: Any, dtype: str) -> None:
    assert found.dtype.name == dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-7)


def test_a_tensor_in_the_place_of_a_list_is_its_rows() -> None:
    _equal(tf.add_n(tf.constant([[1.0, 2.0], [3.0, 4.0]])), [4.0, 6.0], "float32")
    _equal(tf.function(tf.add_n)(tf.constant([1, 2])), 3, "int32")
    _equal(tf.stack(tf.zeros((0, 3), "float64")), np.zeros((0, 3)), "float64")
    _equal(tf.stack(tf.zeros((0,), "int64")), np.zeros(0), "int64")
    _equal(tf.stack(tf.constant(2.0)), 2.0, "float32")
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    _equal(tf.stack(x), x, "float32")
    _equal(tf.stack(x, axis=1), tf.transpose(x), "float32")
    with pytest.raises(TypeError, match="scalar"):
        tf.add_n(tf.constant(1.0))


@pytest.mark.parametrize(
    "norm", [np.int32(2), tf.constant(2), tf.constant(2.0, "float64"), tf.constant(2.0, "float16")]
)
def test_a_clipped_tensor_keeps_its_dtype_whatever_that_of_the_norm(norm: Any) -> None:
    _equal(tf.clip_by_norm(tf.constant([3.0, 4.0]), norm), [1.2, 1.6], "float32")
    _equal(tf.clip_by_norm(tf.constant([[3.0, 4.0]], "float64"), norm, axes=[1]), [[1.2, 1.6]], "float64")


def test_lengths_may_be_floats() -> None:
    np.testing.assert_array_equal(tf.sequence_mask([2.7, 0.0], 4), [[1, 1, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(tf.sequence_mask([2.7, 2.0, -1.0]), [[1, 1, 1], [1, 1, 0], [0, 0, 0]])


def test_sparse_tensors_are_made_of_truth_values() -> None:
    found = tf.sparse.from_dense([[True, False], [False, True]])
    np.testing.assert_array_equal(found.indices, [[0, 0], [1, 1]])
    assert found.values.dtype == "bool" and found.values.numpy().all()
    np.testing.assert_array_equal(tf.sparse.to_dense(found), [[True, False], [False, True]])


@pytest.mark.parametrize(
    "given", [[1, 2, 4, 3], [1.0, 2.0, 4.0, 3.0], np.array([1.0, 2.0, 4.0, 3.0]), np.arange(4)]
)
def test_transforms_take_lists_and_arrays_of_real_numbers(given: Any) -> None:
    x = np.asarray(given)
    _equal(tf.signal.fft(given), np.fft.fft(x), "complex64")
    _equal(tf.signal.ifft(given), np.fft.ifft(x), "complex64")
    _equal(tf.signal.fft2d([given, given]), np.fft.fft2(np.stack([x, x])), "complex64")
    _equal(tf.signal.irfft(given), np.fft.irfft(x), "float32")
    is_wide = getattr(given, "dtype", None) == np.float64
    _equal(tf.signal.rfft(given), np.fft.rfft(x), "complex128" if is_wide else "complex64")
    with pytest.raises(TypeError, match="complex64 or complex128"):
        tf.signal.fft(tf.constant(given, "float32"))


def test_softmax_of_keras_takes_all_axes_together() -> None:
    x = np.array([[1.0, 2.0], [3.0, 5.0]])
    shares = np.exp(x) / np.exp(x).sum()
    for given in (x, tf.constant(x)):
        _equal(tf.keras.activations.softmax(given, axis=None), shares, "float64")
        _equal(tf.keras.activations.log_softmax(given, axis=None), np.log(shares), "float64")


def _pooled(row: list[float]) -> list[int]:
    """The segments of the nearest sequence that never falls, by pooling neighbours that fall."""
    pools: list[list[float]] = []
    for x in row:
        pools.append([x, 1])
        while len(pools) > 1 and pools[-2][0] * pools[-1][1] > pools[-1][0] * pools[-2][1]:
            total, n = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += n
    return [k for k, (_, n) in enumerate(pools) for _ in range(int(n))]


def test_equal_elements_of_isotonic_regression_are_segments_of_their_own() -> None:
    x = np.random.default_rng(3).integers(0, 5, (200, 7)).astype(float)
    fitted, segments = tf.nn.isotonic_regression(x, decreasing=False)
    np.testing.assert_array_equal(segments, [_pooled(list(row)) for row in x])
    assert (np.diff(fitted) >= 0).all()
    for n in (0, 1):
        np.testing.assert_array_equal(tf.nn.isotonic_regression(np.full((2, n), 0.1))[1], np.zeros((2, n)))
    tenths = tf.constant([[0.3, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]])
    np.testing.assert_array_equal(tf.nn.isotonic_regression(tenths)[1], [[0, 1, 2, 3, 4, 5, 6]])
    with tf.GradientTape() as tape:
        tape.watch(tenths)
        y = tf.nn.isotonic_regression(tenths)[0] * tf.range(7.0)
    np.testing.assert_allclose(tape.gradient(y, tenths), [np.arange(7.0)])


@pytest.mark.parametrize(
    "x, segments, fitted",
    [
        ([-1e20, 3.0, 1.0], [0, 1, 1], [-1e20, 2.0, 2.0]),
        ([np.inf, 1.0, 2.0], [0, 0, 0], [np.inf] * 3),
        ([1.0, np.inf, 2.0, 3.0], [0, 1, 1, 1], [1.0] + [np.inf] * 3),
        ([3.0, -np.inf, 2.0, 1.0], [0, 0, 1, 1], [-np.inf, -np.inf, 1.5, 1.5]),
    ],
)
def test_segments_of_isotonic_regression_do_not_depend_on_the_size_of_elements_before_them(
    x: list[float], segments: list[int], fitted: list[float]
) -> None:
    y, found = tf.nn.isotonic_regression(np.array(x), decreasing=False)
    np.testing.assert_array_equal(found, segments)
    np.testing.assert_array_equal(y, fitted)
