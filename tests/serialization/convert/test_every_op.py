"""Every op in every table of cases, with its derivatives, is the same graph after a file."""

from __future__ import annotations

import pytest

from graphad.graph.digest import digest
from tests.serialization.convert.in_memory import graphs_through_bytes
from tests.support.case_graphs import traced, unknown
from tests.support.case_tables import all_cases
from tests.support.op_case import OpCase


def graphs_of(case):
    """The graphs of the call, its gradient and its second derivative, for definite and for unknown shapes."""
    for specs in [case.specs(), *[specs for _, specs in unknown(case)]]:
        yield from traced(case, specs)


FAMILIES: dict[str, list[OpCase]] = {}
for _family, _, _case in all_cases():
    FAMILIES.setdefault(_family, []).append(_case)
PARTS = [(name, cases[k::4]) for name, cases in FAMILIES.items() for k in range(4)]


@pytest.mark.parametrize(
    ("family", "cases"), PARTS, ids=[f"{name}-{i % 4}" for i, (name, _) in enumerate(PARTS)]
)
def test_graphs_of_all_cases_have_the_same_digest_after_a_file(family, cases):
    for case in cases:
        before = list(graphs_of(case))
        if any(node.op.name == "custom_gradient" for graph in before for node in graph.nodes):
            continue  # a rule in Python is another op in a file: test_custom_gradient.py
        after = graphs_through_bytes(before)
        for mine, theirs in zip(before, after, strict=True):
            assert digest(mine) == digest(theirs), case
