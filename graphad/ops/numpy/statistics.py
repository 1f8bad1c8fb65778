"""Means, spreads, quantiles, histograms, correlations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.errors import (
    InvalidArgumentError,
    UnsupportedOptionError,
)
from graphad.core.kinds import BOOLEAN, INTEGER, require_kind
from graphad.core.shapes import normalize_axes
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops import array, math
from graphad.ops.array.gather import TakeAlong
from graphad.ops.directly import directly, is_eager, is_free
from graphad.ops.numpy import reductions
from graphad.ops.numpy.choosing import searchsorted, sort
from graphad.ops.numpy.promotion import NUMBERS, cast_to, inexact, promoted, rank_of, tensor_of
from graphad.ops.numpy.types import default_dtype

if TYPE_CHECKING:
    from graphad.core.annotations import Array

_FEW, _MANY = 64, 12  # the most elements that are sorted at once; the quantiles from which on rows are sorted
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")
# Definitions 4 to 6, 8 and 9 of Hyndman and Fan: where the first and the last element lie between the quantiles 0 and 1.
_ENDS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (0.375, 0.375),
}


def floats_of(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    return inexact(a) if dtype is None else cast_to(tensor_of(a), default_dtype(dtype))


def _count(a: TensorLike, reduced: Tensor) -> Tensor:
    """The number of elements reduced to one, in the dtype of the result."""
    ratio = math.divide(array.size(a), math.maximum(array.size(reduced), 1))
    return math.cast(ratio, reduced.dtype)


@blaming
def mean(
    a: TensorLike, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdims: bool = False, *,
    where: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """The mean over axes, all by default; float64 for integers.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      keepdims: Whether to keep the axes with size 1.
      where: Bools that broadcast to the shape of `a`: the elements to include.
    Returns: Tensor without the axes, of that dtype; NaN for no elements.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.mean([[1, 2], [3, 5]], axis=1).numpy()
      array([1.5, 4. ])
    """
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
    return math.sqrt(var(a, axis, dtype, ddof, keepdims, correction=correction, mean=mean, where=where))


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
      weights: Tensor that broadcasts to the shape of `a`, or a vector along the one axis; all 1 by default.
      returned: Whether to return the sum of the weights too.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes; with `returned` two of them.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or the weights do not broadcast.
    Example:
      >>> numpy.average([1.0, 4.0], weights=[2.0, 1.0]).numpy()
      np.float64(2.0)
    """
    a = inexact(a)
    if weights is None:
        found = math.reduce_mean(a, axis, keepdims)
        total = array.broadcast_to(_count(a, found), array.shape(found))
        return (found, total) if returned else found
    a, w = promoted(a, weights)
    if w.ndim == 1 and isinstance(axis, int) and (rank := rank_of("average", a)) != 1:
        w = array.reshape(w, [-1 if k == axis % rank else 1 for k in range(rank)])
    w = array.broadcast_to(w, array.shape(a))
    total = math.reduce_sum(w, axis, keepdims)
    found = math.divide(math.reduce_sum(math.multiply(a, w), axis, keepdims), total)
    return (found, total) if returned else found


def _to_end(name: str, a: Any, axis: AxisLike) -> tuple[Any, Any]:
    """The tensor with the reduced axes merged into one at the end, and the shape of the result with size 1 for them."""
    rank = rank_of(name, a)
    axes = normalize_axes(name, axis, rank) or ()
    if not axes:
        return (
            (array.expand_dims(a, -1), array.shape(a))
            if rank == 0 or axis is not None
            else (array.reshape(a, [-1]), None)
        )
    sizes = array.shape(a)
    others = [k for k in range(rank) if k not in axes]
    moved = array.transpose(a, [*others, *axes])
    flat = array.reshape(moved, [*[sizes[k] if a.dims[k] is None else a.dims[k] for k in others], -1])
    return flat, [1 if k in axes else sizes[k] if a.dims[k] is None else a.dims[k] for k in range(rank)]


