"""Sums of products of two tensors over axes, without an array of the products: norms and products of vectors.

Eagerly BLAS adds the products of 512 elements at a time, and the sums of those parts are added in pairs: as many digits as the
sum of an array of products, in a third of the time. Compiled code fuses a product and its sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.op import MIXED, define
from graphad.core.schema import Axes
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import summed
from graphad.ops.array.support import is_open, merge_dims
from graphad.ops.choice import product
from graphad.ops.math.arithmetic import ADD, MUL, SQUARE, scaled
from graphad.ops.math.complexes import conjugate
from graphad.ops.math.reduce import ReduceSum, Reduction, as_axes, reduce_sum
from graphad.ops.rules import OF_THE_OTHER, align_stacked, same_dtype

_PART = 512  # elements that BLAS adds at a time: few enough that its running sums lose no more digits than sums in pairs
_SHORT = 32  # elements of a row; for shorter ones its call costs more than an array of products


def _added(x: Array, y: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """The sum of x * y over `axes`, sorted and counted from 0."""
    lead = x.ndim - len(axes)
    if (
        type(x) is not np.ndarray
        or type(y) is not np.ndarray
        or x.dtype.char not in "fd"
        or axes != tuple(range(lead, x.ndim))
        or not (x.flags.c_contiguous and y.flags.c_contiguous)
    ):
        return summed(product(x, y), axes, keepdims)
    shape = x.shape[:lead]
    count = x.size // math.prod(shape) if x.size else 0
    if count < _SHORT:
        return summed(product(x, y), axes, keepdims)
    x, y = x.reshape(*shape, count), y.reshape(*shape, count)
    whole = count - count % _PART
    total: Any = None
    if whole:
        parts = [z[..., :whole].reshape(*shape, -1, _PART) for z in (x, y)]
        total = np.add.reduce(np.vecdot(*parts), -1)
    if whole < count:
        rest = np.vecdot(x[..., whole:], y[..., whole:])
        total = rest if total is None else total + rest
    return total.reshape(*shape, *(1,) * len(axes)) if keepdims else total  # type: ignore[no-any-return]


@define
class SumOfProducts(Reduction):
    """The sum of x * y over `axes`; 0 for none. x and y have one shape; products are added in no promised order."""

    name, combine = "sum_of_products", "add"
    takes_symbols = False
    keeps, keeps_alone = (True, False), OF_THE_OTHER
    axes: Axes | None = None
    keepdims: bool = False

    def infer(self, x: TensorSpec, y: TensorSpec) -> TensorSpec:  # type: ignore[override]
        same_dtype(self.name, (x, y))
        return super().infer(TensorSpec.of(merge_dims(self.name, [x.dims, y.dims]), x.dtype))

    def eval(self, x: Array, y: Array) -> Array:  # type: ignore[override]
        return _added(x, y, self.over(x.ndim), self.keepdims)

    def quick(self, x: Tensor, y: Tensor) -> Array | None:  # type: ignore[override]
        a, b = x.data, y.data
        if a.dtype is b.dtype and a.dtype.char in "fd" and a.ndim and a.shape == b.shape:
            return self.eval(a, b)
        return None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, y = ctx.inputs
        g = self.restored(ctx, g)
        if x is y:  # squares: one product in place of two and their sum
            return scaled(ctx, bind(ADD, g, g), conjugate(x)), None
        return tuple([scaled(ctx, g, conjugate(z)) if ctx.needs(i) else None for i, z in enumerate((y, x))])

    def batch(self, ctx: BatchContext, x: Ranked, y: Ranked) -> Tensor:  # type: ignore[override]
        if ctx.stacked(0) and ctx.stacked(1):
            axes = tuple([axis + 1 for axis in self.over(len(x.dims) - 1)])
            return bind(SumOfProducts(axes, self.keepdims), x, y)
        products = bind(MUL, *align_stacked(ctx, (x, y)))
        return ReduceSum(self.axes, self.keepdims).batch(ctx, products)  # type: ignore[arg-type]

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        given = {axis for axis in axes if axis is not None}
        return None if not given else super().rows(specs, tuple(given)) if len(given) == 1 else MIXED

    def expand(self, x: Ranked, y: Ranked) -> Tensor | None:
        return bind(ReduceSum(self.axes, self.keepdims), bind(MUL, x, y))


def sum_of_products(x: Tensor, y: Tensor, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """The sum over axes of the products of two tensors of one shape and dtype; for other shapes, what broadcasting gives."""
    if is_open(axis):
        return reduce_sum(bind(MUL, x, y), axis, keepdims)
    axes = as_axes("sum_of_products", axis, x)
    is_alike = x is y or (is_definite(x.dims) and x.dims == y.dims)
    if axes == () or not is_alike or x.dtype not in (dtypes.float32, dtypes.float64):
        return reduce_sum(bind(SQUARE, x) if x is y else bind(MUL, x, y), axis, keepdims)
    return bind(SumOfProducts(axes, bool(keepdims)), x, y)
