"""Rows of conds: both branches as tables of rows, of which a run walks one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler import rows as table
from graphad.compiler.plan import buffers
from graphad.compiler.plan.nested import Nested, append
from graphad.compiler.plan.places import ARENA, Made, Place, moves_of
from graphad.compiler.rows import Row
from graphad.compiler.units import branch_of

if TYPE_CHECKING:
    from graphad.compiler.plan.steps import Scope
    from graphad.compiler.units import Partition, Unit
    from graphad.kernels.sites import Site


class BranchMaker:
    """Lays out one native cond: the arena that its branches share, and their tables.

    Attributes:
      total: Bytes of the arena.
    """

    def __init__(self, outer: Scope, unit: Unit, workspace: Place | None) -> None:
        self._outer, self._unit = outer, unit
        self._branch = branch_of(unit)
        self._start = workspace.offset if workspace is not None else 0
        self._scopes = [
            outer.inner(part, self._branch.op, outer.is_shared) for part in self._branch.partitions
        ]
        self.total = 0
        self._offsets = [self._arena(scope, k) for k, scope in enumerate(self._scopes)]

    def _arena(self, scope: Scope, k: int) -> dict[int, tuple[int, int]]:
        """The offset and size of a branch's values."""
        last = scope.part.last_uses()
        for root in self._branch.direct[k]:
            last.pop(root, None)
        lives = scope.lives(scope.part.units, last)
        offsets, total = buffers.place([life for _, life in lives])
        self.total = max(self.total, total)
        return {value: (offset, life.size) for (value, life), offset in zip(lives, offsets, strict=True)}

    def made(self, is_inside: bool) -> list[Made]:
        """The row; with `is_inside` what the branches access outside is known to stay in its storage."""
        outer, (predicate, *operands) = self._outer, self._unit.reads
        tables = []
        for k, scope in enumerate(self._scopes):
            for value, site in enumerate(operands):
                scope.let(value, outer.place(site), is_inside)
            for root, output in self._branch.direct[k].items():
                scope.let(root, self._result(output), is_inside)
            for value, (offset, size) in self._offsets[k].items():
                scope.places.setdefault(value, Place.of(ARENA, 0, self._start + offset, size))
            tables.append(self._rows(scope, k, is_inside))
        found = [[made for _, rows in each for made in rows] for each in tables]
        words, places, pointers = moves_of(self, found)
        steps = [self._steps(scope, each) for scope, each in zip(self._scopes, tables, strict=True)]
        words[table.BODY_ROWS], words[table.TEST_ROWS] = len(steps[0]), len(steps[1])
        answer = outer.place(predicate)
        answer.check(0, 1)
        places.append((table.ANSWER, answer))
        work = 20 + max(sum(made.work for made in rows) for rows in found)
        made = outer.filled(outer.backend.branch(), words, places, work)
        row = made.row
        named = list(zip((table.BODY, table.TEST), steps, strict=True))
        return [
            Made(Row(row.function, row.words, row.arguments, row.arena, named, pointers), work, made.moves)
        ]

    def _result(self, output: int) -> Place:
        return self._outer.place(self._outer.part.sites[self._unit.writes[output]])

    def _rows(self, scope: Scope, k: int, is_inside: bool) -> list[tuple[Unit | None, list[Made]]]:
        """The rows of each unit of one branch; then, with None for the unit, those of outputs that are computed elsewhere."""
        part, direct = scope.part, self._branch.direct[k]
        found: list[tuple[Unit | None, list[Made]]] = [
            (unit, scope.make(unit, scope.places.get(-1 - at))) for at, unit in enumerate(part.units)
        ]
        for output, value in enumerate(self._branch.values[k]):
            if value is None:
                site = self._outer.part.sites[self._unit.writes[output]]
                if self._is_read(site.root, k):
                    found.append((None, [self._outer.fill(np.zeros(()), site, is_inside)]))
            elif direct.get(part.sites[value].root) != output:
                found.append((None, [scope.copied(value, self._result(output))]))
        return found

    def _is_read(self, root: int, k: int) -> bool:
        """Whether something may read a result that branch `k` does not have: all but what the same choice keeps from running."""
        part, choice = self._outer.part, self._unit.reads[0]
        if any(part.sites[value].root == root for value in part.outputs if value in part.sites):
            return True
        for unit in part.units:
            places = [place for place, site in enumerate(unit.reads) if site.root == root]
            if places and (unit.branch is None or unit.reads[0] != choice):
                return True
            if unit.branch and any(_reads(unit.branch.partitions[k], place - 1) for place in places):
                return True
        return False

    def _steps(self, scope: Scope, found: list[tuple[Unit | None, list[Made]]]) -> list[Row]:
        """The rows as a table. Those of a plan's own cond may be shared among threads; no loop moves words of theirs."""
        if not scope.is_shared:
            return [made.row for _, rows in found for made in rows]
        builder = Nested()
        for unit, rows in found:
            if unit is not None:
                self._outer.regions += append(builder, scope, unit, rows)
                continue
            for made in rows:
                builder.add_row(made.row)
        self._outer.regions += scope.regions
        return builder.rows


def _reads(part: Partition, value: int) -> bool:
    """Whether a graph uses one of its inputs."""
    outputs = [part.sites[output].root for output in part.outputs]
    return value in outputs or any(site.root == value for unit in part.units for site in _sites(unit))


def _sites(unit: Unit) -> list[Site]:
    """The sites that a unit reads, its stages included."""
    return [*unit.reads, *[site for stage in unit.stages for site in _sites(stage)]]