def _places(q: TensorLike, last: Tensor, method: str) -> tuple[Any, Any, Any]:
    """The two sorted elements between which the quantile lies, and its relative position between them."""
    place = math.multiply(q, last)
    if method in _ENDS:
        first, end = _ENDS[method]
        shift = math.multiply(q, cast_to(2.0 - first - end, last.dtype)) + cast_to(first - 1.0, last.dtype)
        place = math.minimum(math.maximum(place + shift, cast_to(0.0, last.dtype)), last)
    low, high = math.floor(place), math.ceil(place)
    zero = array.zeros_like(place)
    if method == "lower":
        return low, low, zero
    if method == "higher":
        return high, high, zero
    if method == "nearest":
        near = math.rint(place)
        return near, near, zero
    part = math.subtract(place, low)
    if method == "midpoint":
        half = cast_to(0.5, place.dtype)
        part = math.where(math.equal(part, zero), zero, math.multiply(half, array.ones_like(place)))
    return low, high, part


def _read(flat: Tensor, q: Tensor, skips_nan: bool) -> tuple[Any, Any] | None:
    """The ranks of the sorted elements that the quantiles read, the last one included, and their positions in the rows, or the
    elements themselves if nothing records them. None if the rows must be sorted: in a graph, for many quantiles, and if one of
    these elements has an equal in its row, since sorting decides which of the two it is.
    """
    if not (is_eager(flat) and is_eager(q)):
        return None
    x, parts = flat.data, np.reshape(q.data, -1)
    if (
        type(x) is not np.ndarray
        or x.dtype.itemsize < 4
        or x.shape[-1] < _FEW
        or not x.size
        or not parts.size
    ):
        return None
    size = x.shape[-1]
    counts = size - np.unique(np.count_nonzero(np.isnan(x), -1)) if skips_nan else np.array([size])
    if counts.size * parts.size > _MANY or not ((parts >= 0) & (parts <= 1)).all():
        return None
    places = parts * np.maximum(counts - 1, 0).astype(x.dtype)[:, None]
    wanted = np.unique(np.concatenate([np.floor(places), np.ceil(places)]).astype(np.int64))
    if not skips_nan:
        wanted = np.union1d(wanted, [size - 1])  # it is NaN if any element is
    if is_free(flat):
        found = np.partition(x, wanted, -1)[..., wanted]
        if np.count_nonzero(found) == found.size:  # equal elements are the same bits but for zeros
            return wanted, EagerTensor(found)
    at = np.argpartition(x, wanted, -1)[..., wanted]
    for k in range(wanted.size):
        if (np.count_nonzero(x == np.take_along_axis(x, at[..., k : k + 1], -1), -1) != 1).any():
            return None
    return wanted, at


def _ranked(flat: Tensor, read: tuple[Any, Any] | None) -> Tensor:
    """The sorted rows, or those of their elements that the quantiles read."""
    if read is None:
        return sort(flat)
    found = read[1]
    if isinstance(found, Tensor):
        return found
    return bind(TakeAlong(len(flat.dims or ()) - 1), flat, lift(found))


def _columns(read: tuple[Any, Any] | None, places: Any) -> Any:
    """The positions of given ranks among those that were read."""
    return places if read is None else lift(np.searchsorted(read[0], places.data))


