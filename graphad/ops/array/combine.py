"""Scatter ops that multiply, divide, or take the maximum or minimum.

`scatter_extreme` has a derivative. `scatter_combine` has none: it is in files whose functions multiply or divide slices of a
variable, which is `assign_slices` now.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import DType
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.kinds import REAL, require_kind, require_numeric, require_same_dtype
from graphad.core.op import Op, define, else_eval, no_batch, no_form, no_gradient
from graphad.core.schema import IndexSpec
from graphad.core.shapes import are_compatible, are_numbers, format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.array.bad_indices import are_ignored, moved_inside, only_inside
from graphad.ops.array.gather import GatherNd, ScatterNd, check_coordinates, check_nd, nd_index
from graphad.ops.array.positions import WRITES_ANYWHERE, by_coordinates
from graphad.ops.array.scatter import TensorScatterUpdate, scatter_nd, unfit
from graphad.ops.array.shape import shape, shape_of
from graphad.ops.array.sizes import known_value
from graphad.ops.array.support import all_stacked, index_tensor
from graphad.ops.math.cast import Cast
from graphad.ops.math.compare import EQUAL

COMBINE: dict[str, np.ufunc] = {"mul": np.multiply, "div": np.divide, "floordiv": np.floor_divide}
EXTREME: dict[str, np.ufunc] = {"max": np.maximum, "min": np.minimum}


def require_quotients(op: str, dtype: DType, kind: str) -> None:
    """Raises: DTypeError: elements of this dtype cannot be combined with others by "div"."""
    if kind == "div" and dtype.is_integer:
        raise DTypeError(f"{op}: {dtype.name} has no {kind!r}.")


@define
class ScatterCombine(Op):
    """x with each slice at `indices`, as gather_nd reads them, combined with its slice of `updates`, one after the other where
    indices repeat: "mul", "div", "floordiv" (for integers)."""

    name = "scatter_combine"
    takes_symbols = (0, 2)
    keeps = (False, False)
    lower = no_form(WRITES_ANYWHERE)
    kind: Literal["div", "floordiv", "mul"]

    def infer(self, x: TensorSpec, indices: IndexSpec, updates: TensorSpec) -> TensorSpec:
        require_same_dtype(self.name, updates, x, ("updates", "tensor"))
        require_numeric(self.name, x, "tensor")
        require_quotients(self.name, x.dtype, self.kind)
        want = check_nd(self.name, x.dims, indices.dims, 0)
        if not are_compatible(want, updates.dims):
            raise InvalidArgumentError(
                f"{self.name}: updates has shape {format_dims(updates.dims)}; indices with shape {format_dims(indices.dims)} "
                f"and a tensor with shape {format_dims(x.dims)} need {format_dims(want)}."
            )
        return x

    def eval(self, x: Array, indices: Array, updates: Array) -> Array:
        out = arrays.copy(x)
        if np.size(updates):
            if self.kind == "floordiv" and not np.all(updates):
                raise InvalidArgumentError(f"{self.name}: Integer division by zero.")
            COMBINE[self.kind].at(out, nd_index(self.name, indices, x.shape, 0), updates)
        return out

    vjp = no_gradient("what a variable is assigned has no derivative")
    batch = no_batch("rows may repeat their indices each in its own way")

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None if all(axis is None for axis in axes) else "mixed"


@define
class ScatterExtreme(TensorScatterUpdate):
    """x with each slice at `indices`, as gather_nd reads them, replaced by the larger ("max") or smaller ("min") of itself and
    all its slices of `updates`, element by element; NaN wins. What is equally far out shares the derivative equally.
    """

    name = "scatter_extreme"
    keeps = (True, True)  # type: ignore[assignment]  # the rule reads all operands, and the result
    kind: Literal["max", "min"] = "max"

    @property
    def caller(self) -> str:
        return f"tensor_scatter_nd_{self.kind}"

    def infer(self, x: TensorSpec, indices: IndexSpec, updates: TensorSpec) -> TensorSpec:
        require_kind(self.caller, x, REAL, "tensor")
        return super().infer(x, indices, updates)

    def eval(self, x: Array, indices: Array, updates: Array) -> Array:
        out = arrays.copy(x)
        if np.size(updates):
            EXTREME[self.kind].at(out, nd_index(self.caller, indices, x.shape, self.batch_dims), updates)
        return out

    @else_eval(WRITES_ANYWHERE)
    def lower(self, x: TensorSpec, indices: TensorSpec, updates: TensorSpec) -> forms.Form | None:
        return by_coordinates(f"put_{self.kind}", self.batch_dims, indices, (0, 1, 2))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, indices, updates = ctx.inputs
        y = ctx.outputs[0]
        sizes, given = shape_of(ctx, 0)
        reached = bind(GatherNd(self.batch_dims), y, indices)
        number = Cast(g.dtype)
        kept, taken = bind(number, bind(EQUAL, x, y)), bind(number, bind(EQUAL, updates, reached))
        share = g / (kept + bind(ScatterNd(sizes, self.batch_dims), indices, taken, *given))
        return (
            share * kept if ctx.needs(0) else None,
            None,
            bind(GatherNd(self.batch_dims), share, indices) * taken if ctx.needs(2) else None,
        )

    def batch(self, ctx: BatchContext, x: Ranked, indices: Ranked, updates: Ranked) -> Tensor:
        return bind(ScatterExtreme(self.batch_dims + 1, self.kind), *all_stacked(ctx, (x, indices, updates)))


def tensor_scatter_nd_add(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with `updates` added at `indices`; repeats add up. Shapes as in `tensor_scatter_nd_update`.

    Args:
      tensor: Tensor of a numeric dtype.
      indices: Integer tensor [..., depth]: coordinates along the first `depth` axes.
      updates: Tensor [*indices.shape[:-1], *tensor.shape[depth:]] of the same dtype.
      bad_indices_policy: "IGNORE" to leave out updates whose index is out of range; "", "DEFAULT" or "ERROR" to refuse them.
    Returns: Tensor of the shape and dtype of `tensor`.
    Raises: InvalidArgumentError (a ValueError): an index is out of range, the shapes do not fit, or there is no such policy;
      DTypeError (a TypeError): dtypes that differ.
    Example:
      >>> tensor_scatter_nd_add([1, 1, 1], [[0], [0]], [5, 6]).numpy()
      array([12,  1,  1], dtype=int32)
    """
    return _added("tensor_scatter_nd_add", tensor, indices, updates, 1, bad_indices_policy)


