"""Canonical forms, so that later passes have fewer cases.

before:  %1 = expand_dims(%0, axes=(0,));  %2 = reshape(%1, shape=(2, 3));  %3 = square(%2);  return %3
after:   %1 = reshape(%0, shape=(2, 3));  %2 = mul(%1, %1);  return %2

Axes of size 1 are added and removed by `reshape`; squares and small integer powers are products (at most 2 ulp from `pow` for
the powers
3 and 4, exact for 1 and 2); constants stand on the right of commutative ops; casts of sizes are sizes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep, sweep
from graphad.core.dims import Dim, run_time_symbols
from graphad.core.dtypes import float32, int64
from graphad.core.op import Op
from graphad.core.shapes import is_definite
from graphad.graph.ir import Graph, Node
from graphad.ops.accumulate import is_narrow
from graphad.ops.array.broadcast import BroadcastTo, SumTo
from graphad.ops.array.passing import Identity, StopGradient
from graphad.ops.array.reshape import ExpandDims, Reshape, Squeeze
from graphad.ops.array.shape import SizeVector
from graphad.ops.math.arithmetic import (
    ADD,
    DIV,
    MUL,
    Add,
    DivideNoNan,
    DivZero,
    Mul,
    MultiplyNoNan,
    MulZero,
    Neg,
    Square,
)
from graphad.ops.math.cast import Cast, wraps_sizes
from graphad.ops.math.power import Pow

if TYPE_CHECKING:
    from graphad.core.dims import Size


TABLE = RuleTable(
    later={
        "graphad.ops.array.transpose": "graphad.compiler.passes.orders",
        "graphad.ops.math.reduce": "graphad.compiler.passes.reductions",
        "graphad.ops.math.exponential": "graphad.compiler.passes.slopes",
    }
)
rewrite = TABLE.rewrite


def same_size(a: Size | None, b: Size | None) -> bool:
    """Whether two sizes are certainly equal, without pinning a symbol."""
    if isinstance(a, Dim) or isinstance(b, Dim):
        return isinstance(a, Dim) and isinstance(b, Dim) and a.terms == b.terms
    return a is not None and bool(a == b)  # two unknown sizes may differ


def same_dims(a: tuple[Size | None, ...] | None, b: tuple[Size | None, ...] | None) -> bool:
    """Whether two shapes are certainly equal, without pinning a symbol."""
    return a is not None and b is not None and len(a) == len(b) and all(map(same_size, a, b))


def kept(s: Sweep, node: Node, value: int) -> int | None:
    """`value` as the node's result, if it has its shape and all operands certainly fit: the run compares sizes that it finds."""
    if not all(is_definite(s.spec(i).dims) for i in node.inputs):
        return None
    return value if same_dims(s.spec(value).dims, node.specs[0].dims) else None


@rewrite(ExpandDims, Squeeze)
def axes_by_reshape(s: Sweep, node: Node) -> Found:
    """Adding or removing axes of size 1 is a reshape."""
    return reshaped(s, node.inputs[0], node.specs[0].dims)


@rewrite(Reshape)
def reshape_once(s: Sweep, node: Node[Reshape]) -> Found:
    """A reshape of a reshape, and a reshape without effect."""
    x = node.inputs[0]
    inner = s.made_by(x, Reshape) if is_definite(s.spec(x).dims) else None
    if inner is not None:
        return reshaped(s, inner.inputs[0], node.specs[0].dims)
    return x if same_dims(s.spec(x).dims, node.specs[0].dims) else None


@rewrite(Reshape)
def reshape_of_one_number(s: Sweep, node: Node[Reshape]) -> Found:
    """A reshape of one element that is broadcast is a broadcast to the other shape."""
    inner, dims = s.made_by(node.inputs[0], BroadcastTo), node.specs[0].dims
    if inner is None or dims is None or not (is_definite(dims) and is_definite(s.spec(node.inputs[0]).dims)):
        return None
    one = inner.inputs[0]
    have = s.spec(one).dims
    if have is None or any(size != 1 for size in have):
        return None
    return s.bind(BroadcastTo(tuple(dims)), s.bind(Reshape(()), one) if have else one)


@rewrite(BroadcastTo)
def broadcast_once(s: Sweep, node: Node[BroadcastTo]) -> Found:
    """A broadcast of a broadcast, and a broadcast without effect.

    One to sizes that are inputs has an effect, even where only the size of x fits: it refuses all others.
    """
    x = node.inputs[0]
    inner = s.made_by(x, BroadcastTo) if is_definite(s.spec(x).dims) else None
    if inner is not None and not inner.op.refers:
        return s.bind(node.op, inner.inputs[0], *node.inputs[1:])
    if node.op.refers:
        return None  # that its sizes are those of x is what it checks
    return x if same_dims(s.spec(x).dims, node.specs[0].dims) else None


@rewrite(SumTo)
def sum_over_nothing(s: Sweep, node: Node[SumTo]) -> Found:
    """A sum over axes of size 1 only is a reshape, except for the sign of zeros."""
    x, want = node.inputs[0], node.specs[0].dims
    have = s.spec(x).dims
    if have is None or want is None or len(have) < len(want):
        return None
    extra = len(have) - len(want)
    if all(same_size(size, 1) for size in have[:extra]) and all(map(same_size, have[extra:], want)):
        return sum_of_one(s, x, want)
    return None


