"""Algebra: exact to the last bit by default, and a `relaxed` group that is on when `options.relaxed` is.

before:  %2 = neg(%1);  %3 = add(%0, %2);  %4 = mul(%3, 1.0);  return %4
after:   %2 = sub(%0, %1);  return %2

Exact: multiplication and division by one, double negation, x - 0, reciprocals of powers of two, cotangents that are a number
other than 0. `x + 0.0` stays: it turns -0.0 into 0.0.
Relaxed: rewrites for stability or speed that may change the last bits: log(1 + x), exp(x) - 1, log(softmax(x)), log(sigmoid(x)),
1 - sigmoid(x), log1p(exp(x)), log(exp(x)), sqrt(x * x), x / sqrt(y).
"""

from __future__ import annotations

import math

import numpy as np

from graphad.compiler.passes.canonical import kept
from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep, combined, sweep
from graphad.graph.ir import Graph, Node
from graphad.ops.math.arithmetic import (
    ABS,
    ADD,
    DIV,
    MUL,
    NEG,
    SUB,
    Abs,
    Add,
    Div,
    DivZero,
    Mul,
    MulZero,
    Neg,
    Sub,
)
from graphad.ops.math.compare import LogicalAnd, LogicalNot, LogicalOr
from graphad.ops.math.exponential import SOFTPLUS, Exp, Expm1, Log, Log1p, Sigmoid
from graphad.ops.math.power import Rsqrt, Sqrt
from graphad.ops.math.select import Maximum, Minimum, Select

EXACT, RELAXED = RuleTable(), RuleTable()
exact, relaxed = EXACT.rewrite, RELAXED.rewrite


@exact(Mul)
def product_with_number(s: Sweep, node: Node) -> Found:
    """x * 1 is x, x * -1 is -x."""
    x, y = node.inputs
    number = s.number(y)
    if number is None:
        x, y, number = y, x, s.number(x)
    if number is None or kept(s, node, x) is None or s.spec(x).dtype.is_complex:
        return None
    if number == 1:
        return x
    if number == -1 and not s.spec(x).dtype.is_unsigned:
        return s.bind(NEG, x)
    return None


@exact(MulZero, DivZero)
def cotangent_that_is_a_number(s: Sweep, node: Node) -> Found:
    """A cotangent that is the same number everywhere, as the ones that a tape begins with, is 0 nowhere unless it is 0."""
    number = s.number(node.inputs[0])
    if number is None or number == 0:
        return None
    return s.bind(MUL if isinstance(node.op, MulZero) else DIV, *node.inputs)


@exact(Mul)
def product_of_negatives(s: Sweep, node: Node) -> Found:
    a, b = (s.made_by(value, Neg) for value in node.inputs)
    return None if a is None or b is None else s.bind(node.op, a.inputs[0], b.inputs[0])


@exact(Div)
def quotient_with_number(s: Sweep, node: Node) -> Found:
    """x / 1 is x; dividing by a power of two is multiplying by its reciprocal."""
    x, y = node.inputs
    number, dtype = s.number(y), s.spec(x).dtype
    if number is None or not dtype.is_floating:
        return None
    if number == 1:
        return kept(s, node, x)
    value = float(number)
    if (
        not math.isfinite(value)
        or not value
        or abs(math.frexp(value)[0]) != 0.5
        or abs(math.log2(abs(value))) > 14
    ):
        return None
    data = s.array(y)
    if data is None:
        return None
    return s.bind(MUL, x, s.constant(np.full(np.shape(data), 1 / value, dtype.numpy)))


@exact(Add)
def sum_with_number(s: Sweep, node: Node) -> Found:
    """x + 0 for integers, x + -0.0, and x + (-y)."""
    x, y = node.inputs
    number = s.number(y)
    dtype = s.spec(x).dtype
    if (
        number is not None
        and number == 0
        and (dtype.is_integer or (dtype.is_floating and np.signbit(number)))
    ):
        return kept(s, node, x)
    for a, b in ((x, y), (y, x)):
        inner = s.made_by(b, Neg)
        if inner is not None:
            return s.bind(SUB, a, inner.inputs[0])
    return None


