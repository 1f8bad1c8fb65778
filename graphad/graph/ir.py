"""The immutable graph: values numbered in single assignment, nodes in the order in which they run.

Values: inputs 0..n-1, then constants, then the outputs of each node in turn. The order of the nodes is the schedule; nodes
with effects keep it. `Graph` compares by identity; equal structure is equal `digest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic

from graphad.core import dtypes
from graphad.core.op import Op
from graphad.core.schema import Kind, declare
from graphad.core.spec import TensorSpec
from graphad.core.turns import Turn

if TYPE_CHECKING:
    from typing_extensions import TypeVar  # has defaults, as Python's TypeVar has from 3.13 on

    from graphad.core.annotations import Array

    O = TypeVar("O", bound=Op, default=Op, covariant=True)
else:
    from typing import TypeVar

    O = TypeVar("O")


_AS_THEY_ARE: Mapping[Any, Sequence[int]] = {}


class Node(Generic[O]):
    """One application of an op; its outputs are the values start .. start + len(specs) - 1."""

    __slots__ = ("inputs", "line", "op", "specs", "start")

    def __init__(
        self, op: O, inputs: tuple[int, ...], start: int, specs: tuple[TensorSpec, ...], line: str | None
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.start = start
        self.specs = specs
        self.line = line

    @property
    def outputs(self) -> range:
        return range(self.start, self.start + len(self.specs))

    def __repr__(self) -> str:
        return f"Node({self.op!r}, {self.inputs}, outputs={list(self.outputs)})"


def renumbered(
    nodes: Iterable[Node],
    number: dict[int, int],
    following: int,
    outputs: Mapping[Node, Sequence[int]] = _AS_THEY_ARE,
) -> list[Node]:
    """Nodes taken out of one graph for another.

    Args:
      nodes: The nodes, in order.
      number: The new number of every value that they read and do not produce; their own values are added.
      following: The first number for their values.
      outputs: The remaining outputs of nodes that have lost some.
    """
    found = []
    known = number.__getitem__
    for node in nodes:
        inputs, specs, kept = tuple(map(known, node.inputs)), node.specs, outputs.get(node)
        if kept is None:
            kept = range(node.start, node.start + len(specs))
        elif len(kept) != len(specs):
            specs = tuple([specs[i - node.start] for i in kept])
        found.append(Node(node.op, inputs, following, specs, node.line))
        for value in kept:
            number[value] = following
            following += 1
    return found


JIT_COMPILE = "jit_compile"


# Attributes of TensorFlow's graphs.
_OF_TENSORFLOW = frozenset(
    "as_default as_graph_def as_graph_element building_function collections finalize get_all_collection_keys get_collection "
    "get_operation_by_name get_operations get_tensor_by_name graph_def_versions outer_graph structured_outputs version".split()
)


class Graph:
    """A function on tensors as plain data.

    Attributes:
      inputs: The specs of the inputs.
      constants: Read-only arrays; they are the values after the inputs.
      nodes: The nodes in the order in which they run.
      outputs: The value numbers that are returned.
      name: For people: the name of the function it came from.
      derived: Results derived from this graph, by keys of their users; they may refer to the graph and are freed with it.
        JIT_COMPILE holds the user's `jit_compile`, if given, and is inherited by the graphs of derivatives.
    """

    __slots__ = (
        "__weakref__",
        "_digest",
        "_effects",
        "_specs",
        "constants",
        "derived",
        "inputs",
        "name",
        "nodes",
        "outputs",
    )

    def __init__(
        self,
        inputs: Sequence[TensorSpec],
        constants: Sequence[Array],
        nodes: Sequence[Node],
        outputs: Sequence[int],
        name: str = "graph",
    ) -> None:
        self.inputs = tuple(inputs)
        self.constants = tuple(constants)
        self.nodes = tuple(nodes)
        self.outputs = tuple(outputs)
        self.name = name
        self.derived: dict[Any, Any] = {}
        self._specs: tuple[TensorSpec, ...] | None = None
        self._digest: str | None = None
        self._effects: int | None = None

    @property
    def first_node_value(self) -> int:
        return len(self.inputs) + len(self.constants)

    @property
    def specs(self) -> tuple[TensorSpec, ...]:
        """The spec of every value, by value number."""
        if self._specs is None:
            listed: list[TensorSpec] = [*self.inputs, *map(spec_of_constant, self.constants)]
            for node in self.nodes:
                listed.extend(node.specs)
            self._specs = tuple(listed)
        return self._specs

    @property
    def output_specs(self) -> tuple[TensorSpec, ...]:
        return tuple(map(self.specs.__getitem__, self.outputs))

    @property
    def effects(self) -> int:
        """The union of the effects of all nodes."""
        if self._effects is None:
            total = 0
            for node in self.nodes:
                total |= node.op.effects
            self._effects = total
        return self._effects

    @property
    def size(self) -> int:
        """How many values there are."""
        return len(self.specs)

    def handles(self) -> Iterator[int]:
        """The numbers of the inputs that are handles."""
        return (i for i, spec in enumerate(self.inputs) if spec.is_handle)

    def __getattr__(self, name: str) -> Any:
        told = (
            ": graphad's graphs are data of its own, not TensorFlow's GraphDef. `nodes`, `inputs` and `outputs` are its "
            "parts, graphad.explain shows the graph of a function, and saved_model.save writes it to a file."
            if name in _OF_TENSORFLOW
            else ""
        )
        raise AttributeError(f"'Graph' object has no attribute {name!r}{told}", name=name, obj=self)

    def __repr__(self) -> str:
        return f"<Graph {self.name}: {len(self.inputs)} inputs, {len(self.nodes)} nodes, {len(self.outputs)} outputs>"


declare(Kind("Graph", lambda x: isinstance(x, Graph), words="graph"))


def derived_once(graph: Graph, key: Any, derive: Callable[[], Any]) -> Any:
    """What is derived from the graph under a key; `derive` is called by one thread at a time, if it is not there yet."""

    def made() -> Any:
        if key not in graph.derived:
            graph.derived.setdefault(key, derive())
        return graph.derived[key]

    turn: Turn = graph.derived.get(Turn) or graph.derived.setdefault(Turn, Turn())
    return turn.take(made)


def spec_of_constant(array: Array) -> TensorSpec:
    """The spec of a constant."""
    return TensorSpec.of(array.shape, dtypes.from_numpy(array.dtype))
