"""Drop unused nodes, unused constants, and unused outputs of ops with sub-graphs.

before:  %2 = exp(%0);  %3, %4 = loop(%0, ...);  return %3
after:   %2 = loop(%0, ...);  return %2

Nodes that write or print stay, and those that find sizes. An op with sub-graphs has a method `pruned(used)` for this: given
which outputs are read, it returns (op, positions of the remaining inputs, positions of the remaining outputs), or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.core.op import Op
from graphad.graph.ir import Graph, Node, renumbered

if TYPE_CHECKING:
    from graphad.compiler.pipeline import Options
    from graphad.core.annotations import Array


# An op without what is not needed, and the positions of the inputs and outputs that are left.
Pruned = tuple[Op, Sequence[int], Sequence[int]]


def run(graph: Graph, options: Options | None = None) -> Graph:
    wanted = [False] * graph.size
    for value in graph.outputs:
        wanted[value] = True
    kept: list[tuple[Node, Pruned | None]] = []
    changed = False
    for node in reversed(graph.nodes):
        used = [wanted[value] for value in node.outputs]
        if not any(used) and not node.op.stays:
            changed = True
            continue
        pruned = _pruned(node, used)
        positions: Sequence[int] = range(len(node.inputs)) if pruned is None else pruned[1]
        changed = changed or pruned is not None
        for k in positions:
            wanted[node.inputs[k]] = True
        kept.append((node, pruned))
    unread = any(not wanted[value] for value in range(len(graph.inputs), graph.first_node_value))
    return _rebuilt(graph, kept[::-1], wanted) if changed or unread else graph


def _pruned(node: Node, used: Sequence[bool]) -> Pruned | None:
    if not node.op.structured or all(used):
        return None
    rule = getattr(node.op, "pruned", None)
    return None if rule is None else rule(used)


def _rebuilt(graph: Graph, kept: Sequence[tuple[Node, Pruned | None]], wanted: Sequence[bool]) -> Graph:
    number = {i: i for i in range(len(graph.inputs))}
    constants: list[Array] = []
    for k, array in enumerate(graph.constants, len(graph.inputs)):
        if wanted[k]:
            number[k] = len(graph.inputs) + len(constants)
            constants.append(array)
    left: dict[Node, Sequence[int]] = {}
    nodes = []
    for node, pruned in kept:
        if pruned is not None:
            op, inputs, outputs = pruned
            node, of = (
                Node(op, tuple([node.inputs[k] for k in inputs]), node.start, node.specs, node.line),
                node,
            )
            left[node] = [of.start + k for k in outputs]
        nodes.append(node)
    nodes = renumbered(nodes, number, len(graph.inputs) + len(constants), left)
    return Graph(graph.inputs, constants, nodes, [number[i] for i in graph.outputs], graph.name)
