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
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from graphad.compiler.passes import dead, rooms
from graphad.compiler.passes.compared import DEEP as _DEEP
from graphad.compiler.passes.compared import AsSized, Comparing
from graphad.core.bind import bind, is_mistake
from graphad.core.convert import lift
from graphad.core.dims import (
    QUOTIENT,
    Dim,
    Relation,
    Relations,
    Size,
    UndecidedSize,
    at_most,
    is_run_time,
    related,
    run_time_symbols,
)
from graphad.core.dtypes import int32, int64
from graphad.core.errors import GraphadError
from graphad.core.levels import current
from graphad.core.light import NamedTuple
from graphad.core.op import IO, Op, output_specs
from graphad.core.run_sizes import FindsSizes
from graphad.core.shapes import is_definite, ranked
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import sub_graphs
from graphad.ops.array.join import Stack
from graphad.ops.array.sequence import Range
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.slice import GetItem
from graphad.ops.array.strided import Slice
from graphad.ops.math.arithmetic import Add, Floordiv, Mul, Sub
from graphad.ops.math.cast import Cast
from graphad.ops.math.select import Maximum, Minimum
from graphad.trace.numbered import symbols_of
from graphad.trace.specialise import specialise
from graphad.trace.specialiser import Specialiser
from graphad.trace.tracer import SymbolicTensor

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.tensor import Tensor
    from graphad.ops.control.loop import Loop

    Bound = int | tuple[Any, ...] | None  # of a slice: a number, or a reference to an input
    Term: TypeAlias = "int | _Size"  # a value of the new graph, or a size

_FEW = 9  # sizes in a vector, and one more
_MOST_INTEGER = 2**31
ROOM = 1024  # the largest size that has no bound, at first


Checks = Mapping[Op, Hashable]  # op -> what it checks, equal for ops with the same check
Sum = tuple[frozenset[tuple[int, int]], Size]  # values with their factors, and a size that is added


class Assumed(NamedTuple):
    """A graph with assumed sizes, what its ops check, and for each symbol of a size that the run finds the largest one;
    `is_open`: for some it is only what there is room for; `relations`: products of such sizes that the run compares.
    """

    graph: Graph
    checks: Checks
    rooms: Mapping[str, Size]
    is_open: bool = False
    relations: Relations = Relations()


def assumed(graph: Graph, measures: bool, room: int = ROOM) -> Assumed | None:
    """A specialised graph with assumed sizes; None where there is nothing to assume. `measures`: the run may find sizes; `room`
    is that for those without a bound.
    """
    made: dict[Op, Hashable] = {}
    found_rooms: dict[str, Size] = {}
    relations = Relations()
    opened: list[Op] = []
    try:
        making = functools.partial(
            Assuming,
            made,
            found_rooms if measures else None,
            bool(graph.effects & IO),
            room,
            relations,
            opened,
        )
        with related(relations):
            found = specialise(graph, graph.inputs, making=making)
    except (GraphadError, UndecidedSize) as error:
        if is_mistake(error):
            raise
        return None  # sizes that do not fit the others are not the actual ones
    relations.compute = None
    held = _ops(found)
    made = {op: check for op, check in made.items() if op in held}  # some graphs are replayed several times
    is_open = bool(opened) or any(type(check) is tuple and check[0] == "count" for check in made.values())
    return Assumed(found, made, found_rooms, is_open, relations) if made else None


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


class State(NamedTuple):
    """The sizes that a run finds, and what it compares, up to some op."""

    rooms: Mapping[str, Size]
    relations: Sequence[Relation]
    symbols: set[str]


