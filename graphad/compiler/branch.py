"""The native form of a cond: the units of both branches, of which a run or a round of a native loop runs one's.

The outputs live in the storage of the cond's own results. A branch computes an output there directly where one of its units makes
it, else it is copied there at the end. An output that only the other branch has is filled with zeros, as the op's placeholder is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphad.compiler.backend import Backend
from graphad.compiler.partition import partition
from graphad.compiler.pipeline import Options, optimise
from graphad.compiler.units import NATIVE, Partition, why_in_python
from graphad.core.shapes import is_definite
from graphad.kernels.record import Struct
from graphad.kernels.sites import same_size

if TYPE_CHECKING:
    from graphad.core.spec import TensorSpec
    from graphad.graph.ir import Node
    from graphad.ops.control.cond import Cond


class Branch(Struct):
    """The native form of one cond, without numbers.

    Attributes:
      op: The cond.
      partitions: The units of its branches.
      values: For each branch its value for each output, None where it has none.
      direct: For each branch the roots that live in the storage of an output: root -> output.
    """

    op: Cond
    partitions: list[Partition]
    values: list[list[int | None]]
    direct: list[dict[int, int]]


def native_branch(
    node: Node[Cond], options: Options, backend: Backend, has_routines: bool = False, has_calls: bool = False
) -> Branch | str:
    """The native form of a specialised cond without effects, or why it has none; the last two as for `partition`."""
    op = node.op
    if op.depth:
        return "its predicate differs from row to row"
    found = Branch(op, [], [], [])
    for graph, other in ((op.then_graph, "else"), (op.else_graph, "then")):
        part = partition(optimise(graph, options), options, backend, has_routines, has_calls)
        for unit in part.units:
            if unit.kind not in NATIVE:
                return why_in_python(part, unit, "a branch")
        outputs = iter(part.outputs)
        values = [None if kind == other else next(outputs) for kind in op.kinds]
        for value, spec in zip(values, node.specs, strict=True):
            if value is not None and not _is_alike(part.specs[value], spec):
                return "a result has another shape in each branch"
        found.partitions.append(part)
        found.values.append(values)
        found.direct.append(_direct(part, values))
    return found


def _is_alike(a: TensorSpec, b: TensorSpec) -> bool:
    """Whether two specs have the same definite shape and dtype."""
    if a.is_handle or a.dtype is not b.dtype or not is_definite(a.dims) or not is_definite(b.dims):
        return False
    mine, theirs = a.dims or (), b.dims or ()
    return len(mine) == len(theirs) and all(map(same_size, mine, theirs))


def _direct(part: Partition, values: list[int | None]) -> dict[int, int]:
    makers = {value for unit in part.units for value in unit.writes}
    found: dict[int, int] = {}
    for k, value in enumerate(values):
        root = None if value is None else part.sites[value].root
        if root in makers and root not in found:
            found[root] = k
    return found
