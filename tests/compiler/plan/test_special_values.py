"""Kernels of elementwise ops at infinities, nan, signed zeros and the ends of the range give what the eager formulas give."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graphad as gd
from graphad.compiler.plan.executable import Executable
from graphad.core.bind import bind
from graphad.core.registry import all_ops
from graphad.ops.elementwise import Elementwise
from graphad.trace.tracer import trace_flat
from tests.compiler.plan.test_executable import is_native

_VALUES = [0.0, 0.5, 1.0, 2.0, 3.0, 20.0, 88.0, 1e-30, 1e30, 3.4e38, 1e-45, np.inf]
_ULP = 8  # the kernels' functions are within 2 ulp of the true value, NumPy's and compositions of them within a few


def _ops(arity: int) -> list[Any]:
    classes = [kind for kind in all_ops().values() if issubclass(kind, Elementwise) and not kind.attributes]
    found = [kind() for kind in classes if "float" in kind.kinds and kind.scalar is not None]
    return sorted([op for op in found if _arity(op) == arity], key=lambda op: op.name)


def _arity(op: Any) -> int:
    formula = type(op).formula
    if isinstance(formula, np.ufunc):
        return formula.nin
    for arity in (1, 2, 3):
        try:
            formula(*[np.full(1, 0.5)] * arity)
        except TypeError:
            continue
        return arity
    raise AssertionError(f"{op.name} takes neither one, two nor three operands")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("arity", [1, 2])
def test_kernels_agree_with_eager_at_special_values(arity: int, dtype: Any) -> None:
    values = [*_VALUES, *[-x for x in _VALUES], np.nan]
    columns = np.array(list(itertools.product(values, repeat=arity))).astype(dtype).T
    xs = [gd.constant(np.ascontiguousarray(column)) for column in columns]
    ops = _ops(arity)
    assert len(ops) > 10

    data = [x.data for x in xs]
    executable = Executable(trace_flat(lambda *xs: [bind(op, *xs) for op in ops], [x.spec for x in xs]).graph)
    compiled = executable.run(data, True)
    assert is_native(executable, data)
    for op, got in zip(ops, compiled, strict=True):
        want = bind(op, *xs).numpy()
        assert got.dtype == want.dtype
        if want.dtype.kind == "f":
            with np.errstate(invalid="ignore", over="ignore"):
                near = np.abs(got - want) <= _ULP * np.spacing(np.abs(want))
            same = (got == want) | near | (np.isnan(got) & np.isnan(want))
            same &= (want != 0) | (np.signbit(got) == np.signbit(want)) | (got != 0)
        else:
            same = got == want
        wrong = [(*[float(c[i]) for c in columns], want[i], got[i]) for i in np.flatnonzero(~same)[:5]]
        assert not wrong, f"{op.name}: (inputs, eager, compiled) {wrong}"
