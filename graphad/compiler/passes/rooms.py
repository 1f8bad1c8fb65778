"""Results of branches and carried values of loops whose sizes only the run knows: the beginnings of arrays with room.

before:  %4 = cond(%3, ...), of shape [?], since one branch gives [n] and the other [2]
after:   %4, %5 = cond(%3, ...), of shapes [m] and [];  %6 = getitem(%4, [:%5]), of a size that the run finds

Each branch, or round of a loop, puts its result at the beginning of an array that is as large as any of them, and says how many
elements it has. A carried value that grows has room for some more elements than it starts with; where that is too little the run
has no answer, and the next plan has more room.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import TYPE_CHECKING, Any

from graphad.core.bind import bind, bind_all, is_mistake
from graphad.core.convert import lift
from graphad.core.dims import Size, UndecidedSize, at_most, run_time_symbols
from graphad.core.dtypes import int64
from graphad.core.errors import GraphadError
from graphad.core.shapes import is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import append, inputs_behind
from graphad.graph.ir import Graph
from graphad.kernels.sites import same_size
from graphad.ops.array.join import stack
from graphad.ops.array.padding import Pad, pad
from graphad.ops.array.sequence import range as range_
from graphad.ops.array.shape import SizeVector, shape
from graphad.ops.array.slice import getitem
from graphad.ops.control.call import Call
from graphad.ops.control.cond import ELSE, THEN, Cond
from graphad.ops.control.layers import merged
from graphad.ops.control.loop import Loop
from graphad.ops.math.cast import cast
from graphad.trace.specialiser import Specialiser
from graphad.trace.tracer import trace_flat

if TYPE_CHECKING:
    from graphad.compiler.passes.assume import Assuming
    from graphad.core.tensor import Tensor

GROWTH = 8  # the room of a value that grows is this part of that of other sizes


# -- branches ----------------------------------------------------------------------------------------------------------


def branches(t: Assuming, op: Cond, inputs: Sequence[Any]) -> tuple[Tensor, ...] | None:
    """The outputs of a cond, those of sizes that differ as parts of arrays with room; None where there are no such outputs, or
    where it has no such form."""
    predicate, *operands = inputs
    if op.depth or t.mask_of(predicate) is not None:
        return None
    before = t.state()
    try:
        graphs = [Specialiser.specialised(t, graph, operands) for graph in (op.then_graph, op.else_graph)]
    except (GraphadError, UndecidedSize) as error:
        if is_mistake(error):
            raise
        t.restore(before)
        return None
    own = t.symbols - before.symbols
    rooms = _rooms_of_results(t, op, graphs, own)
    if rooms is None:
        t.restore(before)
        return None
    made = [
        _with_room(graph, [room for kind, room in zip(op.kinds, rooms, strict=True) if kind != other])
        for graph, other in zip(graphs, (ELSE, THEN), strict=True)
    ]
    kinds = [*op.kinds]
    for kind, room in zip(op.kinds, rooms, strict=True):
        kinds += [kind] * sum(size is not None for size in room)
    wide = Cond(made[0], made[1], tuple(kinds))
    outputs = t.node(wide, inputs)
    first = len(op.kinds)
    return tuple(_parts(outputs[:first], rooms, outputs[first:]))


def _rooms_of_results(
    t: Assuming, op: Cond, graphs: Sequence[Graph], own: set[str]
) -> list[list[Size | None]] | None:
    """For each output, and each axis of it, the room for sizes of which a run finds one, None where all have the same; None where
    there is no such axis, or no room."""
    outputs = [iter(graph.output_specs) for graph in graphs]
    found = []
    for kind in op.kinds:
        specs = [next(outputs[k]) for k, other in enumerate((ELSE, THEN)) if kind != other]
        if (
            not all(is_definite(spec.dims) for spec in specs)
            or len({len(ranked(spec.dims)) for spec in specs}) > 1
        ):
            return None
        room: list[Size | None] = []
        for sizes in zip(*[ranked(spec.dims) for spec in specs], strict=True):
            is_same = all(same_size(sizes[0], size) for size in sizes) and not own & run_time_symbols(sizes)
            room.append(None if is_same else _larger([t.most(size) for size in sizes]))
        found.append(room)
    return found if any(size is not None for room in found for size in room) else None


def _larger(sizes: Sequence[Size]) -> Size:
    """A size that none of these exceeds."""
    a, b = sizes[0], sizes[-1]
    return b if at_most(a, b) else a if at_most(b, a) else a + b


def _with_room(graph: Graph, rooms: Sequence[Sequence[Size | None]]) -> Graph:
    """A specialised graph whose outputs are the beginnings of arrays with room; behind them are their sizes."""
    builder = GraphBuilder()
    values = append(builder, graph, [builder.add_input(spec) for spec in graph.inputs])
    outputs, sizes = [], []
    for value, spec, room in zip(values, graph.output_specs, rooms, strict=True):
        dims = ranked(spec.dims)
        wide = tuple([size if most is None else most for size, most in zip(dims, room, strict=True)])
        for size, most in zip(dims, room, strict=True):
            if most is not None:
                known = SizeVector((size,), int64, True)
                sizes.append(builder.add_node(known, (), (known.infer(),), None))
        if any(most is not None for most in room):
            pad = Pad(tuple([(0, most - size) for size, most in zip(dims, wide, strict=True)]))
            zero = builder.add_constant(spec.dtype.numpy.type(0))
            value = builder.add_node(pad, (value, zero), (spec.with_dims(wide),), None)
        outputs.append(value)
    return builder.finish([*outputs, *sizes], graph.name)[0]


def _parts(
    values: Sequence[Tensor], rooms: Sequence[Sequence[Size | None]], sizes: Sequence[Tensor]
) -> list[Tensor]:
    """The beginnings of arrays with room, of these sizes."""
    given = iter(sizes)
    return [
        getitem(x, tuple([slice(None) if most is None else slice(None, next(given)) for most in room]))
        if any(most is not None for most in room)
        else x
        for x, room in zip(values, rooms, strict=True)
    ]


# -- loops -------------------------------------------------------------------------------------------------------------


def loop(t: Assuming, op: Loop, inputs: Sequence[Any]) -> tuple[Tensor, ...] | None:
    """The outputs of a loop, carried values whose sizes change as parts of arrays with room; None where there are no such values,
    or where it has no such form."""
    before = t.state()
    try:
        return _Growing(t, op, inputs).outputs()
    except (GraphadError, UndecidedSize) as error:
        if is_mistake(error):
            raise
        t.restore(before)
        return None


class _Growing:
    """A loop whose carried values change their sizes."""

    def __init__(self, t: Assuming, op: Loop, inputs: Sequence[Any]) -> None:
        self.t, self.op = t, op
        self.limit, *values = inputs
        places = op.operands
        self.carries, self.invariants = places.carries(values), places.invariants(values)
        self.xs = places.xs(values)
        self.slices = [t.slice_of(x) for x in self.xs]

    def outputs(self) -> tuple[Tensor, ...] | None:
        t = self.t
        # for each carried value the axes along which its size changes
        self.axes = [
            [k for k, size in enumerate(ranked(spec.dims)) if size is None] for spec in self._common()
        ]
        if not any(self.axes):
            return None
        before = t.state()
        least = self._wide(t.room_to_grow)
        ends = self._sizes_behind(least)
        t.restore(before)
        rooms = [
            spec.with_dims(tuple(map(_larger, zip(ranked(spec.dims), sizes, strict=True))))
            for spec, sizes in zip(least, ends, strict=True)
        ]
        self._limits = [
            ranked(spec.dims)[k] for spec, axes in zip(least, self.axes, strict=True) for k in axes
        ]
        t.opened.append(self.op)
        return self._wide_loop(rooms)

    def _common(self) -> list[TensorSpec]:
        """The specs that the carried values have in all rounds."""
        specs = [x.spec for x in self.carries]
        before = self.t.state()
        while True:
            others = [*self.invariants, *self.slices]
            body = Specialiser.specialised(self.t, self.op.body, [*specs, *others])
            wider = [merged(a, b) for a, b in zip(specs, body.output_specs, strict=False)]
            self.t.restore(before)
            if any(spec.dims is None for spec in wider):
                raise UndecidedSize(frozenset())
            if all(a.dims == b.dims for a, b in zip(specs, wider, strict=True)):
                return specs
            specs = wider

    def _wide(self, more: int) -> list[TensorSpec]:
        """The specs of the carried values with room for so many elements more than they start with."""
        found = []
        for x, axes in zip(self.carries, self.axes, strict=True):
            dims = [self.t.most(size) for size in ranked(x.dims)]
            for k in axes:
                dims[k] = dims[k] + more
            found.append(x.spec.with_dims(tuple(dims)) if axes else x.spec)
        return found

    @property
    def _count(self) -> int:
        return sum(map(len, self.axes))

    def _specs(self, wide: Sequence[TensorSpec]) -> list[TensorSpec]:
        """The specs of the carried values and of their sizes."""
        return [*wide, *[TensorSpec.of((), int64)] * self._count]

    def _narrow(self, given: Sequence[Any], read: Container[int], has_limits: bool) -> list[Tensor]:
        """The carried values of their sizes; `given` are arrays with room, their sizes, and, if there are such, the largest sizes
        with which a round begins. Only those in `read` are looked at."""
        n = len(self.carries)
        sizes = iter(zip(given[n:], given[n + self._count :], strict=False))
        found = []
        for number, (x, axes) in enumerate(zip(given, self.axes, strict=False)):
            mine = [next(sizes) for _ in axes]
            if number in read:
                if has_limits:
                    x = self._cut(x, axes, [limit for _, limit in mine])
                x = self._cut(x, axes, [size for size, _ in mine])
                for size, _ in mine:
                    range_(size)  # so that the run finds out where the slice is clipped
            found.append(x)
        return found

    def _cut(self, x: Tensor, axes: Sequence[int], sizes: Sequence[Tensor]) -> Tensor:
        key = [slice(None)] * len(ranked(x.dims))
        for k, size in zip(axes, sizes, strict=True):
            key[k] = slice(None, size)
        return getitem(x, tuple(key)) if axes else x

    def _sizes_behind(self, least: Sequence[TensorSpec]) -> list[list[Size]]:
        """The largest sizes of the carried values behind a round that begins with these at most."""
        n, more = len(self.carries), self._count

        def body(*given: Tensor) -> list[Tensor]:
            carries = self._narrow([*given[: n + more], *[None] * more], range(n), False)
            return list(bind_all(Call(self.op.body), [*carries, *given[n + more :]]))[:n]

        specs = self._specs(least)
        others = [*self.op.body.inputs[n:]]
        made = trace_flat(body, [*_open(specs), *others], self.op.body.name, True).graph
        found = Specialiser.specialised(self.t, made, [*specs, *self.invariants, *self.slices])
        return [[self.t.most(size) for size in ranked(spec.dims)] for spec in found.output_specs]

    def _wide_loop(self, rooms: Sequence[TensorSpec]) -> tuple[Tensor, ...]:
        t, op, n, more = self.t, self.op, len(self.carries), self._count
        specs = self._specs(rooms)

        def body(*given: Tensor) -> list[Tensor]:
            carries = self._narrow(given, range(n), True)
            outputs = bind_all(Call(op.body), [*carries, *given[n + 2 * more :]])
            wide, sizes = [], []
            for before, x, axes in zip(given, outputs[:n], self.axes, strict=False):
                wide.append(_filled(x, shape(before, int64), axes))
                sizes += [cast(shape(x, int64)[k], int64) for k in axes]
            return [*wide, *sizes, *outputs[n:]]

        def test(*given: Tensor) -> list[Tensor]:
            assert op.test is not None
            carries = self._narrow(given, inputs_behind(op.test, op.test.outputs), True)
            return list(bind_all(Call(op.test), [*carries, *given[n + 2 * more :]]))

        open_ = [*_open(specs), *specs[n:]]
        made = trace_flat(body, [*open_, *op.body.inputs[n:]], op.body.name, True).graph
        tested = None
        if op.test is not None:
            tested = trace_flat(test, [*open_, *op.test.inputs[n:]], op.test.name, True).graph
        wider = Loop(tested, made, n + more, more + op.n_invariant, op.n_xs, op.reverse, op.steps, op.uniform)
        starts, sizes = [], []
        for x, room, axes in zip(self.carries, rooms, self.axes, strict=True):
            pairs = [(0, most - size) for most, size in zip(ranked(room.dims), ranked(x.dims), strict=True)]
            starts.append(bind(Pad(tuple(pairs)), x, lift(x.dtype.numpy.type(0))) if axes else x)
            sizes += [t.size(ranked(x.dims)[k], int64) for k in axes]
        limits = [t.size(size, int64) for size in self._limits]
        given = [self.limit, *starts, *sizes, *limits, *self.invariants, *self.xs]
        outputs = Specialiser.process(t, wider, given)
        marks = [
            [True if k in axes else None for k in range(len(ranked(room.dims)))]
            for axes, room in zip(self.axes, rooms, strict=True)
        ]
        return (*_parts(outputs[:n], marks, outputs[n : n + more]), *outputs[n + more :])


def _open(specs: Sequence[TensorSpec]) -> list[TensorSpec]:
    """The specs without sizes that are symbols, which a traced graph does not have."""
    return [
        spec.with_dims(tuple([size if type(size) is int else None for size in ranked(spec.dims)]))
        for spec in specs
    ]


def _filled(x: Tensor, sizes: Tensor, axes: Sequence[int]) -> Tensor:
    """An array of these sizes that begins with x."""
    if not axes:
        return x
    mine, zero = shape(x, int64), cast(lift(0), int64)
    more = [sizes[k] - mine[k] if k in axes else zero for k in range(len(ranked(x.dims)))]
    return pad(x, stack([stack([zero, size]) for size in more]))
