"""Which axis of each value of a graph is the row axis: the `rows` rules of its nodes, one after another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.op import MIXED
from graphad.graph.ir import Graph, Node


def rows_of(graph: Graph, axes: Sequence[Any]) -> list[Any]:
    """For each output the row axis, None if it does not depend on rows, MIXED if rows interact.

    Args:
      graph: The graph.
      axes: The same for each input.
    """
    known: list[Any] = [*axes, *[None] * len(graph.constants)]
    for node in graph.nodes:
        known.extend(node_rows(graph, node, [known[i] for i in node.inputs]))
    return [known[i] for i in graph.outputs]


def node_rows(graph: Graph, node: Node, axes: Sequence[Any]) -> list[Any]:
    """What one node makes of the row axes of its inputs."""
    n = len(node.specs)
    if all(axis is None for axis in axes):
        return [None] * n
    if node.op.gradless is not None:
        return [None] * n
    if MIXED in axes and not node.op.structured:
        return [MIXED] * n
    found = node.op.rows([graph.specs[i] for i in node.inputs], axes)
    return list(found) if isinstance(found, tuple | list) else [found] * n


def joined_rows(axes: Sequence[Any]) -> Any:
    """The row axis of a value that may come from any of several."""
    found = {axis for axis in axes if axis is not None}
    return None if not found else found.pop() if len(found) == 1 else MIXED
