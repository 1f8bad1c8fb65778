"""Graphs built from other graphs: with other inputs, appended to each other, or with invariant nodes taken out.

Each function also returns the number of every old value in the new graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from graphad.core.op import Op, output_specs
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.ir import Graph, Node, renumbered
from graphad.graph.walk import gives_result, unchanging


def rewired(
    graph: Graph, inputs: Sequence[TensorSpec], positions: Sequence[int]
) -> tuple[Graph, dict[int, int]]:
    """The graph with other inputs, where input i becomes number positions[i]; returns also the new numbers of values."""
    number = dict(enumerate(positions))
    shift = len(inputs) - len(graph.inputs)
    number.update((i, i + shift) for i in range(len(graph.inputs), graph.first_node_value))
    nodes = renumbered(graph.nodes, number, graph.first_node_value + shift)
    return Graph(inputs, graph.constants, nodes, [number[i] for i in graph.outputs], graph.name), number


def with_inputs(graph: Graph, kept: Sequence[int]) -> Graph:
    """The graph with only some of its inputs; nothing may read the others."""
    place = {i: k for k, i in enumerate(kept)}
    positions = [place.get(i, -1) for i in range(len(graph.inputs))]
    return rewired(graph, [graph.inputs[i] for i in kept], positions)[0]


def append(builder: GraphBuilder, graph: Graph, inputs: Sequence[int]) -> list[int]:
    """Append the nodes of a graph to a builder; returns the serial numbers of its outputs."""
    known = append_all(builder, graph, inputs)
    return [known[i] for i in graph.outputs]


def append_all(
    builder: GraphBuilder,
    graph: Graph,
    inputs: Sequence[int],
    instead: Mapping[int, int] = MappingProxyType({}),
) -> list[int]:
    """Append the nodes of a graph to a builder; returns the serial number of every value.

    Args:
      builder: The builder.
      graph: The graph.
      inputs: The serial numbers of its inputs.
      instead: Values of the graph -> the serial numbers that its nodes read for them.
    """
    known = [*inputs, *[builder.add_constant(array) for array in graph.constants]]
    for node in graph.nodes:
        start = builder.add_node(node.op, [known[i] for i in node.inputs], node.specs, node.line)
        known += [instead.get(value, start + k) for k, value in enumerate(node.outputs)]
    return known


def with_given(graph: Graph, specs: Sequence[TensorSpec], places: Mapping[int, int], behind: int) -> Graph:
    """The graph with further inputs that replace some of its values, which are no longer computed.

    Args:
      graph: The graph.
      specs: The further inputs.
      places: Values of nodes -> the numbers of the further inputs that replace them.
      behind: The number of inputs that stand before the further ones.
    """
    builder = GraphBuilder()
    inputs = [builder.add_input(spec) for spec in graph.inputs]
    further = [builder.add_input(spec) for spec in specs]
    known = append_all(builder, graph, inputs, {value: further[k] for value, k in places.items()})
    order = [*inputs[:behind], *further, *inputs[behind:]]
    return builder.finish([known[i] for i in graph.outputs], graph.name, order)[0]


def add(builder: GraphBuilder, op: Op, *inputs: int) -> Any:
    """Append one op to a builder; returns the serial number of its output, or a tuple of them."""
    specs = output_specs(op, [builder.specs[i] for i in inputs])
    start = builder.add_node(op, inputs, specs)
    return tuple(range(start, start + len(specs))) if op.multiple else start


def inputs_behind(
    graph: Graph, outputs: Iterable[int], by_value: bool = False, but_masks: bool = False
) -> set[int]:
    """The inputs from which the values `outputs` are computed. Nodes that run although nothing reads them count as outputs.

    Args:
      graph: The graph.
      outputs: The values.
      by_value: Omit inputs of which only the shape is read.
      but_masks: With `by_value`, also omit inputs that are read only to tell which elements a `where` took.
    """
    wanted = set(outputs)
    for node in reversed(graph.nodes):
        used = [i in wanted for i in node.outputs]
        if node.op.stays or any(used):
            read = node.op.values_read(used, but_masks) if by_value else None
            wanted.update(node.inputs if read is None else [node.inputs[k] for k in read])
    return {i for i in wanted if i < len(graph.inputs)}


def values_behind(graph: Graph, used: Sequence[bool], but_masks: bool = False) -> list[int]:
    """The inputs on whose values the used outputs of a graph depend; `but_masks` as in `inputs_behind`."""
    outputs = [i for i, use in zip(graph.outputs, used, strict=True) if use]
    return sorted(inputs_behind(graph, outputs, by_value=True, but_masks=but_masks))


def invariant_nodes(graph: Graph, varying: int, reads_too: bool) -> list[Node]:
    """The nodes that depend only on constants and on inputs from number `varying` on, in order.

    Nodes that may raise, or whose result is much larger than their operands, stay in the body, which may never run.
    Differentiable nodes count only if their derivative needs no value: in a loop without steps the others would receive zero
    cotangents, and zero times the slope at a pole is NaN. The compiler moves those after differentiation.

    Args:
      graph: The body of a loop whose first `varying` inputs change from step to step.
      varying: The number of changing inputs.
      reads_too: Whether reads of a variable give the same value in every step.
    """
    smooth = {i for i in range(varying, len(graph.inputs)) if graph.specs[i].dtype.is_differentiable}

    def accepts(node: Node, is_fixed: bool) -> bool:
        op = node.op
        reads = reads_too and op.loads
        if not is_fixed or not (reads or (gives_result(graph, node) and not op.copies)):
            return False
        followed = op.gradless is None and any(i in smooth for i in node.inputs)
        if followed and any(op.keeps) and not reads:
            return False
        if followed or reads:
            smooth.update(node.outputs)
        return True

    return unchanging(graph, set(range(varying, graph.first_node_value)), accepts)


def without_nodes(graph: Graph, gone: Sequence[Node], keep_all: bool) -> tuple[Graph, Graph, dict[int, int]]:
    """Split a graph: the nodes `gone` become a graph of their own, whose outputs are further inputs of the rest.

    Args:
      graph: The graph.
      gone: Nodes that depend on inputs and constants only.
      keep_all: Return every value of `gone`, not only those that are read.
    Returns: The graph of `gone` (with the same inputs), the rest, and the numbers of values in the rest.
    """
    dropped = set(gone)
    values = [i for node in gone for i in node.outputs]
    left = [node for node in graph.nodes if node not in dropped]
    read = {i for node in left for i in node.inputs} | set(graph.outputs)
    handed = [i for i in values if keep_all or i in read]
    first = _selected(graph, gone, handed)
    n = len(graph.inputs)
    number = {i: i for i in range(n)}
    number.update((i, n + k) for k, i in enumerate(handed))
    number.update((n + k, n + len(handed) + k) for k in range(len(graph.constants)))
    nodes = renumbered(left, number, n + len(handed) + len(graph.constants))
    inputs = [*graph.inputs, *[graph.specs[i] for i in handed]]
    rest = Graph(inputs, graph.constants, nodes, [number[i] for i in graph.outputs], graph.name)
    return first, rest, number


def _selected(graph: Graph, nodes: Sequence[Node], outputs: Sequence[int]) -> Graph:
    number = {i: i for i in range(graph.first_node_value)}
    out = renumbered(nodes, number, graph.first_node_value)
    return Graph(graph.inputs, graph.constants, out, [number[i] for i in outputs], f"{graph.name}_invariant")
