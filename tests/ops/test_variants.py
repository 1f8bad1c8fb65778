"""The variants of every case: no elements, one, numbers, broadcast, axes from the other end, NaN and infinities, other dtypes.

Calls that graphad accepts eagerly it accepts traced, with the shapes and dtypes of `infer`, and tier 0 gives the same bits. If
only shapes or dtypes changed, derivatives agree with finite differences. Every refusal is graphad's own error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan.executable import executable_of
from graphad.core.bind import verify_outputs
from graphad.core.errors import GraphadError
from graphad.graph.evaluate import evaluate
from graphad.trace.specialise import specialise
from tests.ops.proofs import cases_within_calls, derived_cases
from tests.support.bits import assert_same_bits
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase, close, run_nodes, same, spec_of
from tests.support.variants import VARIANTS, variants, with_arrays

EPSILON = {"float16": 2.0**-10, "bfloat16": 2.0**-7}
# Of these the derivative depends on the sign that LAPACK gives a vector, which is no function of complex matrices.
OF_REAL_MATRICES = {"projectors", "left_only", "right_only", "rotation", "log_volume", "real_roots"}
# The same random bits are other numbers in another dtype.
RANDOM = {"normal_like", "scaled", "between"}
AT_A_KINK = {"reduce_std", "unsorted_segment_max", "unsorted_segment_min"}


def _parameters() -> list[Any]:
    return [pytest.param(case, id=f"{family}-{number}-{case.name}") for family, number, case in all_cases()]


def taken(case: OpCase) -> bool:
    try:
        case.values()
    except GraphadError:
        return False
    except (IndexError, ArithmeticError):
        if not case.function.__module__.startswith("tests."):
            raise
        return False
    return True


def _looked_at(node: Any, inputs: list[Any], outputs: Any) -> None:
    verify_outputs(node.op, [spec_of(x) for x in inputs], outputs)


def _check(kind: str, case: OpCase) -> None:
    name = case.function.__name__
    values = case.values()
    for y, z in zip(run_nodes(case.traced(), case.arrays, _looked_at), values, strict=True):
        same(y, z)
    try:
        graphs = list(case.graphs())
    except tf.errors.GraphadError:
        with pytest.raises(GraphadError):
            case.gradient_values(case.arrays, case.cotangents())
        graphs = [(case.traced(), case.arrays)]
    for graph, arrays in graphs:
        known = specialise(graph, graph.inputs)
        wanted = evaluate(known, arrays)
        for y, z in zip(executable_of(known).run(list(arrays), False), wanted, strict=True):
            assert_same_bits(y, z, f"{case.name}, tier 0")
    for graph, arrays in graphs[1:]:
        run_nodes(graph, arrays, _looked_at)
    if kind in EPSILON and name not in RANDOM:
        _close_to_wide(kind, case, values)
    if kind in ("broadcast", "numbers", "complex") and case.order and case.sources and len(graphs) > 1:
        if name in AT_A_KINK or (kind == "complex" and name in OF_REAL_MATRICES):
            return
        case.check_finite_differences()
        case.check_forward_mode()
        if case.order > 1:
            case.check_second_order()


def _close_to_wide(kind: str, case: OpCase, values: Sequence[Any]) -> None:
    wide = with_arrays(
        case, [x.astype(np.float64) if x.dtype.name == kind else x for x in case.arrays], "wide"
    )
    for y, z in zip(values, wide.values(), strict=True):
        if z.dtype == np.float64:
            close(y.astype(np.float64), z, 8 * EPSILON[kind], True)
    bars = case.cotangents()
    if case.order and case.sources and any(bar is not None for bar in bars):
        for g, i in zip(case.gradient_values(case.arrays, bars), case.sources, strict=True):
            assert g is None or (g.dtype, np.shape(g)) == (case.arrays[i].dtype, np.shape(case.arrays[i]))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", _parameters())
def test_variants_agree_with_themselves_in_every_way_to_run(case: OpCase) -> None:
    for kind in VARIANTS:
        for variant in variants(case, kind):
            if taken(variant):
                _check(kind, variant)


def _derived() -> list[Any]:
    return [
        pytest.param(check, id=f"{case.name}-{check.__name__.removeprefix('check_')}")
        for case in [*derived_cases(), *cases_within_calls()]
        for check in case.agreements()
    ]


@pytest.mark.parametrize("check", _derived())
def test_ops_of_derivatives_and_of_unknown_shapes_agree_as_those_of_calls_do(check: Any) -> None:
    check()