@exact(Sub)
def difference_with_number(s: Sweep, node: Node) -> Found:
    """x - 0, and x - (-y)."""
    x, y = node.inputs
    number = s.number(y)
    if number is not None and number == 0 and not s.spec(x).dtype.is_complex and not np.signbit(number):
        return kept(s, node, x)
    inner = s.made_by(y, Neg)
    return None if inner is None else s.bind(ADD, x, inner.inputs[0])


@exact(Abs)
def abs_of_sign_change(s: Sweep, node: Node) -> Found:
    """|-x| and ||x||."""
    inner = s.made_by(node.inputs[0], Neg, Abs)
    if inner is None:
        return None
    if inner.op.op_class is Abs:
        return node.inputs[0]
    if node.specs[0].dtype.is_unsigned:
        return None  # unsigned: -x is another positive number
    return s.bind(node.op, inner.inputs[0])


@exact(Maximum, Minimum, LogicalAnd, LogicalOr)
def of_itself(s: Sweep, node: Node) -> int | None:
    x, y = node.inputs
    return x if x == y else None


@exact(LogicalNot)
def not_not(s: Sweep, node: Node) -> int | None:
    inner = s.made_by(node.inputs[0], LogicalNot)
    return None if inner is None else inner.inputs[0]


@exact(Select)
def both_branches_alike(s: Sweep, node: Node) -> int | None:
    _, x, y = node.inputs
    return kept(s, node, x) if x == y else None


def _is_one(s: Sweep, value: int) -> bool:
    number = s.number(value)
    return number is not None and number == 1


@relaxed(Log)
def log_of_something(s: Sweep, node: Node) -> Found:
    """log(1 + x), log(exp(x)), log(sigmoid(x)), and what an op says of its logarithm: log(softmax(x))."""
    inner = s.producer(node.inputs[0])
    if inner is None:
        return None
    kind = inner.op.op_class
    if kind is Add:
        for a, b in (inner.inputs, inner.inputs[::-1]):
            if _is_one(s, b) and kept(s, node, a) is not None:
                return s.bind(Log1p(), a)
    if kind is Exp:
        return inner.inputs[0]
    if kind is Sigmoid:
        return s.bind(NEG, s.bind(SOFTPLUS, s.bind(NEG, inner.inputs[0])))
    op = inner.op.logarithm()
    return None if op is None else s.bind(op, *inner.inputs)


@relaxed(Sub)
def minus_one(s: Sweep, node: Node) -> Found:
    """exp(x) - 1 and 1 - sigmoid(x)."""
    x, y = node.inputs
    inner = s.made_by(x, Exp)
    if inner is not None and _is_one(s, y) and kept(s, node, x) is not None:
        return s.bind(Expm1(), inner.inputs[0])
    inner = s.made_by(y, Sigmoid)
    if inner is not None and _is_one(s, x) and kept(s, node, y) is not None:
        return s.bind(inner.op, s.bind(NEG, inner.inputs[0]))
    return None


@relaxed(Log1p)
def log1p_of_exp(s: Sweep, node: Node) -> Found:
    inner = s.made_by(node.inputs[0], Exp)
    return None if inner is None else s.bind(SOFTPLUS, inner.inputs[0])


@relaxed(Sqrt)
def root_of_square(s: Sweep, node: Node) -> Found:
    inner = s.made_by(node.inputs[0], Mul)
    if inner is None or inner.inputs[0] != inner.inputs[1] or not node.specs[0].dtype.is_floating:
        return None
    return s.bind(ABS, inner.inputs[0])


@relaxed(Div)
def by_root(s: Sweep, node: Node) -> Found:
    """x / sqrt(y) is x * rsqrt(y)."""
    x, y = node.inputs
    inner = s.made_by(y, Sqrt)
    if inner is None or not node.specs[0].dtype.is_floating:
        return None
    return s.bind(MUL, x, s.bind(Rsqrt(), inner.inputs[0]))


def run(graph: Graph, options: object = None) -> Graph:
    groups = [EXACT, RELAXED] if getattr(options, "relaxed", False) else [EXACT]
    return sweep(graph, combined(groups))
