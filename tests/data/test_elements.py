"""Elements between steps: slices and batches of arrays are those that NumPy's indexing and stacking give."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from graphad.core.errors import OutOfRangeError
from graphad.data.elements import all_slices, at, stacked
from graphad.data.resumed import shuffled

ROWS = np.arange(24.0, dtype="float32").reshape(4, 3, 2)
NUMBERS = np.arange(4, dtype="uint8")
TEXTS = np.array(["a", "bb", "ccc", "d"], object)


@pytest.mark.parametrize(
    "nest",
    [
        ROWS,
        NUMBERS,
        TEXTS,
        (ROWS, NUMBERS),
        {"x": ROWS, "y": NUMBERS},
        (ROWS, {"y": (NUMBERS,)}),
        (ROWS, None),
    ],
)
def test_slices_are_those_of_indexing(nest):
    found = list(all_slices(nest, 4))
    assert len(found) == 4
    for i, element in enumerate(found):
        wanted = at(i, nest)
        assert type(element) is type(wanted)
        np.testing.assert_equal(element, wanted)


@pytest.mark.parametrize(
    "rows",
    [
        list(ROWS),
        list(NUMBERS),
        [ROWS[:, 0], ROWS[:, 1]],
        [ROWS.T, ROWS.T + 1],
        [np.float32(1), np.float64(0.1)],
        [np.array(1), np.int64(2)],
        [np.ones(2, "int32"), np.ones(2, "float32")],
        [np.ones((0, 3)), np.ones((0, 3))],
        [np.ones(2, bool)],
    ],
)
def test_batches_are_those_of_stacking(rows):
    found, wanted = stacked(rows), np.stack(rows)
    assert found.dtype == wanted.dtype
    assert found.flags.writeable
    np.testing.assert_array_equal(found, wanted)


def test_a_long_shuffle_has_each_element_once_and_goes_on_behind_an_error():
    def failing(i):
        if i in (3, 700):
            raise OutOfRangeError(str(i))
        return i

    def order(seed):
        elements, found = shuffled(map(failing, range(1000)), 10, np.random.default_rng(seed)), []
        for _ in itertools.count():
            try:
                found.append(next(elements))
            except StopIteration:
                return found
            except OutOfRangeError:
                found.append(-1)

    assert sorted(order(0)) == sorted([-1, -1, *(i for i in range(1000) if i not in (3, 700))])
    assert order(0) == order(0) != order(1)
