"""Canonical forms of slopes of complex numbers: rules of `canonical.py` that are imported with the first graph that has one.

before:  %2 = tanh_grad(%0, %1)
after:   %2 = mul(%0, %0);  %3 = sub(1, %2);  %4 = mul(%1, %3)

There are no kernels of complex numbers, so what takes several steps is a node for each, with the same bits.
"""

from __future__ import annotations

from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep
from graphad.graph.ir import Node
from graphad.ops.math.arithmetic import MUL, SUB
from graphad.ops.math.exponential import SigmoidGrad, TanhGrad

TABLE = RuleTable()
rewrite = TABLE.rewrite


def _is_taken(node: Node) -> bool:
    """Whether it is of complex numbers, and not of single ones, which have an arithmetic of their own."""
    return node.specs[0].dtype.is_complex and bool(node.specs[0].dims)


@rewrite(TanhGrad)
def slope_of_tanh(s: Sweep, node: Node) -> Found:
    """g (1 - y y) for the value y."""
    y, g = node.inputs
    if not _is_taken(node):
        return None
    return s.bind(MUL, g, s.bind(SUB, s.constant(1, like=s.spec(y)), s.bind(MUL, y, y)))


@rewrite(SigmoidGrad)
def slope_of_sigmoid(s: Sweep, node: Node) -> Found:
    """g (y (1 - y)) for the value y."""
    y, g = node.inputs
    if not _is_taken(node):
        return None
    return s.bind(MUL, g, s.bind(MUL, y, s.bind(SUB, s.constant(1, like=s.spec(y)), y)))
