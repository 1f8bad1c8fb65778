"""Canonical forms of transposes: rules of `canonical.py` that are imported with the first graph that has one.

before:  %1 = transpose(%0, perm=(1, 0));  %2 = transpose(%1, perm=(1, 0))
after:   %0
"""

from __future__ import annotations

from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep
from graphad.graph.ir import Node
from graphad.ops.array.transpose import Transpose

TABLE = RuleTable()


@TABLE.rewrite(Transpose)
def transpose_once(s: Sweep, node: Node[Transpose]) -> Found:
    """A transpose of a transpose, and a transpose without effect."""
    x, dims = node.inputs[0], node.specs[0].dims
    if dims is None or node.op.refers:
        return None
    op = node.op
    perm = op.order(len(dims))
    if perm == tuple(range(len(dims))):
        return x
    inner = s.made_by(x, Transpose)
    if inner is None or inner.op.refers:
        return None
    first = inner.op.order(len(dims))
    return s.bind(Transpose(tuple(first[axis] for axis in perm)), inner.inputs[0])