def tensor_scatter_nd_sub(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with `updates` subtracted at `indices`; repeats add up. Shapes as in `tensor_scatter_nd_update`.

    Args:
      tensor: Tensor of a numeric dtype.
      indices: Integer tensor [..., depth]: coordinates along the first `depth` axes.
      updates: Tensor [*indices.shape[:-1], *tensor.shape[depth:]] of the same dtype.
      bad_indices_policy: "IGNORE" to leave out updates whose index is out of range; "", "DEFAULT" or "ERROR" to refuse them.
    Returns: Tensor of the shape and dtype of `tensor`.
    Raises: InvalidArgumentError (a ValueError): an index is out of range, the shapes do not fit, or there is no such policy;
      DTypeError (a TypeError): dtypes that differ.
    Example:
      >>> tensor_scatter_nd_sub([1, 1, 1], [[0], [0]], [5, 6]).numpy()
      array([-10,   1,   1], dtype=int32)
    """
    return _added("tensor_scatter_nd_sub", tensor, indices, updates, -1, bad_indices_policy)


def _added(
    op: str, tensor: object, indices: TensorLike, updates: TensorLike, sign: int, policy: str
) -> Tensor:
    x = lift(tensor)
    u = lift_like(op, updates, x.dtype)
    i = index_tensor(op, indices, "indices")
    if are_ignored(op, policy):
        i, inside = moved_inside(op, i, shape(x))
        u = only_inside(op, u, inside)
    _check_added(op, x, i, u)
    added = scatter_nd(i, u, x.dims if is_definite(x.dims) else shape(x))
    return x + added if sign > 0 else x - added


def _check_added(op: str, x: Tensor, indices: Tensor, updates: Tensor) -> None:
    """Raise with the name of `op` what `scatter_nd` would refuse."""
    want = check_nd(op, x.dims, indices.dims, 0)
    if not are_compatible(want, updates.dims):
        raise unfit(op, x, indices, updates, want)
    known = known_value(indices)
    if (
        known is not None
        and x.dims is not None
        and are_numbers(x.dims)
        and updates.dims is not None
        and 0 not in updates.dims
    ):
        check_coordinates(op, known, x.dims)


def tensor_scatter_nd_max(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with the slices at `indices` replaced by the larger of themselves and `updates`, element by element.

    Args:
      tensor: Tensor of an integer or a float dtype.
      indices: Integer tensor [..., depth]: coordinates along the first `depth` axes; of repeats the largest update counts.
      updates: Tensor [*indices.shape[:-1], *tensor.shape[depth:]].
      bad_indices_policy: "IGNORE" to leave out updates whose index is out of range; "", "DEFAULT" or "ERROR" to refuse them.
    Returns: Tensor of the shape and dtype of `tensor`.
    Raises: InvalidArgumentError (a ValueError): an index is out of range, the shapes do not fit, or there is no such policy;
      DTypeError (a TypeError): dtypes that differ.
    """
    return _extreme(
        "tensor_scatter_nd_max", ScatterExtreme(kind="max"), tensor, indices, updates, bad_indices_policy
    )


def tensor_scatter_nd_min(
    tensor: TensorLike,
    indices: TensorLike,
    updates: TensorLike,
    bad_indices_policy: str = "",
    name: str | None = None,
) -> Tensor:
    """`tensor` with the slices at `indices` replaced by the smaller of themselves and `updates`; see `tensor_scatter_nd_max`.

    Args:
      tensor: Tensor of an integer or a float dtype.
      indices: Integer tensor [..., depth]: coordinates along the first `depth` axes; of repeats the smallest update counts.
      updates: Tensor [*indices.shape[:-1], *tensor.shape[depth:]] of the same dtype.
      bad_indices_policy: "IGNORE" to leave out updates whose index is out of range; "", "DEFAULT" or "ERROR" to refuse them.
    Returns: Tensor of the shape and dtype of `tensor`.
    Raises: InvalidArgumentError (a ValueError): an index is out of range, the shapes do not fit, or there is no such policy;
      DTypeError (a TypeError): dtypes that differ.
    """
    return _extreme(
        "tensor_scatter_nd_min", ScatterExtreme(kind="min"), tensor, indices, updates, bad_indices_policy
    )


def _extreme(
    caller: str, op: ScatterExtreme, tensor: object, indices: object, updates: object, policy: str
) -> Tensor:
    x, i = lift(tensor), index_tensor(caller, indices, "indices")
    u = lift_like(caller, updates, x.dtype)
    if are_ignored(caller, policy):
        i, inside = moved_inside(caller, i, shape(x))
        u = only_inside(caller, u, inside, _neutral(op.kind, x.dtype))
    return bind(op, x, i, u)


def _neutral(kind: str, dtype: DType) -> Any:
    """The number that changes no other of its dtype as the larger ("max") or the smaller of both."""
    if dtype.is_floating:
        return -math.inf if kind == "max" else math.inf
    return dtype.min if kind == "max" else dtype.max
