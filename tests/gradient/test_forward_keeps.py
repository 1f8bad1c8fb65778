"""Forward mode reads no value that an op does not declare: Jacobians by columns over records from which all else was dropped."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.gradient import jacobian as jacobians
from graphad.gradient.jacobian_plan import Plan
from tests.support.case_tables import differentiable_cases
from tests.support.op_case import OpCase


@pytest.mark.parametrize("case", differentiable_cases())
def test_columns_are_those_of_rows_although_what_no_rule_reads_was_dropped(
    case: OpCase, monkeypatch: pytest.MonkeyPatch
) -> None:
    tensors = case.tensors()
    sources = [tensors[i] for i in case.sources]
    with tf.GradientTape(persistent=True) as tape:
        tape.drop_above = -1
        tape.watch(sources)
        ys = [y for y in case.call(*tensors) if y.dtype.is_differentiable and np.prod(y.shape) <= 60]
    for y in ys:
        found = []
        for forward in (False, True):
            monkeypatch.setattr(jacobians, "plan_jacobian", lambda *_, forward=forward: Plan(forward, 1000))
            found.append(tape.jacobian(y, sources))
        for rows, columns in zip(*found, strict=True):
            if rows is None or columns is None:  # a derivative that is zero may be None in one direction only
                assert all(j is None or not np.any(j.numpy()) for j in (rows, columns))
                continue
            assert rows.dtype is columns.dtype and rows.shape == columns.shape
            np.testing.assert_allclose(columns, rows, rtol=1e-7, atol=1e-7, equal_nan=True)
