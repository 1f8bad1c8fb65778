"""Choosing between values: `where`, `clip_by_value`, and the larger and smaller of two.

Only the chosen operand gets the cotangent. At a tie `maximum` and `minimum` choose the first operand, and a value on the
bound of `clip_by_value` counts as inside.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

import graphad.kernels as kernels
from graphad.core import dtypes
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
from graphad.core.convert import lift, lift_like, lift_pair, lift_truths
from graphad.core.dims import product
from graphad.core.errors import DTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.op import Op, define, no_gradient, no_rows
from graphad.core.registry import lookup
from graphad.core.shapes import are_compatible, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.choice import FEW_CHOSEN, are_ones, chosen, is_bound, larger, smaller, within
from graphad.ops.directly import directly, parts_directly
from graphad.ops.elementwise import binary_function, elementwise
from graphad.ops.math.compare import GREATER, GREATER_EQUAL, LESS_EQUAL, LOGICAL_AND
from graphad.ops.rules import (
    BOOLEAN,
    REAL,
    align_stacked,
    broadcast_specs,
    elementwise_rows,
    require_kind,
    same_dtype,
    scalar_like,
    unbroadcast,
)


@define
class Select(Op):
    """x where `condition`, a bool, is true, else y; all three broadcast together."""

    name = "select"
    total = takes_spread = masks = carries_masks = True
    keeps = ((0,), False)

    def infer(self, condition: TensorSpec, x: TensorSpec, y: TensorSpec) -> TensorSpec:
        require_kind("where", condition, BOOLEAN, "condition")
        dtype = same_dtype("where", (x, y))
        return broadcast_specs("where", (condition, x, y), dtype)

    def eval(self, condition: Array, x: Array, y: Array) -> Array:
        return chosen(condition, x, y)

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        condition, x, y = specs
        evaluate = self.eval
        if condition.dims and max([product(ranked(spec.dims)) for spec in specs]) < FEW_CHOSEN:
            return np.where  # nothing that `chosen` asks of a few numbers pays
        if condition.dims or x.dims != y.dims:
            return None

        def number(condition: Any, x: Any, y: Any) -> Any:
            return x if condition else y

        def array(condition: Any, x: Any, y: Any) -> Any:
            if type(x) is type(y) is np.ndarray:
                return (x if condition else y).copy()
            return evaluate(condition, x, y)

        return array if x.dims else number

    def quick(self, condition: Tensor, x: Tensor, y: Tensor) -> Array | None:
        which, a, b = condition.data, x.data, y.data
        return chosen(which, a, b) if which.dtype.kind == "b" and a.dtype is b.dtype else None

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        zero = scalar_like(0, g)
        condition = ctx.inputs[0]
        return (
            None,
            unbroadcast(ctx, 1, bind(SELECT, condition, g, zero)) if ctx.needs(1) else None,
            unbroadcast(ctx, 2, bind(SELECT, condition, zero, g)) if ctx.needs(2) else None,
        )

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        return bind(self, *align_stacked(ctx, xs))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return elementwise_rows(specs, axes)

    def lower(self, condition: TensorSpec, x: TensorSpec, y: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.call("select", (condition.dtype, x.dtype, y.dtype), x.dtype)


SELECT = Select()


_MOST_POSITIONS = 4096  # of the elements of a mask, as constants


@define
class WhereIndices(Op):
    """The indices of the elements that are nonzero or true, in row-major order: int64[count, rank]."""

    name = "where_indices"
    keeps = (False, False)

    def infer(self, condition: TensorSpec) -> TensorSpec:
        return TensorSpec.of((None, condition.rank), dtypes.int64)

    def eval(self, condition: Array) -> Array:
        return np.argwhere(condition).astype(np.int64)

    vjp = no_gradient("indices are piecewise constant")
    rows = no_rows("the indices of all rows share one list")

    def measurable(self, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """Where a mask is true, as a mask of constant positions."""
        (x,) = inputs
        count = product(x.dims or ())
        if not x.dims or type(count) is not int or not 0 < count <= _MOST_POSITIONS:
            return None
        mask = x if x.dtype.is_bool else bind(lookup("not_equal")(), x, lift(np.zeros((), x.dtype.numpy)))
        positions = np.stack(np.unravel_index(np.arange(count), x.dims), 1)
        return lookup("boolean_mask")(0), [
            lift(positions.astype(np.int64)),
            bind(lookup("reshape")((count,)), mask),
        ]

    def batch(self, ctx: BatchContext, condition: Ranked) -> Tensor:
        raise InvalidArgumentError(
            "where: with one argument the number of indices may differ from row to row; give x and y when vectorizing."
        )


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Tensor:
    """`x` where `condition` holds, elsewhere `y`; or, without `x` and `y`, the indices where it holds.

    Args:
      condition: Bool tensor, or an array of NumPy in which what is not 0 is true (with one argument of any dtype).
      x: Tensor that broadcasts with `condition` and `y`.
      y: Tensor with the dtype of `x`.
    Returns: Tensor of the broadcast shape. With one argument an int64 tensor [number of true elements, rank]. Only the chosen
      branch has a gradient: what the other one was computed from, element by element, gets exact zeros, even where its
      derivative is infinite or nan.
    Raises: InvalidArgumentError: one argument while vectorizing, where rows may have different numbers of true elements.
    Example:
      >>> where([True, False], [1, 2], [3, 4]).numpy()
      array([1, 4], dtype=int32)
    """
    if x is None and y is None:
        return bind(WhereIndices(), lift(condition))
    if not isinstance(condition, Tensor):
        if isinstance(condition, np.ndarray | np.generic) and condition.dtype.kind in "iuf":
            condition = np.not_equal(condition, 0)
        condition = lift_truths(condition)
    if x is None or y is None:
        raise DTypeError("where: x and y must be given together, or neither.")
    x, y = lift_pair("where", x, y)
    return bind(SELECT, condition, x, y)


def _split(ctx: VjpContext, g: Tensor, compare: Op) -> Sequence[Any]:
    """The cotangents of two operands; `compare` is true where the first was chosen."""
    x, y = ctx.inputs
    if ctx.needs(0) and ctx.needs(1) and x.dims == y.dims:
        parts = parts_directly(_split_ones, x, y, g, compare=compare.evaluator)
        if parts is not None:
            return parts
    zero, first = scalar_like(0, g), bind(compare, x, y)
    return (
        unbroadcast(ctx, 0, bind(SELECT, first, g, zero)) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(SELECT, first, zero, g)) if ctx.needs(1) else None,
    )


def _split_ones(x: Array, y: Array, g: Array, compare: Callable[..., Any]) -> tuple[Array, Array]:
    """The same where the cotangent is 1 for all elements. Raises: ValueError: it is not."""
    if type(g) is not np.ndarray or type(x) is not np.ndarray or not are_ones(g, g.dtype):
        raise ValueError("the cotangent is not 1")
    first = compare(x, y).astype(g.dtype)
    return first, np.subtract(g.dtype.type(1), first)


def _maximum_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return _split(ctx, g, GREATER_EQUAL)


def _minimum_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return _split(ctx, g, LESS_EQUAL)


Maximum = elementwise(
    "maximum",
    larger,
    vjp=_maximum_vjp,
    kinds=REAL,
    scalar="maximum",
    doc="The larger of x and y, NaN if one is.",
)
Minimum = elementwise(
    "minimum",
    smaller,
    vjp=_minimum_vjp,
    kinds=REAL,
    scalar="minimum",
    doc="The smaller of x and y, NaN if one is.",
)
MINIMUM = Minimum()

_TIES = (
    "operands of one real dtype broadcast together; NaN if either is NaN. At a tie the gradient goes to x."
)
maximum = binary_function(
    Maximum,
    f"The larger of x and y, elementwise, {_TIES}",
    example=">>> maximum([1.0, 5.0], 3.0).numpy()\narray([3., 5.], dtype=float32)",
)
minimum = binary_function(
    Minimum,
    f"The smaller of x and y, elementwise, {_TIES}",
    example=">>> minimum([1.0, 5.0], 3.0).numpy()\narray([1., 3.], dtype=float32)",
)


def _clip_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, low, high = ctx.inputs
    zero = scalar_like(0, g)
    x_bar = low_bar = high_bar = None
    if ctx.needs(0):
        x_bar = directly(_inside, x, low, high, g)
    if ctx.needs(0) and x_bar is None:
        inside = bind(LOGICAL_AND, bind(GREATER_EQUAL, x, low), bind(LESS_EQUAL, x, high))
        x_bar = unbroadcast(ctx, 0, bind(SELECT, inside, g, zero))
    if ctx.needs(1):
        above = bind(GREATER_EQUAL, bind(MINIMUM, x, high), low)
        low_bar = unbroadcast(ctx, 1, bind(SELECT, above, zero, g))
    if ctx.needs(2):
        cut = bind(LOGICAL_AND, bind(GREATER, x, high), bind(GREATER_EQUAL, high, low))
        high_bar = unbroadcast(ctx, 2, bind(SELECT, cut, g, zero))
    return x_bar, low_bar, high_bar


def _inside(x: Array, low: Array, high: Array, g: Array) -> Array | None:
    """The cotangent of many elements between two numbers."""
    if np.ndim(low) or np.ndim(high) or type(x) is not np.ndarray or np.shape(g) != x.shape:
        return None
    inside = x >= low
    inside &= x <= high
    return chosen(inside, g, g.dtype.type(0))


def _clipped(x: Any, low: Any, high: Any) -> Any:
    if is_bound(x, low) and is_bound(x, high) and low <= high:
        return within(x, low, high)
    return np.maximum(np.minimum(x, high), low)


ClipByValue = elementwise(
    "clip_by_value",
    _clipped,
    vjp=_clip_vjp,
    kinds=REAL,
    scalar=(("minimum", "x", "z"), ("maximum", "a", "y")),
    doc="max(min(x, high), low), NaN where an operand is.",
)
CLIP_BY_VALUE = ClipByValue()


@overload
def clip_by_value(  # type: ignore[overload-overlap]
    t: IndexedSlices, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> IndexedSlices: ...
@overload
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor: ...
def clip_by_value(
    t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: str | None = None
) -> Tensor | IndexedSlices:
    """`t` limited to a range: max(min(t, clip_value_max), clip_value_min).

    Args:
      t: Tensor of a real dtype, or IndexedSlices (whose values are clipped).
      clip_value_min: Number or tensor that broadcasts to the shape of `t`.
      clip_value_max: Number or tensor that broadcasts to the shape of `t`.
    Returns: Like `t`; `clip_value_min` where it exceeds `clip_value_max`. The gradient is 1 inside and on the bounds, 0 outside.
    Raises: DTypeError (a TypeError): dtypes that differ; InvalidArgumentError (a ValueError): a shape that does not broadcast to
      that of `t`.
    Example:
      >>> clip_by_value([-2.0, 0.5, 2.0], -1.0, 1.0).numpy()
      array([-1. ,  0.5,  1. ], dtype=float32)
    """
    if isinstance(t, IndexedSlices):
        return t.with_values(clip_by_value(t.values, clip_value_min, clip_value_max))
    t = lift(t)
    low = lift_like("clip_by_value", clip_value_min, t.dtype)
    high = lift_like("clip_by_value", clip_value_max, t.dtype)
    clipped = bind(CLIP_BY_VALUE, t, low, high)
    if not are_compatible(clipped.dims, t.dims):
        raise InvalidArgumentError(
            f"clip_by_value: t has shape {format_dims(t.dims)}, the bounds {format_dims(low.dims)} and "
            f"{format_dims(high.dims)}, which do not broadcast to it."
        )
    return clipped
