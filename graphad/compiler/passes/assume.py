"""Sizes of slices whose bounds only the run knows, as they are unless a slice is clipped: x[i:i + 4] has 4 elements.

before:  %2 = add(%1, 4);  %3 = getitem(%0, [%1:%2]), of shape [?]
after:   %2 = add(%1, 4);  %3 = getitem(%0, [%1:%2 of 4]), of shape [4]

The graph is replayed, so that all shapes behind it are known too. An op checks the size that it is said to have: this graph is
for runs that are made again without it where it has another one. What was computed from such a shape alone is a number then, and
the op that would check it may be dropped: `is_checked` tells.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from graphad.compiler.passes import dead
from graphad.core.dims import UndecidedSize
from graphad.core.errors import GraphadError
from graphad.core.op import IO, Op
from graphad.core.shapes import is_definite
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import sub_graphs
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.slice import GetItemGrad
from graphad.ops.math.arithmetic import Add, Mul, Sub
from graphad.ops.math.cast import Cast
from graphad.ops.math.select import Minimum
from graphad.trace.specialise import specialise
from graphad.trace.specialiser import Specialiser

_DEEP = 8  # ops that are looked through


Checks = Mapping[Op, Any]  # what each op checks; equal for ops that check the same


def assumed(graph: Graph) -> tuple[Graph, Checks] | None:
    """A specialised graph with assumed sizes, and what its ops check; None where there is nothing to assume."""
    made: dict[Op, Any] = {}
    try:
        making = functools.partial(_Assuming, made, bool(graph.effects & IO))
        found = specialise(graph, graph.inputs, making=making)
    except (GraphadError, UndecidedSize):
        return None  # sizes that do not fit the others are not the actual ones
    held = _ops(found)
    made = {op: check for op, check in made.items() if op in held}  # some graphs are replayed several times
    return (found, made) if made else None


def is_checked(graph: Graph, checks: Checks) -> bool:
    """Whether a graph that was made from one with assumed sizes still checks all of them, by ops that run."""
    held = _ops(graph, True)
    return {*checks.values()} == {check for op, check in checks.items() if op in held}


def relies(op: Op, checks: Checks) -> bool:
    """Whether an op, or one in the graphs that it holds, is one of these."""
    return op in checks or any(relies(node.op, checks) for graph in sub_graphs(op) for node in graph.nodes)


def _ops(graph: Graph, are_needed: bool = False) -> set[Op]:
    """The ops of a graph, and those in the graphs that they hold. If asked, only those whose results are needed or that act: of
    a branch, native code and NumPy run no others.
    """
    found = {node.op for node in (dead.run(graph) if are_needed else graph).nodes}
    for op in [op for op in found if op.structured]:
        for inner in sub_graphs(op):
            found |= _ops(inner, are_needed)
    return found


class _Assuming(Specialiser):
    """A replay that gives slices the size that is their bounds' difference; `made` collects what the ops check that rely on it.

    Each of these ops is an object of its own, so that it can be found again. A graph that prints shows sizes before what comes
    later may check them: there each slice has to be checked where it is.
    """

    def __init__(self, made: dict[Op, Any], prints: bool, *given: Any) -> None:
        super().__init__(*given)
        self._made = made
        self._prints = prints
        self._own: dict[Any, Op] = {}
        self._makers: dict[int, Node] = {}
        self._numbers: dict[Any, int] = {}
        self._read = 0

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        if op.refers:

            def difference(i: int, j: int) -> Any:
                return self._difference(self._number(inputs[i]), self._number(inputs[j]), _DEEP)

            likely = op.with_likely_sizes(difference)
            if likely is not op:
                op = self._apart(likely, inputs)
        return super().process(op, inputs)

    def specialised(self, graph: Graph, operands: Sequence[Any]) -> Graph:
        self._shared = {}  # each has ops of its own
        return super().specialised(graph, operands)

    def _apart(self, op: Any, inputs: Sequence[Any]) -> Op:
        """An op that is equal to this one and another object, the same for what checks the same."""
        own = len(inputs) - op.given
        dims = op.shape if op.op_class is GetItemGrad else inputs[0].dims  # of what the slices are of
        check: Any = object()
        if is_definite(dims):
            place = (op, *[self.serial(x, op) for x in inputs[:own]]) if self._prints else ()
            check = (self, place, op.key, dims, *map(self._same, inputs[own:]))
        found = self._own.get((op, check))
        if found is None:
            found = self._own[op, check] = object.__new__(type(op))
            found.__dict__.update(op.__dict__)
            self._made[found] = check
        return found

    def finish(
        self, outputs: Sequence[Any], op: Op, keep_all: bool = False, own_inputs: Sequence[Any] = ()
    ) -> Graph:
        return super().finish(
            outputs, op, True, own_inputs
        )  # also what is not needed any more: `is_checked` asks for it

    def _same(self, x: Any) -> Any:
        """What is equal for operands that certainly have the same value."""
        number = self._number(x)
        return number.size if type(number) is _Size else ("value", self._number_of(number, _DEEP))

    def _number(self, x: Any) -> Any:
        """An operand as a value of the new graph, or the size that it is."""
        known = self.known(x)
        return x.index if known is None else _Size(known[0])

    def _difference(self, x: Any, y: Any, deep: int) -> Any:
        """x - y where that is a number or a size, else None; of a minimum that of the operand which differs by one."""
        maker = self._maker(x)
        if maker is not None and deep and maker.op.op_class is Minimum:
            found = [self._difference(i, y, deep - 1) for i in maker.inputs]
            return next((size for size in found if size is not None), None)
        (a, m), (b, n) = self._affine(x, deep), self._affine(y, deep)
        return m - n if a == b else None

    def _affine(self, x: Any, deep: int) -> tuple[dict[int, int], Any]:
        """An integer as a sum of values, each with a factor, and of a number or size."""
        maker = self._maker(x)
        if type(x) is _Size:
            return {}, x.size
        data = self.builder.values.get(x)
        if data is not None and data.dtype.kind in "iu" and not data.ndim:
            return {}, int(data)
        alone: tuple[dict[int, int], Any] = ({self._number_of(x, deep): 1}, 0)
        kind = maker.op.op_class if maker is not None and deep else None
        if maker is None or kind not in (Add, Sub, Mul, Cast, SizeVector):
            return alone
        if kind is SizeVector:
            dims = maker.op.dims  # type: ignore[attr-defined]
            return ({}, dims[0]) if len(dims) == 1 else alone
        found = [self._affine(i, deep - 1) for i in maker.inputs]
        if kind is Cast:
            return found[0] if self.builder.specs[maker.inputs[0]].dtype.is_integer else alone
        (a, m), (b, n) = found
        if kind is Mul:
            if a:
                (a, m), (b, n) = (b, n), (a, m)
            if a or type(m) is not int:
                return alone
            return {k: m * factor for k, factor in b.items() if m}, m * n
        sign = 1 if kind is Add else -1
        terms = {k: a.get(k, 0) + sign * b.get(k, 0) for k in {**a, **b}}
        return {k: factor for k, factor in terms.items() if factor}, m + sign * n

    def _number_of(self, x: Any, deep: int) -> int:
        """The number of a value, the same for values that are computed alike."""
        maker = self._maker(x)
        if maker is None or not deep or maker.op.effects or maker.op.structured:
            return x  # type: ignore[no-any-return]
        key = maker.op, x - maker.start, *[self._number_of(i, deep - 1) for i in maker.inputs]
        return self._numbers.setdefault(key, x)

    def _maker(self, x: Any) -> Node | None:
        nodes = self.builder.nodes
        for node in nodes[self._read :]:
            self._makers.update(dict.fromkeys(node.outputs, node))
        self._read = len(nodes)
        return self._makers.get(x)


class _Size:
    """A number or size symbol among values."""

    def __init__(self, size: Any) -> None:
        self.size = size
