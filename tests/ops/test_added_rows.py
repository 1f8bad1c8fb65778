"""Rows that are added where positions say: NumPy's numbers, in NumPy's order, for rows as for single numbers."""

import numpy as np
import pytest

from graphad.ops import accumulate


@pytest.mark.parametrize("block", [1 << 20, 7])
@pytest.mark.parametrize(
    "shape, positions, row",
    [
        ((5,), (), (3,)),
        ((5,), (7,), (3,)),
        ((4, 3), (6,), (2, 2)),
        ((4,), (2, 3), (2,)),
        ((4,), (0,), (3,)),
        ((4,), (5,), ()),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.int32])
def test_rows_are_added_as_numpy_adds_them(monkeypatch, block, shape, positions, row, dtype):
    monkeypatch.setattr(accumulate, "_BLOCK", block)
    numbers = np.random.default_rng(2)
    key = tuple(np.asarray(numbers.integers(0, n, positions)) for n in shape)
    added = np.asarray(1e3 * numbers.normal(size=(*positions, *row))).astype(dtype)
    want, found = np.ones((*shape, *row), dtype), np.ones((*shape, *row), dtype)
    np.add.at(want, key, added)
    accumulate.add_at(found, key, added)
    assert found.tobytes() == want.tobytes()


def test_positions_that_numpy_refuses_are_refused():
    with pytest.raises(IndexError):
        accumulate.add_at(np.zeros((2, 3)), np.array([2]), np.ones((1, 3)))
    found = np.zeros((2, 3))
    accumulate.add_at(found, np.array([-1]), np.ones((1, 3)))
    assert found[1].sum() == 3.0
