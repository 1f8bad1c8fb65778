"""The cases of all ops, for tests that sweep over them: every `tests/ops/<family>/cases.py`, in the order of the families."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.op_case import OpCase

_OPS = Path(__file__).parents[1] / "ops"


def all_cases() -> Iterator[tuple[str, int, OpCase]]:
    """(family, place in its table, case) of every case."""
    for path in sorted(_OPS.glob("*/cases.py")):
        family = path.parent.name
        for number, case in enumerate(importlib.import_module(f"tests.ops.{family}.cases").CASES):
            yield family, number, case


@functools.cache
def cases_by_name() -> dict[str, OpCase]:
    """The first case of each name, by family and name."""
    found: dict[str, OpCase] = {}
    for family, _, case in all_cases():
        found.setdefault(f"{family}-{case.name}", case)
    return found


def differentiable_cases() -> list[Any]:
    """Every case that has derivatives, as parameters of a test."""
    return [
        pytest.param(case, id=f"{family}-{number}-{case.name}")
        for family, number, case in all_cases()
        if case.order > 0 and case.sources
    ]
