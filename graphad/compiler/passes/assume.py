"""Sizes of slices whose bounds only the run knows, as they are unless a slice is clipped: x[i:i + 4] has 4 elements.

before:  %2 = add(%1, 4);  %3 = getitem(%0, [%1:%2]), of shape [?]
after:   %2 = add(%1, 4);  %3 = getitem(%0, [%1:%2 of 4]), of shape [4]

A slice whose bounds differ by what only the run knows, as x[:n], has a symbol for its size (`Dim.run_time`). Native code finds
the size where the slice is made, and tells it to all rows behind (`plan/measured.py`).

The graph is replayed, so that all shapes behind it are known too. An op checks the size that it is said to have: this graph is
for runs that are made again without it where it has another one. What was computed from such a shape alone is a number then, and
the op that would check it may be dropped: `is_checked` tells.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphad.compiler.passes import dead
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Dim, UndecidedSize, product, run_time_symbols
from graphad.core.errors import GraphadError
from graphad.core.op import IO, Op
from graphad.core.references import AT
from graphad.core.shapes import is_definite
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import sub_graphs
from graphad.ops.array.keys import expand, is_slice
from graphad.ops.array.masks import BooleanMask
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.slice import GetItem, GetItemGrad
from graphad.ops.math.arithmetic import Add, Mul, Sub
from graphad.ops.math.cast import Cast
from graphad.ops.math.compare import NOT_EQUAL
from graphad.ops.math.select import Minimum, WhereIndices
from graphad.trace.specialise import specialise
from graphad.trace.specialiser import Specialiser

_DEEP = 8  # ops that are looked through
_MOST_POSITIONS = 4096  # of the elements of a mask


Checks = Mapping[Op, Any]  # what each op checks; equal for ops that check the same


class Assumed(NamedTuple):
    """A graph with assumed sizes, what its ops check, and for each symbol of a size that the run finds the largest one."""

    graph: Graph
    checks: Checks
    rooms: Mapping[str, Any]


def assumed(graph: Graph, measures: bool) -> Assumed | None:
    """A specialised graph with assumed sizes; None where there is nothing to assume. `measures`: the run may find sizes."""
    made: dict[Op, Any] = {}
    rooms: dict[str, Any] = {}
    try:
        making = functools.partial(_Assuming, made, rooms if measures else None, bool(graph.effects & IO))
        found = specialise(graph, graph.inputs, making=making)
    except (GraphadError, UndecidedSize):
        return None  # sizes that do not fit the others are not the actual ones
    held = _ops(found)
    made = {op: check for op, check in made.items() if op in held}  # some graphs are replayed several times
    return Assumed(found, made, rooms) if made else None


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

    copies_plain = False

    def __init__(self, made: dict[Op, Any], rooms: dict[str, Any] | None, prints: bool, *given: Any) -> None:
        super().__init__(*given)
        self._made = made
        self._rooms = rooms
        self._symbols: dict[Any, Any] = {}
        self._prints = prints
        self._own: dict[Any, Op] = {}
        self._makers: dict[int, Node] = {}
        self._numbers: dict[Any, int] = {}
        self._read = 0

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        if op.refers and self._knows_some(op, inputs):
            return super().process(op, inputs)  # which binds it with these numbers
        if self._rooms is not None:
            if op.op_class is WhereIndices:
                op, inputs = _masking(op, inputs)
            asking = _asking(op, inputs)
            if asking is not None:
                op, inputs = asking
                op = op.with_measured_sizes([x.spec for x in inputs], self._naming(inputs))
                return self.node(self._apart(op, inputs), inputs)
        if self._rooms is not None and not op.refers:
            likely = op.with_measured_sizes([x.spec for x in inputs], self._naming(inputs))
            op = op if likely is op else self._apart(likely, inputs)
        if op.refers:

            def difference(i: int, j: int) -> Any:
                return self._difference(self._number(inputs[i]), self._number(inputs[j]), _DEEP)

            likely = op.with_likely_sizes(difference)
            if self._rooms is not None:
                likely = likely.with_measured_sizes([x.spec for x in inputs], self._naming(inputs))
            if likely is not op:
                op = self._apart(likely, inputs)
        return super().process(op, inputs)

    def _knows_some(self, op: Any, inputs: Sequence[Any]) -> bool:
        """Whether there are numbers or sizes to put into an op that refers to inputs."""
        known = any(self.known_values(x) is not None for x in op.split(inputs)[1])
        return known and all(is_definite(x.dims) for x in inputs)

    def specialised(self, graph: Graph, operands: Sequence[Any]) -> Graph:
        self._shared = {}  # each has ops of its own
        rooms = self._rooms
        if rooms is None:
            return super().specialised(graph, operands)
        before = set(rooms)
        try:
            found = super().specialised(graph, operands)
            own = rooms.keys() - before
            if not any(own & run_time_symbols(found.specs[value].dims or ()) for value in found.outputs):
                return found
        except (GraphadError, UndecidedSize):
            pass
        # What leaves it has the size of one round or branch: there it stays unknown.
        making = self.making
        self._shared, self._rooms, self.making = {}, None, _without_measures(making)
        try:
            return super().specialised(graph, operands)
        finally:
            self._rooms, self.making = rooms, making

    def _naming(self, inputs: Sequence[Any]) -> Callable[..., Any]:
        def symbol(most: Any, step: int, low: Any, high: Any) -> Any:
            return self._symbol(most, step, *[self._bound(x, inputs) for x in (low, high)])

        return symbol

    def _bound(self, x: Any, inputs: Sequence[Any]) -> Any:
        """What is equal for bounds of slices that certainly are."""
        if type(x) is not tuple:
            return x
        return self._same(inputs[x[1]]), *x[2:]

    def _symbol(self, most: Any, step: int, low: Any, high: Any) -> Any:
        """The symbol of the size of a slice, equal for slices that certainly have the same one."""
        assert self._rooms is not None
        key = most, step, low, high
        found = self._symbols.get(key)
        if found is None:
            found = self._symbols[key] = Dim.run_time(len(self._rooms))
            (name,) = found.symbols
            self._rooms[name] = most
        return found

    def _apart(self, op: Any, inputs: Sequence[Any]) -> Op:
        """An op that is equal to this one and another object, the same for what checks the same."""
        if not op.refers:
            return self._checking(op, (op, *map(self._same, inputs[1:])) if not self._prints else object())
        own = len(inputs) - op.given
        dims = op.shape if op.op_class is GetItemGrad else inputs[0].dims  # of what the slices are of
        check: Any = object()
        if is_definite(dims):
            place = (op, *[self.serial(x, op) for x in inputs[:own]]) if self._prints else ()
            check = (self, place, op.key, dims, *map(self._same, inputs[own:]))
        return self._checking(op, check)

    def _checking(self, op: Any, check: Any) -> Op:
        """An op that is equal to this one and another object, one for each check."""
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


def _masking(op: Any, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
    """Where a mask is true, as a mask of constant positions."""
    (x,) = inputs
    count = product(x.dims or ())
    if not x.dims or type(count) is not int or not 0 < count <= _MOST_POSITIONS:
        return op, inputs
    mask = x if x.dtype.is_bool else bind(NOT_EQUAL, x, lift(np.zeros((), x.dtype.numpy)))
    positions = np.stack(np.unravel_index(np.arange(count), x.dims), 1)
    return BooleanMask(0), [lift(positions.astype(np.int64)), bind(Reshape((count,)), mask)]


def _asking(op: Any, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
    """A part of an array whose size the run finds, with all its places as inputs, so that the run clips and checks them."""
    if op.op_class not in (GetItem, GetItemGrad):
        return None
    dims = inputs[0].dims if op.op_class is GetItem else op.shape
    if not is_definite(dims) or not run_time_symbols(dims):
        return None
    more: list[Any] = []

    def given(place: Any) -> Any:
        if type(place) is not int:
            return place
        more.append(lift(np.int64(place)))
        return AT, len(inputs) + len(more) - 1

    key = []
    sizes = iter(dims)
    for entry in expand(op.key, len(dims)):
        size = None if type(entry) is str else next(sizes)
        if run_time_symbols([size]):
            entry = (
                (entry[0], given(entry[1]), given(entry[2]), *entry[3:]) if is_slice(entry) else given(entry)
            )
        key.append(entry)
    if not more:
        return None
    made = GetItem(tuple(key)) if op.op_class is GetItem else GetItemGrad(tuple(key), dims)
    return made, [*inputs, *more]


def _without_measures(making: Any) -> Callable[..., Specialiser]:
    """What makes replays in which no size is found by the run."""
    made, _, prints = making.args
    return functools.partial(_Assuming, made, None, prints)


class _Size:
    """A number or size symbol among values."""

    def __init__(self, size: Any) -> None:
        self.size = size
