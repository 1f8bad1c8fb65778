"""Means, spreads, counts and interpolation."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.kinds import BOOLEAN, INTEGER, require_kind
from graphad.core.shapes import normalize_axes
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, is_eager
from graphad.ops.math.power import root_of_squares
from graphad.ops.numpy import reductions
from graphad.ops.numpy.choosing import searchsorted
from graphad.ops.numpy.promotion import (
    NUMBERS,
    cast_to,
    inexact,
    promoted,
    rank_of,
    require_no_out,
    tensor_of,
)
from graphad.ops.numpy.types import default_dtype

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def floats_of(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    return inexact(a) if dtype is None else cast_to(tensor_of(a), default_dtype(dtype))


def _count(a: TensorLike, reduced: Tensor) -> Tensor:
    """The number of elements reduced to one, in the dtype of the result."""
    ratio = math.divide(array.size(a), math.maximum(array.size(reduced), 1))
    return math.cast(ratio, reduced.dtype)


@blaming
def mean(
    a: TensorLike, axis: AxisLike = None, dtype: DTypeLike | None = None, out: None = None,
    keepdims: bool = False, *,
    where: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """The mean over axes, all by default; float64 for integers.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      out: None, since tensors are immutable.
      keepdims: Whether to keep the axes with size 1.
      where: Bools that broadcast to the shape of `a`: the elements to include.
    Returns: Tensor without the axes, of that dtype; NaN for no elements.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.mean([[1, 2], [3, 5]], axis=1).numpy()
      array([1.5, 4. ])
    """
    require_no_out("mean", out)
    a = floats_of(a, dtype)
    if where is None or where is True:
        return math.reduce_mean(a, axis, keepdims)
    chosen = array.broadcast_to(tensor_of(where), array.shape(a))
    return math.divide(
        reductions.sum(a, axis, keepdims=keepdims, where=chosen),
        math.reduce_sum(math.cast(chosen, a.dtype), axis, keepdims),
    )


@blaming
def var(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: TensorLike = 0,
    keepdims: bool = False,
    *,
    correction: TensorLike | None = None,
    mean: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """The variance over axes: the sum of squared distances from the mean, divided by the number of elements minus `ddof`.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      out: None, since tensors are immutable.
      ddof, correction: Subtracted from the number of elements; NumPy's name and the standard's name for it.
      keepdims: Whether to keep the axes with size 1.
      mean: The mean, if it is already known.
      where: Bools that broadcast to the shape of `a`: the elements to include.
    Returns: Tensor without the axes, of that dtype, real.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice, or both corrections are given.
    Example:
      >>> numpy.var([1.0, 3.0]).numpy()
      np.float64(1.0)
    """
    require_no_out("var", out)
    a = floats_of(a, dtype)
    if correction is not None and type(ddof) in NUMBERS and ddof:
        raise InvalidArgumentError(f"var: ddof is {ddof} and correction {correction}; give one of them.")
    ddof = ddof if correction is None else correction
    if where is not None and where is not True:
        return _variance_where(a, axis, ddof, keepdims, mean, where)
    spread = math.reduce_variance(a, axis, keepdims)
    if mean is not None:
        off = math.abs(math.subtract(a, cast_to(tensor_of(mean), a.dtype)))
        spread = math.reduce_mean(math.square(off), axis, keepdims)
    if not stands_for_tensor(ddof) and ddof == 0:
        return spread
    count = _count(a, spread)
    free = math.maximum(
        math.subtract(count, cast_to(tensor_of(ddof), count.dtype)), cast_to(0.0, count.dtype)
    )
    return math.multiply(spread, math.divide(count, free))


def _variance_where(
    a: Any, axis: AxisLike, ddof: TensorLike, keepdims: bool, mean: TensorLike | None, where: TensorLike
) -> Tensor:
    """The variance of the elements where a mask is true; of others not even a NaN counts."""
    chosen = array.broadcast_to(tensor_of(where), array.shape(a))
    kept = math.where(chosen, a, array.zeros_like(a))
    count = math.reduce_sum(math.cast(chosen, a.dtype), axis, True)
    if mean is None:
        mean = math.divide(math.reduce_sum(kept, axis, True), count)
    off = math.where(chosen, kept - cast_to(tensor_of(mean), a.dtype), array.zeros_like(a))
    total = math.reduce_sum(math.square(math.abs(off)), axis, keepdims)
    count = math.cast(array.reshape(count, array.shape(total)), total.dtype)
    free = count - cast_to(tensor_of(ddof), count.dtype)
    return math.divide(total, math.maximum(free, cast_to(0.0, count.dtype)))


@blaming
def std(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: TensorLike = 0,
    keepdims: bool = False,
    *,
    correction: TensorLike | None = None,
    mean: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """The standard deviation over axes, the square root of `var`.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      out: None, since tensors are immutable.
      ddof, correction: Subtracted from the number of elements; NumPy's name and the standard's name for it.
      keepdims: Whether to keep the axes with size 1.
      mean: The mean, if it is already known.
      where: Bools that broadcast to the shape of `a`: the elements to include.
    Returns: Tensor without the axes, of that dtype, real. The gradient is NaN where all elements are equal.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.std([1.0, 3.0]).numpy()
      np.float64(1.0)
    """
    require_no_out("std", out)
    return root_of_squares(
        var(a, axis, dtype, None, ddof, keepdims, correction=correction, mean=mean, where=where)
    )


def _are_broadcast(sizes: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Whether these sizes broadcast to others of the same rank, as far as is known."""
    return all(None in (size, to) or size in (1, to) for size, to in zip(sizes, wanted, strict=True))


