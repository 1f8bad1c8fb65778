"""Constant folding.

before:  %1 = constant 2.0;  %2 = exp(%1);  %3 = mul(%0, %2);  return %3
after:   %1 = constant 7.389056;  %2 = mul(%0, %1);  return %2

Results are limited: up to `LIMIT` elements always, up to `LARGE` if the result is not larger than the largest constant it
reads. Symbolic sizes stay.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.compiler.passes.canonical import same_dims
from graphad.compiler.passes.rewrite import RuleTable, Sweep, sweep
from graphad.core.errors import GraphadError
from graphad.core.op import evaluated
from graphad.core.rule_errors import RAW_ERRORS
from graphad.graph.ir import Graph, Node
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.elementwise import Elementwise
from graphad.trace.numbered import symbols_of

TABLE = RuleTable()
LIMIT = 4096  # elements of a folded result, whatever its operands
LARGE = 1 << 22  # elements of a result that is no larger than its largest operand


def fold_constants(s: Sweep, node: Node) -> tuple[int, ...] | None:
    """A node whose inputs are all constants becomes a constant."""
    op = node.op
    if not node.inputs or op.effects or op.structured or s.array(node.inputs[0]) is None:
        return None
    values: list[Any] = [s.array(value) for value in node.inputs]
    if any(value is None for value in values) or symbols_of(op):
        return None
    total = 0
    for spec in node.specs:
        if spec.dims is None:
            return None
        count = 1
        for size in spec.dims:
            if type(size) is not int:
                return None
            count *= size
        total += count
    largest = max(np.size(value) for value in values)
    if total > max(LIMIT, min(largest, LARGE)) or (op.spreads and total > np.size(values[0])):
        return None
    try:
        with np.errstate(all="ignore"):
            outputs = evaluated(op, values)
    except (GraphadError, *RAW_ERRORS):
        return None  # the node stays, and raises the same when it runs
    return tuple([s.constant(y) for y in outputs])


@TABLE.rewrite(lambda kind: issubclass(kind, Elementwise))
def fold_what_is_broadcast(s: Sweep, node: Node) -> int | None:
    """An elementwise op of numbers, one of them broadcast to the shape of the result: its number is broadcast instead.

    So the constant cotangents of a mean take no loop and no memory.
    """
    for value in node.inputs:
        made = s.made_by(value, BroadcastTo)
        if made is not None and same_dims(s.spec(value).dims, node.specs[0].dims):
            break
    else:
        return None
    numbers = [s.number(value) for value in node.inputs]
    if any(number is None for number in numbers):
        return None
    try:
        with np.errstate(all="ignore"):
            (y,) = evaluated(node.op, numbers)
    except (GraphadError, *RAW_ERRORS):
        return None
    return s.bind(made.op, s.constant(y), *made.inputs[1:])


ON_CONSTANTS = (fold_constants,)


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE, ON_CONSTANTS)
