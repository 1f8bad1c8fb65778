"""Chains of loops over the same rows run block by block, so that intermediate values stay in the cache.

A long gradient is cut into many loops that read each other's result arrays; for large arrays nearly all time is memory traffic.
Each row depends only on the same row of earlier loops. So one block of rows goes through all loops of a chain before the next
block, and values that only the chain reads are kept for one block. Where all loops are over the same elements in order, a row is
one element; a loop of several dimensions, such as one that broadcasts a number for each column, makes its outermost dimension the
rows. The loops remain separate kernels, which other plans share; a chain only changes the order of execution.

A loop joins a chain if every value that it reads exists when the chain begins, or is made by the chain in the same row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from graphad.compiler.stack import LONG, is_local, row_size
from graphad.compiler.units import BLOCKS, LOOP, Unit, loop_of
from graphad.core.dims import Size, product
from graphad.core.shapes import ranked
from graphad.kernels.sites import same_size

if TYPE_CHECKING:
    from graphad.core.spec import TensorSpec

FEW = 4096  # elements; chains over fewer fit the cache anyway
NEAR = 8  # how many recent chains a loop may join


class _Chain:
    """Loops that run block by block over `rows`; `first` is the index of the first one among all units."""

    def __init__(self, rows: Size, first: int) -> None:
        self.rows, self.first = rows, first
        self.units: list[Unit] = []
        self.made: dict[int, Unit] = {}

    def add(self, unit: Unit, rows: Size, specs: Sequence[TensorSpec]) -> bool:
        """Add a loop if it depends on values of the chain row by row.

        `rows` are its own. Where there are fewer of them, each with several elements of the chain, they become the chain's.
        """
        made = self.made | dict.fromkeys(unit.writes, unit)
        for common in (self.rows,) if same_size(self.rows, rows) else (self.rows, rows):
            members = [unit] if common is self.rows else [unit, *self.units]
            if all(is_local(each, common, made, specs) for each in members):
                self.rows, self.made = common, made
                self.units.append(unit)
                return True
        return False


def in_blocks(units: Sequence[Unit], outputs: Collection[int], specs: Sequence[TensorSpec]) -> list[Unit]:
    """The units in order, with each chain of loops as one unit; `outputs` are roots that leave the graph."""
    place = {value: k for k, unit in enumerate(units) for value in unit.writes}
    readers: dict[int, list[Unit]] = {}
    for unit in units:
        for root in {site.root for site in unit.reads}:
            readers.setdefault(root, []).append(unit)
    chains: list[_Chain] = []
    for k, unit in enumerate(units):
        rows = _rows(unit)
        if rows is None:
            continue
        for chain in reversed(chains[-NEAR:]):
            if _is_related(chain, unit, place, readers) and chain.add(unit, rows, specs):
                break
        else:
            chain = _Chain(rows, k)
            if chain.add(unit, rows, specs):
                chains.append(chain)
    whole = {chain.first: found for chain in chains if (found := _whole(chain, outputs, readers, specs))}
    gone = {each.index for unit in whole.values() for each in unit.stages}
    return [whole.get(k, unit) for k, unit in enumerate(units) if k in whole or unit.index not in gone]


def _rows(unit: Unit) -> Size | None:
    """The number of steps of a loop's outermost dimension; None if it is not a map that is worth blocks."""
    if unit.kind != LOOP or unit.reduced:
        return None
    loop = loop_of(unit)
    total, rows = product(unit.shape), loop.extents[0]
    if loop.kernel.reduced or (isinstance(total, int) and total <= FEW):
        return None
    if loop.kernel.rank > 1 and isinstance(inside := product(loop.extents[1:]), int) and inside > LONG:
        return None
    return rows


def _is_related(chain: _Chain, unit: Unit, place: dict[int, int], readers: dict[int, list[Unit]]) -> bool:
    """Whether a loop can run with the chain, and reads a value of it or has a reader in common with it."""
    made, roots = chain.made, [site.root for site in unit.reads]
    if any(place.get(root, -1) >= chain.first for root in roots if root not in made):
        return False  # it depends on other units
    return any(root in made for root in roots) or any(
        site.root in made for value in unit.writes for other in readers.get(value, ()) for site in other.reads
    )


def _whole(
    chain: _Chain, outputs: Collection[int], readers: dict[int, list[Unit]], specs: Sequence[TensorSpec]
) -> Unit | None:
    """The unit of a chain, None if no value stays within the chain."""
    mine = {unit.index for unit in chain.units}
    held: dict[int, Size] = {}
    for value in chain.made:
        if value not in outputs and all(reader.index in mine for reader in readers.get(value, ())):
            size = row_size(ranked(specs[value].dims), chain.rows)
            assert size is not None  # its writer is local
            held[value] = size * specs[value].dtype.itemsize
    if not held or len(mine) < 2:
        return None
    found = Unit(BLOCKS, chain.units[0].index)
    found.nodes = sorted([node for unit in chain.units for node in unit.nodes], key=lambda node: node.start)
    found.stages = chain.units
    found.reads = [site for unit in chain.units for site in unit.reads if site.root not in chain.made]
    found.writes = [value for value in chain.made if value not in held]
    found.held, found.rows = held, chain.rows
    return found
