"""The short ways of eager ops give what the long way gives.

The other tests run with GRAPHAD_VERIFY, which checks every eval against infer and goes the long way. Here the same cases run
without it, plainly and under a tape, in float64 and float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphad.core import bind as door
from tests.support.case_tables import cases_by_name
from tests.support.op_case import OpCase


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
