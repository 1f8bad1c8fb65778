"""The last lines of a run of the tests say what is right and what is not, without lists that nobody asked for."""

from __future__ import annotations

import pytest

from tests import conftest


class Terminal:
    def __init__(self, verbosity=0, **counts):
        self.verbosity = verbosity
        self.stats = {kind: [object()] * count for kind, count in counts.items()}
        self.lines = []

    def section(self, title):
        self.lines.append(f"= {title}")

    def write_line(self, line):
        self.lines.append(line)


def summary(**counts):
    terminal = Terminal(**counts)
    conftest.pytest_terminal_summary(terminal)
    return terminal.lines


def test_known_gaps_are_counted_and_explained_and_success_is_said():
    lines = summary(passed=7, skipped=2, xfailed=33)
    assert lines[0].startswith("= ")
    assert lines[1].startswith("2 skipped: they need what is not here")
    assert lines[2].startswith("33 xfailed: they are known not to hold yet")
    assert lines[3] == "All 7 tests that ran to the end passed: nothing is wrong."


@pytest.mark.parametrize("kind", ["failed", "error"])
def test_success_is_not_said_where_something_failed(kind):
    assert not any("nothing is wrong" in line for line in summary(passed=7, **{kind: 1}))


def test_quiet_runs_and_runs_without_gaps_stay_short():
    assert summary(verbosity=-2, passed=1, skipped=1) == []
    assert summary(passed=3) == ["All 3 tests that ran to the end passed: nothing is wrong."]


def test_lists_are_not_shown_by_default(pytestconfig):
    assert "x" not in pytestconfig.getini("addopts")[0] and "a" not in pytestconfig.getini("addopts")[0]
