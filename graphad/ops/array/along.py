"""Elements along an axis, one index for each, and the transpose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.dims import Size
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define, else_eval
from graphad.core.schema import Axis, Given, IndexSpec
from graphad.core.shapes import are_compatible, format_dims, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import added_at
from graphad.ops.array.gather import check_range
from graphad.ops.array.positions import READS_ANYWHERE, WRITES_ANYWHERE
from graphad.ops.array.shape import shape_of
from graphad.ops.array.sizes import shape_was_claimed
from graphad.ops.array.support import all_stacked, put_back, row_beside, same_row
from graphad.ops.array.transpose import move_axis

_MANY = 1024  # elements; fewer are taken as quickly by NumPy's own function


@define
class TakeAlong(Op):
    """y[..., j, ...] = x[..., indices[..., j, ...], ...] along `axis`; the other axes of both are equal. A negative index counts
    from the end.
    """

    name = "take_along_axis"
    takes_symbols = (0,)
    keeps = ((1,), False)
    axis: Axis

    def infer(self, x: TensorSpec, indices: IndexSpec) -> TensorSpec:
        if x.dims is None or indices.dims is None:
            return x.with_dims(indices.dims)
        axis = normalize_axis("take_along_axis", self.axis, len(x.dims), "x", x.dims)
        if not are_compatible((*x.dims[:axis], None, *x.dims[axis + 1 :]), indices.dims):
            raise InvalidArgumentError(
                f"take_along_axis: x has shape {format_dims(x.dims)}, indices {format_dims(indices.dims)}; "
                f"rank and sizes must be equal but for axis {axis}."
            )
        return x.with_dims(indices.dims)

    def eval(self, x: Array, indices: Array) -> Array:
        last = x.ndim - 1
        check_range(self.name, indices, x.shape[self.axis], least=-x.shape[self.axis])
        if not indices.size:
            return arrays.empty(indices.shape, x.dtype, x)
        if (
            self.axis not in (-1, last)
            or x.size < _MANY
            or type(x) is not np.ndarray
            or x.shape[:-1] != indices.shape[:-1]
        ):
            return np.take_along_axis(x, indices, self.axis)
        size = x.shape[-1]
        if last == 0:
            return np.take(x, indices)
        firsts = np.arange(0, x.size, size).reshape(*x.shape[:-1], 1)
        at = (
            indices
            if not indices.size or indices.min() >= 0
            else np.where(indices < 0, indices + size, indices)
        )
        return np.take(x, at + firsts)

    def expand(self, x: Ranked, indices: Ranked) -> Tensor | None:
        if self.axis in (-1, len(x.dims) - 1):
            return None
        return _as_last(lambda *moved: bind(TakeAlong(-1), *moved), self.axis, x, indices)

    @else_eval(READS_ANYWHERE)
    def lower(self, x: TensorSpec, indices: TensorSpec) -> kernels.forms.Form | None:
        return self.along("take", x)

    def along(self, way: str, x: TensorSpec) -> kernels.forms.Form | None:
        """The form of a take along the last axis of x, or of its transpose."""
        last = len(x.dims or ()) - 1
        return kernels.forms.Indexed(way, last, last, negative="wrap") if self.axis in (-1, last) else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        sizes, given = shape_of(ctx, 0)
        return (bind(TakeAlongGrad(self.axis, sizes), g, ctx.inputs[1], *given), None)

    def batch(self, ctx: BatchContext, x: Ranked, indices: Ranked) -> Tensor:
        x, indices = all_stacked(ctx, (x, indices))
        return bind(TakeAlong(self.axis % (len(x.dims) - 1) + 1), x, indices)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(same_row(axes), specs[0], self.axis)


@define
class TakeAlongGrad(Op):
    """The transpose of take_along_axis: g added into zeros of `shape`, at the places it was taken from."""

    name = "take_along_axis_grad"
    takes_symbols = False
    keeps = ((1,), False)
    axis: Axis
    shape: Given[tuple[Size, ...]]
    formerly = {"take_along_axis_grad_to": shape_was_claimed}

    def infer(self, g: TensorSpec, indices: IndexSpec) -> TensorSpec:
        return put_back(self, TakeAlong(self.axis), g, self.shape, indices)

    def eval(self, g: Array, indices: Array) -> Array:
        last, size = len(self.shape) - 1, self.shape[self.axis]
        check_range(self.name, indices, size, least=-size)
        if last > 0 and self.axis in (-1, last) and indices.size and indices.min() >= 0:
            if tuple(indices.shape[:-1]) == tuple(self.shape[:-1]):
                total = math.prod(self.shape)
                firsts = np.arange(0, total, self.shape[-1]).reshape(*self.shape[:-1], 1)
                flat = added_at((total,), (indices + firsts).reshape(-1), np.reshape(g, -1))
                return flat.reshape(self.shape)
        key: list[Any] = list(np.ix_(*[np.arange(n) for n in indices.shape]))
        key[self.axis] = indices
        return added_at(self.shape, tuple(key), g)

    def expand(self, g: Ranked, indices: Ranked, *given: Tensor) -> Tensor | None:
        if given or self.axis in (-1, len(g.dims) - 1):
            return None
        axis = self.axis % len(g.dims)
        shape = (*self.shape[:axis], *self.shape[axis + 1 :], self.shape[axis])
        return _as_last(lambda *moved: bind(TakeAlongGrad(-1, shape), *moved), axis, g, indices)

    @else_eval(WRITES_ANYWHERE)
    def lower(self, g: TensorSpec, indices: TensorSpec, *given: TensorSpec) -> kernels.forms.Form | None:
        return TakeAlong(self.axis).along("add", g)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(TakeAlong(self.axis), h, ctx.inputs[1]), None)

    def batch(self, ctx: BatchContext, g: Ranked, indices: Ranked, *given: Ranked) -> Tensor:
        op = TakeAlongGrad(self.axis % len(self.shape) + 1, (ctx.size, *self.shape))
        return bind(op, *all_stacked(ctx, (g, indices)), *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return TakeAlong(self.axis).rows(specs, axes)


def _as_last(bound: Callable[..., Any], axis: int, *operands: Ranked) -> Tensor:
    """What is bound along the last axis, along another one: native code has that alone, and an axis is moved quickly."""
    return move_axis(bound(*[move_axis(x, axis, -1) for x in operands]), -1, axis)
