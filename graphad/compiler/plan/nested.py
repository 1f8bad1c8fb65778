"""Rows of units as steps of a plan, or of a table that one of its steps walks; large ones are shared among threads."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphad.compiler.rows import Argument, Row
from graphad.compiler.units import BLOCKS, GEMM

if TYPE_CHECKING:
    from graphad.compiler.plan.places import Made
    from graphad.compiler.plan.steps import Scope
    from graphad.compiler.rows import Arena
    from graphad.compiler.units import Unit

_TABLE, _COUNT, _CONTROL = range(3)  # words of a region's block


class Nested:
    """Collects the rows of a table as a builder collects those of a plan."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    def add_row(self, row: Row) -> None:
        self.rows.append(row)

    def add_step(
        self,
        function: int,
        words: Sequence[int],
        arguments: Iterable[Argument] = (),
        arena: Iterable[Arena] = (),
    ) -> None:
        self.rows.append(Row(function, words, list(arguments), list(arena)))

    def add_region(self, function: int, rows: Sequence[Row], control: int) -> None:
        words = [0] * 3
        words[_COUNT], words[_CONTROL] = len(rows), control
        self.rows.append(Row(function, words, tables=[(_TABLE, rows)]))


def append(builder: Any, scope: Scope, unit: Unit, found: Sequence[Made]) -> int:
    """Append the rows of a unit. Returns: how many regions shared among threads that made."""
    if unit.kind in (BLOCKS, GEMM) and not any(made.loop for made in found):
        return scope.backend.share(builder, [made.row for made in found])
    regions = 0
    for apart, some in itertools.groupby(found, lambda made: made.apart):
        if apart:
            regions += scope.backend.share(builder, [made.row for made in some])
            continue
        for made in some:
            if made.loop is None:
                builder.add_row(made.row)
            else:
                regions += scope.backend.launch(builder, made.loop, scope.numbers, made.row, made.work)
    return regions
