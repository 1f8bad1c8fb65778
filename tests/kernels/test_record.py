"""Records behave as frozen dataclasses do."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

from graphad.kernels.forms import View
from graphad.kernels.record import Record


class Point(Record):
    x: int
    y: int = 2


class Other(Record):
    x: int
    y: int = 2


def test_equality_hash_and_printing_go_by_fields() -> None:
    assert Point(1) == Point(1, 2) == Point(y=2, x=1) != Point(1, 3)
    assert Point(1) != Other(1) and len({Point(1), Point(1, 2), Other(1)}) == 2
    assert repr(Point(1)) == "Point(x=1, y=2)"
    assert Point(1).replaced(y=5) == Point(1, 5)


def test_wrong_fields_are_refused() -> None:
    for make in (Point, lambda: Point(1, 2, 3), lambda: Point(1, z=3), lambda: Point(y=1)):
        with pytest.raises(TypeError):
            make()


def test_records_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Point(1).x = 3
    with pytest.raises(AttributeError):
        del Point(1).x


def test_a_pickled_record_hashes_as_its_new_process_does() -> None:
    view = View("reshape", (2, 3))
    hash(view)
    program = (
        "import pickle, sys; from graphad.kernels.forms import View\n"
        f"assert pickle.loads({pickle.dumps(view)!r}) in {{View('reshape', (2, 3))}}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
