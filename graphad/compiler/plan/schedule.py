"""The units of a partition as alternating native and Python segments, and the storage of each value.

A value that only native steps of one segment touch lives in the arena; one that leaves its segment, is a result, or is read in
Python is a fresh array; a result of shape () stays in the arena and is read out as a NumPy scalar. A stack of a length that only
the run knows is memory of the loop that collects it; one that leaves its segment is copied from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.units import CALL, NATIVE, ROUTINE, Partition, Unit
from graphad.core.dims import product, run_time_symbols
from graphad.core.shapes import is_definite
from graphad.graph.walk import acts_once, only_speaks
from graphad.kernels.record import Struct
from graphad.kernels.sites import same_size

if TYPE_CHECKING:
    from graphad.core.annotations import Array


INPUT, CONSTANT, PYTHON, FRESH, ARENA, SCALAR = "input", "constant", "python", "fresh", "arena", "scalar"
GROWN, COPIED = "grown", "grown, then copied"
CUT = "in the arena, of which a part is copied"  # a result of a size that the run finds
_OUTSIDE = {ARENA: FRESH, GROWN: COPIED}  # where a value is kept that leaves its segment


class Segment(Struct):
    """Units that run in one native call, or one unit that runs in Python."""

    is_native: bool
    units: list[Unit]
    first: int
    reads: list[int] = []  # roots outside the arena that it reads, then writes
    stacks: list[int] = []  # stacks of unknown length, not made in it, that it reads
    copied: list[int] = []  # those made in it that leave it


class Schedule(Struct):
    """A partition that is ready to be bound to numbers.

    Attributes:
      storage: For every root, one of INPUT, CONSTANT, PYTHON, FRESH, ARENA, SCALAR, GROWN, COPIED, CUT.
      lives: For every root that a unit makes, the first and the last position that needs it.
      is_single: There is only one native segment, and it comes first, so that handles can be passed to it directly.
      is_made_again: A run in whose native segments something raises is made again op by op, as one without an answer, since what
        acts before it may not have acted yet.
    """

    partition: Partition
    segments: list[Segment]
    storage: dict[int, str]
    lives: dict[int, tuple[int, int]]
    is_single: bool
    is_made_again: bool = False

    def acts_before(self, segment: Segment | None = None) -> bool:
        """Whether something that cannot be done again may have been done before a segment runs; None: before one that holds a
        routine."""
        acted = False
        for each in self.segments:
            if acted and (each is segment or (segment is None and any(map(has_routine, each.units)))):
                return True
            acted = acted or any(acts_once(node.op) for unit in each.units for node in unit.nodes)
        return False

    @property
    def has_loops_in_python(self) -> bool:
        """Whether a loop or a cond is a step in Python."""
        return any(
            node.op.structured
            for segment in self.segments
            for unit in segment.units
            if not segment.is_native
            for node in unit.nodes
        )

    @property
    def native_units(self) -> int:
        return sum(len(segment.units) for segment in self.segments if segment.is_native)


def schedule(partition: Partition, apart: bool = False, is_made_again: bool = False) -> Schedule:
    """Segments and storage of a partition; with `apart` every unit is a segment of its own."""
    graph = partition.graph
    segments, segment_of = _segments(partition.units, apart)
    storage, lives = _storage_of_units(partition, segment_of)
    _place_outputs(partition, storage, lives)
    for segment in segments:
        roots = [root for unit in segment.units for root in (*_roots(unit), *unit.writes)]
        held = [r for r in dict.fromkeys(roots) if storage[r] in (INPUT, PYTHON, FRESH, COPIED)]
        if segment.is_native:
            made = {value for unit in segment.units for value in unit.writes}
            stacks = [r for r in held if not is_definite(partition.specs[r].dims)]
            segment.stacks = [r for r in stacks if r not in made]
            segment.copied = [r for r in stacks if r in made]
            held = [r for r in held if r not in stacks]
        segment.reads = held
    natives = [k for k, segment in enumerate(segments) if segment.is_native]
    is_single = natives == [0] and not any(
        node.op.effects and not (node.op.loads or node.op.stores or only_speaks(node.op))
        for node in graph.nodes
    )
    return Schedule(partition, segments, storage, lives, is_single, is_made_again)


def _segments(units: Sequence[Unit], apart: bool) -> tuple[list[Segment], list[int]]:
    """Runs of native units and single other ones, and for each unit the number of its segment."""
    segments: list[Segment] = []
    segment_of: list[int] = []
    for position, unit in enumerate(units):
        is_native = unit.kind in NATIVE
        if apart or not segments or not is_native or not segments[-1].is_native:
            segments.append(Segment(is_native, [], position))
        segments[-1].units.append(unit)
        segment_of.append(len(segments) - 1)
    return segments, segment_of


def _storage_of_units(
    partition: Partition, segment_of: Sequence[int]
) -> tuple[dict[int, str], dict[int, tuple[int, int]]]:
    """The storage of every root and the lives of those that a unit makes, as if there were no outputs."""
    graph, units = partition.graph, partition.units
    storage: dict[int, str] = {}
    for value in range(graph.first_node_value):
        storage[value] = INPUT if value < len(graph.inputs) else CONSTANT
    for value in partition.given:
        storage[value] = CONSTANT
    maker: dict[int, int] = {}
    lives: dict[int, tuple[int, int]] = {}
    for position, unit in enumerate(units):
        for value in unit.writes:
            maker[value] = position
            lives[value] = (position, position)
            storage[value] = PYTHON
            if unit.kind in NATIVE:
                storage[value] = ARENA if is_definite(partition.specs[value].dims) else GROWN
        for node in unit.nodes if unit.kind == "assign" else ():
            storage.setdefault(node.start, PYTHON)
    for position, unit in enumerate(units):
        for root in _roots(unit):
            if root in lives:
                lives[root] = (lives[root][0], position)
            # The arena is the memory of one segment.
            if storage.get(root) in _OUTSIDE and (
                unit.kind not in NATIVE or segment_of[position] != segment_of[maker[root]]
            ):
                storage[root] = _OUTSIDE[storage[root]]
    return storage, lives


def _place_outputs(partition: Partition, storage: dict[int, str], lives: dict[int, tuple[int, int]]) -> None:
    """Outputs live until the end, as arrays of their own or as scalars."""
    sites, end = partition.sites, len(partition.units)
    shaped = {site.root for site in map(sites.get, partition.outputs) if site is not None and site.shape}
    for value in partition.outputs:
        site = sites.get(value)
        root = value if site is None else site.root
        if storage.get(root) == ARENA:
            # On a device whose memory the host cannot read, its scalars stay on the device.
            is_scalar = partition.backend.is_host and not partition.specs[root].dims
            is_scalar = is_scalar and site is not None and root not in shaped
            sizes = (*(partition.specs[value].dims or ()), *(partition.specs[root].dims or ()))
            storage[root] = SCALAR if is_scalar else CUT if run_time_symbols(sizes) else FRESH
        elif storage.get(root) == GROWN:
            storage[root] = COPIED
        if root in lives:
            lives[root] = (lives[root][0], end)


def has_routine(unit: Unit) -> bool:
    """Whether a unit, a round of its loop or a branch may have no answer, or calls what may raise."""
    return unit.kind in (ROUTINE, CALL) or any(
        has_routine(each) for part in unit.partitions for each in part.units
    )


def collects(unit: Unit) -> bool:
    """Whether a loop, also one inside of it, collects a number of slices which only the run knows."""
    specs = unit.nodes[0].specs if unit.repeat is not None else ()
    return not all(is_definite(spec.dims) for spec in specs) or any(
        collects(each) for part in unit.partitions for each in part.units
    )


def _roots(unit: Unit) -> Sequence[int]:
    return [site.root for site in unit.reads]


def is_whole(partition: Partition, value: int) -> bool:
    """Whether a value is its root's whole storage in the root's shape."""
    site = partition.sites.get(value)
    if site is None or site.root == value:
        return True
    root = partition.specs[site.root].dims
    return (
        root is not None
        and site.is_plain
        and len(root) == len(site.shape)
        and all(map(same_size, root, site.shape))
    )


def elements(shape: Sequence[Any]) -> Any:
    """How many elements an array of this shape has."""
    return product(shape)


def as_storage(array: Array) -> np.ndarray:
    """A constant as memory that a kernel can read: an own array in C order."""
    return np.ascontiguousarray(array) if np.ndim(array) else np.array(array)
