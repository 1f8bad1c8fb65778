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
    monkeypatch.setattr(accumulate, "_AT_ONCE", 0)
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [3, 8, 100])
def test_many_rows_are_added_by_a_product_in_the_same_order(monkeypatch, width, dtype):
    asked = []
    sparse = accumulate.library.sparse
    monkeypatch.setattr(accumulate.library, "sparse", lambda: asked.append(1) or sparse())
    monkeypatch.setattr(accumulate, "_WORTH_SCIPY", 1000)
    monkeypatch.setattr(accumulate, "by_step", lambda *_: None)  # the way of a process without compiled code
    numbers = np.random.default_rng(3)
    key = numbers.integers(0, 50, 2000)
    added = (10.0 ** numbers.uniform(-6, 6, (2000, width)) * numbers.choice([-1, 1], (2000, width))).astype(
        dtype
    )
    added[::7] = -0.0
    added[key == 4] = -0.0
    added[5, 0], added[9, 1] = np.nan, np.inf
    for start in (0.0, -0.0, 1.0):
        want, found = np.full((60, width), start, dtype), np.full((60, width), start, dtype)
        np.add.at(want, key, added)
        accumulate.add_at(found, key, added)
        assert found.tobytes() == want.tobytes()
    assert len(asked) == 1  # for zeros alone


@pytest.mark.parametrize("alike", [1, 2, accumulate._FEW_ALIKE, accumulate._FEW_ALIKE + 1])
@pytest.mark.parametrize("first", [0, -1])
def test_long_rows_in_order_are_added_in_that_order(alike, first):
    numbers = np.random.default_rng(4)
    key = np.sort(numbers.permutation(np.repeat(np.arange(40), alike))[: 25 * alike])
    key = np.concatenate([[first], key, [key[-1] + 3]])
    added = 10.0 ** numbers.uniform(-6, 6, (len(key), accumulate._LONG_ROW + 1)) * numbers.choice(
        [-1, 1], (len(key), 1)
    )
    added[::5] = -0.0
    want, found = np.full((48, added.shape[1]), -0.0), np.full((48, added.shape[1]), -0.0)
    np.add.at(want, key, added)
    accumulate.add_at(found, key, added)
    assert found.tobytes() == want.tobytes()
