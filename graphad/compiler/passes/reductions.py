"""Canonical forms of reductions: rules of `canonical.py` that are imported with the first graph that has a reduction.

before:  %1 = reduce_mean(%0, axes=(1,))
after:   %1 = reduce_sum(%0, axes=(1,));  %2 = sizes(5);  %3 = div(%1, %2)

A reduction over axes of size 1 is a reshape; a mean is a sum divided by a count.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from graphad.compiler.passes.canonical import reshaped, same_size, sum_of_one
from graphad.compiler.passes.rewrite import Found, RuleTable, Sweep
from graphad.core.dims import product
from graphad.core.shapes import is_definite
from graphad.graph.ir import Node
from graphad.ops.array.shape import SizeVector
from graphad.ops.math.arithmetic import DIV
from graphad.ops.math.reduce import (
    ReduceAll,
    ReduceAny,
    ReduceMax,
    ReduceMean,
    ReduceMin,
    ReduceProd,
    ReduceSum,
)

if TYPE_CHECKING:
    from graphad.core.dims import Size

    Instead = Callable[[Sweep, int, tuple[Size | None, ...]], int | None]

TABLE = RuleTable()
rewrite = TABLE.rewrite


@rewrite(ReduceMax, ReduceMin, ReduceAll, ReduceAny)
def reduce_over_nothing(s: Sweep, node: Node) -> Found:
    """A reduction over axes of size 1 only is a reshape."""
    return _over_nothing(s, node, reshaped)


@rewrite(ReduceProd)
def multiply_over_nothing(s: Sweep, node: Node) -> Found:
    """So is a product, but for complex numbers: times 1 is not always the same."""
    return None if node.specs[0].dtype.is_complex else _over_nothing(s, node, reshaped)


@rewrite(ReduceSum, ReduceMean)
def add_over_nothing(s: Sweep, node: Node) -> Found:
    """A sum or mean over axes of size 1 only is a reshape, except for the sign of zeros."""
    return _over_nothing(s, node, sum_of_one)


def _over_nothing(s: Sweep, node: Node, instead: Instead) -> Found:
    """The replacement of a reduction over axes of size 1 only, None if other axes are reduced."""
    x, spec = node.inputs[0], node.specs[0]
    have = s.spec(x)
    if have.dims is None or spec.dims is None or have.dtype is not spec.dtype:
        return None
    axes = range(len(have.dims)) if node.op.axes is None else node.op.axes  # type: ignore[attr-defined]
    if any(not same_size(have.dims[axis], 1) for axis in axes):
        return None
    return instead(s, x, spec.dims)


@rewrite(ReduceMean)
def mean_by_sum(s: Sweep, node: Node) -> Found:
    """A mean of float32, float64 or complex numbers is the sum divided by the count."""
    x, op = node.inputs[0], cast(ReduceMean, node.op)
    spec = s.spec(x)
    if spec.dims is None or not (spec.dtype.name in ("float32", "float64") or spec.dtype.is_complex):
        return None
    axes = range(len(spec.dims)) if op.axes is None else op.axes
    sizes = tuple([spec.dims[axis] for axis in axes])
    if not is_definite(sizes):
        return None
    count = product(sizes)
    if spec.dtype.is_complex:
        if type(count) is not int:
            return None
        return s.bind(DIV, s.bind(ReduceSum(op.axes, op.keepdims), x), s.constant(count, like=spec))
    return s.bind(
        DIV, s.bind(ReduceSum(op.axes, op.keepdims), x), s.bind(SizeVector((count,), spec.dtype, True))
    )
