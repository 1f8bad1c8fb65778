"""The row axis of each value of a graph, by the `rows` rules of its nodes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.annotations import RowAxis
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, output_specs
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node, spec_of_constant

if TYPE_CHECKING:
    from graphad.core.op import Op
    from graphad.ops.control.segments import Segment


def rows_of(
    graph: Graph, axes: Sequence[RowAxis], specs: Sequence[TensorSpec] | None = None, by_value: bool = False
) -> list[Any]:
    """For each output the row axis, None if it does not depend on rows, MIXED if rows interact.

    Args:
      graph: The graph.
      axes: The same for each input.
      specs: What is known of its inputs, where that is more than the graph says.
      by_value: Use the rows of the values themselves, and not of their derivatives.
    """
    known: list[Any] = [*axes, *[None] * len(graph.constants)]
    found = _specs_for(graph, specs)
    for node in graph.nodes:
        mine = [known[i] for i in node.inputs]
        known.extend(_node_rows(node, [found[i] for i in node.inputs], mine, by_value))
    return [known[i] for i in graph.outputs]


def _specs_for(graph: Graph, specs: Sequence[TensorSpec] | None) -> Sequence[TensorSpec]:
    """The specs of all values, inferred again from those of the inputs."""
    if specs is None or all(spec.is_definite for spec in graph.specs):
        return graph.specs
    found = [*specs, *map(spec_of_constant, graph.constants)]
    for node in graph.nodes:
        inferred = node.specs
        if not all(spec.is_definite for spec in node.specs):
            # If these specs do not fit, the graph's own specs are used, which are less precise but always valid.
            with contextlib.suppress(InvalidArgumentError):
                inferred = output_specs(node.op, [found[i] for i in node.inputs])
        found.extend(inferred)
    return found


def node_rows(graph: Graph, node: Node, axes: Sequence[RowAxis]) -> list[int | str | None]:
    """The row axes of a node's outputs, from those of its inputs."""
    return _node_rows(node, [graph.specs[i] for i in node.inputs], axes)


def _node_rows(
    node: Node, specs: Sequence[TensorSpec], axes: Sequence[RowAxis], by_value: bool = False
) -> list[int | str | None]:
    n = len(node.specs)
    if all(axis is None for axis in axes):
        return [None] * n
    if node.op.gradless is not None and not by_value:
        return [None] * n
    if MIXED in axes and not node.op.structured:
        return [MIXED] * n
    if not node.op.structured and any(spec.dims is None and not spec.is_handle for spec in specs):
        return [MIXED] * n  # without known ranks the position of a row axis is undetermined
    mixed: Any = axes  # for an op with sub-graphs MIXED may be among them
    found = node.op.value_rows(specs, mixed) if by_value else node.op.rows(specs, mixed)
    return list(found) if isinstance(found, tuple | list) else [found] * n


def rows_within(
    op: Op, specs: Sequence[TensorSpec], axes: Sequence[RowAxis], line: str | None
) -> tuple[Any, Any]:
    """The innermost op that mixes rows, and its line."""
    for field in ("graph", "then_graph", "else_graph", "body"):
        graph = getattr(op, field, None)
        if not op.structured or not isinstance(graph, Graph):
            continue
        passed: Segment = op.passed  # type: ignore[attr-defined]
        known: list[Any] = [*passed(axes), *[None] * len(graph.constants)]
        found = _specs_for(graph, passed(specs) if field != "body" else None)
        for node in graph.nodes:
            mine = [known[i] for i in node.inputs]
            out = _node_rows(node, [found[i] for i in node.inputs], mine)
            if MIXED in out and MIXED not in mine:
                return rows_within(node.op, [found[i] for i in node.inputs], mine, node.line or line)
            known.extend(out)
    return op, line
