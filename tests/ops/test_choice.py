"""Choices of large arrays have the bits of `np.where`."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import graphad as tf
from graphad.ops.choice import chosen, larger, limited, product, smaller

DTYPES = ["f2", ml_dtypes.bfloat16, "f4", "f8", "i1", "u8", "i4", "c8", "c16", "?"]


@pytest.mark.parametrize("shape", [(20_000,), (5000,), (70, 80), (31, 32), (600,), (3,), (0,)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_choices_have_the_bits_of_where(dtype: Any, shape: Any) -> None:
    rng = np.random.default_rng(0)
    mask = rng.random(shape) < 0.5
    x, y = ((rng.standard_normal(shape) * 5).astype(dtype) for _ in range(2))
    if np.dtype(dtype).kind == "f" and x.size:
        x.flat[:2], y.flat[1:3] = np.nan, -0.0
    zero, three = np.dtype(dtype).type(0), np.dtype(dtype).type(3)
    for a, b in ((x, y), (x, zero), (zero, x), (x, three), (three, x), (x[::-1], y), (x[::-1], zero)):
        found, want = chosen(mask, a, b), np.where(mask, a, b)
        assert found.dtype == want.dtype and found.tobytes() == want.tobytes()


@pytest.mark.parametrize("count", [10, 3000, 5000, 20_000])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4"])
def test_bounds_have_the_bits_of_maximum_and_minimum(dtype: str, count: int) -> None:
    x = (np.random.default_rng(0).standard_normal(count) * 5).astype(dtype)
    if x.dtype.kind == "f":
        x[:8] = np.nan, -0.0, 0.0, np.inf, -np.inf, 1, -1, -0.0
    for low, high in itertools.combinations([x.dtype.type(k) for k in (-1, 0, 2)], 2):
        for found, want in (
            (larger(x, low), np.maximum(x, low)),
            (larger(low, x), np.maximum(low, x)),
            (smaller(x, high), np.minimum(x, high)),
            (limited(x, low, high), np.minimum(np.maximum(x, low), high)),
        ):
            assert found.dtype == want.dtype and found.tobytes() == want.tobytes()


def test_operands_that_broadcast_are_chosen_from_as_by_where() -> None:
    mask = np.arange(6000).reshape(60, 100) % 3 == 0
    x, y = np.arange(100.0), np.arange(60.0)[:, None]
    assert np.array_equal(chosen(mask, x, y), np.where(mask, x, y))
    assert np.array_equal(chosen(mask, np.float32(1), np.arange(100.0)), np.where(mask, np.float32(1), x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "float16"])
@pytest.mark.parametrize("holds", ["everywhere", "nowhere", "often", "once"])
def test_uniform_masks_and_numbers_in_one_place_give_what_numpy_gives(dtype: str, holds: str) -> None:
    rng = np.random.default_rng(4)
    condition = {
        "everywhere": np.ones((40, 100), bool),
        "nowhere": np.zeros((40, 100), bool),
        "often": rng.random((40, 100)) < 0.5,
        "once": np.arange(4000).reshape(40, 100) == 0,
    }[holds]
    number = np.dtype(dtype).type
    full = (rng.standard_normal((40, 100)) * 9).astype(dtype)
    values = [full, number(0), number(1), number(-1), 0, 1, full[:1], full[:, :1]]
    values += [np.broadcast_to(number(k), (40, 100)) for k in (0, 1, 3)]
    if np.dtype(dtype).kind == "f":
        values += [number(-0.0), number(np.nan), np.broadcast_to(number(-0.0), (40, 100))]
    for x, y in itertools.product(values, values):
        if isinstance(x, int) and isinstance(y, int):
            continue
        found, expected = chosen(condition, x, y), np.where(condition, x, y)
        assert found.dtype == expected.dtype
        assert found.tobytes() == expected.tobytes()
        assert found is not x
        assert found is not y


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "int32"])
def test_a_product_with_ones_in_one_place_has_the_bits_of_the_product(dtype: str) -> None:
    rng = np.random.default_rng(6)
    x = (rng.standard_normal((40, 100)) * 9).astype(dtype)
    if x.dtype.kind in "fc":
        x.flat[:4] = [np.nan, np.inf, -0.0, -np.inf]
    one = np.broadcast_to(np.dtype(dtype).type(1), x.shape)
    two = np.broadcast_to(np.dtype(dtype).type(2), x.shape)
    with np.errstate(all="ignore"):
        for a, b in (
            (x, one),
            (one, x),
            (x[::-1], one),
            (x, two),
            (one, two),
            (x[:1], one),
            (two[:1], x),
            (x.dtype.type(3), two),
        ):
            found, want = product(a, b), a * b
            assert found.dtype == want.dtype and found.tobytes() == want.tobytes()
    if x.dtype.kind == "f":
        assert not product(x, one).flags.owndata  # or a rule might write over the operand


@pytest.mark.parametrize("holds", [False, True])
def test_an_operand_of_higher_rank_than_the_condition_gives_the_shape(holds: bool) -> None:
    x, larger = np.arange(3000.0), np.ones((2, 3000))
    condition = np.full(3000, holds)
    for pair in ((x, larger), (larger, x), (x, larger[:1])):
        expected = np.where(condition, *pair)
        for found in (chosen(condition, *pair), tf.where(condition, *map(tf.constant, pair)).numpy()):
            assert found.shape == expected.shape
            np.testing.assert_array_equal(found, expected)
