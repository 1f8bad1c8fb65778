"""The mutable builder: collects inputs, constants and nodes in any order and returns a `Graph`.

Values get serial numbers while building, since captures may come at any time; `finish` renumbers them in the order of `Graph`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from graphad.core.op import Op
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node, renumbered, spec_of_constant


class GraphBuilder:
    """Collects a graph. `specs[i]` is the spec of serial number i.

    Attributes:
      values: The constants.
      folded: Known integer outputs of nodes, with `UNKNOWN` for unknown elements.
    """

    def __init__(self) -> None:
        self.specs: list[TensorSpec] = []
        self.inputs: list[int] = []
        self.constants: list[tuple[int, Any]] = []
        self.nodes: list[Node] = []
        self.values: dict[int, Any] = {}
        self.folded: dict[int, Any] = {}
        self._scalars: dict[Any, int] = {}

    def add_input(self, spec: TensorSpec) -> int:
        serial = self._new(spec)
        self.inputs.append(serial)
        return serial

    def add_constant(self, array: Any) -> int:
        """A constant; equal scalars share one value."""
        key = None
        if not array.shape:
            key = (array.dtype.str, array.tobytes())
            known = self._scalars.get(key)
            if known is not None:
                return known
        elif array.flags.writeable:
            array = array.view()
            array.flags.writeable = False
        serial = self._new(spec_of_constant(array))
        self.constants.append((serial, array))
        self.values[serial] = array
        if key is not None:
            self._scalars[key] = serial
        return serial

    def add_node(
        self, op: Op, inputs: Sequence[int], specs: Sequence[TensorSpec], line: str | None = None
    ) -> int:
        """A node; returns the serial number of its first output."""
        start = len(self.specs)
        self.specs.extend(specs)
        self.nodes.append(Node(op, tuple(inputs), start, tuple(specs), line))
        return start

    def _new(self, spec: TensorSpec) -> int:
        self.specs.append(spec)
        return len(self.specs) - 1

    def finish(
        self,
        outputs: Iterable[int],
        name: str = "graph",
        inputs: Sequence[int] | None = None,
        keep_all: bool = False,
    ) -> tuple[Graph, dict[int, int]]:
        """The graph, and the value number of each serial number.

        Args:
          outputs: Serial numbers to return.
          name: Name of the graph.
          inputs: The inputs in their order, all of them by default.
          keep_all: Keep nodes that nothing reads; otherwise only effects and what outputs need are kept.
        """
        outputs = list(outputs)
        nodes = self.nodes if keep_all else needed_nodes(self.nodes, outputs)
        used = {serial for node in nodes for serial in node.inputs} | set(outputs)
        order = list(self.inputs if inputs is None else inputs)
        number = {serial: i for i, serial in enumerate(order)}
        constants: list[Any] = []
        for serial, array in self.constants:
            if keep_all or serial in used:
                number[serial] = len(order) + len(constants)
                constants.append(array)
        kept = renumbered(nodes, number, len(order) + len(constants))
        specs = tuple(map(self.specs.__getitem__, order))
        graph = Graph(specs, constants, kept, tuple(map(number.__getitem__, outputs)), name)
        return graph, number


def needed_nodes(nodes: Sequence[Node], outputs: Iterable[int]) -> list[Node]:
    """The nodes that write, print, find a size, or compute something the outputs need, in order."""
    wanted = set(outputs)
    kept = []
    for node in reversed(nodes):
        if node.op.stays or not wanted.isdisjoint(node.outputs):
            wanted.update(node.inputs)
            kept.append(node)
    kept.reverse()
    return kept
