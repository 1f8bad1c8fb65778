"""Loops whose number of steps follows from their test: `while i < n: ...; i = i + 1` runs n - i steps.

Such a loop needs no test, its stacks have a known length, and its derivative is that of a counted loop. It is recognised while
specialising, if the start of i and the bound are numbers or sizes, the test compares one carry with an invariant bound, and the
body adds a constant to that carry.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.dims import Dim
from graphad.graph.ir import Graph
from graphad.graph.walk import increment

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor
    from graphad.trace.specialiser import Specialiser


UNLIMITED = np.iinfo(np.int32).max
_SWAPPED = {"<": ">", ">": "<"}


def steps_of(
    ctx: Specialiser, op: Any, limit: Tensor, carry: Sequence[Any], invariants: Sequence[Any]
) -> Any | None:
    """The number of steps of a loop with a test, a number or a size; None if it is not determined.

    Args:
      ctx: The specialiser.
      op: The loop op.
      limit, carry, invariants: Its inputs.
    """
    found = _compared(op.test)
    if found is None:
        return None
    relation, slack, value, bound = found
    if value not in op.operands.carries:
        return None
    step = increment(op.body, value)
    start = ctx.known(carry[value])
    if step is None or start is None:
        return None
    end = _bound(ctx, op, bound, carry, invariants)
    if end is None or (relation == "<") != (step > 0):
        return None
    distance = (end - start[0] if step > 0 else start[0] - end) + slack
    return _limited(ctx.known(limit), distance, abs(step))


def _limited(limit: list[Any] | None, distance: Any, step: int) -> Any | None:
    if isinstance(distance, Dim):
        # A symbol is at least 2, so only n, n - 1 and n - 2 are certainly not negative.
        if step != 1 or not _is_size(distance) or limit is None or limit[0] != UNLIMITED:
            return None
        return distance
    if limit is None or isinstance(limit[0], Dim):
        return None
    return max(0, min(-(-distance // step), int(limit[0])))


def _is_size(distance: Dim) -> bool:
    """Whether it is one symbol minus at most 2, and therefore not negative."""
    terms = dict(distance.terms)
    constant = terms.pop((), 0)
    return (
        -2 <= constant <= 0
        and len(terms) == 1
        and next(iter(terms.items())) == ((next(iter(distance.symbols)),), 1)
    )


def _compared(test: Graph) -> tuple[str, int, int, int] | None:
    """(relation, slack, compared input, bound) of a test that is one comparison."""
    if len(test.nodes) != 1 or test.outputs != tuple(test.nodes[0].outputs):
        return None
    node = test.nodes[0]
    row = node.op.compares
    if row is None or not all(
        test.specs[i].dtype.is_integer and test.specs[i].dims == () for i in node.inputs
    ):
        return None
    relation, slack = row
    a, b = node.inputs
    if a < len(test.inputs):
        return relation, slack, a, b
    return (_SWAPPED[relation], slack, b, a) if b < len(test.inputs) else None


def _bound(ctx: Any, op: Any, bound: int, carry: Sequence[Any], invariants: Sequence[Any]) -> Any | None:
    """The bound of the comparison, if it is known and invariant."""
    test = op.test
    if bound >= len(test.inputs):
        data = test.constants[bound - len(test.inputs)]
        return int(data) if np.size(data) == 1 else None
    if bound in op.operands.carries:
        if op.body.outputs[bound] != bound:
            return None
        known = ctx.known(carry[bound])
    else:
        known = ctx.known(invariants[bound - op.operands.invariants.start])
    return None if known is None else known[0]
