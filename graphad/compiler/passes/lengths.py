"""Stacks that certainly have one length, although only the run knows it, need not be brought to the shape of each other.

before:  %3, %4 = loop(...): f[None, 4], f[None, 4];  %5 = shape(%4);  %6 = reshape(%3, shape=(%5[0], 4))
after:   %3, %4 = loop(...): f[None, 4], f[None, 4];  %6 = %3

What a loop collects is as long as the first stack that it walks along, else as there were rounds. In a round that holds for the
loops inside; and slices of two stacks have one length where a round of one loop has collected both from loops of one length, or
has collected one from a loop along the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from graphad.compiler.passes.canonical import same_size
from graphad.compiler.passes.rewrite import RuleTable, Sweep
from graphad.core.references import is_reference
from graphad.graph.ir import Graph, Node
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.shape import Shape
from graphad.ops.control.kinds import is_loop, loops

if TYPE_CHECKING:
    from graphad.compiler.passes.rewrite import Found
    from graphad.core.shapes import Dims
    from graphad.core.spec import TensorSpec
    from graphad.ops.control.loop import Loop

TABLE = RuleTable()
Maker = Callable[[int], Node | None]
_SLICE = "a slice"


class _Scope:
    """A graph whose loops are looked at: who makes a value, and, for a round of a loop, what is known of its slices.

    Attributes:
      path: The loops around it, by their first value.
      given: For each input that is a slice of a stack, what its length is known as.
    """

    def __init__(self, maker: Maker, path: tuple[int, ...], given: Mapping[int, Any]) -> None:
        self.maker, self.path, self.given = maker, path, given

    def inside(self, loop: Node[Loop]) -> _Scope:
        """A round of one of its loops."""
        op = loop.op
        stacks = zip(op.operands.xs, op.inputs.xs(loop.inputs), strict=True)
        given = {k: (_SLICE, self.of_slices(value)) for k, value in stacks}
        return _Scope(makers(op.body).get, (*self.path, loop.start), given)

    def _collected(self, value: int) -> tuple[Node[Loop], int] | None:
        """The loop that collects a value, and the value of its round."""
        loop = self.maker(value)
        if loop is None or not is_loop(loop):
            return None
        op = loop.op
        k = value - loop.start
        return (loop, op.body.outputs[op.slice_in(k)]) if k in op.outputs.ys else None

    def of(self, value: int) -> Any:
        """The length of a stack, in terms that are equal for stacks of one length."""
        found = self._collected(value)
        if found is None:
            return self.given.get(value, ("value", self.path, value))
        loop = found[0]
        op = loop.op
        if op.n_xs:
            return self.of(op.inputs.xs(loop.inputs)[0])
        if op.test is not None:
            return "rounds", self.path, loop.start
        (limit,) = op.inputs.limit(loop.inputs)
        counted = self.maker(limit)
        if counted is not None and is_loop(counted):
            if limit - counted.start in counted.op.outputs.count:
                return "rounds", self.path, counted.start
        return "limit", self.path, limit

    def of_slices(self, value: int) -> Any:
        """The lengths of a stack's slices, if these are stacks, in such terms."""
        found = self._collected(value)
        if found is None:
            return "slices", self.path, value
        inner = self.inside(found[0])
        length = inner.of(found[1])
        return length[1] if length[0] == _SLICE else ("each", inner.path, length)

    def is_idle(self, node: Node, specs: Callable[[int], TensorSpec]) -> bool:
        """Whether a node brings a stack to the shape that it has."""
        op = node.op
        if not isinstance(op, Reshape) or len(node.inputs) != 2:
            return False
        value, sizes = node.inputs[0], self.maker(node.inputs[1])
        if sizes is None or sizes.op.op_class is not Shape:
            return False
        like = sizes.inputs[0]
        mine, theirs = specs(value).dims, specs(like).dims
        if not _alike(mine, theirs) or not _alike(mine, node.specs[0].dims):
            return False
        for axis, (size, wanted) in enumerate(zip(mine or (), op.shape, strict=True)):
            if is_reference(wanted):
                lengths = self.of if axis == 0 else self.of_slices
                if wanted != ("at", 1, axis):
                    return False
                if size is None and (axis > 1 or lengths(value) != lengths(like)):
                    return False
            elif not same_size(size, wanted):
                return False
        return True


def _alike(a: Dims, b: Dims) -> bool:
    """Whether two shapes are certainly equal as far as they are known, and unknown in the same places."""
    if a is None or b is None or len(a) != len(b):
        return False
    return all(same_size(x, y) or (x is None and y is None) for x, y in zip(a, b, strict=True))


def makers(graph: Graph) -> dict[int, Node]:
    """The node behind each value."""
    return {value: node for node in graph.nodes for value in node.outputs}


@TABLE.rewrite(Reshape)
def reshape_of_a_stack(s: Sweep, node: Node[Reshape]) -> int | None:
    """A reshape of a stack to the shape of another of its length."""
    return node.inputs[0] if _Scope(s.producer, (), {}).is_idle(node, s.spec) else None


@TABLE.rewrite(loops)
def reshapes_in_rounds(s: Sweep, node: Node[Loop]) -> Found:
    """The same in a round, whose slices are known from what was collected before."""
    op = node.op
    if not any(each.op.op_class is Reshape and len(each.inputs) == 2 for each in op.body.nodes):
        return None
    body, scope = op.body, _Scope(s.producer, (), {}).inside(node)
    used = {i for each in body.nodes for i in each.inputs} | {*body.outputs}
    new: dict[int, int] = {}
    for each in body.nodes:
        if each.start in used and scope.is_idle(each, body.specs.__getitem__):
            new[each.start] = new.get(each.inputs[0], each.inputs[0])
    if not new:
        return None
    nodes = [
        Node(each.op, tuple([new.get(i, i) for i in each.inputs]), each.start, each.specs, each.line)
        for each in body.nodes
    ]
    outputs = tuple([new.get(i, i) for i in body.outputs])
    changed = Graph(body.inputs, body.constants, tuple(nodes), outputs, body.name)
    return s.add(op.changed(body=changed), node.inputs, node.specs, node.line)
