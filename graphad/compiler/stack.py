"""Loops over the same rows become stages of one kernel, so that intermediate values stay in the cache.

A reduction within rows, such as the sum of a softmax, ends a loop: its readers need a new loop. But each row depends only on
itself, so one block of rows can go through all loops before the next block. A loop joins if every value that it reads exists
when the first loop begins, or is made by these loops in the same row. Reductions over the rows, with at most one number for
each row, come last. A sum of all rows is a stage too, where the backend has such stages: it is complete when all rows are done.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from graphad.compiler.units import LOOP, STAGES, Unit, loop_of
from graphad.core.dims import Size, UndecidedSize, at_most, product
from graphad.core.shapes import ranked
from graphad.kernels.forms import STRIDED
from graphad.kernels.sites import reach, same_size
from graphad.kernels.stages import OUTSIDE, Nest, Stage, Stages

if TYPE_CHECKING:
    from graphad.core.spec import TensorSpec

SHORT = 64  # elements; shorter rows do not become stages
LONG = 65_536  # elements; longer rows do not fit the cache, and may be too few for all threads
STREAMS = 24  # operands of all stages that are not held
MOST = 16  # stages


class _Stack:
    """Loops that are stages of one kernel.

    `rows` is the number of rows, `first` the index of the first loop among all units; `may_add`: a stage may add up all rows.
    """

    def __init__(self, unit: Unit, rows: Size, first: int, may_add: bool) -> None:
        self.rows, self.first, self.may_add = rows, first, may_add
        self.units = [unit]
        self.last: list[Unit] = []

    def made(self) -> dict[int, Unit]:
        """The loop that writes each of their values."""
        return {value: unit for unit in (*self.units, *self.last) for value in unit.writes}


def stacked(
    units: Sequence[Unit], outputs: Collection[int], specs: Sequence[TensorSpec], may_add: bool = False
) -> list[Unit]:
    """The units in order, with loops over the same rows as stages of one unit; `outputs` are roots that leave the graph.

    `may_add`: A stage may add up all rows.
    """
    place = {value: k for k, unit in enumerate(units) for value in unit.writes}
    stacks: list[_Stack] = []
    joined: dict[int, _Stack] = {}
    readers: dict[int, list[Unit]] = {}
    for unit in units:
        for site in unit.reads:
            readers.setdefault(site.root, []).append(unit)
    for k, unit in enumerate(units):
        if unit.kind != LOOP or unit.loop is None:
            continue
        for stack in reversed(stacks):
            if _join(stack, unit, place, joined, readers, specs):
                joined[unit.index] = stack
                break
        else:
            rows = rows_of(unit)
            if rows is not None and is_local(unit, rows, dict.fromkeys(unit.writes, unit), specs):
                stack = _Stack(unit, rows, k, may_add)
                stacks.append(stack)
                joined[unit.index] = stack
    whole = {stack.first: stack for stack in stacks if len(stack.units) + len(stack.last) > 1}
    gone = {unit.index for stack in whole.values() for unit in (*stack.units, *stack.last)}
    found: list[Unit] = []
    for k, unit in enumerate(units):
        if k in whole:
            found.append(_whole(whole[k], outputs, readers, specs))
        elif unit.index not in gone:
            found.append(unit)
    return found


def rows_of(unit: Unit) -> Size | None:
    """The number of rows that a loop reduces within, if they are worth stages."""
    shape, reduced = unit.shape, unit.reduced
    if not reduced or unit.loop is None or tuple(reduced) != tuple(range(reduced[0], len(shape))):
        return None
    rows, inside = product(shape[: reduced[0]]), product(shape[reduced[0] :])
    if (isinstance(rows, int) and rows < 2) or (isinstance(inside, int) and not SHORT <= inside <= LONG):
        return None
    return rows


def _join(
    stack: _Stack,
    unit: Unit,
    place: dict[int, int],
    joined: dict[int, _Stack],
    readers: dict[int, list[Unit]],
    specs: Sequence[TensorSpec],
) -> bool:
    """Add a unit as a stage, if possible."""
    made = stack.made()
    roots = [site.root for site in unit.reads]
    mine = [root for root in roots if root in made]
    if not mine and not any(
        site.root in made for value in unit.writes for other in readers.get(value, ()) for site in other.reads
    ):
        return False
    if any(place.get(root, -1) >= stack.first for root in roots if root not in made):
        return False  # it waits for others
    if any(joined[made[root].index] is not stack for root in mine):
        return False
    members = [*stack.units, *stack.last]
    operands = {site.root for each in (*members, unit) for site in each.reads} | {
        value for each in (*members, unit) for value in each.writes
    }
    if len(members) >= MOST or len(operands) > STREAMS:
        return False
    after = {value for other in stack.last for value in other.writes} | _totals(stack.units)
    is_late = any(root in after for root in mine)
    may_follow = not is_late and (not _adds(unit) or (stack.may_add and bool(mine)))
    if may_follow and is_local(unit, stack.rows, made | dict.fromkeys(unit.writes, unit), specs):
        stack.units.append(unit)
        return True
    if mine and _is_small(unit, stack.rows):
        stack.last.append(unit)
        return True
    return False


def _adds(unit: Unit) -> bool:
    """Whether a loop adds up all rows."""
    return loop_of(unit).kernel.is_full_reduction


def _totals(units: Sequence[Unit]) -> set[int]:
    """The values of these loops that are complete when all rows are done."""
    return {value for unit in units if _adds(unit) for value in unit.results}


def _is_small(unit: Unit, rows: Size) -> bool:
    """Whether a loop has no more elements than there are rows."""
    total = product(unit.shape)
    return same_size(total, 1) or same_size(total, rows)


def scale_of(unit: Unit, rows: Size) -> Size | None:
    """The elements of its split dimension in a row; None if unknown."""
    loop = loop_of(unit)
    kernel = loop.kernel
    if kernel.is_full_reduction:  # of one dimension, a chunk is no number of rows
        return 1 if kernel.rank > 1 and same_size(loop.extents[0], rows) else None
    if kernel.split != 0 or 0 in kernel.reduced:
        return None
    if same_size(loop.extents[0], rows):
        return 1
    total = product(unit.shape)
    try:
        inside = total // rows
    except UndecidedSize:
        return None
    if kernel.rank == 1 and same_size(loop.extents[0], total) and same_size(inside * rows, total):
        return inside
    return None


def is_local(unit: Unit, rows: Size, made: dict[int, Unit], specs: Sequence[TensorSpec]) -> bool:
    """Whether a loop reads and writes these values row by row."""
    loop = loop_of(unit)
    scale = scale_of(unit, rows)
    if scale is None:
        return False
    kernel, totals = loop.kernel, _totals([unit])
    accesses = [*kernel.inputs, *[store.access for store in kernel.outputs]]
    roots = [*[site.root for site in unit.reads], *unit.writes]
    offsets = [*[site.offset for site in unit.reads], *[0] * len(unit.writes)]
    for k, (access, root, offset) in enumerate(zip(accesses, roots, offsets, strict=True)):
        if root not in made or root in totals:
            continue
        size = row_size(ranked(specs[root].dims), rows)
        if size is None or not same_size(offset, 0):
            return False
        steps = [
            loop.strides[k, d] if kind == STRIDED else int(kind) for d, kind in enumerate(access.strides)
        ]
        if not same_size(steps[0] * scale, size):
            return False
        try:
            first, end = reach(loop.extents[1:], steps[1:])
            if not same_size(first, 0) or not (same_size(end, size) or at_most(end, size)):
                return False
        except UndecidedSize:
            return False
    return True


def row_size(dims: tuple[Size, ...], rows: Size) -> Size | None:
    """The elements of a value in a row, None if its leading axes are not the rows."""
    inside: Size = 1
    whole = product(dims)
    for size in reversed(dims):
        if same_size(inside * rows, whole):
            break
        inside = size * inside
    return inside if same_size(inside * rows, whole) else None


def _whole(
    stack: _Stack, outputs: Collection[int], readers: dict[int, list[Unit]], specs: Sequence[TensorSpec]
) -> Unit:
    """The unit of a stack."""
    members = [*stack.units, *stack.last]
    late, totals = {unit.index for unit in stack.last}, _totals(stack.units)
    early = {unit.index for unit in stack.units}
    number: dict[int, int] = {}
    held, sizes = [], []
    for unit in members:
        for value in unit.writes:
            number[value] = len(number)
            is_row = unit.index in early and value not in totals
            is_held = value not in outputs and all(reader.index in early for reader in readers.get(value, ()))
            held.append(is_held and is_row)
            sizes.append(row_size(ranked(specs[value].dims), stack.rows) if is_row else 1)
    stages = []
    for unit in members:
        roots = [*[site.root for site in unit.reads], *unit.writes]
        values = tuple([number.get(root, OUTSIDE) for root in roots])
        stages.append(Stage(loop_of(unit).kernel, values, unit.index in late))
    loops = tuple([loop_of(unit) for unit in members])
    scales = tuple([1 if unit.index in late else scale_of(unit, stack.rows) for unit in members])
    found = Unit(STAGES, members[0].index)
    found.nodes = sorted([node for unit in members for node in unit.nodes], key=lambda node: node.start)
    found.stages = members
    found.reads = [site for unit in members for site in unit.reads if site.root not in number]
    found.writes = [value for value, k in number.items() if not held[k]]
    found.loop = Nest(Stages(tuple(stages), tuple(held)), loops, stack.rows, scales, tuple(sizes))
    return found
