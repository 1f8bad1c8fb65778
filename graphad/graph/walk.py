"""Questions about a graph: last uses, sub-graphs, constants, what stays the same; and the graph with other outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from graphad.core.op import IO, READS, WRITES, Op
from graphad.graph.builder import needed_nodes
from graphad.graph.ir import Graph, Node, renumbered

if TYPE_CHECKING:
    from graphad.core.annotations import Array

Key = TypeVar("Key")


def last_steps(steps: Iterable[Iterable[Key]]) -> dict[Key, int]:
    """For each value the number of the last step that has to do with it, in the order of the first ones."""
    return {value: k for k, values in enumerate(steps) for value in values}


def last_uses(graph: Graph, kept: Iterable[int] = ()) -> list[list[int]]:
    """For every node, the values that nothing reads after it, each once; the graph's outputs and `kept` are read to the end."""
    last: list[list[int]] = [[] for _ in graph.nodes]
    held = {*graph.outputs, *kept}
    for value, k in last_steps((*node.inputs, *node.outputs) for node in graph.nodes).items():
        if value not in held:
            last[k].append(value)
    return last


def sub_graphs(op: Op) -> list[Graph]:
    """The graphs an op holds."""
    return [value for value in (getattr(op, field) for field in op.attributes) if isinstance(value, Graph)]


def gives_result(graph: Graph, node: Node) -> bool:
    """Whether a node has a result for all values of its inputs, and no effect; see `Op.takes_all`."""
    return node.op.takes_all(
        [graph.specs[i] for i in node.inputs], lambda k: constant_at(graph, node.inputs[k])
    )


def constant_at(graph: Graph, value: int) -> Array | None:
    """The constant with this value number, None if the value is not a constant."""
    number = value - len(graph.inputs)
    return graph.constants[number] if 0 <= number < len(graph.constants) else None


def increment(body: Graph, k: int) -> int | None:
    """The constant other than 0 that a step of a loop adds to carry k."""
    node = next((node for node in body.nodes if body.outputs[k] in node.outputs), None)
    if node is None or not node.op.counts:
        return None
    a, b = node.inputs
    if node.op.counts > 0 and b == k:
        a, b = b, a
    data = constant_at(body, b) if a == k else None
    if data is None or np.size(data) != 1 or data.dtype.kind not in "iu" or int(data) == 0:
        return None
    return node.op.counts * int(data)


def unchanging(graph: Graph, fixed: set[int], accepts: Callable[[Node, bool], bool]) -> list[Node]:
    """The nodes of a repeatedly run graph that compute the same each time, in order.

    Args:
      graph: The graph.
      fixed: The values that are the same each time; values of the found nodes are added.
      accepts: Called with every node in order, and whether all its operands are fixed; returns whether the node counts.
    """
    found = []
    for node in graph.nodes:
        is_fixed = all(i in fixed for i in node.inputs)
        if accepts(node, is_fixed) and is_fixed:
            found.append(node)
            fixed.update(node.outputs)
    return found


def runs_user_code(op: Op) -> bool:
    """Whether an op, or one in the graphs that it holds, calls a user's function."""
    return op.extension or any(runs_user_code(node.op) for graph in sub_graphs(op) for node in graph.nodes)


def may_write(graph: Graph) -> bool:
    """Whether a run may assign variables: by an op, or by a user's function that has effects."""
    effects = graph.effects
    if effects & WRITES or not effects & IO:
        return bool(effects & WRITES)
    return any(map(_acts_as_user, graph.nodes))


def written_by(graph: Graph, node: Node) -> list[int]:
    """The inputs of a graph that are variables and that a node of it may assign: those that it has, or all, by a user's
    function."""
    if _acts_as_user(node):
        return [i for i, spec in enumerate(graph.inputs) if spec.is_handle]
    if not node.op.effects & WRITES:
        return []
    return [i for i in node.inputs if i < len(graph.inputs) and graph.inputs[i].is_handle]


def _acts_as_user(node: Node) -> bool:
    return bool(node.op.effects & IO) and runs_user_code(node.op)


def acts(op: Op) -> bool:
    """Whether an op, or one in its sub-graphs, has an effect that would be visible if it happened twice. Raising an error does
    not count."""
    if not op.effects & ~READS:
        return False
    inner = sub_graphs(op)
    if not inner:
        return not op.checks and (op.in_steps is None or bool(np.any(op.in_steps[1])))
    return any(acts(node.op) for graph in inner for node in graph.nodes)


def acts_once(op: Op) -> bool:
    """Whether an op, or one in its sub-graphs, has an effect that a repeated run would repeat."""
    inner = sub_graphs(op)
    if not inner:
        return acts(op) and not op.prints
    return any(acts_once(node.op) for graph in inner for node in graph.nodes)


def only_speaks(op: Op) -> bool:
    """Whether an op, with its sub-graphs, has no other effects than raising errors and printing."""
    return bool(op.effects) and not op.effects & ~IO and not acts_once(op)


def expanded_nodes(graph: Graph) -> int:
    """The number of nodes with every sub-graph inlined: both branches, and a loop's body once."""
    found: int | None = graph.derived.get(expanded_nodes)
    if found is None:
        found = len(graph.nodes)
        for node in graph.nodes:
            if node.op.structured:
                found += sum(map(expanded_nodes, sub_graphs(node.op)))
        graph.derived[expanded_nodes] = found
    return found


def with_outputs(graph: Graph, outputs: Sequence[int]) -> Graph:
    """The same graph with other outputs; nodes that are no longer needed are dropped."""
    nodes = needed_nodes(graph.nodes, outputs)
    if len(nodes) == len(graph.nodes):
        return Graph(graph.inputs, graph.constants, graph.nodes, outputs, graph.name)
    number = {i: i for i in range(graph.first_node_value)}
    kept = renumbered(nodes, number, graph.first_node_value)
    return Graph(graph.inputs, graph.constants, kept, [number[i] for i in outputs], graph.name)
