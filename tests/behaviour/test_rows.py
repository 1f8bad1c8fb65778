"""The table of behaviours that users of TensorFlow know, row by row: each is held by tests that exist and run.

`rows.txt` says each row in a line of its own, with its number, and below it the tests that hold it. `differs:` names the line of
docs/differences.md where graphad does otherwise on purpose.
"""

from __future__ import annotations

import ast
import functools
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Section: how many rows it has. A row is never taken out; what no longer holds gets `differs:`.
SIZES = {1: 17, 2: 13, 3: 27, 4: 22, 5: 23, 6: 33, 7: 15, 8: 22, 9: 26}


@dataclass
class Row:
    number: str
    fact: str
    tests: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def rows_of(text: str) -> list[Row]:
    rows: list[Row] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith(" "):
            rows.append(Row(*line.split(" ", 1)))
        elif line.strip().startswith("differs: "):
            rows[-1].differences.append(line.strip().removeprefix("differs: "))
        else:
            rows[-1].tests.append(line.strip())
    return rows


ROWS = rows_of((Path(__file__).parent / "rows.txt").read_text())


@functools.cache
def running_tests_of(path: str) -> frozenset[str]:
    """Names of the tests of a file that always run: they are neither skipped nor known to fail."""
    names = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text())):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            marks = {ast.unparse(mark) for mark in node.decorator_list}
            if not any("mark.skip" in mark or "mark.xfail" in mark or "mark.cuda" in mark for mark in marks):
                names.add(node.name)
    return frozenset(names)


@functools.cache
def subjects_that_differ() -> frozenset[str]:
    lines = (ROOT / "docs/differences.md").read_text().splitlines()
    return frozenset(line.split(" | ")[0].removeprefix("| ") for line in lines if line.startswith("| "))


def test_each_row_is_there_once_and_in_order():
    assert [row.number for row in ROWS] == [
        f"{section}.{i}" for section, size in SIZES.items() for i in range(1, size + 1)
    ]


def test_each_row_says_something_of_its_own():
    assert all(row.fact.endswith(".") for row in ROWS)
    assert [fact for fact, times in Counter(row.fact for row in ROWS).items() if times > 1] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.number)
def test_the_tests_of_a_row_exist_and_run(row):
    assert row.tests, f"{row.number} is held by no test"
    for test in row.tests:
        path, name = test.split("::")
        assert (ROOT / path).is_file(), path
        assert name in running_tests_of(path), f"{test} does not exist, or does not always run"


@pytest.mark.parametrize("row", [row for row in ROWS if row.differences], ids=lambda row: row.number)
def test_a_row_that_differs_is_listed_among_the_differences(row):
    for subject in row.differences:
        assert subject in subjects_that_differ(), subject


def test_a_test_that_is_skipped_is_not_one_that_runs(tmp_path):
    source = (
        "@pytest.mark.skipif(True, reason='')\ndef test_a(): ...\n\ndef test_b(): ...\n\ndef helper(): ...\n"
    )
    file = tmp_path / "test_x.py"
    file.write_text(source)
    assert running_tests_of(str(file)) == {"test_b"}
