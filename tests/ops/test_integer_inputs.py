"""What ops say of their integer inputs stands in their schema, and holds: the dtype, and for positions that none is outside."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import float32
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.registry import all_ops
from graphad.core.schema import Input, schema_of
from graphad.core.spec import TensorSpec
from tests.support.case_tables import all_cases
from tests.support.op_case import run_nodes, spec_of

# Of sparse products and variables: no case has them, and files test them.
_ELSEWHERE = {"assign_slices", "products_at", "sparse_product"}


def _integers(name: str) -> list[tuple[int, Input]]:
    return [(i, each) for i, each in enumerate(schema_of(all_ops()[name]).inputs) if each.is_integer]


OPS = sorted(name for name in all_ops() if _integers(name))


@functools.cache
def _calls() -> dict[str, tuple[Any, list[Any]]]:
    """For each such op one call of a case: the op and its inputs, none of them empty."""
    found: dict[str, tuple[Any, list[Any]]] = {}

    def look(node: Any, inputs: list[Any], outputs: tuple[Any, ...]) -> None:
        if node.op.name in OPS and all(np.size(x) for x in inputs):
            found.setdefault(node.op.name, (node.op, inputs))

    for _, _, case in all_cases():
        if not (set(OPS) - found.keys() - _ELSEWHERE):
            break
        for graph, arrays in case.graphs():
            if any(node.op.name in OPS and node.op.name not in found for node in graph.nodes):
                run_nodes(graph, arrays, look)
    return found


def test_every_op_with_positions_has_a_call_here() -> None:
    assert set(OPS) - _calls().keys() <= _ELSEWHERE
    assert len(OPS) > 20


@pytest.mark.parametrize("name", sorted(set(OPS) - _ELSEWHERE))
def test_an_input_of_integers_refuses_floats_by_its_name(name: str) -> None:
    op, inputs = _calls()[name]
    for place, each in _integers(name):
        specs = [spec_of(x) for x in inputs]
        specs[place] = TensorSpec.of(specs[place].dims, float32)
        with pytest.raises(DTypeError, match=f"^{op.caller}: {op.words.get(each.name, each.name)} ha"):
            op.infer(*specs)


@pytest.mark.parametrize("number", [10**6, -(10**6)])
@pytest.mark.parametrize(
    "name",
    [name for name in OPS if name not in _ELSEWHERE and any(each.is_index for _, each in _integers(name))],
)
def test_a_position_outside_is_an_error(name: str, number: int) -> None:
    op, inputs = _calls()[name]
    for place, each in _integers(name):
        if each.is_index:
            far = list(inputs)
            far[place] = np.full_like(far[place], number)
            with pytest.raises(InvalidArgumentError):
                bind(op, *[lift(x) for x in far])
