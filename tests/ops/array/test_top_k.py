"""`top_k` of few among many: the numbers of a full sort, ties and NaN included."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int8", "uint8", "int64", "bfloat16"])
@pytest.mark.parametrize("k", [1, 3, 20])
def test_few_of_many_are_the_first_of_a_full_sort(dtype: str, k: int) -> None:
    rng = np.random.default_rng(0)
    few = rng.integers(0, 100, (4, 3, 90)), rng.integers(0, 4, (5, 90)), rng.permutation(100)
    many = rng.integers(0, 100, (20, 3, 90)), rng.integers(0, 4, (60, 90)), rng.integers(0, 100, 5000)
    for x in few + many:
        values, indices = tf.math.top_k(tf.cast(x, dtype), k)
        wanted = np.argsort(-x, -1, kind="stable")[..., :k]
        assert np.array_equal(indices, wanted)
        assert np.array_equal(np.asarray(values, np.float64), np.take_along_axis(x, wanted, -1))


@pytest.mark.parametrize("size", [50, 5000])
def test_nan_is_the_largest_also_among_many(size: int) -> None:
    x = np.arange(float(size))
    x[[7, 30]] = np.nan
    assert tf.math.top_k(x, 4).indices.numpy().tolist() == [7, 30, size - 1, size - 2]
    assert tf.math.top_k(x, 1).indices.numpy().tolist() == [7]


def test_the_largest_of_no_rows_has_no_index() -> None:
    values, indices = tf.math.top_k(np.zeros((0, 5), np.float32), 1)
    assert values.shape == indices.shape == (0, 1)
    assert indices.dtype is tf.int32
