"""Bind every node of a graph again at the current level; differentiation, batching and inlining work this way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.bind import bind_all
from graphad.core.levels import current
from graphad.core.tensor import EagerTensor
from graphad.graph.ir import Graph, Node

OnNode = Callable[[Node, list[Any]], Sequence[Any] | None]


def replay(graph: Graph, inputs: Sequence[Any], on_node: OnNode | None = None) -> list[Any]:
    """The outputs of the graph as values of the current level.

    Args:
      graph: The graph.
      inputs: A value of the current level for each input.
      on_node: Called first with each node and its inputs; returns the outputs, or None to bind the node unchanged.
    """
    level = current()
    known: list[Any] = list(inputs)
    make = EagerTensor if level is None else level.constant
    known.extend([make(array) for array in graph.constants])
    try:
        for node in graph.nodes:
            if level is not None:
                level.line = node.line
            values = [known[i] for i in node.inputs]
            outputs = None if on_node is None else on_node(node, values)
            known.extend(bind_all(node.op, values) if outputs is None else outputs)
    finally:
        if level is not None:
            level.line = None
    return [known[i] for i in graph.outputs]
