"""Segments without members, equal members, NaN, products with zeros, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

IDS = [2, 0, 2, -1]


def gradient(f: Any, x: Any) -> Any:
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return np.asarray(tape.gradient(y, x)).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint16", "int64"])
def test_segment_without_members_has_the_end_of_the_dtype(dtype: str) -> None:
    data = tf.constant([1, 2, 3, 4], dtype)
    dtype = tf.as_dtype(dtype)
    largest, smallest = tf.math.unsorted_segment_max(data, IDS, 3), tf.math.unsorted_segment_min(data, IDS, 3)
    assert largest.dtype == smallest.dtype == dtype
    assert np.asarray(largest).tolist() == [2, dtype.min, 3]
    assert np.asarray(smallest).tolist() == [2, dtype.max, 1]
    assert np.asarray(tf.math.unsorted_segment_prod(data, IDS, 3)).tolist() == [2, 1, 3]
    assert np.asarray(tf.math.segment_max(data, [0, 0, 2, 2])).tolist() == [2, 0, 4]
    assert np.asarray(tf.math.segment_prod(data, [0, 0, 2, 2])).tolist() == [2, 1, 12]


def test_equal_members_share_the_gradient() -> None:
    x = [3.0, 1.0, 3.0, 7.0]
    assert gradient(lambda x: tf.math.unsorted_segment_max(x, IDS, 3), x) == [0.5, 1.0, 0.5, 0.0]
    assert gradient(lambda x: tf.math.segment_min(x, [0, 0, 1, 1]), [2.0, 2.0, 3.0, 1.0]) == [
        0.5,
        0.5,
        0.0,
        1.0,
    ]


def test_products_with_zeros_have_tensorflows_gradients() -> None:
    x = [0.0, 2.0, 3.0, 0.0, 0.0, 3.0]
    ids = [0, 0, 0, 1, 1, 1]
    for f in (lambda x: tf.math.unsorted_segment_prod(x, ids, 2), lambda x: tf.math.segment_prod(x, ids)):
        assert gradient(f, x) == [6.0, 0.0, 0.0, 0.0, 0.0, 0.0]


def test_nan_is_the_extreme_of_its_segment() -> None:
    data = [np.nan, 1.0, 2.0]
    for f in (tf.math.unsorted_segment_max, tf.math.unsorted_segment_min):
        assert np.isnan(np.asarray(f(data, [0, 0, 1], 2))).tolist() == [True, False]


def test_no_data_gives_segments_without_members() -> None:
    empty = tf.zeros([0, 2])
    assert (
        tf.math.unsorted_segment_prod(empty, tf.zeros([0], "int32"), 3).numpy().tolist() == [[1.0, 1.0]] * 3
    )
    assert tf.math.segment_max(empty, tf.zeros([0], "int32")).shape == (0, 2)
    assert tf.math.unsorted_segment_max([], tf.zeros([0], "int32"), 0).shape == (0,)


def test_wrong_ids_are_refused_by_the_function_that_was_called() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="unsorted_segment_max: segment_ids holds 5"):
        tf.math.unsorted_segment_max([1.0], [5], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"unsorted_segment_prod: data has shape \(2,\)"):
        tf.math.unsorted_segment_prod([1.0, 2.0], [1], 3)
    with pytest.raises(tf.errors.InvalidArgumentError, match="segment_min: segment ids are not increasing"):
        tf.math.segment_min([1.0, 2.0], [1, 0])
    with pytest.raises(TypeError, match="unsorted_segment_sqrt_n: data"):
        tf.math.unsorted_segment_sqrt_n([1], [0], 1)
    with pytest.raises(TypeError, match="unsorted_segment_max"):
        tf.math.unsorted_segment_max([1j], [0], 1)
