"""The part of a tensor at known places, with a stride along each axis: a view; and its transpose, which writes into zeros."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Cotangents, Ranked, RowAxes, RowAxis, VjpContext
from graphad.core.bind import bind
from graphad.core.dims import Size
from graphad.core.op import MIXED, Op, define
from graphad.core.schema import Step
from graphad.core.shapes import ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.inside import is_inside, outside, require_inside
from graphad.ops.array.keys import steps_key


@define
class Slice(Op):
    """y[i, j, ...] = x[starts[0] + i * strides[0], starts[1] + j * strides[1], ...] with the shape `sizes`; strides may be
    negative.
    """

    name = "slice"
    takes_spread = carries_masks = True
    total = True
    keeps = (False, False)
    aliases = {0: 0}
    starts: tuple[Size, ...]
    strides: tuple[Step, ...]
    sizes: tuple[Size, ...]

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_inside("slice", self.starts, self.strides, self.sizes, x.dims)
        return x.with_dims(self.sizes)

    def eval(self, x: Array) -> Array:
        y = x[steps_key(self.starts, self.strides, self.sizes)]
        if y.shape != self.sizes:  # NumPy clips
            raise outside("slice", self.starts, self.strides, self.sizes, x.shape)
        return y

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        if not is_inside(self.starts, self.strides, self.sizes, specs[0].dims):
            return None
        return operator.itemgetter(steps_key(self.starts, self.strides, self.sizes))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(SliceGrad(self.starts, self.strides, ranked(ctx.shape(0))), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(Slice((0, *self.starts), (1, *self.strides), (x.dims[0], *self.sizes)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        axis = axes[0]
        if axis is None:
            return None
        whole = self.strides[axis] == 1 and self.sizes[axis] == specs[0].dims[axis]  # type: ignore[index]
        return axis if whole else MIXED

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.View("slice", (self.starts, self.strides, self.sizes))


@define
class SliceGrad(Op):
    """The transpose of slice: zeros of `shape` with x[i, j, ...] at (starts[0] + i * strides[0], starts[1] + j * strides[1],
    ...).
    """

    name = "slice_grad"
    keeps = (False, False)
    starts: tuple[Size, ...]
    strides: tuple[Step, ...]
    shape: tuple[Size, ...]

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_inside("slice_grad", self.starts, self.strides, x.dims, self.shape)
        return x.with_dims(self.shape)

    def parts_of(
        self, whole: kernels.sites.Site, sites: Sequence[kernels.sites.Site], number: Callable[[int], Any]
    ) -> list[kernels.sites.Part]:
        offset: Any = 0
        for start, stride in zip(self.starts, whole.strides, strict=True):
            offset = offset + start * stride
        strides = tuple([a * b for a, b in zip(whole.strides, self.strides, strict=True)])
        return [
            kernels.sites.Part(0, whole),
            kernels.sites.Part(sites[0], kernels.sites.Site(whole.root, sites[0].shape, strides, offset)),
        ]

    def eval(self, x: Array) -> Array:
        out = arrays.zeros(self.shape, x.dtype, x)
        part = out[steps_key(self.starts, self.strides, x.shape)]
        if part.shape != x.shape:
            raise outside("slice_grad", self.starts, self.strides, x.shape, self.shape)
        part[...] = x
        return out

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        (x,), shape, evaluate = specs, self.shape, self.eval
        if not is_inside(self.starts, self.strides, x.dims, shape):
            return None
        key, dtype = steps_key(self.starts, self.strides, ranked(x.dims)), x.dtype.numpy

        def put(x: Array) -> Any:
            if type(x) is not np.ndarray:
                return evaluate(x)
            out = np.zeros(shape, dtype)
            out[key] = x
            return out

        return put if shape else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(Slice(self.starts, self.strides, ranked(ctx.shape(0))), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(SliceGrad((0, *self.starts), (1, *self.strides), (x.dims[0], *self.shape)), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        axis = axes[0]
        if axis is None:
            return None
        return axis if self.strides[axis] == 1 and self.shape[axis] == specs[0].dims[axis] else MIXED  # type: ignore[index]
