"""Slices that a counted loop looks up by its counter become slices of a stack that it iterates over.

before:  loop(n, 0, x), step(i, x): ... x[i + 1] ...; i + 1
after:   loop(n, 0, x[1:n + 1]), step(i, slice): ... slice ...; i + 1

A general index must be checked at each use; a counting index is a moving pointer. Only if every index is certainly in range and
not negative.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep, sweep
from graphad.core.dims import UndecidedSize
from graphad.core.spec import TensorSpec
from graphad.graph.compose import with_given
from graphad.graph.ir import Graph, Node
from graphad.ops.array.shape import SizeVector
from graphad.ops.array.slice import Slice

if TYPE_CHECKING:
    from graphad.ops.control.loop import Loop


TABLE = RuleTable()


@TABLE.rewrite(lambda kind: kind.repeats)
def slices_by_counter(s: Sweep, node: Node) -> Found:
    """Reads of an invariant at counter + constant become slices of a further stack."""
    op: Any = node.op
    if op.test is not None or op.reverse or op.steps is None:
        return None
    counters = dict(_counters(s, node))
    walks: dict[tuple[int, Any, int], list[int]] = {}  # (invariant, first index, step) -> values of the body
    for read, (value, start, step) in _reads(op, counters):
        if _in_range(start, step, op.steps, op.body.inputs[value].dims):
            walks.setdefault((value, start, step), []).append(read)
    if not walks:
        return None
    slices = {read: k for k, reads in enumerate(walks.values()) for read in reads}
    specs = [_slice_spec(op.body.inputs[value]) for value, _, _ in walks]
    walking = op.changed(
        body=with_given(op.body, specs, slices, len(op.body.inputs)), n_xs=op.n_xs + len(walks)
    )
    stacks = [_walked(s, node.inputs[value + 1], start, step, op.steps) for value, start, step in walks]
    inputs = [*node.inputs, *stacks]
    # Drop invariants that were only looked up.
    left, places, _ = walking.pruned([True] * walking.n_outputs)
    return s.bind(left, *[inputs[k] for k in places])  # type: ignore[no-any-return]


def _counters(s: Sweep, node: Node) -> Iterator[tuple[int, tuple[Any, int]]]:
    """carry -> (start, step) for every carry that starts at a known number and advances by a constant."""
    op: Any = node.op
    for k, spec in enumerate(op.operands.carries(op.body.inputs)):
        if spec.is_handle or not spec.dtype.is_integer or spec.dims != ():
            continue
        start, moved = _start(s, node.inputs[k + 1]), _affine(op.body, op.body.outputs[k])
        if start is not None and moved is not None and moved[0] == k and moved[1]:
            yield k, (start, moved[1])


def _start(s: Sweep, value: int) -> Any:
    sizes: Any = s.made_by(value, SizeVector)
    if sizes is not None:
        return sizes.op.dims[0]
    number = s.number(value)
    return None if number is None else int(number)


def _affine(body: Graph, value: int) -> tuple[int, int] | None:
    """(input, constant) if a value is an input of the body plus a constant."""
    total = 0
    makers = {value: node for node in body.nodes if node.op.counts for value in node.outputs}
    while value in makers:
        node = makers[value]
        a, b = node.inputs
        known = _constant(body, b)
        if known is None and node.op.counts > 0:
            a, known = b, _constant(body, a)
        if known is None or body.specs[value].dims != ():
            return None
        total += node.op.counts * known
        value = a
    return (value, total) if value < len(body.inputs) else None


def _constant(body: Graph, value: int) -> int | None:
    if not len(body.inputs) <= value < body.first_node_value:
        return None
    data = body.constants[value - len(body.inputs)]
    return int(data) if np.size(data) == 1 and data.dtype.kind in "iu" else None


def _reads(op: Loop, counters: dict[int, tuple[Any, int]]) -> Iterator[tuple[int, tuple[int, Any, int]]]:
    """(value of the body, (invariant, first index, step)) for lookups along axis 0 by a counter plus a constant."""
    fixed = op.operands.invariants
    for node in op.body.nodes:
        if not _looks_up(op.body, node) or node.inputs[0] not in fixed:
            continue
        found = _affine(op.body, node.inputs[1])
        if found is not None and found[0] in counters:
            start, step = counters[found[0]]
            yield node.start, (node.inputs[0], start + found[1], step)


def _looks_up(body: Graph, node: Node) -> bool:
    """Whether a node is x[i] for a scalar i that is not negative."""
    dims = body.specs[node.inputs[0]].dims if node.inputs else None
    if dims is None or len(node.inputs) != 2 or body.specs[node.inputs[1]].dims != ():
        return False
    return node.op.index_axis(len(dims)) == 0


def _in_range(start: Any, step: int, steps: Any, dims: Any) -> bool:
    last = start + step * (steps - 1)
    low, high = (start, last) if step > 0 else (last, start)
    try:
        return bool(steps > 0 and low >= 0 and high < dims[0])
    except UndecidedSize:
        return False


def _slice_spec(spec: TensorSpec) -> TensorSpec:
    return spec.with_dims(tuple((spec.dims or ())[1:]))


def _walked(s: Sweep, x: int, start: Any, step: int, steps: Any) -> int:
    """x[start], x[start + step], ... as a stack."""
    dims = s.spec(x).dims or ()
    starts, strides = (start, *[0] * (len(dims) - 1)), (step, *[1] * (len(dims) - 1))
    return s.bind(Slice(starts, strides, (steps, *dims[1:])), x)


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE)
