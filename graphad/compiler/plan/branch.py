"""Rows of conds: both branches as tables of rows, of which a run walks one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler import rows as table
from graphad.compiler.plan import buffers
from graphad.compiler.plan.places import ARENA, Made, Place, moves_of
from graphad.compiler.rows import Row

if TYPE_CHECKING:
    from graphad.compiler.branch import Branch
    from graphad.compiler.plan.steps import Scope
    from graphad.compiler.units import Unit


class BranchMaker:
    """Lays out one native cond: the arena that its branches share, and their tables.

    Attributes:
      total: Bytes of the arena.
    """

    def __init__(self, outer: Scope, unit: Unit, workspace: Place | None) -> None:
        self._outer, self._unit = outer, unit
        self._branch: Branch = unit.branch
        self._start = workspace.offset if workspace is not None else 0
        self._scopes = [outer.inner(part, self._branch.op) for part in self._branch.partitions]
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
        words, places, pointers = moves_of(self, tables)
        words[table.BODY_ROWS], words[table.TEST_ROWS] = len(tables[0]), len(tables[1])
        answer = outer.place(predicate)
        answer.check(0, 1)
        places.append((table.ANSWER, answer))
        work = 20 + max(sum(made.work for made in rows) for rows in tables)
        made = outer.filled(outer.backend.branch(), words, places, work)
        row = made.row
        named = [
            (word, [each.row for each in rows])
            for word, rows in zip((table.BODY, table.TEST), tables, strict=True)
        ]
        return [
            Made(Row(row.function, row.words, row.arguments, row.arena, named, pointers), work, made.moves)
        ]

    def _result(self, output: int) -> Place:
        return self._outer.place(self._outer.part.sites[self._unit.writes[output]])

    def _rows(self, scope: Scope, k: int, is_inside: bool) -> list[Made]:
        """What one branch does, and its outputs that are made elsewhere."""
        part, direct = scope.part, self._branch.direct[k]
        rows = [
            made for at, unit in enumerate(part.units) for made in scope.make(unit, scope.places.get(-1 - at))
        ]
        for output, value in enumerate(self._branch.values[k]):
            if value is None:
                site = self._outer.part.sites[self._unit.writes[output]]
                rows.append(self._outer.fill(np.zeros(()), site, is_inside))
            elif direct.get(part.sites[value].root) != output:
                rows.append(scope.copied(value, self._result(output)))
        return rows
