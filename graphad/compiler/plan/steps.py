"""Units as rows of a step table: the words of each block, and the addresses in them.

A scope has the place of every value of one partition: in an argument, in the arena, at a fixed address, or in a slice that
moves with the rounds of a loop. The same code serves a plan's own units and those in native loops, at any depth.

Native steps access memory by address, without checks while a plan runs. So each place knows the bytes of its storage, and a row
is made only if every element that it accesses lies inside, whatever shapes a graph declares. The first binding checks this with
numbers; at the next one, symbols mostly prove it for all sizes: the walks stay inside the storage that the specs imply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler import rows as table
from graphad.compiler.plan import buffers
from graphad.compiler.plan.host import as_value
from graphad.compiler.plan.measured import elements, measuring
from graphad.compiler.plan.places import (
    ARENA,
    ARGUMENT,
    FIXED,
    Binding,
    Made,
    Place,
)
from graphad.compiler.plan.schedule import as_storage
from graphad.compiler.rows import About, Arena, Argument, Row, Step
from graphad.compiler.units import (
    BLOCKS,
    BRANCH,
    CALL,
    COPY,
    GEMM,
    LOOP,
    PARTS,
    REPEAT,
    ROUTINE,
    STAGES,
    Partition,
    Unit,
    loop_of,
)
from graphad.core.dims import Dim, Size, evaluate
from graphad.core.errors import InternalError
from graphad.core.ieee import unreported
from graphad.core.late import when_asked
from graphad.core.shapes import is_definite
from graphad.graph.ir import Node
from graphad.kernels import stages
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import scalar_word
from graphad.kernels.sites import Site, reach
from graphad.kernels.stages import Nest, bases_of
from graphad.trace.numbered import with_sizes

if TYPE_CHECKING:
    from graphad.compiler.plan import blocks, calls, inside, library
    from graphad.compiler.plan.branch import BranchMaker
    from graphad.compiler.plan.repeat import RepeatMaker
    from graphad.core.annotations import Array
    from graphad.core.dtypes import DType
    from graphad.core.op import Op
else:
    # What only some plans have: chains, Python's calls, products, and sizes for which a plan is made once more.
    for _name in ("blocks", "calls", "inside", "library"):
        globals()[_name] = when_asked(f"graphad.compiler.plan.{_name}")


class Scope:
    """The places of the values of one partition; with `is_shared` several threads may run its rows.

    `within` names the loops around it in errors. `regions` counts what tables inside of its rows share among threads. `checks`:
    whether rows are checked to stay inside of their storage; None where the unit knows. `asked`: for which units that is so; None
    for all or none.
    """

    def __init__(
        self,
        part: Partition,
        numbers: Mapping[str, int],
        binding: Binding,
        is_shared: bool = False,
        within: str = "",
        checks: bool | None = None,
        asked: Callable[[Unit], bool] | None = None,
    ) -> None:
        self.part, self.numbers, self.binding = part, numbers, binding
        self.checks, self.asked = checks, asked
        self.within = within
        self.regions = 0
        self.is_shared = is_shared
        self.backend = part.backend
        self.places: dict[int, Place] = {}
        # Of inner loops that add to the stacks of earlier rounds: how many slices there are, the pair for a run, by the unit; and
        # where the addresses of such stacks belong, by value. See `repeat`.
        self.added: dict[int, tuple[Place, Place]] = {}
        self.longs: dict[int, Place] = {}
        self._bytes: dict[int, int] = {}
        self._chains: dict[int, blocks.Blocks] = {}

    def inner(self, part: Partition, op: Op, is_shared: bool = False) -> Scope:
        """The scope of a part of a structured op."""
        within = f" in {op.name}{self.within}"
        return Scope(part, self.numbers, self.binding, is_shared, within, self.checks, self.asked)

    def with_numbers(
        self, numbers: Mapping[str, int], places: Mapping[int, Place], asked: Callable[[Unit], bool] | None
    ) -> Scope:
        """The same scope, of the plan itself, for other sizes in the same places."""
        made = Scope(self.part, numbers, self.binding, checks=False, asked=asked)
        made.places.update(places)
        return made

    def size(self, dim: Size) -> int:
        return evaluate(dim, self.numbers)

    def shape(self, value: int) -> tuple[int, ...]:
        return tuple([self.size(dim) for dim in self.part.specs[value].dims or ()])

    def bytes(self, value: int) -> int:
        """Bytes of a value, of its cell if it is a stack of unknown length."""
        total = self._bytes.get(value)
        if total is None:
            if not is_definite(self.part.specs[value].dims):
                return table.CELL_BYTES
            total = self.part.specs[value].dtype.itemsize * elements(
                self.part.specs[value].dims or (), self.binding.room
            )
            self._bytes[value] = total
        return total

    def strided(self, site: Site) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Shape and strides in bytes."""
        step = self.part.specs[site.root].dtype.itemsize
        return tuple([self.size(n) for n in site.shape]), tuple([self.size(s) * step for s in site.strides])

    def let(self, root: int, place: Place, is_inside: bool) -> None:
        """Set the place of a value; storage outside a loop is as large as the value inside it."""
        if not is_inside and is_definite(self.part.specs[root].dims):
            place.check(0, self.bytes(root))
        self.places[root] = place

    def place(self, site: Site) -> Place:
        """The place of the first element of a site."""
        found = self.places.get(site.root)
        if found is None:
            found = self.once((self.part, site.root), lambda: self._constant(site.root))
            self.places[site.root] = found
            found.check(0, self.bytes(site.root))
        offset = self.size(site.offset)
        return found.shifted(offset * self.part.specs[site.root].dtype.itemsize) if offset else found

    def _constant(self, root: int) -> Place:
        data = as_storage(constant_of(self.part, root, self.numbers))
        address, kept = self.backend.constant(data)
        self.binding.keep.append(kept)
        return Place.of(FIXED, address, 0, data.nbytes)

    def once(self, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """The result of `make`, which rows for other sizes share."""
        key = tuple([id(each) if isinstance(each, Partition) else each for each in key])
        if key not in self.binding.shared:
            self.binding.shared[key] = make()
        return self.binding.shared[key]

    def lives(
        self, units: Sequence[Unit], last: Mapping[int, int], first: int = 0
    ) -> list[tuple[int, buffers.Life]]:
        """The lives of values in the arena, by value, and of workspaces, by -1 - position of the unit."""
        found = []
        for at, unit in enumerate(units, first):
            for value in unit.writes:
                if value in last:
                    found.append((value, buffers.Life(self.bytes(value), at, last[value])))
            size = self.workspace(unit)
            if size:
                found.append((-1 - at, buffers.Life(size, at, at)))
        return found

    def workspace(self, unit: Unit) -> int:
        """Bytes of a unit's workspace."""
        if unit.loop is not None:
            return self.backend.workspace(unit.loop, self.binding.room)
        if unit.repeat is not None or unit.branch is not None:
            return self._maker(unit, None).total
        if unit.kind == ROUTINE:
            form = unit.routine
            assert form is not None
            if not unit.writes:
                return 0
            dims = [*[site.shape for site in unit.reads], self.part.specs[unit.writes[0]].dims or ()]
            shapes = [tuple([evaluate(n, self.binding.room) for n in each]) for each in dims]
            dtype = self.part.specs[unit.writes[0]].dtype.name
            return self.backend.routine_workspace(form, dtype, shapes)
        if unit.kind == GEMM:
            return max([self.workspace(loop) for loop in unit.stages], default=0)
        return self._chain(unit).total if unit.kind == BLOCKS else 0

    def _chain(self, unit: Unit) -> blocks.Blocks:
        """The layout of a chain, cached between the calls for its workspace and its rows."""
        found = self._chains.get(unit.index)
        if found is None:
            found = self._chains[unit.index] = blocks.Blocks(self, unit)
        return found

    def make(self, unit: Unit, workspace: Place | None) -> list[Made]:
        """The rows of a unit; only a loop op and an array assembled from parts have more than one."""
        if self.asked is not None:
            self.checks = self.asked(unit)
        rows = self._rows(unit, workspace, self._is_inside(unit))
        if unit.measures:
            rows = [*measuring(self, unit), *rows]
        if unit.inside is None:
            unit.inside = self.numbers
        about = self.about(unit)
        for made in rows:
            made.row = made.row._replace(about=about)
        return rows

    def about(self, unit: Unit) -> About:
        """The words about a unit in errors."""
        nodes = unit.nodes or [node for stage in unit.stages for node in stage.nodes]
        names = ", ".join(dict.fromkeys([node.op.name for node in nodes])) or unit.kind
        return About(f"{names}{self.within}", next((node.line for node in nodes if node.line), None))

    def _is_inside(self, unit: Unit) -> bool:
        """Whether the walks of a unit are known to stay in their storage, by an earlier check or by symbols.

        The symbolic proof takes as long as a dozen checks, so it is tried only for a second set of numbers.
        """
        if self.checks is not None:
            return not self.checks
        if unit.inside is None or isinstance(unit.inside, bool):
            return bool(unit.inside)
        if unit.inside == self.numbers:
            return True
        unit.inside = inside.stays_inside(self.part, unit)
        return unit.inside

    def _rows(self, unit: Unit, workspace: Place | None, is_inside: bool) -> list[Made]:
        if unit.kind == LOOP:
            return [self.loop(unit, workspace, is_inside)]
        if unit.kind == STAGES:
            return [self._stages(unit, workspace, is_inside)]
        if unit.kind == BLOCKS:
            return self._chain(unit).made(workspace, is_inside)
        if unit.kind == CALL:
            return [calls.call(self, unit)]
        if unit.kind in (REPEAT, BRANCH):
            return self._maker(unit, workspace).made(is_inside)
        if unit.kind == PARTS:
            return [
                self.copy(part.source, part.target, is_inside)
                if isinstance(part.source, Site)
                else self.fill(self._size_or_number(part.source), part.target, is_inside)
                for part in unit.parts
            ]
        if unit.kind == ROUTINE:
            return library.routine(self, unit, workspace)
        target = self.part.sites[unit.writes[0]]
        if unit.kind == COPY:
            return [self.copy(unit.reads[0], target, is_inside)]
        if unit.kind == GEMM:
            return library.products(self, unit, target, workspace, is_inside)
        raise InternalError(f"plan: a native segment holds a {unit.kind} unit")

    def _maker(self, unit: Unit, workspace: Place | None) -> RepeatMaker | BranchMaker:
        """What makes the rows of a loop or a branch, whose modules the plans that have one import."""
        if unit.repeat is not None:
            from graphad.compiler.plan.repeat import RepeatMaker

            return RepeatMaker(self, unit, workspace)
        from graphad.compiler.plan.branch import BranchMaker

        return BranchMaker(self, unit, workspace)

    def filled(
        self, function: int, words: list[int], sites: Sequence[tuple[int, Place]], work: float
    ) -> Made:
        """A row whose words hold the addresses of places."""
        arguments, arena, moves = [], [], []
        for word, place in sites:
            if place.strides:
                moves.append((word, place))
            elif place.kind == ARGUMENT:
                arguments.append(Argument(word, place.number, place.offset))
            elif place.kind == ARENA:
                arena.append(Arena(word, place.offset))
            else:
                words[word] = place.number + place.offset
        return Made(Row(function, words, arguments, arena), work, moves)

    def step(self, step: Step, places: Sequence[Place], work: float) -> Made:
        """A library step as a row, with its operands at these places."""
        return self.filled(step.function, step.words, list(zip(step.places, places, strict=True)), work)

    def loop(self, unit: Unit, workspace: Place | None, is_inside: bool) -> Made:
        loop = loop_of(unit)
        words, sites = self.words(unit, loop)
        places = [(word, self.place(site)) for word, site in sites]
        if not is_inside and 0 not in loop.numbers(self.numbers):
            for (_, place), walk in zip(places, block_layout(loop.kernel).walks, strict=True):
                place.check(*walk.reach(words))
        if workspace is not None:  # as large as `workspace` says
            places.append((block_layout(loop.kernel).workspace, workspace))
        made = self.filled(
            self.binding.address(loop.kernel), words, places, self.backend.work(loop, self.numbers)
        )
        made.loop = loop
        return made

    def words(self, unit: Unit, loop: Loop) -> tuple[list[int], list[tuple[int, Site]]]:
        """The words of a kernel without its pointers, and the target of each pointer."""
        kernel, layout = loop.kernel, block_layout(loop.kernel)
        scalars = [self.scalar(s, d) for s, d in zip(unit.scalars, kernel.scalars, strict=True)]
        sites = [*unit.reads, *[self.part.sites[value] for value in unit.writes]]
        return loop.words(self.numbers, scalars), list(
            zip((*layout.inputs, *layout.outputs), sites, strict=True)
        )

    def _stages(self, unit: Unit, workspace: Place | None, is_inside: bool) -> Made:
        nest = unit.loop
        assert isinstance(nest, Nest)
        block = self.backend.block_rows(nest, self.binding.room)
        held, bases = nest.held(self.binding.room, block), bases_of(nest.kernel)
        words = nest.words(self.numbers, block)
        words[stages.BEFORE], words[stages.HELD] = held.first, held.total
        rows = words[stages.ROWS]
        places = []
        for k, (each, loop, stage) in enumerate(
            zip(unit.stages, nest.loops, nest.kernel.stages, strict=True)
        ):
            mine, sites = self.words(each, loop)
            base, layout = bases.stages[k], block_layout(loop.kernel)
            words[base : base + layout.count] = mine
            if workspace is not None and loop.kernel.is_full_reduction:
                places.append((base + layout.workspace, workspace.shifted(held.last[k])))
            for (word, site), walk, value in zip(sites, layout.walks, stage.made, strict=True):
                if value != stages.OUTSIDE and nest.kernel.held[value]:
                    words[base + word] = held.offsets[value]
                    size = rows * self.size(nest.sizes[value]) * walk.itemsize
                    place = Place.of(ARENA, 0, 0, size)
                else:
                    place = self.place(site)
                    places.append((base + word, place))
                if not is_inside and 0 not in loop.numbers(self.numbers):
                    place.check(*walk.reach(mine))
        if workspace is not None:
            places.append((stages.WORKSPACE, workspace))
        made = self.filled(
            self.binding.address(nest.kernel), words, places, self.backend.work(nest, self.numbers)
        )
        made.loop = nest
        return made

    def checked(self, site: Site, walk: tuple[Sequence[int], Sequence[int]], itemsize: int) -> Place:
        """The place of a site, after checking that the walk from it stays in its storage."""
        place = self.place(site)
        if self.checks is not False:
            place.check(*reach(*walk, itemsize))
        return place

    def copy(self, source: Site, target: Site, is_inside: bool = False) -> Made:
        """A row that copies one site onto another of the same shape; with `is_inside` both are known to stay in their
        storage."""
        dtype = self.part.specs[target.root].dtype
        (shape, to), (_, come) = self.strided(target), self.strided(source)
        if 0 in shape:  # the other axes are not walked
            shape, to, come = (0,), (dtype.itemsize,), (dtype.itemsize,)
        step = self.backend.copy(dtype.itemsize, shape, to, come)
        found = [self.place(source), self.place(target)]
        if not is_inside:
            found[0].check(*reach(shape, come, dtype.itemsize))
            found[1].check(*reach(shape, to, dtype.itemsize))
        return self.step(step, found, 20 + 0.3 * dtype.itemsize * float(np.prod(shape, dtype=float)))

    def copied(self, value: int, target: Place) -> Made:
        """A row that copies a value in C order to a place."""
        return self.copied_between(value, self.place(self.part.sites[value]), target)

    def copied_between(self, value: int, source: Place, target: Place) -> Made:
        """The same from the place where the value is kept."""
        size = self.part.specs[value].dtype.itemsize
        count = math.prod(self.shape(value))
        step, total = self.backend.copy(size, (count,), (size,), (size,)), count * size
        if self.checks is not False:
            source.check(0, total)
            target.check(0, total)
        return self.step(step, [source, target], 20 + 0.1 * total)

    def fill(self, value: Array | int, target: Site, is_inside: bool = False) -> Made:
        """A row that fills a site with one number; with `is_inside` it is known to stay in its storage."""
        dtype = self.part.specs[target.root].dtype
        shape, to = self.strided(target)
        if 0 in shape:  # the other axes are not walked
            shape, to = (0,), (dtype.itemsize,)
        step = self.backend.fill(np.asarray(value, dtype.numpy), shape, to)
        work = 20 + 0.1 * dtype.itemsize * float(np.prod(shape, dtype=float))
        place = self.place(target) if is_inside else self.checked(target, (shape, to), dtype.itemsize)
        return self.step(step, [place], work)

    def _size_or_number(self, source: Any) -> Any:
        return self.size(source) if isinstance(source, Dim) else source

    def known(self, scalar: Node | Array) -> Any:
        """The number of a scalar that is a constant or the node of a size."""
        if not isinstance(scalar, Node):
            return scalar
        op: Any = scalar.op
        return (
            constant_of(self.part, scalar.start, self.numbers)
            if op.as_size is None
            else self.size(op.as_size)
        )

    def scalar(self, scalar: Node | Array, dtype: DType) -> int:
        """The word of a scalar that is a constant or a size."""
        return scalar_word(self.known(scalar), dtype)


def constant_of(part: Partition, root: int, numbers: Mapping[str, int]) -> Any:
    """The array of a constant, or of a value that depends only on sizes."""
    node = part.given.get(root)
    if node is not None:
        values = [as_value(constant_of(part, value, numbers)) for value in node.inputs]
        return unreported(with_sizes(node.op, numbers).eval, *values)
    inputs = len(part.graph.inputs)
    if not inputs <= root < part.graph.first_node_value:
        raise InternalError(f"plan: value {root} has no place")
    return part.graph.constants[root - inputs]
