"""Every op of the registry has a case in some table, and every rule or a reason."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import pytest

import graphad.ops
from graphad.core.op import Op
from graphad.core.registry import all_ops

# Ops with sub-graphs, variables or random state, and what only a specialised graph holds: they have tests of their own.
_ELSEWHERE = (
    "graphad.ops.control",
    "graphad.ops.state",
    "graphad.ops.random",
    "graphad.gradient",
    "graphad.function",
)
_OWN_TESTS = frozenset({"sizes"})


@functools.cache
def _ops() -> dict[str, Any]:
    for module in pkgutil.walk_packages(graphad.ops.__path__, "graphad.ops."):
        importlib.import_module(module.name)
    return {name: op for name, op in all_ops().items() if op.__module__.startswith("graphad.ops.")}


def _names() -> list[str]:
    return sorted(_ops())


@functools.cache
def _covered() -> dict[str, str]:
    """Every op that occurs in the graphs of a case, and where."""
    found: dict[str, str] = {}
    here = Path(__file__).parent
    for path in sorted(here.glob("*/cases.py")):
        table = importlib.import_module(f"tests.ops.{path.parent.name}.cases")
        for case in table.CASES:
            for name in case.op_names():
                found.setdefault(name, f"{path.parent.name}: {case.name}")
    return found


@pytest.mark.parametrize("name", _names())
def test_op_has_a_case(name: str) -> None:
    op = _ops()[name]
    if op.__module__.startswith(_ELSEWHERE) or name in _OWN_TESTS or op.structured or op.transient:
        pytest.skip("structured, random or stateful: has tests of its own")
    if name not in _covered():
        pytest.fail(f"{op.__module__}.{op.__name__}: no case uses it; add one to tests/ops/<family>/cases.py")


@pytest.mark.parametrize("name", _names())
def test_op_has_its_rules(name: str) -> None:
    op = _ops()[name]
    assert op.infer is not Op.infer and op.eval is not Op.eval
    # A rule of the user's is looked up by name: ops of new_op, and custom gradients that a file left out. An op without a
    # batch rule is run row by row.
    if not op.__module__.startswith(_ELSEWHERE):
        assert op.vjp is not Op.vjp, f"{name}: no vjp, and no reason why there is none"
    assert op.__doc__, f"{name}: no docstring"
    assert op.keeps is not None and len(op.keeps) == 2
