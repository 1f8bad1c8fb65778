"""The plan for a Jacobian, from sizes, dtypes, the number of ops and a byte budget.

Rows of the target are pulled back, or columns of the source pushed forward, in stacks that are cut into chunks: the largest
stacked value of a chunk stays within the budget. The result depends neither on the direction nor on the chunk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.core.dims import product
from graphad.core.op import IO, WRITES
from graphad.ops.array.shape import shape
from graphad.ops.math.reduce import reduce_prod
from graphad.ops.math.sums import add_n
from graphad.vectorize.chunks import chunk_of

if TYPE_CHECKING:
    from graphad.core.annotations import Value
    from graphad.core.tensor import Mark, Tensor
    from graphad.gradient.backward import Entry


_FORWARD_COST = 3  # cost of a tangent relative to a cotangent: its rules are derived from VJPs
_MOST_NODES_TRACED = 4_000  # limit for the nodes of all chunks, which a trace holds
_LEAST_CHUNKS_TRACED = 16


class Plan:
    """The decisions.

    Attributes:
      forward: Push columns forward instead of pulling rows back.
      chunk: How many rows or columns at once.
    """

    __slots__ = ("chunk", "forward")

    def __init__(self, forward: bool, chunk: int) -> None:
        self.forward = forward
        self.chunk = chunk


def plan_jacobian(
    path: list[Entry],
    target: Tensor,
    sources: Sequence[Value],
    at_once: int | None,
    is_traced: bool,
    prefers_forward: bool = False,
) -> Plan:
    """The plan for all of a Jacobian.

    Args:
      path: The entries between sources and target, of known sizes.
      at_once: An upper bound on the chunk, or None.
      is_traced: Whether every chunk becomes part of a graph.
    """
    rows = product(target.dims)
    columns = sum(columns_of(x) for x in sources)
    if prefers_forward:
        forward = columns > 0 and not any(map(_runs_once, path))
    else:
        forward = 0 < _FORWARD_COST * columns < rows and all(map(_goes_forward, path))
    count = max(map(columns_of, sources)) if forward else rows
    return Plan(forward, _chunk(path, [target, *sources], count, at_once, is_traced))


def costs(
    path: list[Entry], target: Tensor, sources: Sequence[Value], prefers_forward: bool
) -> bool | tuple[Tensor, Tensor]:
    """The costs of columns and of rows for unknown sizes, two integer scalars; or True or False if sizes do not matter.

    The same decision as `plan_jacobian`: columns are pushed forward where they cost less.
    """
    if target.dims is None:
        return False
    if prefers_forward:
        return not any(map(_runs_once, path))
    if not all(map(_goes_forward, path)):
        return False
    weights = [(2 if x.spec.dtype.is_complex else 1) * _FORWARD_COST for x in sources]
    columns = add_n([reduce_prod(shape(x)) * weight for x, weight in zip(sources, weights, strict=True)])
    return columns, reduce_prod(shape(target))


def plan_rows(
    path: list[Entry], ends: Sequence[Value], count: int, at_once: int | None, is_traced: bool
) -> Plan:
    """The plan for `count` rows that are to be pulled back."""
    return Plan(False, _chunk(path, ends, count, at_once, is_traced))


def columns_of(x: Value) -> int:
    """How many tangents span a source; complex elements have two each."""
    return int(product(x.dims)) * (2 if x.spec.dtype.is_complex else 1)


def _goes_forward(entry: Entry) -> bool:
    """Whether tangents may be pushed through an entry: it has no effects, and its rule is certainly linear."""
    return not (_runs_once(entry) or entry[0].structured)


def _runs_once(entry: Entry) -> bool:
    """Whether an entry must not run again for its tangents."""
    op = entry[0]
    return bool(op.foreign or op.effects & (WRITES | IO))


def _chunk(path: list[Entry], ends: Sequence[Value], count: int, at_once: int | None, is_traced: bool) -> int:
    chunk: int = chunk_of(count, [value.spec for value in _stacked(path, ends)], at_once)
    if is_traced and not at_once:
        most = max(_LEAST_CHUNKS_TRACED, _MOST_NODES_TRACED // max(1, len(path)))
        chunk = max(chunk, -(-count // most))
    return max(1, min(chunk, count))


def _stacked(path: list[Entry], ends: Sequence[Value]) -> list[Value]:
    """The values of which there are rows: those between the ends. A weight that is only read is one array for all rows."""
    between = {x.mark for x in ends} | {mark for entry in path for mark in entry[4]}
    values = list(ends)
    for _, inputs, outputs, marks, _ in path:
        values += [x for x, mark in zip(inputs, marks, strict=True) if mark is not None and mark in between]
        values += outputs
    return values


def path_between(entries: list[Entry], sources: set[Mark], target: Mark) -> list[Entry]:
    """The entries on a path from a source to the target, both given by their marks, in order."""
    reached = set(sources)
    after = []
    for entry in entries:
        if any(mark is not None and mark in reached for mark in entry[3]):
            reached.update(mark for mark in entry[4] if mark is not None)
            after.append(entry)
    needed = {target}
    path = []
    for entry in reversed(after):
        if any(mark is not None and mark in needed for mark in entry[4]):
            needed.update(mark for mark in entry[3] if mark is not None)
            path.append(entry)
    path.reverse()
    return path
