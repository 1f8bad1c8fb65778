"""Every op in every table of cases, with its derivatives, is the same graph after a file."""

from __future__ import annotations

import numpy as np
import pytest

from graphad.core.spec import TensorSpec
from graphad.graph.digest import digest
from graphad.trace.tracer import trace_flat
from tests.serialization.convert.in_memory import graphs_through_bytes
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase, spec_of


def graphs_of(case):
    """The graphs of the call, its gradient and its second derivative, for definite and for unknown shapes."""
    kinds = [case.specs()]
    if "sizes" in case.unknown:
        kinds.append([TensorSpec.of((None,) * np.ndim(x), spec_of(x).dtype) for x in case.arrays])
    if "rank" in case.unknown:
        kinds.append([TensorSpec.of(None, spec_of(x).dtype) for x in case.arrays])
    for specs in kinds:
        graph = case.traced(specs)
        yield graph
        bars = [spec if spec.dtype.is_differentiable else None for spec in graph.output_specs]
        if case.order and case.sources and any(bar is not None for bar in bars):
            yield case.traced_gradient(specs, bars)
        if case.order > 1 and len(bars) == 1 and bars[0] is not None:
            yield trace_flat(lambda *xs: case._second(xs), [*specs, bars[0]], "second").graph


FAMILIES: dict[str, list[OpCase]] = {}
for _family, _, _case in all_cases():
    FAMILIES.setdefault(_family, []).append(_case)
PARTS = [(name, cases[k::4]) for name, cases in FAMILIES.items() for k in range(4)]


@pytest.mark.parametrize(
    ("family", "cases"), PARTS, ids=[f"{name}-{i % 4}" for i, (name, _) in enumerate(PARTS)]
)
def test_graphs_of_all_cases_have_the_same_digest_after_a_file(family, cases):
    for case in cases:
        if "custom_gradient" in case.op_names():
            continue  # a rule in Python is another op in a file: test_custom_gradient.py
        before = list(graphs_of(case))
        after = graphs_through_bytes(before)
        for mine, theirs in zip(before, after, strict=True):
            assert digest(mine) == digest(theirs), case
