"""How many elements a tensor has along some axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import (
    Array,
    BatchContext,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
)
from graphad.core.bind import bind, constant_here
from graphad.core.dims import product
from graphad.core.dtypes import DType
from graphad.core.op import Op, define, no_gradient
from graphad.core.schema import Axes
from graphad.core.shapes import are_numbers, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor


@define
class CountOf(Op):
    """The number of elements of x along `axes`, the product of their sizes, as a scalar of `dtype`."""

    name = "count_of"
    by_value = ()
    keeps = (False, False)
    axes: Axes | None
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        for axis in self.axes or ():
            normalize_axis("count_of", axis, None if x.dims is None else len(x.dims))
        return TensorSpec.of((), self.dtype)

    def eval(self, x: Array) -> Array:
        return self.dtype.numpy.type(  # type: ignore[no-any-return]
            product(x.shape if self.axes is None else [x.shape[axis] for axis in self.axes])
        )

    vjp = no_gradient("a count is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        rank = len(x.dims) - 1
        axes = range(rank) if self.axes is None else [axis % rank for axis in self.axes]
        return ctx.unstacked(bind(CountOf(tuple([axis + 1 for axis in axes]), self.dtype), x))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return ctx.size(
            product(x.dims if self.axes is None else [x.dims[axis] for axis in self.axes]), self.dtype
        )


def count_over(axes: tuple[int, ...] | None, x: Any, dtype: DType) -> Tensor:
    """The number of elements along some axes of x as a scalar: a constant where the sizes are known numbers."""
    dims = x.dims
    if dims is not None:
        sizes = dims if axes is None else [dims[axis] for axis in axes]
        if are_numbers(sizes):
            count = dtype.numpy.type(product(sizes))
            return constant_here(count)
    return bind(CountOf(axes, dtype), x)
