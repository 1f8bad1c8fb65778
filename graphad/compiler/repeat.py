"""The native form of a loop: its units, and how each carry gets its next value.

The carries live in the storage of the loop's own results. The next value of a carry is written there directly if the old value
is no longer read (or if its kernel reads it element by element at the same place), else copied there at the end of a round.
Slices of xs and ys are moving pointers into the stacks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.compiler.backend import Backend
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import Options, optimise
from graphad.compiler.units import CALL, LOOP, NATIVE, REPEAT, Partition, Unit, loop_of, why_in_python
from graphad.core.shapes import format_dims, is_definite
from graphad.graph.walk import last_steps
from graphad.kernels.record import Struct
from graphad.kernels.sites import same_size

if TYPE_CHECKING:
    from graphad.ops.control.loop import Loop


DIRECT, COPIED, SAME = "direct", "copied", "same"


class Repeat(Struct):
    """The native form of one loop op, without numbers.

    Attributes:
      op: The loop op.
      body, test: Their units; test is None if only the limit ends the loop.
      ways: For each carry, DIRECT, COPIED or SAME.
      stacked: Roots of the body whose storage is the slice of a y: root -> y.
      early: ys that are copied at the start of a round: y -> value.
      late: ys that are copied at the end of a round: y -> value.
      parts: ys whose slices are stacks of unknown length, which loops in the round collect: y -> value.
    """

    op: Loop
    body: Partition
    test: Partition | None
    ways: list[str]
    stacked: dict[int, int] = {}
    early: dict[int, int] = {}
    late: dict[int, int] = {}
    parts: dict[int, int] = {}

    @property
    def partitions(self) -> list[Partition]:
        return [self.body] if self.test is None else [self.body, self.test]


def native_form(op: Loop, options: Options, backend: Backend, has_routines: bool = False) -> Repeat | str:
    """The native form of a specialised loop op without effects, or why it has none; `has_routines` as for `partition`."""
    if any(spec.is_handle for spec in op.body.inputs):
        return "its rounds read a variable"
    body = partition(optimise(op.body, options), options, backend, has_routines, has_calls=True)
    test = None
    if op.test is not None:
        test = partition(optimise(op.test, options), options, backend, has_routines, has_calls=True)
    parts = [body] if test is None else [body, test]
    for part in parts:
        for unit in part.units:
            if unit.kind not in NATIVE:
                return why_in_python(part, unit)
        known = {*_collected(part), *(op.operands.xs if part is body else ())}
        for value, spec in enumerate(part.specs):
            if not is_definite(spec.dims) and value not in known:
                return f"a value of its rounds has shape {format_dims(spec.dims)}, of which only the run knows all sizes"
    if not _pays(parts):
        called = [why_in_python(part, unit) for part in parts for unit in part.units if unit.kind == CALL]
        return f"its rounds are mostly calls of NumPy; {'; '.join(called)}"
    starts, ends = op.operands.carries(body.graph.inputs), op.results.carries(body.outputs)
    for spec, value in zip(starts, ends, strict=True):
        mine, theirs = spec.dims or (), body.specs[value].dims or ()
        if (
            len(mine) != len(theirs)
            or not is_definite(theirs)
            or not all(map(same_size, mine, theirs))
            or spec.dtype is not body.specs[value].dtype
        ):
            return f"a carried value of shape {format_dims(mine)} has another one after a round, {format_dims(theirs)}"
    if test is not None and any(unit.kind == LOOP and not unit.writes for unit in test.units):
        return "a kernel of its test gives nothing"
    found = Repeat(op, body, test, [COPIED] * op.n_carry)
    _place_ys(found)
    if len({*found.parts.values()} & _collected(body)) < len(found.parts):
        return "it collects a stack of unknown length that no loop of the same round collects, or one twice"
    _choose_ways(found)
    return found


_NODES_FOR_A_CALL = (
    2  # the cost of calling an `eval` in a native round, in nodes that NumPy would compute otherwise
)


def _pays(parts: Sequence[Partition]) -> bool:
    """Whether the rounds have enough native nodes for the calls of evals among them."""
    calls, nodes = _count(parts)
    return nodes >= _NODES_FOR_A_CALL * calls


def _count(parts: Sequence[Partition]) -> tuple[int, int]:
    """The calls of evals, and the other nodes; those of a branch count as if it ran each time, those of a loop as one node."""
    calls = nodes = 0
    for unit in [unit for part in parts for unit in part.units]:
        if unit.kind == CALL:
            calls += not unit.nodes[0].op.prints  # which would be called anyway
            continue
        nodes += len(unit.nodes) + sum([len(stage.nodes) for stage in unit.stages])
        if unit.branch is not None:
            inner = _count(unit.partitions)
            calls, nodes = calls + inner[0], nodes + inner[1]
    return calls, nodes


def _collected(part: Partition) -> set[int]:
    """The stacks that the loops of a round collect."""
    return {value for unit in part.units if unit.kind == REPEAT for value in unit.writes}


def _makers(part: Partition) -> dict[int, int]:
    return {value: position for position, unit in enumerate(part.units) for value in unit.writes}


def _place_ys(found: Repeat) -> None:
    part = found.body
    makers = _makers(part)
    for y, value in enumerate(found.op.results.ys(part.outputs)):
        root = part.site(value).root
        if not is_definite(part.specs[value].dims):
            found.parts[y] = value
        elif root not in makers:
            found.early[y] = value
        elif root in found.stacked:
            found.late[y] = value
        else:
            found.stacked[root] = y


def _choose_ways(found: Repeat) -> None:
    part, n = found.body, found.op.n_carry
    makers = _makers(part)
    roots = [part.site(value).root for value in found.op.results.carries(part.outputs)]
    end = len(part.units)
    last_read = last_steps([site.root for site in unit.reads] for unit in part.units)
    for k, root in enumerate(roots):
        if root < n and root != k:
            last_read[root] = end  # another carry becomes the old value at the end of the round
    for k, root in enumerate(roots):
        if root == k:
            found.ways[k] = SAME
        elif root in makers and root not in found.stacked and roots.count(root) == 1:
            position = makers[root]
            read = last_read.get(k, -1)
            if read < position or (read == position and _in_place(part.units[position], k, root)):
                found.ways[k] = DIRECT


def _in_place(unit: Unit, carry: int, root: int) -> bool:
    """Let a unit overwrite the carry that it reads with `root`, if it works element by element; changes its kernel."""
    if unit.kind != LOOP:
        return False
    loop = loop_of(unit)
    readers = [i for i, site in enumerate(unit.reads) if site.root == carry]
    if len(readers) != 1 or not unit.reads[readers[0]].is_plain:
        return False
    kernel, i, o = loop.kernel, readers[0], unit.writes.index(root)
    if kernel.outputs[o].combine is not None or kernel.inputs[i] != kernel.outputs[o].access:
        return False
    inputs = len(kernel.inputs)
    for dim in range(kernel.rank):
        mine, theirs = loop.strides.get((i, dim)), loop.strides.get((inputs + o, dim))
        if (mine is None) != (theirs is None) or (
            mine is not None and theirs is not None and not same_size(mine, theirs)
        ):
            return False
    pairs = tuple(sorted((*kernel.inplace, (i, o))))
    unit.loop = loop.replaced(kernel=kernel.replaced(inplace=pairs).check())
    return True


def with_kernels(units: Sequence[Unit]) -> list[Unit]:
    """The units that have a kernel, those in chains and inside native loops and branches included."""
    found: list[Unit] = []
    for unit in units:
        found += [unit] if unit.loop is not None else with_kernels(unit.stages)
        for part in unit.partitions:
            found += with_kernels(part.units)
    return found
