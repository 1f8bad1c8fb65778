"""Records of graphs: nodes over tables of ops and specs, with sub-graphs and custom gradients by number.

Nodes are small because ops and specs are shared: a chain of 5,000 equal nodes has one op and one spec.
"""

from __future__ import annotations

from serialization.schema.values import ARRAY, VALUE, ArrayRecord, Value
from serialization.wire.codec import FLAG, INDEX, TEXT, Fields, Integer, Many, Maybe, Pair
from serialization.wire.record import Record


class OpRecord(Record):
    """An op by its registered name, its version and all its attributes."""

    name: str
    version: int
    attributes: tuple[tuple[str, Value], ...] = ()


class NodeRecord(Record):
    """One use of an op. `inputs` are value numbers; `specs`, one per output; `line` indexes the source lines."""

    op: int
    inputs: tuple[int, ...]
    specs: tuple[int, ...]
    line: int | None = None


class GraphRecord(Record):
    """Values are numbered: inputs, then constants, then the outputs of each node in order."""

    name: str | None
    inputs: tuple[int, ...]
    constants: tuple[ArrayRecord, ...]
    nodes: tuple[NodeRecord, ...]
    outputs: tuple[int, ...]


class RuleRecord(Record):
    """A custom gradient as a graph. `graph` None: it was not saved.

    Attributes:
      name: The name under which a registry may know it.
      counts: How inputs and outputs of the graph divide, by name (such as "inputs", "outputs", "residuals").
      present: Which inputs of the forward function receive a gradient.
      rules: The rules that `graph` refers to; cycles are allowed.
    """

    name: str
    graph: int | None
    counts: tuple[tuple[str, int], ...] = ()
    present: tuple[bool, ...] = ()
    rules: tuple[int, ...] = ()


NUMBERS = Many(INDEX)

OP = Fields(OpRecord, name=TEXT, version=Integer(1), attributes=Many(Pair(VALUE)))
NODE = Fields(NodeRecord, op=INDEX, inputs=NUMBERS, specs=NUMBERS, line=Maybe(INDEX))
GRAPH = Fields(
    GraphRecord,
    name=Maybe(TEXT),
    inputs=NUMBERS,
    constants=Many(ARRAY),
    nodes=Many(NODE, "nodes_per_graph", total="nodes"),
    outputs=NUMBERS,
)
RULE = Fields(
    RuleRecord, name=TEXT, graph=Maybe(INDEX), counts=Many(Pair(INDEX)), present=Many(FLAG), rules=NUMBERS
)
