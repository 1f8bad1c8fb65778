"""The special functions keep what docs/accuracy.md says of their digits, at stored points against mpmath's numbers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.ops.math.accuracy import DATA, END, PAGE, ROWS, START, Row, key, points, table, worst


@pytest.fixture(scope="module")
def stored() -> Any:
    return json.loads(DATA.read_text(encoding="utf-8"))


@pytest.mark.parametrize("row", ROWS, ids=key)
def test_digits_are_what_the_page_claims(row: Row, stored: Any) -> None:
    found = worst(row, stored[key(row)])
    assert found <= row.units, f"{found:.2f} units in the last place of {row.of}; {row.units:g} are claimed"


@pytest.mark.parametrize("row", ROWS, ids=key)
def test_stored_points_are_those_of_the_row(row: Row, stored: Any) -> None:
    # Powers of 10 differ in the last place from processor to processor.
    for found, kept in zip(points(row), stored[key(row)]["arguments"], strict=True):
        np.testing.assert_allclose(found, kept, rtol=1e-14, err_msg="python -m tests.ops.math.accuracy")


def test_rows_have_names_of_their_own() -> None:
    assert len({key(row) for row in ROWS}) == len(ROWS)


def test_page_shows_the_table() -> None:
    shown = PAGE.read_text(encoding="utf-8").split(START)[1].split(END)[0]
    assert shown == table(), "python -m tests.ops.math.accuracy"


def test_an_error_of_five_units_is_seen(stored: Any) -> None:
    """The comparison itself: the same function, a little off."""
    row = ROWS[0]
    off = row._replace(function=lambda x: row.function(x) * (1 + 5 * 2.0**-52))
    assert worst(off, stored[key(row)]) > row.units
