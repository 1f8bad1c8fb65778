"""The page of the ops is current: each op has its line, and the line says what its rules are; all of it where there is time."""

from __future__ import annotations

import pytest

from tests.ops.page import PAGE, cases, ops, rules, text


def test_each_op_has_a_line_that_says_its_rules() -> None:
    lines = dict(
        line.strip("| ").split(" | ", 1)
        for line in PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("| `")
    )
    wanted = {f"`{name}`": " | ".join(rules(op)) for name, op in ops().items()}
    assert set(lines) == set(wanted), "run python -m tests.ops.page"
    wrong = [name for name, said in wanted.items() if not lines[name].startswith(f"{said} | ")]
    assert not wrong, "run python -m tests.ops.page"


@pytest.mark.slow
def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == text(), "run python -m tests.ops.page"


def test_what_numpy_runs_in_compiled_functions_has_a_reason() -> None:
    assert not [name for name, reasons in cases().reasons.items() if "" in reasons]