def sum_of_one(s: Sweep, x: int, dims: tuple[Size | None, ...]) -> int | None:
    """Sums of one number each: NumPy's sums start with +0, which turns -0 into +0."""
    y, spec = reshaped(s, x, dims), s.spec(x)
    if y is None or not (spec.dtype.is_floating or spec.dtype.is_complex):
        return y
    return s.bind(ADD, y, s.constant(0, like=spec))


@rewrite(Square)
def square_by_product(s: Sweep, node: Node) -> Found:
    return s.bind(MUL, node.inputs[0], node.inputs[0])


# What is 0 where one of its operands is: the op that it is elsewhere, and the number of that operand.
_ZERO_OF: dict[type[Op], tuple[Op, int]] = {
    MulZero: (MUL, 0),
    DivZero: (DIV, 0),
    MultiplyNoNan: (MUL, 1),
    DivideNoNan: (DIV, 1),
}


@rewrite(*_ZERO_OF)
def zeros_of_complex(s: Sweep, node: Node) -> Found:
    """What is 0 where an operand is, of complex numbers, of which there are no kernels: a product or quotient; a selection."""
    spec = node.specs[0]
    if not spec.dtype.is_complex or not spec.dims:  # single numbers have an arithmetic of their own
        return None
    from graphad.ops.math.compare import EQUAL  # programs without complex numbers do without
    from graphad.ops.math.select import SELECT

    op, decides = _ZERO_OF[node.op.op_class]
    zero = s.constant(0, like=s.spec(node.inputs[0]))
    is_zero = s.bind(EQUAL, node.inputs[decides], zero)
    return s.bind(SELECT, is_zero, zero, s.bind(op, *node.inputs))


@rewrite(lambda kind: kind.rounds_once)
def narrow_in_float32(s: Sweep, node: Node) -> Found:
    """What computes narrow numbers in float32 and rounds once takes casts, of which other nodes may have one too."""
    dtype = node.specs[0].dtype
    if not is_narrow(dtype.numpy):
        return None
    inputs = [s.bind(Cast(float32), x) if s.spec(x).dtype is dtype else x for x in node.inputs]
    return s.bind(Cast(dtype), s.bind(node.op, *inputs))


@rewrite(Pow)
def small_power(s: Sweep, node: Node) -> Found:
    """x to the power of 1, 2, 3 or 4."""
    x, y = node.inputs
    power = s.number(y)
    if power is None or power != power or power not in (1, 2, 3, 4):
        return None
    if kept(s, node, x) is None:
        return None
    if power == 1:
        return x
    square = s.bind(MUL, x, x)
    return square if power == 2 else s.bind(MUL, square, x if power == 3 else square)


@rewrite(Cast)
def cast_of_sizes(s: Sweep, node: Node[Cast]) -> Found:
    """A cast to the same dtype, and a cast of sizes, of integers: floats may have been rounded."""
    x, spec = node.inputs[0], node.specs[0]
    if s.spec(x).dtype is spec.dtype:
        return x
    made = s.made_by(x, SizeVector)
    if made is None or spec.dtype.is_bool or wraps_sizes(spec.dtype):
        return None
    sizes = made.op
    if run_time_symbols(sizes.dims) and not spec.dtype.is_integer:
        return None
    return s.bind(SizeVector(sizes.dims, spec.dtype, sizes.scalar)) if sizes.dtype.is_integer else None


@rewrite(SizeVector)
def sizes_of_numbers(s: Sweep, node: Node[SizeVector]) -> Found:
    """Sizes that hold no symbol are a constant. Those that only the run finds are integers first: a run adds to their words."""
    sizes = node.op
    if run_time_symbols(sizes.dims) and not sizes.dtype.is_integer:
        return s.bind(Cast(sizes.dtype), s.bind(SizeVector(sizes.dims, int64, sizes.scalar)))
    if any(isinstance(size, Dim) for size in sizes.dims):
        return None
    return s.constant(sizes.eval())


@rewrite(Add, Mul)
def constant_right(s: Sweep, node: Node) -> Found:
    """The number of a commutative op is its second operand."""
    x, y = node.inputs
    if s.array(x) is None or s.array(y) is not None:
        return None
    return s.bind(node.op, y, x)


@rewrite(Neg)
def neg_of_neg(s: Sweep, node: Node) -> int | None:
    inner = s.made_by(node.inputs[0], Neg)
    return None if inner is None else inner.inputs[0]


@rewrite(Identity, StopGradient)
def nothing_at_all(s: Sweep, node: Node) -> int | None:
    """Ops that matter only to derivatives."""
    return None if node.op.effects else node.inputs[0]


def reshaped(s: Sweep, x: int, dims: tuple[Size | None, ...] | None) -> int | None:
    """x in another shape; None where its sizes depend on data."""
    if same_dims(s.spec(x).dims, dims):
        return x
    if not is_definite(s.spec(x).dims) or not is_definite(dims):
        return None
    return s.bind(Reshape(tuple(dims)), x)


def run(graph: Graph, options: object = None) -> Graph:
    return sweep(graph, TABLE)
