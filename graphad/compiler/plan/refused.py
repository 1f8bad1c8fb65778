"""Whose error a call raises whose sizes do not fit: the program's own check of them, if it made one, goes first.

The sizes of a call are followed through the whole graph before a node runs, while a check of the program is a node that runs. In
eager mode the check is made first, and its message tells the user more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from graphad.core.errors import GraphadError
from graphad.graph.builder import needed_nodes
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph, renumbered
from graphad.graph.walk import acts


def error_of_checks(graph: Graph, values: Sequence[Any]) -> GraphadError | None:
    """The error of the first check of a graph that fails, as far as nothing acts before it.

    Args:
      graph: The graph, whose sizes do not fit.
      values: The values of its inputs.
    """
    before = takewhile(lambda node: node.op.prints or not acts(node.op), graph.nodes)
    nodes = needed_nodes([node for node in before if not node.op.prints], ())
    kept = renumbered(nodes, {i: i for i in range(graph.first_node_value)}, graph.first_node_value)
    try:
        evaluate(Graph(graph.inputs, graph.constants, kept, (), graph.name), values)
    except GraphadError as error:  # of a check, or of what it reads
        return error
    return None
