"""Slices that a counted loop looks up by its counter become slices of stacks that it iterates over.

before:  loop(n, 0, x), step(i, x): ... x[i + 1] ...; i + 1
after:   loop(n, 0, x[1:n + 1]), step(i, slice): ... slice ...; i + 1

A general index must be checked at each use; a counting index is a moving pointer. Only if every index is certainly in range and
not negative.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler.passes.counters import Counted, in_range, is_counted, looks_up, walked
from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep, sweep
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph, Node
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.sequence import Steps
from graphad.ops.array.shape import SizeVector
from graphad.ops.control.kinds import loops
from graphad.ops.math.arithmetic import ADD

if TYPE_CHECKING:
    from graphad.core.dims import Size
    from graphad.ops.control.loop import Loop

TABLE = RuleTable()
MOST_NUMBERS = 1 << 16  # of a counter that are a constant


@TABLE.rewrite(loops)
def slices_by_counter(s: Sweep, node: Node[Loop]) -> Found:
    """Reads of an invariant at counter + constant become slices of a further stack."""
    op = node.op
    if op.test is not None or op.steps is None:
        return None
    counted = Counted(s, node)
    walks: dict[tuple[int, Size, int], list[int]] = {}  # (invariant, first index, step) -> values of the body
    for read in op.body.nodes:
        if not looks_up(op.body, read) or read.inputs[0] not in op.operands.invariants:
            continue
        value, places = read.inputs[0], counted.places(read.inputs[1])
        if places is not None and in_range(*places, op.steps, op.body.inputs[value].dims):
            walks.setdefault((value, *places), []).append(read.start)
    if not walks:
        return None
    stacks = [walked(s, node.inputs[op.passed[i]], start, step, op.steps) for i, start, step in walks]
    return counted.with_stacks(stacks, list(walks.values()))


@TABLE.rewrite(loops)
def known_stacks(s: Sweep, node: Node[Loop]) -> Found:
    """A stack of one number, or of the counter's values, is known before the loop."""
    op = node.op
    if not op.n_ys or not is_counted(s, node):
        return None
    counted, known = Counted(s, node), {}
    for k, value in zip(op.outputs.ys, op.results.ys(op.body.outputs), strict=True):
        spec = op.body.specs[value]
        number = counted.number(value) if is_definite(spec.dims) else None
        if number is not None:
            known[k] = s.bind(BroadcastTo((op.steps, *(spec.dims or ()))), s.constant(number))
            continue
        places = counted.places(value) if spec.dtype.is_integer else None
        if places is not None:
            known[k] = _numbers(s, *places, op.steps, spec)
    if not known:
        return None
    made = _without(s, op, node.inputs, known) | known
    return [made[k] for k in range(op.n_outputs)]


def _numbers(s: Sweep, start: Size, step: int, steps: Size, spec: TensorSpec) -> int:
    """The stack of a counter: start, start + step, ..., with the shape and dtype of a value of the body."""
    dims, dtype = (steps, *(spec.dims or ())), spec.dtype
    if type(start) is type(steps) is int and steps <= MOST_NUMBERS:
        data = start + step * np.arange(steps)
        return s.constant(data.astype(dtype.numpy).reshape(dims))
    is_number = type(start) is int
    numbers = s.bind(Steps(start if is_number else 0, steps, step, dtype))
    if not is_number:
        numbers = s.bind(ADD, numbers, s.bind(SizeVector((start,), dtype, True)))
    return numbers if len(dims) == 1 else s.bind(Reshape(dims), numbers)


def _without(s: Sweep, op: Loop, inputs: Sequence[int], dropped: Collection[int]) -> dict[int, int]:
    """The values of a loop's outputs by number, without some that nothing needs."""
    left, places, kept = op.pruned([k not in dropped for k in range(op.n_outputs)])
    return dict(zip(kept, s.bind(left, *[inputs[k] for k in places]), strict=True))


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE)
