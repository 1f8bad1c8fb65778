"""The rows of a chain of loops: a table of its kernels, walked once for each block.

Pointers to arrays advance from block to block; pointers to values held for a block stay. If the work is shared among threads,
each range of blocks is a row with its own workspace, and the rest after the last whole block is one more row.
"""

from __future__ import annotations

from typing import Any

from graphad.compiler import rows as table
from graphad.compiler.plan import buffers
from graphad.compiler.plan.places import ARENA, Made, Place, Surroundings, moves_of
from graphad.compiler.rows import Row
from graphad.compiler.stack import scale_of
from graphad.compiler.units import Unit, loop_of
from graphad.core.dims import product
from graphad.kernels.block import block_layout
from graphad.kernels.forms import STRIDED

COUNTED = buffers.ALIGNMENT  # bytes at the start of a workspace, for the count of blocks


class Blocks:
    """One chain of loops, for concrete sizes.

    Attributes: total: Bytes of its workspace.
    """

    def __init__(self, scope: Surroundings, unit: Unit) -> None:
        self.scope, self.unit = scope, unit
        self.count = scope.size(unit.rows)
        self._bytes = {value: scope.size(size) for value, size in unit.held.items()}
        # The steps of each loop's outermost dimension in a row.
        self._scales = [scope.size(scale_of(each, unit.rows) or 0) for each in unit.stages]
        spans = self._spans()
        widest = max(
            [
                sum(self._bytes[v] for v, (a, b) in spans.items() if a <= k <= b)
                for k in range(len(unit.stages))
            ]
        )
        inside = max([scope.size(product(each.shape)) for each in unit.stages]) // max(self.count, 1)
        self.block = scope.backend.chain_rows(self.count, widest, max(inside, 1))
        self.is_cut = self.block < self.count
        # One cache line more for each: at distances of powers of two all would map to the same cache sets.
        lives = [
            buffers.Life(self.block * self._bytes[value] + buffers.ALIGNMENT, *span)
            for value, span in spans.items()
        ]
        offsets, size = buffers.place(lives)
        self.held = dict(zip(spans, offsets, strict=True))
        self.size = COUNTED + size
        self._words = [scope.words(each, loop_of(each)) for each in unit.stages]
        self.work = sum([scope.backend.work(loop_of(each), scope.numbers) for each in unit.stages])
        rounds, self.rest = divmod(self.count, max(self.block, 1))
        self.ranges = scope.backend.ranges(rounds, self.work) if scope.is_shared else [(0, rounds)]
        self.total = self.size * (len(self.ranges) + bool(self.rest)) if self.is_cut else self.size

    def _spans(self) -> dict[int, tuple[int, int]]:
        """The first and the last loop that need each held value."""
        found: dict[int, tuple[int, int]] = {}
        for k, unit in enumerate(self.unit.stages):
            for value in unit.writes:
                if value in self.unit.held:
                    found[value] = (k, k)
            for site in unit.reads:
                if site.root in found:
                    found[site.root] = (found[site.root][0], k)
        return found

    def made(self, workspace: Place | None, is_inside: bool) -> list[Made]:
        """Rows that may run in parallel; the rows of the loops in order, if everything fits the cache."""
        assert workspace is not None
        found: list[Made] = []
        if not is_inside:
            self._check()
        if not self.is_cut:
            return [self._kernel(k, workspace, 0, self.count) for k in range(len(self.unit.stages))]
        for low, high in self.ranges:
            found.append(self._row(workspace.shifted(self.size * len(found)), low, high - low, self.block))
        if self.rest:
            behind = self.count // self.block
            found.append(self._row(workspace.shifted(self.size * len(found)), behind, 1, self.rest))
        return found

    def _check(self) -> None:
        """Check that the loops stay inside their storage; see `Place.check`."""
        scope = self.scope
        for unit, (words, sites) in zip(self.unit.stages, self._words, strict=True) if self.count else ():
            walks = block_layout(loop_of(unit).kernel).walks
            for (_, site), walk in zip(sites, walks, strict=True):
                width = self._bytes.get(site.root)
                whole = scope.place(site) if width is None else Place.of(ARENA, 0, 0, self.count * width)
                whole.check(*walk.reach(words))

    def _row(self, workspace: Place, first: int, rounds: int, count: int) -> Made:
        """The row that runs `rounds` blocks of `count` rows, from block `first` on."""
        backend = self.scope.backend
        body = [self._kernel(k, workspace, first, count) for k in range(len(self.unit.stages))]
        words, places, pointers = moves_of(self, [body])
        words[table.BODY_ROWS], words[table.FIXED] = len(body), rounds
        words[table.MOST] = words[table.STEPS] = -1
        places.append((table.COUNT, workspace))
        work = self.work * rounds * count / max(self.count, 1)
        made = self.scope.filled(backend.repeat(), words, places, work)
        row, tables = made.row, [(table.BODY, [each.row for each in body])]
        return Made(
            Row(row.function, row.words, row.arguments, row.arena, tables, pointers), work, made.moves
        )

    def _kernel(self, number: int, workspace: Place, first: int, count: int) -> Made:
        """The row of one loop for `count` of the chain's rows."""
        scope, loop = self.scope, loop_of(self.unit.stages[number])
        words, sites = self._words[number]
        words = [*words]  # one row's own
        layout, kernel = block_layout(loop.kernel), loop.kernel
        accesses = [*kernel.inputs, *[store.access for store in kernel.outputs]]
        scale = self._scales[number]
        words[layout.hi] = count * scale
        places: list[tuple[int, Place]] = []
        for operand, ((word, site), access) in enumerate(zip(sites, accesses, strict=True)):
            offset = self.held.get(site.root)
            if offset is not None:
                places.append((word, workspace.shifted(COUNTED + offset)))
                continue
            kind = access.strides[0]
            step = words[layout.strides[operand, 0]] if kind == STRIDED else int(kind)
            stride = step * scale * access.dtype.itemsize * self.block if self.is_cut else 0
            places.append((word, self._moving(scope.place(site), stride, first)))
        made = scope.filled(
            scope.binding.address(kernel), words, places, scope.backend.work(loop, scope.numbers)
        )
        made.loop = loop
        return made

    def _moving(self, place: Place, stride: int, first: int) -> Place:
        """A place that advances by `stride` bytes for each block, at block `first`."""
        if not stride:
            return place
        moved: Any = (self, stride)
        return place.shifted(first * stride)._replace(strides=(moved, *place.strides))