def weights_along(name: str, a: Any, w: Any, axis: AxisLike) -> Any:
    """Weights of the shape of `a`, given like that or for the axes alone, in the order in which these are named."""
    rank, given = rank_of(name, a), rank_of(name, w)
    is_whole = given == rank and (axis is None or np.size(axis) < rank or _are_broadcast(w.dims, a.dims))
    if not is_whole:
        if axis is None:
            raise ArgumentTypeError(
                f"{name}: weights have shape {w.shape}, the tensor {a.shape}; weights of another rank need an axis."
            )
        normalize_axes(name, axis, rank)
        axes = [int(k) % rank for k in np.reshape(axis, -1)]
        if given != len(axes) or any(
            None not in (size, a.dims[k]) and size != a.dims[k] for size, k in zip(w.dims, axes, strict=True)
        ):
            raise InvalidArgumentError(
                f"{name}: weights have shape {w.shape}, the tensor {a.shape}; they have its shape, "
                f"or the sizes of its axes {tuple(axes)}."
            )
        w = array.transpose(w, [axes.index(k) for k in sorted(axes)])
        for k in range(rank):
            w = w if k in axes else array.expand_dims(w, k)
    return array.broadcast_to(w, array.shape(a))


@overload
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    returned: Literal[False] = False,
    *,
    keepdims: bool = False,
) -> Tensor: ...
@overload
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Tensor, Tensor]: ...
@blaming
def average(
    a: TensorLike,
    axis: AxisLike = None,
    weights: TensorLike | None = None,
    returned: bool = False,
    *,
    keepdims: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """The weighted mean over axes, with `returned` also the sum of the weights.

    Args:
      a: Tensor of any shape, a numeric dtype; integers and bools count as float64.
      axis: The axis or axes; all by default.
      weights: Tensor of the shape of `a`, or of the sizes of the given axes, in their order; all 1 by default.
      returned: Whether to return the sum of the weights too.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes; with `returned` two of them.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or the weights have other sizes;
      ArgumentTypeError (a TypeError): they have another rank than `a`, and no axis is given.
    Example:
      >>> numpy.average([1.0, 4.0], weights=[2.0, 1.0]).numpy()
      np.float64(2.0)
    """
    a = inexact(a)
    if weights is None:
        found = math.reduce_mean(a, axis, keepdims)
        if not returned:
            return found
        return found, array.broadcast_to(_count(a, found), array.shape(found))
    a, w = promoted(a, weights)
    w = weights_along("average", a, w, axis)
    total = math.reduce_sum(w, axis, keepdims)
    found = math.divide(math.reduce_sum(math.multiply(a, w), axis, keepdims), total)
    return (found, total) if returned else found


def _counted(x: Any, minlength: int) -> Array | None:
    return np.bincount(x, minlength=minlength) if x.ndim == 1 and x.dtype.kind == "i" else None


@blaming
def bincount(x: TensorLike, /, weights: TensorLike | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2, ... occurs in a vector of integers, or the sum of its weights.

    Args:
      x: Vector of integers, 0 or more.
      weights: Vector of as many numbers, a float or complex dtype; others count as float64.
      minlength: The least number of counts.
    Returns: int64 vector, or one of the dtype of the weights, in which it is differentiable.
    Raises: InvalidArgumentError (a ValueError): the sizes differ, x is not a vector, or holds a negative number, which a traced
      function leaves out; DTypeError (a TypeError): x is of another dtype.
    Example:
      >>> numpy.bincount([0, 2, 2]).numpy()
      array([1, 0, 2])
    """
    given, x = x, tensor_of(x)
    if x.dims == (0,) and not stands_for_tensor(given):
        x = math.cast(x, dtypes.int64)  # an empty list says nothing of its dtype
    if minlength < 0:
        raise InvalidArgumentError(f"bincount: minlength is {minlength}; it is 0 or more.")
    if weights is None:
        found = directly(_counted, x, minlength=minlength)
        if found is not None:
            return found
    require_kind("bincount", x, INTEGER | BOOLEAN)
    if rank_of("bincount", x) != 1:
        raise InvalidArgumentError(f"bincount: x has rank {x.ndim}; it is a vector.")
    x = math.cast(x, dtypes.int64)
    if is_eager(x) and np.min(x.data, initial=0) < 0:
        raise InvalidArgumentError(f"bincount: x holds {np.min(x.data)}; its elements are 0 or more.")
    size = math.maximum(
        math.reduce_max(array.concat([x, lift(np.array([-1]))], 0)) + lift(np.int64(1)),
        lift(np.int64(minlength)),
    )
    parts = array.ones_like(x) if weights is None else inexact(weights)
    return array.unsorted_segment_sum(parts, x, size)


def _imaginary(x: Tensor) -> Tensor:
    return math.imag(x) if x.dtype.is_complex else array.zeros_like(x)


def interp(
    x: TensorLike,
    xp: TensorLike,
    fp: TensorLike,
    left: TensorLike | None = None,
    right: TensorLike | None = None,
    period: TensorLike | None = None,
) -> Tensor:
    """Linear interpolation at x of the points (xp, fp); outside them the values of the ends, or `left` and `right`.

    Args:
      x: Tensor of any shape, a float dtype; integers count as float64.
      xp: Vector [points] in ascending order.
      fp: Vector [points], a float or complex dtype.
      left, right: The values before and after the points; those of the ends by default.
      period: A period of x and xp; xp then need not be sorted.
    Returns: Tensor of the shape of x; differentiable in x, xp and fp. At a point the slope is that of the line after it.
    Raises: InvalidArgumentError (a ValueError): xp and fp have different sizes, or the period is 0.
    Example:
      >>> numpy.interp([0.5, 1.5], [0.0, 1.0, 2.0], [0.0, 10.0, 40.0]).numpy()
      array([ 5., 25.])
    """
    x, xp = (inexact(part) for part in promoted(x, xp))
    values = fp = inexact(fp)
    # Real and imaginary parts apart, so that an infinite or NaN part leaves the other one as it is.
    if values.dtype.is_complex:
        first, last = (None if end is None else tensor_of(end) for end in (left, right))

        def piece(part: Callable[[Tensor], Tensor]) -> Tensor:
            ends = (None if first is None else part(first), None if last is None else part(last))
            return interp(x, xp, part(values), ends[0], ends[1], period)

        return math.complex(piece(math.real), piece(_imaginary))
    x, xp, fp = promoted(x, xp, fp)
    if xp.dims and fp.dims and None not in (xp.dims[0], fp.dims[0]) and xp.dims[0] != fp.dims[0]:
        raise InvalidArgumentError(
            f"interp: xp has {xp.dims[0]} points, fp {fp.dims[0]}; each point needs a value."
        )
    if period is not None:
        if is_eager(known := tensor_of(period)) and not known.data.all():
            raise InvalidArgumentError("interp: the period is 0; give another, or None for no period.")
        length = math.abs(cast_to(tensor_of(period), x.dtype))
        x, xp = math.mod(x, length), math.mod(xp, length)
        order = array.argsort(xp)
        xp, fp = array.gather(xp, order), array.gather(fp, order)
        xp = array.concat([xp[-1:] - length, xp, xp[:1] + length], 0)
        fp = array.concat([fp[-1:], fp, fp[:1]], 0)
        left = right = None
    last = array.shape(xp, dtypes.int64)[0] - lift(np.int64(1))
    one = lift(np.int64(1))
    place = searchsorted(xp, x, "right") - one
    low = math.maximum(math.minimum(place, last - one), array.zeros_like(place))
    high = math.minimum(low + one, last)
    start, end = array.gather(xp, low), array.gather(xp, high)
    width = end - start
    empty = math.equal(width, cast_to(0.0, width.dtype))
    part = math.divide(x - start, math.where(empty, array.ones_like(width), width))
    first, second = array.gather(fp, low), array.gather(fp, high)
    found = first + math.cast(part, fp.dtype) * (second - first)
    # Next to infinite points: from the other end of the line.
    if not (is_eager(found) and np.isfinite(found.data).all()):
        slope = (second - first) / math.cast(math.where(empty, array.ones_like(width), width), fp.dtype)
        other = second + slope * math.cast(x - end, fp.dtype)
        is_lost = math.not_equal(found, found)
        is_flat = math.logical_and(math.equal(first, second), math.not_equal(other, other))
        at_point = math.logical_or(math.equal(x, start), math.logical_and(is_flat, math.equal(x, x)))
        found = math.where(is_lost, math.where(at_point, first, other), found)
    found = math.where(
        math.less(x, xp[0]), fp[0] if left is None else cast_to(tensor_of(left), fp.dtype), found
    )
    found = math.where(
        math.greater(x, xp[-1]), fp[-1] if right is None else cast_to(tensor_of(right), fp.dtype), found
    )
    return math.where(math.equal(x, xp[-1]), fp[-1], found)
