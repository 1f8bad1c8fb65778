"""Every op of the registry has a case in some table, and every rule or a reason."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest

import graphad.ops
from graphad.core.dtypes import DType, bfloat16, float16
from graphad.core.errors import DTypeError
from graphad.core.op import Op
from graphad.core.registry import all_ops
from graphad.core.spec import TensorSpec
from graphad.ops.elementwise import Elementwise
from tests.support.case_graphs import op_names
from tests.support.case_tables import all_cases

# Ops with sub-graphs, variables or random state, and ops that occur only in specialised graphs: they have their own tests.
_ELSEWHERE = (
    "graphad.ops.control",
    "graphad.ops.state",
    "graphad.ops.random",
    "graphad.gradient",
    "graphad.function",
    "graphad.vectorize",
)
_OWN = ("graphad.ops.", "graphad.core.", "graphad.vectorize.")
_OWN_TESTS = frozenset({"sizes"})


@functools.cache
def _ops() -> dict[str, Any]:
    for module in pkgutil.walk_packages(graphad.ops.__path__, "graphad.ops."):
        importlib.import_module(module.name)
    importlib.import_module("graphad.vectorize.vectorize_graph")
    return {name: op for name, op in all_ops().items() if op.__module__.startswith(_OWN)}


def _names() -> list[str]:
    return sorted(_ops())


@functools.cache
def _covered() -> dict[str, str]:
    """Every op that occurs in the graphs of a case, and where."""
    found: dict[str, str] = {}
    for family, _, case in all_cases():
        for name in op_names(case):
            found.setdefault(name, f"{family}: {case.name}")
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
    # A rule of the user's is looked up by name: ops of new_op, and custom gradients that a file left out.
    if not op.__module__.startswith(_ELSEWHERE):
        assert op.vjp is not Op.vjp, f"{name}: no vjp, and no reason why there is none"
    assert op.batch is not Op.batch, (
        f"{name}: no batch rule; say no_batch(reason) if rows can only be run one by one"
    )
    assert op.rows is not Op.rows, f"{name}: no rows rule; say no_rows(reason) if nobody knows where rows go"
    for rule in (op.batch, op.rows):
        assert getattr(rule, "reason", "a rule").strip(), f"{name}: a rule that is left out without a reason"
    assert op.__doc__, f"{name}: no docstring"
    assert op.keeps is not None and len(op.keeps) == 2


def _elementwise() -> list[str]:
    return sorted(name for name, op in _ops().items() if issubclass(op, Elementwise) and not op.attributes)


@pytest.mark.parametrize("dtype", [bfloat16, float16], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", _elementwise())
def test_formula_keeps_its_dtype_whatever_the_numpy(name: str, dtype: DType) -> None:
    """Older NumPy makes float32 of a bfloat16 and a Python number."""
    op = _ops()[name]()
    for shape in ((), (3,)):
        for count in (1, 2, 3):
            xs = [np.full(shape, 0.5).astype(dtype.numpy)[()]] * count
            try:
                y, spec = op.eval(*xs), op.infer(*[TensorSpec.of(shape, dtype)] * count)
            except (TypeError, DTypeError):
                continue  # another number of operands, or another kind of dtype
            assert y.dtype == spec.dtype.numpy
            break
