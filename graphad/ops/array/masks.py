"""The elements where a mask is true, and their cotangents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    Cotangents,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Size, product, run_time_symbols
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import BOOLEAN, require_kind
from graphad.core.op import MIXED, Op, define, else_eval
from graphad.core.references import AT
from graphad.core.schema import Axis
from graphad.core.shapes import are_compatible, are_numbers, format_dims, is_definite, normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.reshape import reshape
from graphad.ops.array.support import batch_along
from graphad.ops.math.cast import cast


def _masked_dims(
    op: str, dims: tuple[Size | None, ...] | None, mask: TensorSpec, axis: int, size: Size | None
) -> tuple[Any | None, ...] | None:
    require_kind(op, mask, BOOLEAN, "mask")
    if mask.dims is not None and not mask.dims:
        raise InvalidArgumentError(f"{op}: mask cannot be scalar.")
    if dims is None or mask.dims is None:
        return None
    if not -len(dims) <= axis < max(len(dims), 1):
        raise InvalidArgumentError(
            f"{op}: axis is {axis}; a tensor with shape {format_dims(dims)} has no such axis."
        )
    place = axis % len(dims) if dims else axis
    if not are_compatible(dims[place : place + len(mask.dims)], mask.dims):
        raise InvalidArgumentError(
            f"{op}: Shapes {format_dims(dims[place : place + len(mask.dims)])} and {format_dims(mask.dims)} are incompatible: "
            f"tensor has shape {format_dims(dims)}, axis is {axis}."
        )
    return (*dims[:place], size, *dims[place + len(mask.dims) :])


@define
class BooleanMask(Op):
    """The slices of x where a bool mask is true. The mask lies over the axes of x from `axis` on, whose sizes it has; they become
    one axis, in row-major order. An error unless so many are true as `size` says, if it does.
    """

    name, version = "boolean_mask", 2
    keeps = ((1,), False)
    axis: Axis
    size: Size | None = None

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        """A mask took as many as were true."""
        return {"size": None, **attributes}

    def infer(self, x: TensorSpec, mask: TensorSpec) -> TensorSpec:
        return x.with_dims(_masked_dims(self.name, x.dims, mask, self.axis, self.size))

    def eval(self, x: Array, mask: Array) -> Array:
        if self.size is not None and np.count_nonzero(mask) != self.size:
            raise InvalidArgumentError(
                f"{self.name}: the mask is true at {np.count_nonzero(mask)} places and was made to be true at {self.size}."
            )
        place = self.axis % x.ndim
        behind = place + mask.ndim
        if type(x) is not np.ndarray or x.shape[place:behind] != mask.shape:
            return x[(slice(None),) * place + (mask,)]
        # Positions are taken several times as quickly as a mask is read.
        flat = x if mask.ndim == 1 else x.reshape(*x.shape[:place], mask.size, *x.shape[behind:])
        return np.take(flat, np.flatnonzero(mask), place)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(BooleanMaskGrad(self.axis), g, ctx.inputs[1]), None)

    def batch(self, ctx: BatchContext, x: Ranked, mask: Ranked) -> Tensor:
        return batch_along(ctx, self, self.axis, x, mask)

    def with_measured_sizes(self, inputs: Sequence[TensorSpec], symbol: Callable[..., Any]) -> Op:
        if self.size is not None or not all(is_definite(spec.dims) for spec in inputs):
            return self
        return BooleanMask(self.axis, symbol(product(inputs[1].dims), 0, (AT, 1), None))

    def measures(self, inputs: Sequence[TensorSpec]) -> Sequence[Any]:
        if not run_time_symbols([self.size]):
            return ()
        return [(self.size, product(inputs[1].dims), 0, (AT, 1), None)]

    @else_eval("the mask says how many slices it takes")
    def lower(self, x: TensorSpec, mask: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Masked("take", self.axis % len(x.dims or (0,)))

    def fold(self, ctx: FoldContext, x: Ranked, mask: Ranked) -> Tensor | None:
        """A known mask determines the size of the result."""
        data = ctx.mask_of(mask)
        if data is None or self.size is not None:
            return None
        place = self.axis % len(x.dims)
        after = place + data.ndim
        if not are_numbers(x.dims[place:after]) or x.dims[place:after] != data.shape:
            return None
        flat = reshape(x, (*x.dims[:place], data.size, *x.dims[after:]))
        return gather(flat, lift(np.flatnonzero(data)), axis=place)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[1] is not None:
            return MIXED
        return _beside_mask(axes[0], self.axis % len(specs[0].dims or (0,)), len(specs[1].dims or ()), 1)


def _beside_mask(row: int | None, place: int, width: int, after: int) -> RowAxis:
    if row is None or row < place:
        return row
    return MIXED if row < place + width else row - width + after


@define
class BooleanMaskGrad(Op):
    """The transpose of boolean_mask: slices of g put back where the mask is true, zeros elsewhere. `axis` is the axis of g that
    has them.
    """

    name = "boolean_mask_grad"
    keeps = ((1,), False)
    axis: Axis

    def infer(self, g: TensorSpec, mask: TensorSpec) -> TensorSpec:
        if not mask.dtype.is_bool or mask.dims == ():
            raise InvalidArgumentError(f"{self.name}: the mask is {mask}; it must be bool, and no scalar.")
        if g.dims is None or mask.dims is None:
            return g.with_dims(None)
        place = self._place(len(g.dims), len(mask.dims))
        if not 0 <= place < len(g.dims):
            raise InvalidArgumentError(
                f"{self.name}: g has shape {format_dims(g.dims)}; axis {place} is to hold the slices, which it does not have."
            )
        return g.with_dims((*g.dims[:place], *mask.dims, *g.dims[place + 1 :]))

    def _place(self, g_rank: int, mask_rank: int) -> int:
        # A negative axis counts in the unmasked tensor.
        return self.axis if self.axis >= 0 else self.axis + g_rank - 1 + mask_rank

    def eval(self, g: Array, mask: Array) -> Array:
        place = self._place(g.ndim, mask.ndim)
        if np.count_nonzero(mask) != g.shape[place]:
            raise InvalidArgumentError(
                f"{self.name}: g has shape {g.shape}; the mask is true at {np.count_nonzero(mask)} places, for axis {place}."
            )
        out = arrays.zeros((*g.shape[:place], *mask.shape, *g.shape[place + 1 :]), g.dtype, g)
        if type(out) is not np.ndarray:
            flat = out.reshape((*g.shape[:place], mask.size, *g.shape[place + 1 :]))
            np.moveaxis(flat, place, 0).put(np.flatnonzero(mask), np.moveaxis(g, place, 0))
        else:
            flat = out.reshape(*g.shape[:place], mask.size, *g.shape[place + 1 :])
            flat[(slice(None),) * place + (np.flatnonzero(mask),)] = g
        return out

    @else_eval("the mask says how many slices it takes")
    def lower(self, g: TensorSpec, mask: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Masked("spread", self._place(len(g.dims or ()), len(mask.dims or ())))

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(BooleanMask(self.axis), h, ctx.inputs[1]), None)

    def batch(self, ctx: BatchContext, g: Ranked, mask: Ranked) -> Tensor:
        return batch_along(ctx, self, self._place(len(g.dims) - 1, len(mask.dims)), g, mask)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[1] is not None:
            return MIXED
        width = len(specs[1].dims or ())
        return _beside_mask(axes[0], self._place(len(specs[0].dims or ()), width), 1, width)


def boolean_mask(
    tensor: TensorLike, mask: TensorLike, axis: AxisLike = None, name: str | None = None
) -> Tensor:
    """The elements of `tensor` where `mask` is true.

    Args:
      tensor: Tensor of any dtype.
      mask: Bool tensor whose shape matches that of `tensor` from `axis` on; no scalar. Numbers count as true unless they are 0.
      axis: The first axis that the mask covers, 0 by default.
    Returns: Tensor in which the masked axes are one; its size is unknown while tracing.
    Raises: InvalidArgumentError: the shapes do not match.
    Example:
      >>> boolean_mask([1.0, 2.0, 3.0], [True, False, True]).numpy()
      array([1., 3.], dtype=float32)
    """
    x, m = lift(tensor), lift(mask)
    place = normalize_axis("boolean_mask", 0 if axis is None else axis, x.ndim, "tensor", x.dims)
    return bind(BooleanMask(place), x, m if m.dtype.is_bool else cast(m, "bool"))
