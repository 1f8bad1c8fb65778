"""The order of units: topological, with native units together as long as possible.

Each change between native units and host steps ends a native call, so fewer changes mean fewer calls. What acts comes as late as
possible, since a run that has acted cannot be made again.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

from graphad.compiler.units import NATIVE
from graphad.graph.walk import acts

if TYPE_CHECKING:
    from graphad.compiler.fuse import Group
    from graphad.compiler.units import Unit

U = TypeVar("U", "Unit", "Group")


def in_order(units: Sequence[U], needs: dict[int, set[int]]) -> list[U] | None:
    """Units or groups after their dependencies (by index), ties by the position of their nodes; None if there is a cycle."""
    by_index = {unit.index: unit for unit in units}
    waits = {index: set(found) for index, found in needs.items()}
    feeds: dict[int, list[int]] = {}
    for index, found in waits.items():
        for other in found:
            feeds.setdefault(other, []).append(index)
    # native, host, acting: each by the place of the last node
    ready: tuple[list[tuple[int, int]], list[tuple[int, int]], list[tuple[int, int]]] = ([], [], [])

    def offer(unit: U) -> None:
        place = unit.nodes[-1].start if unit.nodes else unit.reads[0].root  # a copy: of what was made there
        kind = 0 if unit.kind in NATIVE else 2 if any(acts(node.op) for node in unit.nodes) else 1
        heapq.heappush(ready[kind], (place, unit.index))

    for unit in units:
        if not waits[unit.index]:
            offer(unit)
    out: list[U] = []
    while any(ready):
        _, index = heapq.heappop(ready[0] or ready[1] or ready[2])
        out.append(by_index[index])
        for other in feeds.get(index, ()):
            waits[other].discard(index)
            if not waits[other]:
                offer(by_index[other])
    return out if len(out) == len(units) else None
