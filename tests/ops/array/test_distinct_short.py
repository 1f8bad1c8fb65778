"""`unique` and `one_hot` in their short ways give the same bits as the ops under a tape and in traced functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops.array import distinct

RNG = np.random.default_rng(0)
VALUES = [
    np.array([3, 1, 3, 2, 1], np.int32),
    np.array([200, 3, 200], np.uint8),
    np.array([1.5, np.nan, -0.0, 0.0, np.nan, np.inf, 1.5, -np.inf]),
    np.array([True, False, True]),
    np.array([], np.float32),
    RNG.integers(-9, 9, 200),
    RNG.normal(size=50).astype(np.float16),
]


@pytest.mark.parametrize("x", VALUES, ids=lambda x: f"{x.dtype}-{x.size}")
def test_unique_is_the_same_by_both_ways(x: np.ndarray, monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (tf.unique, tf.unique_with_counts):
        for out in (tf.int32, tf.int64):
            short = function(tf.constant(x), out)
            traced = tf.function(lambda x, f=function, out=out: f(x, out))(tf.constant(x))
            with monkeypatch.context() as patch:
                patch.setattr(distinct, "_MANY", -1)
                long = function(tf.constant(x), out)
            for a, b, c in zip(short, long, traced, strict=True):
                assert a.dtype == b.dtype == c.dtype
                np.testing.assert_array_equal(a, b)
                np.testing.assert_array_equal(a, c)
                if a.dtype.is_floating:
                    np.testing.assert_array_equal(np.signbit(a), np.signbit(b))


def test_few_elements_are_put_in_one_order_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any) -> Any:
        raise AssertionError("ops were run")

    monkeypatch.setattr(distinct, "argsort", refused)
    assert tf.unique([3, 1, 3]).y.numpy().tolist() == [3, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_one_hot_rows_are_those_of_comparing_all(dtype: str) -> None:
    for indices in (
        np.array([0, 2, 4, 5, 1]),
        np.array([[1, 7], [0, 3]]),
        np.array(2),
        np.zeros((0, 3), int),
    ):
        given = indices.astype(dtype)
        if dtype[0] == "i" and given.size:
            given = given - given.dtype.type(1)
        for depth in (0, 1, 4):
            wanted = np.where(given[..., None] == np.arange(depth), np.float32(2), np.float32(-1))
            found = tf.one_hot(given, depth, 2.0, -1.0)
            assert found.dtype == tf.float32
            np.testing.assert_array_equal(found, wanted)
            np.testing.assert_array_equal(
                tf.one_hot(given, depth, 2.0, -1.0, axis=0), np.moveaxis(wanted, -1, 0)
            )
