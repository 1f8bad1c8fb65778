"""Choices of large arrays have the bits of `np.where`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from graphad.ops.choice import chosen

DTYPES = ["f2", ml_dtypes.bfloat16, "f4", "f8", "i1", "u8", "i4", "c8", "c16", "?"]


@pytest.mark.parametrize("shape", [(5000,), (70, 80), (3,), (0,)])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_choices_have_the_bits_of_where(dtype: Any, shape: Any) -> None:
    rng = np.random.default_rng(0)
    mask = rng.random(shape) < 0.5
    x, y = ((rng.standard_normal(shape) * 5).astype(dtype) for _ in range(2))
    if np.dtype(dtype).kind == "f" and x.size:
        x.flat[:2], y.flat[1:3] = np.nan, -0.0
    zero, three = np.dtype(dtype).type(0), np.dtype(dtype).type(3)
    for a, b in ((x, y), (x, zero), (zero, x), (x, three), (three, x), (x[::-1], y)):
        found, want = chosen(mask, a, b), np.where(mask, a, b)
        assert found.dtype == want.dtype and found.tobytes() == want.tobytes()


def test_operands_that_broadcast_are_chosen_from_as_by_where() -> None:
    mask = np.arange(6000).reshape(60, 100) % 3 == 0
    x, y = np.arange(100.0), np.arange(60.0)[:, None]
    assert np.array_equal(chosen(mask, x, y), np.where(mask, x, y))
    assert np.array_equal(chosen(mask, np.float32(1), np.arange(100.0)), np.where(mask, np.float32(1), x))
