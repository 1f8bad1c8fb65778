"""The fast paths of eager ops give the results of the slow path.

The other tests run with GRAPHAD_VERIFY, which checks every eval against infer and takes the slow path. Here the same cases run
without it, plainly and under a tape, in float64 and float32.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphad as gd
from graphad.core import bind as door
from graphad.ops.math import reduce
from tests.support.case_tables import cases_by_name
from tests.support.op_case import OpCase

ROOT = Path(__file__).parents[2]


def _as(arrays: list[Any], dtype: Any) -> list[Any]:
    return [np.asarray(x).astype(dtype) if np.asarray(x).dtype == np.float64 else x for x in arrays]


def _results(case: OpCase, arrays: list[Any], verify: bool, monkeypatch: Any) -> list[Any]:
    monkeypatch.setattr(door, "VERIFY", verify)
    values = [np.asarray(y.data) for y in case.call(*case.tensors(arrays))]
    bars = [
        None if bar is None else np.asarray(bar).astype(y.dtype)
        for bar, y in zip(case.cotangents(), values, strict=True)
    ]
    gradients = case.gradient_values(arrays, bars) if case.order else []
    return [*values, *(None if g is None else np.asarray(g) for g in gradients)]


@pytest.mark.parametrize("name", list(cases_by_name()))
def test_short_and_long_ways_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = cases_by_name()[name]
    for dtype in (np.float64, np.float32) if case.float32 else (np.float64,):
        arrays = _as([np.asarray(x.data) for x in case.tensors()], dtype)
        long = _results(case, arrays, True, monkeypatch)
        short = _results(case, arrays, False, monkeypatch)
        for a, b in zip(long, short, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                assert a.dtype == b.dtype
                assert a.shape == b.shape
                np.testing.assert_allclose(
                    b,
                    a,
                    rtol=1e-12 if a.dtype.itemsize >= 8 else 2e-6,
                    atol=1e-12 if dtype is np.float64 else 1e-6,
                )


# Functions that compute with NumPy themselves where nobody listens: public ones, of whose time the door would be a fifth or more,
# and what small gradients spend 6 to 25 % more on without it; docs/decisions/0048 has the figures of each.
# All others bind: `quick` of the op is their short way.
SHORT_WAYS = {
    "graphad/gradient/backward.py": {"add_bars"},
    "graphad/gradient/tape.py": {"_ones"},
    "graphad/ops/array/create.py": {"_filled"},
    "graphad/ops/array/shape.py": {"reshape"},
    "graphad/ops/array/slice.py": {"getitem"},
    "graphad/ops/array/sorting.py": {
        "sorted_along"
    },  # large arrays, sorted in place of being sorted and gathered
    "graphad/ops/directly.py": {
        "directly",
        "is_eager",
        "is_free",
    },  # NumPy's one pass for what is several ops
    "graphad/ops/elementwise.py": {"unary_function.function", "binary_function.function"},
    "graphad/ops/linalg/matmul.py": {"matmul", "MatMul.vjp"},
    "graphad/ops/math/arithmetic.py": {"_divide"},
    "graphad/ops/math/cast.py": {"cast"},
    "graphad/ops/math/reduce.py": {"_reduction.function", "ReduceMean.vjp"},
    "graphad/ops/numpy/statistics.py": {"_read"},  # ranks of large rows, by a partition
    "graphad/ops/operators.py": {
        "_value",
        "_hot.forward",
        "_hot.reflected",
        "_compared.compare",
        "_equality.compare",
    },
    "graphad/ops/overwrite.py": {"overwrite"},  # large intermediate results
    "graphad/ops/rules.py": {"unbroadcast"},
}


def _asks_who_listens(node: ast.AST, owner: str = "") -> Iterator[str]:
    """The functions that check for active recorders, by their qualified names."""
    for child in ast.iter_child_nodes(node):
        named = isinstance(child, ast.FunctionDef | ast.ClassDef)
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "busy":
            yield owner
        yield from _asks_who_listens(child, f"{owner}.{child.name}".lstrip(".") if named else owner)


def test_no_function_of_the_ops_or_rules_has_a_short_way_of_its_own_but_those_listed() -> None:
    found: dict[str, set[str]] = {}
    for room in ("ops", "vectorize", "trace", "gradient"):
        for path in sorted((ROOT / "graphad" / room).rglob("*.py")):
            for name in _asks_who_listens(ast.parse(path.read_text())):
                found.setdefault(str(path.relative_to(ROOT)), set()).add(name)
    assert found == SHORT_WAYS


def test_the_gradient_of_a_mean_binds_no_op(monkeypatch: pytest.MonkeyPatch) -> None:
    x = gd.constant(np.arange(6.0).reshape(2, 3))

    def refuse(*args: Any) -> Any:
        raise AssertionError("a small gradient should be one NumPy call")

    for axis in (None, (0, 1), [-1, 0]):
        with gd.GradientTape() as tape:
            tape.watch(x)
            y = gd.reduce_mean(x, axis=axis)
        with monkeypatch.context() as patched:
            patched.setattr(reduce, "bind", refuse)
            np.testing.assert_array_equal(tape.gradient(y, x), np.full((2, 3), 1 / 6))
