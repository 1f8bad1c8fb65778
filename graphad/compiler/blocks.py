"""Chains of loops over the same elements run block by block, so that intermediate values stay in the cache.

A long gradient is cut into many loops that read each other's result arrays; for large arrays nearly all time is memory traffic.
Each element depends only on the same element of earlier loops. So one block of elements goes through all loops of a chain
before the next block, and values that only the chain reads are kept for one block. The loops remain separate kernels, which
other plans share; a chain only changes the order of execution.

A loop joins a chain if every value that it reads exists when the chain begins, or is made by the chain at the same element.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from graphad.compiler.stack import is_local
from graphad.compiler.units import BLOCKS, LOOP, Unit, loop_of
from graphad.core.dims import Size
from graphad.kernels.sites import same_size

FEW = 4096  # elements; chains over fewer fit the cache anyway
NEAR = 8  # how many recent chains a loop may join


class _Chain:
    """Loops that run block by block; `first` is the index of the first one among all units."""

    def __init__(self, extent: Size, first: int) -> None:
        self.extent, self.first = extent, first
        self.units: list[Unit] = []
        self.made: dict[int, Unit] = {}

    def add(self, unit: Unit) -> None:
        self.units.append(unit)
        self.made |= dict.fromkeys(unit.writes, unit)


def in_blocks(units: Sequence[Unit], outputs: Collection[int], specs: Sequence[Any]) -> list[Unit]:
    """The units in order, with each chain of loops as one unit; `outputs` are roots that leave the graph."""
    place = {value: k for k, unit in enumerate(units) for value in unit.writes}
    readers: dict[int, list[Unit]] = {}
    for unit in units:
        for root in {site.root for site in unit.reads}:
            readers.setdefault(root, []).append(unit)
    chains: list[_Chain] = []
    for k, unit in enumerate(units):
        extent = _extent(unit)
        if extent is None:
            continue
        for chain in reversed(chains[-NEAR:]):
            if same_size(chain.extent, extent) and _may_join(chain, unit, place, readers, specs):
                chain.add(unit)
                break
        else:
            chain = _Chain(extent, k)
            if is_local(unit, extent, dict.fromkeys(unit.writes, unit), specs):
                chain.add(unit)
                chains.append(chain)
    whole = {chain.first: found for chain in chains if (found := _whole(chain, outputs, readers, specs))}
    gone = {each.index for unit in whole.values() for each in unit.stages}
    return [whole.get(k, unit) for k, unit in enumerate(units) if k in whole or unit.index not in gone]


def _extent(unit: Unit) -> Size | None:
    """The number of elements of a loop; None if it is not a map over all elements in order."""
    if unit.kind != LOOP or unit.reduced:
        return None
    loop = loop_of(unit)
    if loop.kernel.rank != 1 or loop.kernel.reduced:
        return None
    extent = loop.extents[0]
    return None if isinstance(extent, int) and extent <= FEW else extent


def _may_join(
    chain: _Chain, unit: Unit, place: dict[int, int], readers: dict[int, list[Unit]], specs: Sequence[Any]
) -> bool:
    made, roots = chain.made, [site.root for site in unit.reads]
    if any(place.get(root, -1) >= chain.first for root in roots if root not in made):
        return False  # it depends on other units
    if not any(root in made for root in roots) and not any(
        site.root in made for value in unit.writes for other in readers.get(value, ()) for site in other.reads
    ):
        return False
    return is_local(unit, chain.extent, made | dict.fromkeys(unit.writes, unit), specs)


def _whole(
    chain: _Chain, outputs: Collection[int], readers: dict[int, list[Unit]], specs: Sequence[Any]
) -> Unit | None:
    """The unit of a chain, None if no value stays within the chain."""
    mine = {unit.index for unit in chain.units}
    held = {
        value: specs[value].dtype.itemsize
        for value in chain.made
        if value not in outputs and all(reader.index in mine for reader in readers.get(value, ()))
    }
    if not held or len(mine) < 2:
        return None
    found = Unit(BLOCKS, chain.units[0].index)
    found.nodes = sorted([node for unit in chain.units for node in unit.nodes], key=lambda node: node.start)
    found.stages = chain.units
    found.reads = [site for unit in chain.units for site in unit.reads if site.root not in chain.made]
    found.writes = [value for value in chain.made if value not in held]
    found.held, found.extent = held, chain.extent
    return found
