"""Rows of native loops: their arena, their tables, the moves between rounds, and the stacks of which only the run knows how long
they are.

Such a stack is found by a cell in the arena (`compiler/rows.py`), which the loop that collects it fills; what walks along it
reads the cell before its first round. In a round of an outer loop, a stack of an inner loop that the outer one collects is not
copied: the inner loop adds its slices to those of earlier rounds, and the outer one collects where they begin and how many there
are.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler import rows as table
from graphad.compiler.plan import buffers
from graphad.compiler.plan.places import ARENA, CELL, RELEASE_NANOSECONDS, ROUNDS, Made, Place, moves_of
from graphad.compiler.repeat import COPIED, DIRECT
from graphad.compiler.rows import Owned
from graphad.compiler.units import passed, repeat_of
from graphad.core.shapes import is_definite
from graphad.kernels.sites import Site, same_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphad.compiler.plan.steps import Scope
    from graphad.compiler.units import Unit
    from graphad.core.spec import TensorSpec


class RepeatMaker:
    """Lays out one native loop: its arena, its tables, its moves."""

    def __init__(self, outer: Scope, unit: Unit, workspace: Place | None) -> None:
        self.outer, self.unit = outer, unit
        self.repeat = repeat_of(unit)
        self.op = self.repeat.op
        self.body = outer.inner(self.repeat.body, self.op)
        self.test = None if self.repeat.test is None else outer.inner(self.repeat.test, self.op)
        self.start = workspace.offset if workspace is not None else 0
        self.total = 0
        self._swaps: dict[int, int] = {}
        self._bases: dict[int, dict[int, tuple[int, int]]] = {}
        for k, scope in enumerate([self.body] if self.test is None else [self.body, self.test]):
            self._bases[k] = self._arena(scope, k)
        specs = outer.part.specs
        self._grown = [k for k in self.op.outputs.ys if not is_definite(specs[unit.writes[k]].dims)]
        self._walked = [k for k, site in self._stacks() if not outer.part.is_known(site)]
        self._parts = {k: self._room() for k in self._walked if not is_definite(self.body.part.specs[k].dims)}
        self._added = {unit: self._room() for unit in map(self._unit_of, self.repeat.parts.values())}

    def _arena(self, scope: Scope, k: int) -> dict[int, tuple[int, int]]:
        """The offset and size of a round's values, including those copied at its end."""
        units = scope.part.units
        last = scope.part.last_uses()
        if k == 0:
            for root in self._placed_roots():
                last.pop(root, None)
        lives = scope.lives(units, last)
        offsets, total = buffers.place([life for _, life in lives])
        base = self.total
        self.total += total
        for carry in self._swapped() if k == 0 else ():
            self._swaps[carry] = self.total
            size = self.outer.bytes(self.unit.writes[carry])
            self.total += -(-size // buffers.ALIGNMENT) * buffers.ALIGNMENT
        return {
            value: (base + offset, life.size) for (value, life), offset in zip(lives, offsets, strict=True)
        }

    def _room(self) -> int:
        """An offset in the arena for a few words."""
        self.total += buffers.ALIGNMENT
        return self.total - buffers.ALIGNMENT

    def _swapped(self) -> list[int]:
        """Carries that become the old value of another carry, which need storage of their own."""
        n, part = self.op.n_carry, self.repeat.body
        found = []
        for k, value in enumerate(self.op.results.carries(part.outputs)):
            root = part.sites[value].root
            if root < n and root != k:
                found.append(k)
        return found

    def _placed_roots(self) -> set[int]:
        """Roots of the body that live in results of the loop rather than in the arena."""
        part = self.repeat.body
        direct = [
            part.sites[value].root
            for k, value in enumerate(self.op.results.carries(part.outputs))
            if self.repeat.ways[k] == DIRECT
        ]
        return {*direct, *self.repeat.stacked}

    def made(self, is_inside: bool) -> list[Made]:
        """Copies of the first carries, then the loop itself; with `is_inside` both are known to stay in their storage."""
        return [*self._first_rows(is_inside), self._loop_row(is_inside)]

    def _operands(self) -> tuple[Site | None, Sequence[Site], Sequence[Site], Sequence[Site]]:
        """Limit (None where it is a number), carries, invariants and stacks among the unit's sites."""
        limit = None if self.unit.scalars else self.unit.reads[0]
        reads, places = passed(self.unit), self.op.operands
        return limit, places.carries(reads), places.invariants(reads), places.xs(reads)

    def _result(self, k: int) -> Site:
        return self.outer.part.sites[self.unit.writes[k]]

    def _first_rows(self, is_inside: bool) -> list[Made]:
        _, carry, _, _ = self._operands()
        rows = [self.outer.copy(site, self._result(k), is_inside) for k, site in enumerate(carry)]
        if not self._writes_every_slice():
            rows += [self.outer.fill(0, self._result(k), is_inside) for k in self._known_ys()]
        for offset in self._added.values():
            step = self.outer.backend.fill(np.zeros((), np.int64), (), ())
            rows.append(self.outer.step(step, [self._word(offset)], 20))
        return rows

    def _known_ys(self) -> list[int]:
        """The ys of which the plan knows how many slices they have."""
        return [k for k in self.op.outputs.ys if k not in self._grown]

    def _stacks(self) -> list[tuple[int, Site]]:
        """The stacks that the loop walks along, by the body's input."""
        return list(zip(self.op.operands.xs, self._operands()[3], strict=True))

    def _word(self, offset: int) -> Place:
        return Place.of(ARENA, 0, self.start + offset, table.CELL_BYTES)

    def _unit_of(self, value: int) -> int:
        """The index of the inner loop that makes a stack which this one collects."""
        return next(unit.index for unit in self.repeat.body.units if value in unit.writes)

    def _writes_every_slice(self) -> bool:
        known = self._known_ys()
        if not known or self.op.test is not None or self.op.steps is None:
            return not known
        dims = self.outer.part.specs[self.unit.writes[known[0]]].dims
        return dims is not None and same_size(dims[0], self.op.steps)

    def _bind_places(self, is_inside: bool) -> None:
        outer, body, operands = self.outer, self.body, self.op.operands
        _, _, invariants, _ = self._operands()
        for k in operands.carries:
            body.let(k, outer.place(self._result(k)), is_inside)
        for k, site in zip(operands.invariants, invariants, strict=True):
            body.let(k, outer.place(site), is_inside)
        for k, site in self._stacks():
            if k in self._parts:
                body.places[k] = self._word(self._parts[k])
            elif k in self._walked:
                body.let(k, self._slice(site.root, body.bytes(k)), is_inside)
            else:
                body.let(k, self._moving(outer.place(site), body.bytes(k), is_inside), is_inside)
        for root, y in self.repeat.stacked.items():
            body.let(root, self._slice_of_result(y, body.bytes(root), is_inside), is_inside)
        for y, value in self.repeat.parts.items():
            body.longs[value] = self._cell(self.unit.writes[self.op.outputs.ys[y]], table.CELL_LONG)
        for index, offset in self._added.items():
            body.added[index] = self._word(offset), self._word(offset + 8)
        for k, value in enumerate(self.op.results.carries(self.repeat.body.outputs)):
            if self.repeat.ways[k] == DIRECT:
                body.let(self.repeat.body.sites[value].root, outer.place(self._result(k)), is_inside)
        self._place_arena(body, 0)
        if self.test is not None:
            for k in (*operands.carries, *operands.invariants):
                self.test.let(k, body.places[k], is_inside)
            self._place_arena(self.test, 1)

    def _place_arena(self, scope: Scope, k: int) -> None:
        for value, (offset, size) in self._bases[k].items():
            scope.places.setdefault(value, Place.of(ARENA, 0, self.start + offset, size))

    def _moving(self, place: Place, size: int, is_inside: bool) -> Place:
        return place.moved_by(self, size, self._most(), self.op.reverse, is_inside)

    def _cell(self, value: int, word: int = 0) -> Place:
        """A word of the cell of one of the loop's stacks."""
        return self.outer.places[value].shifted(8 * word)

    def _slice(self, value: int, size: int) -> Place:
        """The slice of `size` bytes of each round, of a stack that is found by a cell."""
        stride = -size if self.op.reverse else size
        return Place(CELL, self._cell(value).offset, 0, 0, size, ((self, stride),))

    def _slice_of_result(self, y: int, size: int, is_inside: bool) -> Place:
        k = self.op.outputs.ys[y]
        if k in self._grown:
            return self._slice(self.unit.writes[k], size)
        return self._moving(self.outer.place(self._result(k)), size, is_inside)

    def _most(self) -> int:
        """The slices of the shortest stack, the most rounds that are possible; -1 where the plan does not know."""
        lengths = [site.shape[0] for k, site in self._stacks() if k not in self._walked]
        for k in self._known_ys():
            lengths.append((self.outer.part.specs[self.unit.writes[k]].dims or (0,))[0])
        return min([self.outer.size(length) for length in lengths], default=-1)

    def _body_rows(self, is_inside: bool) -> list[Made]:
        body, part = self.body, self.repeat.body
        rows = []
        for k, site in self._stacks():
            if k in self._parts:
                step = self.outer.backend.part(self._bytes_of_part(part.specs[k]))
                pair, long = self._slice(site.root, table.PAIR_BYTES), self._cell(site.root, table.CELL_LONG)
                rows.append(self.outer.step(step, [pair, long, body.places[k]], 20))
        for y, value in self.repeat.early.items():
            rows.append(self._copy_to_slice(y, value, is_inside))
        for at, unit in enumerate(part.units):
            rows += body.make(unit, body.places.get(-1 - at))
        for y, value in self.repeat.late.items():
            rows.append(self._copy_to_slice(y, value, is_inside))
        for y, value in self.repeat.parts.items():
            step = self.outer.backend.copy(8, (2,), (8,), (8,))
            pair = self._word(self._added[self._unit_of(value)] + 8)
            slot = self._slice(self.unit.writes[self.op.outputs.ys[y]], table.PAIR_BYTES)
            rows.append(self.outer.step(step, [pair, slot], 20))
        swapped = self._swapped()
        for k in swapped:
            rows.append(self._copy_value(part.outputs[k], self._swap(k)))
        for k, way in enumerate(self.repeat.ways):
            if way == COPIED:
                source = self._swap(k) if k in swapped else None
                target = body.places[k]
                rows.append(
                    self._copy_between(k, source, target)
                    if source
                    else self._copy_value(part.outputs[k], target)
                )
        return rows

    def _swap(self, k: int) -> Place:
        return Place.of(ARENA, 0, self.start + self._swaps[k], self.outer.bytes(self.unit.writes[k]))

    def _copy_value(self, value: int, target: Place) -> Made:
        """Copy a value of the body, C order, to a place."""
        return self.body.copied(value, target)

    def _copy_between(self, k: int, source: Place, target: Place) -> Made:
        return self.body.copied_between(self.repeat.body.outputs[k], source, target)

    def _copy_to_slice(self, y: int, value: int, is_inside: bool) -> Made:
        return self._copy_value(value, self._slice_of_result(y, self.body.bytes(value), is_inside))

    def _bytes_of_part(self, spec: TensorSpec) -> int:
        """The bytes of a slice of a slice."""
        return math.prod([self.outer.size(n) for n in (spec.dims or ())[1:]], start=spec.dtype.itemsize)

    def _single(self, scope: Scope, site: Site, size: int) -> Place:
        """The place of one element of `size` bytes."""
        place = scope.place(site)
        place.check(0, size)
        return place

    def _loop_row(self, is_inside: bool) -> Made:
        self._bind_places(is_inside)
        outer, op = self.outer, self.op
        limit, _, _, _ = self._operands()
        tables = [self._body_rows(is_inside)]
        if self.test is not None:
            test = self.test
            tables.append(
                [
                    made
                    for at, unit in enumerate(test.part.units)
                    for made in test.make(unit, test.places.get(-1 - at))
                ]
            )
        words, places, pointers = moves_of(self, tables)
        words[table.BODY_ROWS], words[table.REVERSE] = len(tables[0]), int(op.reverse)
        words[table.MOST] = self._most()
        words[table.STEPS] = -1 if op.steps is None or op.test is not None else outer.size(op.steps)
        places.append((table.COUNT, self._single(outer, self._result(op.outputs.count[0]), 4)))
        rounds = ROUNDS
        if limit is None:
            scalar = self.unit.scalars[0]
            words[table.FIXED] = int(outer.known(scalar))
            rounds = float(words[table.FIXED]) if self.test is None else min(ROUNDS, words[table.FIXED])
        else:
            words[table.LIMIT_BYTES] = outer.part.specs[limit.root].dtype.itemsize
            places.append((table.LIMIT, self._single(outer, limit, words[table.LIMIT_BYTES])))
        if self.test is not None:
            words[table.TEST_ROWS] = len(tables[1])
            answer = self.test.part.sites[self.test.part.outputs[0]]
            places.append((table.ANSWER, self._single(self.test, answer, 1)))
        work = 30 + rounds * sum(made.work for rows in tables for made in rows)
        if limit is not None or (self.test is not None and words[table.FIXED] > ROUNDS):
            work = max(work, RELEASE_NANOSECONDS + 1)  # the duration is unknown
        if work > RELEASE_NANOSECONDS or outer.checks is not None:  # the same for all sizes that a run finds
            words[table.POLL] = outer.backend.poll()
        owned = self._with_stacks(words, places) if self._grown or self._walked else ()
        made = outer.filled(outer.backend.repeat(), words, places, work)
        row = made.row
        named = [(table.BODY, [m.row for m in tables[0]])]
        if self.test is not None:
            named.append((table.TEST, [m.row for m in tables[1]]))
        row = row._replace(tables=named, pointers=pointers, owned=owned)
        return Made(row, work, made.moves)

    def _with_stacks(self, words: list[int], places: list[tuple[int, Place]]) -> list[Owned]:
        """Append what a loop needs for its stacks of unknown length. Returns: what makes room for them."""
        outer, op, body, at = self.outer, self.op, self.repeat.body, len(words)
        words[table.STACKS] = at
        slices: list[tuple[tuple[int, ...], np.dtype[np.generic]]] = []
        for k in self._grown:
            y = k - op.outputs.ys.start
            value = op.results.ys(body.outputs)[y]
            whole = ((2,), np.dtype(np.int64)) if y in self.repeat.parts else None
            slices.append(whole or (self.body.shape(value), body.specs[value].dtype.numpy))
        more, make = outer.backend.growing(slices, len(self._walked), outer.about(self.unit))
        words += more
        stacks = self._stacks()
        words[at + table.S_NEED] = table.NEED_LIMIT if op.test is None else table.NEED_ROUNDS
        if stacks and stacks[0][0] in self._walked:
            places.append((at + table.S_LIKE, self._cell(stacks[0][1].root)))
        elif stacks:
            words[at + table.S_NEED] = outer.size(stacks[0][1].shape[0])
        words[at + table.S_TESTED] = int(op.test is not None)
        added = outer.added.get(self.unit.index)
        if added is not None:
            places += zip((at + table.S_USED, at + table.S_PAIR), added, strict=True)
        for k in self._grown:
            value, row = self.unit.writes[k], at + table.GROW + table.GROW_WORDS * self._grown.index(k)
            places.append((row + table.G_CELL, self._cell(value)))
            if value in outer.longs:
                places.append((row + table.G_LONG, outer.longs[value]))
        first = at + table.GROW + table.GROW_WORDS * len(self._grown)
        places += [(first + k, self._cell(dict(stacks)[x].root)) for k, x in enumerate(self._walked)]
        return [Owned(at + table.S_OWNER, make)] if self._grown else []