class Assuming(Comparing):
    """A replay that gives slices the size that is their bounds' difference; `made` collects what the ops check that rely on it.

    Each of these ops is an object of its own, so that it can be found again. A graph that prints shows sizes before what comes
    later may check them: there each slice has to be checked where it is.
    """

    copies_plain = False

    def __init__(
        self,
        made: dict[Op, Hashable],
        rooms: dict[str, Size] | None,
        prints: bool,
        room: int,
        relations: Relations,
        opened: list[Op],
        *given: Any,
    ) -> None:
        super().__init__(*given)
        self.opened = opened  # the loops with values that grow
        self._made = made
        self._rooms = rooms
        self._room = room
        self._relations = relations
        # of what is computed in a branch or round, the symbol would be known there only
        self._is_outermost = relations.compute is None
        if self._is_outermost:
            relations.compute = self._compute
        self._found: set[str] = set()  # the symbols of sizes that this trace finds
        self._symbols: dict[Hashable, Dim] = {}
        self._counts: dict[Sum, Size] = {}  # the symbols of integers that are sizes
        self._prints = prints
        self._own: dict[tuple[Op, Hashable], Op] = {}
        self._makers: dict[Term, Node] = {}
        self._numbers: dict[tuple[Hashable, ...], int] = {}
        self._read = 0

    @property
    def room_to_grow(self) -> int:
        """How many elements more than at first a value may have that grows."""
        return max(self._room // rooms.GROWTH, 1)

    @property
    def symbols(self) -> set[str]:
        """The symbols of all sizes that the run finds."""
        return {*(self._rooms or ())}

    def state(self) -> State:
        """What `restore` needs to forget what a trace of a sub-graph finds."""
        self._shared = {}  # each has ops of its own
        return State(dict(self._rooms or {}), list(self._relations), self.symbols)

    def restore(self, before: State) -> None:
        self._shared = {}
        if self._rooms is not None:
            for name in self.symbols - before.symbols:
                del self._rooms[name]
        self._relations[:] = before.relations
        known, computed = before.symbols, self._relations.computed
        for key in [key for key, symbol in computed.items() if not symbol.symbols <= known]:
            del computed[key]

    def process(self, op: Op, inputs: Sequence[Any]) -> tuple[Any, ...]:
        if op.structured and self._rooms is not None and (op.branches or op.repeats):
            wide = rooms.branches if op.branches else rooms.loop
            outputs = wide(self, op, inputs)  # type: ignore[arg-type]
            if outputs is not None:
                return outputs
        found = None if self._rooms is None else self._counted(op, inputs)
        if found is not None:
            return found
        if op.repeats and self._rooms is not None:
            op = self._with_steps(op, inputs[0])  # type: ignore[arg-type]
        if op.refers and self._knows_some(op, inputs):
            return super().process(op, inputs)  # which binds it with these numbers
        if self._rooms is not None:
            asking = op.measurable(*inputs)
            if asking is not None:
                op, inputs = asking
                op = op.with_measured_sizes([x.spec for x in inputs], self._naming(inputs))
                return self.node(self._apart(op, inputs), inputs)
        if self._rooms is not None and not op.refers:
            likely = op.with_measured_sizes([x.spec for x in inputs], self._naming(inputs))
            is_made = likely is not op or bool(op.measures([x.spec for x in inputs]))
            op = self._apart(likely, inputs) if is_made else op
        if op.refers:

            def difference(i: int, j: int) -> Size | None:
                return self._difference(self._number(inputs[i]), self._number(inputs[j]), _DEEP)

            likely = op.with_likely_sizes(difference)
            if self._rooms is not None:
                likely = likely.with_measured_sizes([x.spec for x in inputs], self._naming(inputs))
            if likely is not op:
                op = self._apart(likely, inputs)
        return self._fitting(op, inputs)

    def _knows_some(self, op: Any, inputs: Sequence[Tensor]) -> bool:
        """Whether there are numbers or sizes to put into an op that refers to inputs."""
        known = any(self.known_values(x) is not None for x in op.split(inputs)[1])
        return known and all(is_definite(x.dims) for x in inputs)

    def specialised(self, graph: Graph, operands: Sequence[Tensor]) -> Graph:
        self._shared = {}  # each has ops of its own
        known = self._rooms
        if known is None:
            return super().specialised(graph, operands)
        before = set(known)
        try:
            found = super().specialised(graph, operands)
            own = known.keys() - before
            if not any(own & run_time_symbols(found.specs[value].dims or ()) for value in found.outputs):
                return found
        except (GraphadError, UndecidedSize) as error:
            if is_mistake(error):
                raise
        # What leaves it has the size of one round or branch: there it stays unknown.
        making = self.making
        self._shared, self._rooms, self.making = {}, None, _without_measures(making)
        try:
            return super().specialised(graph, operands)
        finally:
            self._rooms, self.making = known, making

    def _counted(self, op: Op, inputs: Sequence[Tensor]) -> tuple[Tensor, ...] | None:
        """The outputs by ops whose sizes are symbols, of an op whose sizes are integers that the run knows; None for others."""
        if type(op).with_counts is FindsSizes.with_counts:
            return self._beginning(op) if op.is_prefix else None
        given = inputs[len(inputs) - op.given :] if op.given else inputs
        if not all(is_definite(x.dims) for x in inputs):
            return None
        if op.given or not any(map(is_run_time, symbols_of(op))):
            known = [self.known_values(x) for x in given]
            if all(map(self._is_size, known)) and not any(
                run_time_symbols(np.ravel(x)) for x in known if x is not None
            ):
                return None
            if all(is_definite(spec.dims) for spec in output_specs(op, [x.spec for x in inputs])):
                return None
        found = op.with_counts(AsSized(self), *inputs)
        if found is None:
            return None
        outputs = bind(found[0], *found[1])
        return tuple(outputs) if op.multiple else (outputs,)

    def _is_size(self, known: Array | None) -> bool:
        """Whether integers are known, and those that are computed from sizes which the run finds are not negative."""
        return known is not None and all(
            not isinstance(x, Dim) or not run_time_symbols([x]) or at_most(0, x) or at_most(self.most(-x), 0)
            for x in np.ravel(known)
        )

    def sized(self, x: Tensor, most: Size | None = None) -> Any:
        """Integers as sizes, those that only the run knows as symbols; None where the run cannot compare them.

        It has no answer where one is negative, or larger than there is room for, which is `most` if that is known: then the op
        says what it is.
        """
        known = self.known_values(x)
        if self._is_size(known):
            return known
        if x.dtype not in (int32, int64):
            return None
        if x.ndim:
            sizes = [self.sized(part) for part in self._parts(x)]
            return None if not sizes or any(size is None for size in sizes) else np.array(sizes, object)
        key = self._count_of(x)
        number = self._sum_of_sizes(key)
        if number is None and key not in self._counts:
            number = self._counts[key] = self._symbol(self._room if most is None else most, 1, None, key)
            self._note_count(x, number)
            return number
        number = self._counts[key] if number is None else number
        # It is found by another node, so that the run compares them only: from one to the other there is no step.
        ends = [self.size(number, x.dtype), x, lift(np.ones((), x.dtype.numpy))]
        self.node(self._checking(Range(0), ("count", self._same(x), number)), ends)
        return number

    def _note_count(self, x: Tensor, number: Size) -> None:
        """Let the run find the size that an integer is."""
        limits = [lift(np.zeros((), x.dtype.numpy)), x, lift(np.ones((), x.dtype.numpy))]
        self.node(self._checking(Range(number), ("count", self._same(x), number)), limits)

    def _with_steps(self, op: Loop, limit: Any) -> Loop:
        """A loop whose results have one slice for each step, so many steps as its limit says, which the run finds. In a branch or
        round the number would be known there only, and what collects such results needs it."""
        if not self._is_outermost or op.test is not None or op.n_xs or not op.n_ys or op.steps is not None:
            return op
        if not all(is_definite(spec.dims) for spec in op.results.ys(op.body.output_specs)):
            return op
        steps = self.sized(limit)
        return op if steps is None else op.counted(steps[()] if isinstance(steps, np.ndarray) else steps)

    def _compute(self, way: str, a: Any, b: Any) -> Any:
        """The symbol of a quotient or minimum of sizes, which the run computes; it has no answer where it is negative."""
        if self._rooms is None or current() is not self or not run_time_symbols((a, b)) <= self._found:
            return None
        of = tuple([self.size(size, int64) for size in (a, b)])
        mosts = [self.most(size) for size in (a, b)]
        if way == QUOTIENT:
            most = mosts[0] // b if type(mosts[0]) is int else mosts[0]
            return self.sized(self.node(Floordiv(), of)[0], most)
        return self.sized(self.node(Minimum(), of)[0], mosts[0] if at_most(*mosts) else mosts[1])

    def _sum_of_sizes(self, key: Sum) -> Size | None:
        """An integer of `_count_of` as a sum of sizes that are known, or that are symbols already; None where it may be negative,
        or more than integers of 32 bits hold."""
        terms, found = key
        most = found
        if not at_most(0, found):
            return None
        for value, factor in terms:
            size = self._counts.get((frozenset([(value, 1)]), 0))
            spec = self.builder.specs[value]
            if size is None and factor > 1 and len(terms) == 1 and found == 0 and spec.dims == ():
                size = self.sized(SymbolicTensor(self, value, spec, None, self.line))
            if size is None or factor < 0:
                return None
            found, most = found + factor * size, most + factor * self.most(size)
        return found if not terms or (type(most) is int and most < _MOST_INTEGER) else None

    def _parts(self, x: Tensor) -> list[Tensor]:
        """The elements of a vector, or rows of a matrix, if they are few."""
        maker = self._maker(x.index) if type(x) is SymbolicTensor else None
        if maker is not None and maker.op.op_class is Stack and maker.op.axis == 0:  # type: ignore[attr-defined]
            specs = self.builder.specs
            return [SymbolicTensor(self, i, specs[i], None, self.line) for i in maker.inputs]
        many = ranked(x.dims)[0]
        return [bind(GetItem((k,)), x) for k in range(many)] if many in range(_FEW) else []

    def _count_of(self, x: Tensor) -> Sum:
        """An integer as a sum of values and a number, if it is not negative."""
        value = self._number(x)
        while True:
            terms, number = self._affine(value, _DEEP)
            maker = self._maker(next(iter(terms))) if [*terms.values()] == [1] and _is_zero(number) else None
            if maker is None or maker.op.op_class is not Maximum:
                return frozenset(terms.items()), number
            rest = [i for i in maker.inputs if not _is_zero(self.builder.values.get(i))]
            if len(rest) != 1:
                return frozenset(terms.items()), number
            (value,) = rest

    def _beginning(self, op: Any) -> tuple[Tensor, ...] | None:
        """The result of an op without inputs for a size that the run finds, as a part of its result for the largest size."""
        (size,) = op.infer().dims
        if not run_time_symbols([size]):
            return None
        return (bind(Slice((0,), (1,), (size,)), bind(op.changed(size=self.most(size)))),)

    def most(self, size: Size) -> Size:
        """A size that is never larger, without symbols of sizes that the run finds."""
        assert self._rooms is not None
        if not run_time_symbols([size]):
            return size
        found: Size = 0
        for names, factor in size.terms.items():
            if factor < 0 and any(map(is_run_time, names)):
                continue
            for name in names:
                factor = factor * (self.most(self._rooms[name]) if is_run_time(name) else Dim.symbol(name))
            found = found + factor
        return found

    def _naming(self, inputs: Sequence[Tensor]) -> Callable[..., Any]:
        def symbol(most: Size, step: int, low: Bound, high: Bound) -> Size:
            bounds = [self._bound(x, inputs) for x in (low, high)]
            if high is None:
                most = self._rest(most, low, inputs)
            if step != 1 or low not in (None, 0) or type(high) is not tuple or len(high) != 2:
                return self._symbol(most, step, *bounds)
            # x[:n] has n elements, as has `range(n)`, unless it is clipped
            key = self._count_of(inputs[high[1]])
            found = self._counts.get(key)
            return self._counts.setdefault(key, self._symbol(most, step, *bounds)) if found is None else found

        return symbol

    def _rest(self, most: Size, low: Bound, inputs: Sequence[Tensor]) -> Size:
        """The largest size of a slice as far as the end: x[-3:] has 3 elements at most."""
        known = low if type(low) is not tuple or len(low) > 2 else (self.known(inputs[low[1]]) or [None])[0]
        return -known if type(known) is int and known < 0 else most

    def _bound(self, x: Bound, inputs: Sequence[Tensor]) -> Hashable:
        """A key that is equal only for bounds of slices that are certainly equal."""
        if type(x) is not tuple:
            return x
        return self._same(inputs[x[1]]), *x[2:]

    def _symbol(self, most: Size, step: int, low: Hashable, high: Hashable) -> Dim:
        """The symbol of the size of a slice, equal for slices that certainly have the same one."""
        assert self._rooms is not None
        key = most, step, low, high
        found = self._symbols.get(key)
        if found is None:
            found = self._symbols[key] = Dim.run_time(len(self._rooms))
            (name,) = found.symbols
            self._rooms[name] = most
            self._found.add(name)
        return found

    def _apart(self, op: Any, inputs: Sequence[Tensor]) -> Op:
        """An op that is equal to this one and another object, the same for what checks the same."""
        if not op.refers:
            return self._checking(op, (op, *map(self._same, inputs[1:])) if not self._prints else object())
        own = len(inputs) - op.given
        dims = op.whole(inputs[0].dims)  # of what the slices are of
        check: Hashable = object()
        if is_definite(dims):
            place = (op, *[self.serial(x, op) for x in inputs[:own]]) if self._prints else ()
            check = (self, place, op.key, dims, *map(self._same, inputs[own:]))
        return self._checking(op, check)

    def _checking(self, op: Op, check: Hashable) -> Op:
        """An op that is equal to this one and another object, one for each check."""
        found = self._own.get((op, check))
        if found is None:
            found = self._own[op, check] = object.__new__(type(op))
            found.__dict__.update(op.__dict__, is_kept=True)
            self._made[found] = check
        return found

    def finish(
        self,
        outputs: Sequence[Tensor],
        op: Op,
        keep_all: bool = False,
        own_inputs: Sequence[SymbolicTensor] = (),
    ) -> Graph:
        # Nodes that are not needed any more are kept too, since `is_checked` asks for them.
        return super().finish(outputs, op, True, own_inputs)

    def _same(self, x: Tensor) -> Hashable:
        """A key that is equal only for operands that certainly have the same value."""
        number = self._number(x)
        return number.size if type(number) is _Size else ("value", self._number_of(number, _DEEP))

    def _number(self, x: Any) -> Term:
        """An operand as a value of the new graph, or the size that it is."""
        known = self.known(x)
        return x.index if known is None else _Size(known[0])

    def _difference(self, x: Term, y: Term, deep: int) -> Size | None:
        """x - y where that is a number or a size, else None; of a minimum that of the operand which differs by one."""
        maker = self._maker(x)
        if maker is not None and deep and maker.op.op_class is Minimum:
            found = [self._difference(i, y, deep - 1) for i in maker.inputs]
            return next((size for size in found if size is not None), None)
        (a, m), (b, n) = self._affine(x, deep), self._affine(y, deep)
        return m - n if a == b else None

    def _affine(self, x: Term, deep: int) -> tuple[dict[int, int], Size]:
        """An integer as a sum of values, each with a factor, and of a number or size."""
        maker = self._maker(x)
        if isinstance(x, _Size):
            return {}, x.size
        data = self.builder.values.get(x)
        if data is not None and data.dtype.kind in "iu" and not data.ndim:
            return {}, int(data)
        alone: tuple[dict[int, int], Size] = ({self._number_of(x, deep): 1}, 0)
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

    def _maker(self, x: Term) -> Node | None:
        nodes = self.builder.nodes
        for node in nodes[self._read :]:
            self._makers.update(dict.fromkeys(node.outputs, node))
        self._read = len(nodes)
        return self._makers.get(x)


def _without_measures(making: Any) -> Callable[..., Specialiser]:
    """Makes replays in which the run finds no sizes."""
    made, _, *rest = making.args
    return functools.partial(Assuming, made, None, *rest)


def _is_zero(x: Size | Array | None) -> bool:
    return x is not None and not isinstance(x, Dim) and np.ndim(x) == 0 and x == 0


class _Size:
    """A number or size symbol among values."""

    def __init__(self, size: Size) -> None:
        self.size = size