def quantiles(
    name: str, a: Any, q: Any, axis: AxisLike, method: str, keepdims: bool, skips_nan: bool
) -> Tensor:
    if method not in _METHODS and method not in _ENDS:
        known = ", ".join((*_METHODS, *_ENDS))
        raise UnsupportedOptionError(f"{name}: method {method!r} is not supported; it is one of {known}.")
    a = inexact(a)
    q = cast_to(inexact(q), a.dtype)
    flat, kept = _to_end(name, a, axis)
    if flat.dims[-1] == 0:
        none = array.zeros_like(math.reduce_sum(flat, -1)) + cast_to(float("nan"), a.dtype)
        none = array.reshape(none, [1] * len(a.dims) if kept is None else kept) if keepdims else none
        return array.broadcast_to(none, [*q.dims, *array.shape(none)])
    read = _read(flat, q, skips_nan) if method in _METHODS else None
    ranked: Any = _ranked(flat, read)
    all_but_nan: Any = math.cast(array.shape(flat)[-1], a.dtype)
    if skips_nan:
        all_but_nan = math.subtract(
            all_but_nan, math.reduce_sum(math.cast(math.is_nan(flat), a.dtype), -1, True)
        )
    last = math.maximum(math.subtract(all_but_nan, cast_to(1.0, a.dtype)), cast_to(0.0, a.dtype))
    found = []
    values = [q] if q.ndim == 0 else array.unstack(array.reshape(q, [-1]))
    for value in values:
        low, high, part = _places(value, math.multiply(last, array.ones_like(ranked[..., :1])), method)
        first, second = (
            bind(TakeAlong(len(ranked.dims) - 1), ranked, _columns(read, math.cast(index, dtypes.int64)))
            for index in (low, high)
        )
        # From the nearer end, so that equal elements give exactly their value.
        gap = math.subtract(second, first)
        near = math.add(first, math.multiply(gap, part))
        far = math.subtract(second, math.multiply(gap, math.subtract(cast_to(1.0, a.dtype), part)))
        one = math.where(math.greater_equal(part, cast_to(0.5, a.dtype)), far, near)
        if not (
            is_eager(gap) and np.isfinite(gap.data).all()
        ):  # beside an infinity the sum of both tells what is between
            one = math.where(math.is_finite(gap), one, math.add(first, second))
            one = math.where(math.equal(part, cast_to(1.0, a.dtype)), second, one)
        one = math.where(math.equal(part, cast_to(0.0, a.dtype)), first, one)
        one = one[..., 0]
        if not skips_nan:
            one = math.where(math.is_nan(ranked[..., -1]), cast_to(float("nan"), a.dtype), one)
        if keepdims:
            one = array.reshape(one, [1] * len(a.dims) if kept is None else kept)
        found.append(one)
    if q.ndim == 0:
        return found[0]
    whole: Any = array.stack(found, 0)
    return whole if q.ndim == 1 else array.reshape(whole, [*q.dims, *whole.dims[1:]])


@blaming
def quantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """The quantiles over axes: the values below which a fraction `q`, from 0 to 1, of the elements lies; differentiable.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: The interpolation between two elements: "linear", "lower", "higher", "midpoint" or "nearest", or one of NumPy's
        others that are continuous in q: "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf".
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor [*shape of q, ...] without the axes; NaN if an element is NaN.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis is out of
      range; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    Example:
      >>> numpy.quantile([1.0, 2.0, 4.0], [0.25, 0.5]).numpy()
      array([1.5, 2. ])
    """
    return quantiles("quantile", a, q, axis, method, keepdims, False)


@blaming
def percentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """`quantile` of q percent.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number from 0 to 100, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: The interpolation between two elements: "linear", "lower", "higher", "midpoint" or "nearest", or one of NumPy's
        others that are continuous in q: "hazen", "weibull", "median_unbiased", "normal_unbiased", "interpolated_inverted_cdf".
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor [*shape of q, ...] without the axes; NaN if an element is NaN.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis is out of
      range; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    Example:
      >>> numpy.percentile([1.0, 2.0, 4.0], 75).numpy()
      np.float64(3.0)
    """
    return quantile(a, inexact(q) / 100.0, axis, method=method, keepdims=keepdims)


@blaming
def median(a: TensorLike, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The middle element over axes, or the mean of the middle two; differentiable.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes; NaN if an element is NaN.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.median([1.0, 4.0, 2.0]).numpy()
      np.float64(2.0)
    """
    return quantile(a, 0.5, axis, keepdims=keepdims)


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
    x = tensor_of(x)
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
    Raises: InvalidArgumentError (a ValueError): xp or fp is not a vector.
    Example:
      >>> numpy.interp([0.5, 1.5], [0.0, 1.0, 2.0], [0.0, 10.0, 40.0]).numpy()
      array([ 5., 25.])
    """
    x, xp = (inexact(part) for part in promoted(x, xp))
    fp = inexact(fp)
    x, xp, fp = promoted(x, xp, fp) if not fp.dtype.is_complex else (x, xp, fp)
    if period is not None:
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
    found = math.where(
        math.less(x, xp[0]), fp[0] if left is None else cast_to(tensor_of(left), fp.dtype), found
    )
    found = math.where(
        math.greater(x, xp[-1]), fp[-1] if right is None else cast_to(tensor_of(right), fp.dtype), found
    )
    return math.where(math.equal(x, xp[-1]), fp[-1], found)
