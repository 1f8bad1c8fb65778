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


@pytest.mark.parametrize(
    "kind", ["normal", "ties", "all equal", "NaN", "infinities", "sorted", "one long row"]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_the_largest_of_many_are_those_of_a_whole_order(kind: str, dtype: type) -> None:
    rng = np.random.default_rng(8)
    x = 50 * rng.standard_normal((1, 9000) if kind == "one long row" else (9, 1000))
    if kind == "ties":
        x[::2] = np.rint(x[::2] / 50)
    elif kind == "all equal":
        x[:] = 1
    elif kind == "sorted":
        x = np.sort(x, -1)
    elif dtype != np.int32 and kind in ("NaN", "infinities"):
        x[rng.random(x.shape) < 0.02] = np.nan if kind == "NaN" else np.inf
        x[1:3, 20:] = np.nan if kind == "NaN" else -np.inf
    x = x.astype(dtype)
    for k in (2, 10, 60):
        found = tf.math.top_k(tf.constant(x), k)
        order = np.argsort(np.where(np.isnan(x), -np.inf, -x.astype(float)), -1, kind="stable")[:, :k]
        np.testing.assert_array_equal(found.indices.numpy(), order)
        np.testing.assert_array_equal(found.values.numpy(), np.take_along_axis(x, order, -1))
