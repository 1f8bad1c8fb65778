"""Checks that a graph is well formed, node by node; used after each pass in tests and on every loaded file."""

from __future__ import annotations

from graphad.core.errors import GraphadError, InternalError
from graphad.core.op import output_specs
from graphad.core.shapes import are_compatible
from graphad.graph.ir import Graph
from graphad.graph.text import print_graph
from graphad.graph.walk import sub_graphs


def verify(graph: Graph, blame: str = "graph") -> None:
    """Raise InternalError, naming `blame` and showing the graph, unless the graph is well formed."""
    following = graph.first_node_value
    for position, node in enumerate(graph.nodes):
        where = f"{blame}: node {position} ({node.op.name})"
        if node.start != following:
            raise _broken(graph, f"{where} starts at value {node.start}, expected {following}")
        for value in node.inputs:
            if not 0 <= value < following:
                raise _broken(graph, f"{where} reads value {value} before it exists")
        specs = [graph.specs[value] for value in node.inputs]
        try:
            wanted = output_specs(node.op, specs)
        except GraphadError as cause:
            raise _broken(graph, f"{where} does not take its inputs: {cause}") from cause
        if len(wanted) != len(node.specs):
            raise _broken(graph, f"{where} has {len(node.specs)} outputs, infer says {len(wanted)}")
        for mine, theirs in zip(node.specs, wanted, strict=True):
            if theirs.dims is not None and type(theirs.dims) is not tuple:
                raise _broken(graph, f"{where} has sizes {theirs.dims!r}, which infer must give as a tuple")
            if mine.dtype is not theirs.dtype or not are_compatible(mine.dims, theirs.dims):
                raise _broken(graph, f"{where} is marked {mine}, infer says {theirs}")
        for inner in sub_graphs(node.op):
            verify(inner, f"{where}, sub-graph {inner.name}")
        following += len(node.specs)
    for value in graph.outputs:
        if not 0 <= value < following:
            raise _broken(graph, f"{blame}: output {value} does not exist")


def _broken(graph: Graph, message: str) -> InternalError:
    return InternalError(f"{message}\n{print_graph(graph)}")
