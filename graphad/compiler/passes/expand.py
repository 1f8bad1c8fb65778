"""Nodes in terms of others: what an op says of itself (`Op.expanded`), for devices where kernels and products beat an eval.

before:  %2 = max_pool(%0)
after:   %2 = pad(%0, -inf);  %3 = patches(%2);  %4 = reduce_max(%3)

The ops that replace a node are traced. The new nodes may be expanded in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.compiler.passes import dead
from graphad.compiler.passes.rewrite import RuleTable, Sweep, sweep
from graphad.core.op import Op
from graphad.core.shapes import is_definite
from graphad.graph.ir import Graph, Node
from graphad.trace.tracer import trace_flat

TABLE = RuleTable()


def expanded(graph: Graph) -> Graph:
    """The graph with its nodes expanded; the same object if none is."""
    if not any(_says(node.op.op_class) for node in graph.nodes):
        return graph
    after = sweep(graph, TABLE)
    return graph if after is graph else dead.run(after)


def _says(kind: type[Op]) -> bool:
    return kind.expanded is not Op.expanded


@TABLE.rewrite(_says)
def _expand(sweep: Sweep, node: Node) -> Sequence[int] | None:
    if node.op.multiple:
        return None
    specs = [sweep.spec(value) for value in node.inputs]
    if not all(is_definite(spec.dims) for spec in specs):
        return None
    traced = _traced(node.op, specs)
    if traced is None:
        return None
    graph, captures = traced.graph, traced.captures
    new = [*node.inputs, *[sweep.constant(x.data) for x in captures]]
    new += [sweep.constant(data) for data in graph.constants]
    for inner in graph.nodes:
        new.extend(sweep.add(inner.op, [new[value] for value in inner.inputs], inner.specs, node.line))
    return [new[value] for value in graph.outputs]


def _traced(op: Op, specs: Sequence[Any]) -> Any:
    """The trace of the ops to which an op expands; None if it does not expand."""
    found: list[Any] = []

    def run(*inputs: Any) -> list[Any]:
        found.append(op.expanded(*inputs))
        return [inputs[0] if found[0] is None else found[0]]

    traced = trace_flat(run, specs)
    return None if found[0] is None else traced
