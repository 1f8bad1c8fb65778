"""The second step of a partition: loops over one iteration shape become one.

Elementwise nodes join the loop of their producers, and a reduction joins it as a further result; a reader of a reduction cannot
be in the same loop. Then loops over one shape that read the same arrays are merged: one pass instead of two. So are sums of
columns, if one of them can wait. A loop ends where `cuts` says so, and where fusing more would make a cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphad.compiler.cuts import WEIGHT_LIMIT
from graphad.compiler.lower import Lowered
from graphad.compiler.order import in_order
from graphad.compiler.units import LOOP, Unit, same_shape
from graphad.core.errors import InternalError, UnavailableError
from graphad.graph.ir import Node
from graphad.kernels.record import Struct
from graphad.kernels.sites import Site

if TYPE_CHECKING:
    from graphad.core.dims import Size


SIBLINGS = 8  # loops over the same shape that are looked at for merging
STREAMS = 6  # arrays that merged loops may read: all of them are streamed at once and compete for the cache
WIDE = 24  # arrays; a loop that reads more recomputes some of them
LIGHT = 12  # the most weight of a loop that also reduces, where its shape may have a chain (`blocks.py`)
CHEAP = 2  # the most weight that is recomputed


class Group(Struct):
    """A future unit, while units are collected.

    `bits` are the bits of its units and `above` those of its dependencies; `is_read`: something depends on it; `is_full`:
    nothing may join it; `again`: by value, nodes of other loops that it recomputes.
    """

    unit: Unit
    index: int
    bits: int
    nodes: list[Node]
    weight: int
    reduced: tuple[int, ...] | None
    results: dict[int, str] = {}
    above: int = 0
    is_read: bool = False
    is_full: bool = False
    again: dict[int, Node] = {}

    @property
    def kind(self) -> str:
        return self.unit.kind

    @property
    def shape(self) -> tuple[Size, ...]:
        return self.unit.shape

    @property
    def reads(self) -> list[Site]:
        return self.unit.reads


class Fused:
    """The groups of a lowered graph. Attributes: live: The remaining groups."""

    def __init__(self, lowered: Lowered) -> None:
        self.lowered = lowered
        self._cuts, self._sites, self._maker = lowered.cuts, lowered.sites, lowered.maker
        self._chains = _chains(lowered.units) if lowered.backend.has_blocks and self._cuts.is_long else set()
        self._parent = list(range(len(lowered.units)))
        self._groups = [
            Group(
                unit, unit.index, 1 << unit.index, list(unit.nodes), unit.weight, unit.reduced, unit.results
            )
            for unit in lowered.units
        ]
        for unit in self._units_in_order():
            self._add(unit)
        self._merge_siblings()
        self.live = [group for group in self._groups if self.find(group.index) == group.index]
        self._compute_again()

    def group_of(self, value: int) -> int | None:
        """The group that makes a root, None for inputs and constants."""
        made = self._maker.get(value)
        return None if made is None else self.find(made)

    def is_inside(self, group: Group, value: int) -> bool:
        """Whether the nodes of a group take a value from each other rather than from storage."""
        if value in group.again:
            return True
        return value in self.lowered.inner and self.find(self._maker[value]) == group.index

    def sources(self, group: Group) -> set[int]:
        """The groups that a group depends on."""
        found = {self.find(i) for i in self.links(group)}
        for root in self.reads(group):
            made = self.group_of(root)
            if made is not None:
                found.add(made)
        found.discard(group.index)
        return found

    def links(self, group: Group) -> set[int]:
        """The units that must run before those of a group, beyond those whose values it reads."""
        found = self.lowered.chain.links
        if group.kind != LOOP:
            return set(found.get(group.index, ()))
        return {other for node in group.nodes if found for other in found.get(self._maker[node.start], ())}

    def reads(self, group: Group) -> set[int]:
        """The roots that a group reads from storage."""
        if group.kind != LOOP:
            return {site.root for site in group.unit.reads}
        return {
            self._sites[value].root
            for node in (*group.nodes, *group.again.values())
            for value in node.inputs
            if not self.is_inside(group, value) and self.lowered.number(value) is None
        }

    def find(self, index: int) -> int:
        """The group that a unit is part of."""
        while self._parent[index] != index:
            self._parent[index] = self._parent[self._parent[index]]
            index = self._parent[index]
        return index

    def _units_in_order(self) -> Sequence[Unit]:
        """The units, each behind those on which it depends.

        They are that already, unless sizes that the run finds are compared by units which come late in the graph.
        """
        lowered = self.lowered
        links = lowered.chain.links
        if all(index < unit for unit, found in links.items() for index in found):
            return lowered.units
        needs = {}
        for unit in lowered.units:
            made = [self.group_of(lowered.site(value).root) for value in lowered.waits[unit.index]]
            needs[unit.index] = {index for index in (*made, *links.get(unit.index, ())) if index is not None}
        found = in_order(lowered.units, needs)
        if found is None:
            raise UnavailableError("partition: what compares sizes depends on what has these sizes")
        return found

    def _add(self, unit: Unit) -> None:
        group = self._groups[unit.index]
        links = self.lowered.chain.links.get(unit.index, ())
        if unit.kind == LOOP:
            node = unit.nodes[0]
            joined = self._target(node, unit.shape, unit.reduced, unit.weight, links)
            if joined is not None:
                self._parent[unit.index] = joined.index
                joined.nodes = sorted((*joined.nodes, node), key=lambda node: node.start)
                joined.weight += unit.weight
                joined.reduced = joined.reduced or unit.reduced
                joined.results |= unit.results
                group = joined
        for value in self.lowered.waits[unit.index]:
            site = self._sites.get(value)
            made = self.group_of(value if site is None else site.root)
            if made is not None:
                self._depend(group, made)
        for index in links:
            self._depend(group, self.find(index))

    def _depend(self, group: Group, index: int) -> None:
        source = self._groups[index]
        if source is not group:
            source.is_read = True
            group.above |= source.above | source.bits

    def _target(
        self,
        node: Node,
        shape: tuple[Size, ...],
        reduced: tuple[int, ...] | None,
        weight: int,
        links: Sequence[int],
    ) -> Group | None:
        """The loop that a node may join, with all others that it can be merged with; `links` are units that come before it."""
        direct: dict[int, None] = {}
        blocked: set[int] = set()
        others: dict[int, None] = dict.fromkeys(map(self.find, links))
        for value in node.inputs:
            if self.lowered.number(value) is not None:
                continue
            site = self._sites[value]
            index = self.group_of(site.root)
            if index is None:
                continue
            if self.is_inside(self._groups[index], value) and same_shape(self._groups[index].shape, shape):
                direct[index] = None
            else:
                blocked.add(index)
                others[index] = None
        chosen: Group | None = None
        for index in sorted(direct, reverse=True):
            unit = self._groups[index]
            if index in blocked or not self._fits(unit, reduced):
                continue
            if self._cuts.ends(node.start, unit.weight, weight):
                # Later nodes must not fill it differently in each repetition.
                unit.is_full = self._cuts.is_long
                continue
            if chosen is None:
                if self._may_depend(unit, [*others, *[i for i in direct if i != index]]):
                    chosen = unit
            elif self._mergeable(chosen, unit):
                if self._cuts.ends(node.start, unit.weight, chosen.weight + weight):
                    unit.is_full = self._cuts.is_long
                else:
                    chosen = self._merge(chosen, unit)
        if chosen is None:
            return None
        # Merging may have added a node on which a further input depends.
        rest = [i for i in (*others, *direct) if self.find(i) != chosen.index]
        return chosen if self._may_depend(chosen, rest) else None

    def _fits(self, unit: Group, reduced: tuple[int, ...] | None, weight: int = 0) -> bool:
        if unit.is_full or unit.weight + weight > WEIGHT_LIMIT:
            return False
        is_mixed = (reduced is None) != (unit.reduced is None)
        if is_mixed and unit.weight + weight > LIGHT and self._chains and _key(unit.shape) in self._chains:
            return False
        return reduced is None or unit.reduced is None or unit.reduced == reduced

    def _may_depend(self, unit: Group, others: Sequence[int]) -> bool:
        """Whether the unit may come to depend on these without a cycle, now or by what already depends on it."""
        for index in others:
            other = self._groups[self.find(index)]
            if other is unit:
                continue
            if other.above & unit.bits:
                return False
            if unit.is_read and (other.bits | other.above) & ~unit.above:
                return False
        return True

    def _mergeable(self, a: Group, b: Group) -> bool:
        if a.above & b.bits or b.above & a.bits or not self._fits(a, b.reduced):
            return False
        return not ((a.is_read and b.above & ~a.above) or (b.is_read and a.above & ~b.above))

    def _merge(self, a: Group, b: Group) -> Group:
        keep, gone = (a, b) if a.index < b.index else (b, a)
        self._parent[gone.index] = keep.index
        keep.nodes = sorted((*keep.nodes, *gone.nodes), key=lambda node: node.start)
        keep.above |= gone.above
        keep.bits |= gone.bits
        keep.is_read |= gone.is_read
        keep.weight += gone.weight
        keep.reduced = keep.reduced or gone.reduced
        keep.results |= gone.results
        return keep

    def _merge_siblings(self) -> None:
        """Merge loops over one shape that read the same storage and do not depend on each other: one pass instead of two."""
        live = [group for group in self._groups if self.find(group.index) == group.index]
        # Dependencies may have grown since the readers were created: recompute them in topological order.
        sources = {group.index: self.sources(group) for group in live}
        for group in self.ordered(live, sources):
            for index in sources[group.index]:
                other = self._groups[index]
                group.above |= other.above | other.bits
        rows: dict[Any, list[Group]] = {}
        for group in sorted((g for g in live if g.kind == LOOP), key=lambda g: g.nodes[0].start):
            row = rows.setdefault(_key(group.shape), [])
            reads = self.reads(group)
            for earlier in reversed(row[-SIBLINGS:]):
                if group.above & earlier.bits or earlier.above & group.bits:
                    continue
                others = self.reads(earlier)
                if not (reads & others or self._sum_together(group, reads, earlier, others)):
                    continue
                if len(reads | others) > max(STREAMS, len(reads), len(others)):
                    continue
                if not self._fits(earlier, group.reduced, group.weight):
                    continue
                merged = self._merge(earlier, group)
                row[row.index(earlier)] = merged
                for other in live:
                    if other.above & merged.bits:
                        other.above |= merged.above | merged.bits
                break
            else:
                row.append(group)

    def _sum_together(self, a: Group, reads_a: set[int], b: Group, reads_b: set[int]) -> bool:
        """Whether two loops sum the rows of different arrays, one of which is there from the start, so that it can wait."""
        axes = a.reduced
        if not axes or axes != b.reduced or axes != tuple(range(len(axes))) or len(axes) == len(a.shape):
            return False
        return any(not any(root in self._maker for root in reads) for reads in (reads_a, reads_b))

    def _compute_again(self) -> None:
        """Let loops that read many arrays recompute some of them from others that they read anyway."""
        for group in self.live:
            if group.kind != LOOP or len(self.reads(group)) <= WIDE:
                continue
            read = {
                value
                for node in group.nodes
                for value in node.inputs
                if not self.is_inside(group, value) and self.lowered.number(value) is None
            }
            for value in sorted(read, reverse=True):
                made = self._cheap(value, group)
                if made is not None and all(
                    self.lowered.number(x) is not None or x in read or self.is_inside(group, x)
                    for x in made.inputs
                ):
                    group.again[value] = made

    def _cheap(self, value: int, group: Group) -> Node | None:
        """The node that makes a value in another loop over the same shape, if it is only an instruction or two."""
        if value not in self.lowered.inner or self._sites[value].root != value:
            return None
        unit = self.lowered.units[self._maker[value]]
        if unit.weight > CHEAP or not same_shape(unit.shape, group.shape):
            return None
        return unit.nodes[0]

    def ordered(self, groups: Sequence[Group], needs: dict[int, set[int]]) -> list[Group]:
        """The groups in topological order."""
        found = in_order(groups, needs)
        if found is not None:
            return found
        from graphad.graph.text import print_graph  # for an error that no graph should cause

        graph = print_graph(self.lowered.graph)
        raise InternalError(f"partition: the units depend on each other in a cycle\n{graph}")


def _key(shape: tuple[Size, ...]) -> tuple[str, ...]:
    return tuple([str(size) for size in shape])


def _chains(units: Sequence[Unit]) -> set[tuple[str, ...]]:
    """The shapes with more work than two loops hold."""
    weights: dict[tuple[str, ...], int] = {}
    for unit in units:
        if unit.kind == LOOP:
            key = _key(unit.shape)
            weights[key] = weights.get(key, 0) + unit.weight
    return {key for key, weight in weights.items() if weight > 2 * WEIGHT_LIMIT}
