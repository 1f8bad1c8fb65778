"""Means, spreads, quantiles, histograms, correlations, and the reductions that leave NaN out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.errors import UnsupportedOptionError
from graphad.core.shapes import normalize_axes
from graphad.core.tensor import Tensor
from graphad.ops import array, linalg, math
from graphad.ops.array.gather import TakeAlong
from graphad.ops.numpy import reductions
from graphad.ops.numpy.choosing import searchsorted, sort
from graphad.ops.numpy.promotion import cast_to, inexact, promoted, rank_of, tensor_of
from graphad.ops.numpy.reductions import argmax, argmin, cumprod, cumsum, prod
from graphad.ops.numpy.types import default_dtype

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _floats(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    return inexact(a) if dtype is None else cast_to(tensor_of(a), default_dtype(dtype))


def _count(a: TensorLike, reduced: Any) -> Tensor:
    """How many elements one of the reduced tensor stands for, of its dtype."""
    ratio = math.divide(array.size(a), math.maximum(array.size(reduced), 1))
    return math.cast(ratio, reduced.dtype)


def mean(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    where: TensorLike | None = None,
) -> Tensor:
    """The mean over axes, all by default; of integers float64."""
    a = _floats(a, dtype)
    if where is None or where is True:
        return math.reduce_mean(a, axis, keepdims)
    chosen = array.broadcast_to(tensor_of(where), array.shape(a))
    return math.divide(
        reductions.sum(a, axis, keepdims=keepdims, where=chosen),
        math.reduce_sum(math.cast(chosen, a.dtype), axis, keepdims),
    )


def var(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    correction: Any = None,
    mean: TensorLike | None = None,
) -> Tensor:
    """The variance over axes: the sum of squared distances from the mean, divided by the number of elements less `ddof`, which
    the standard calls `correction`.
    """
    a = _floats(a, dtype)
    ddof = ddof if correction is None else correction
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


def std(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: Any = 0,
    keepdims: bool = False,
    *,
    correction: Any = None,
    mean: TensorLike | None = None,
) -> Tensor:
    """The standard deviation over axes, the square root of `var`."""
    return math.sqrt(var(a, axis, dtype, ddof, keepdims, correction=correction, mean=mean))


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """The weighted mean over axes, with `returned` also the sum of the weights."""
    a = inexact(a)
    if weights is None:
        found = math.reduce_mean(a, axis, keepdims)
        total = array.broadcast_to(_count(a, found), array.shape(found))
        return (found, total) if returned else found
    a, w = promoted(a, weights)
    if w.ndim == 1 and rank_of("average", a) != 1 and isinstance(axis, int):
        w = array.reshape(w, [-1 if k == axis % a.ndim else 1 for k in range(a.ndim)])
    w = array.broadcast_to(w, array.shape(a))
    total = math.reduce_sum(w, axis, keepdims)
    found = math.divide(math.reduce_sum(math.multiply(a, w), axis, keepdims), total)
    return (found, total) if returned else found


def _to_end(name: str, a: Any, axis: Any) -> tuple[Any, Any]:
    """The axes that are reduced as one axis at the end, and the shape of the result with sizes 1 for them."""
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


def _places(q: TensorLike, last: Any, method: str) -> tuple[Any, Any, Any]:
    """Between which sorted elements the quantile is, and how far from the first to the second."""
    place = math.multiply(q, last)
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


def _quantiles(name: str, a: Any, q: Any, axis: Any, method: str, keepdims: bool, skips_nan: bool) -> Tensor:
    if method not in _METHODS:
        raise UnsupportedOptionError(
            f"{name}: method {method!r} is not supported; it is one of {', '.join(_METHODS)}."
        )
    a = inexact(a)
    q = cast_to(inexact(q), a.dtype)
    flat, kept = _to_end(name, a, axis)
    ranked: Any = sort(flat)
    missing = math.is_nan(ranked)
    size = math.cast(array.shape(ranked)[-1], a.dtype)
    count = math.subtract(size, math.reduce_sum(math.cast(missing, a.dtype), -1, True)) if skips_nan else size
    last = math.maximum(math.subtract(count, cast_to(1.0, a.dtype)), cast_to(0.0, a.dtype))
    found = []
    values = [q] if q.ndim == 0 else array.unstack(array.reshape(q, [-1]))
    for value in values:
        low, high, part = _places(value, math.multiply(last, array.ones_like(ranked[..., :1])), method)
        first, second = (
            bind(TakeAlong(len(ranked.dims) - 1), ranked, math.cast(index, dtypes.int64))
            for index in (low, high)
        )
        # From the nearer end, so that equal elements give themselves.
        gap = math.subtract(second, first)
        near = math.add(first, math.multiply(gap, part))
        far = math.subtract(second, math.multiply(gap, math.subtract(cast_to(1.0, a.dtype), part)))
        one = math.where(math.greater_equal(part, cast_to(0.5, a.dtype)), far, near)
        one = math.where(math.equal(part, cast_to(0.0, a.dtype)), first, one)
        one = one[..., 0]
        if not skips_nan:
            one = math.where(missing[..., -1], cast_to(float("nan"), a.dtype), one)
        if keepdims:
            one = array.reshape(one, [1] * len(a.dims) if kept is None else kept)
        found.append(one)
    if q.ndim == 0:
        return found[0]
    whole: Any = array.stack(found, 0)
    return whole if q.ndim == 1 else array.reshape(whole, [*q.dims, *whole.dims[1:]])


def quantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """Below which a part `q`, from 0 to 1, of the elements over axes lies; differentiable.

    Args:
      a: Real tensor.
      q: A number, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: What is taken between two elements: "linear", "lower", "higher", "midpoint" or "nearest".
    """
    return _quantiles("quantile", a, q, axis, method, keepdims, False)


def percentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """`quantile` of q percent."""
    return quantile(a, inexact(q) / 100.0, axis, method=method, keepdims=keepdims)


def median(a: TensorLike, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The middle element over axes, or the mean of the middle two; differentiable."""
    return quantile(a, 0.5, axis, keepdims=keepdims)


def nanquantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """`quantile` of the elements that are not NaN."""
    return _quantiles("nanquantile", a, q, axis, method, keepdims, True)


def nanpercentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """`percentile` of the elements that are not NaN."""
    return nanquantile(a, inexact(q) / 100.0, axis, method=method, keepdims=keepdims)


def nanmedian(a: TensorLike, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """`median` of the elements that are not NaN."""
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def _instead(a: TensorLike, value: TensorLike) -> tuple[Any, Any]:
    """The elements with a value in place of NaN, and where there was one; None where there can be none."""
    a = tensor_of(a)
    if not a.dtype.is_differentiable:
        return a, None
    missing = math.is_nan(math.real(a)) if not a.dtype.is_complex else math.not_equal(a, a)
    return math.where(missing, cast_to(value, a.dtype), a), missing


def _without(name: str, function: Callable[..., Any], value: int) -> Callable[..., Any]:
    def run(a: TensorLike, axis: AxisLike = None, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
        return function(_instead(a, value)[0], axis, dtype, **options)  # type: ignore[no-any-return]

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`{name[3:]}`, NaN counting as {value}."
    return run


nansum = _without("nansum", reductions.sum, 0)
nanprod = _without("nanprod", prod, 1)
nancumsum = _without("nancumsum", cumsum, 0)
nancumprod = _without("nancumprod", cumprod, 1)


def _extreme(name: str, function: Callable[..., Any], value: float) -> Callable[..., Any]:
    def run(a: Any, axis: Any = None, keepdims: bool = False) -> Tensor:
        a, missing = _instead(a, value)
        found = function(a, axis, keepdims)
        if missing is None:
            return found  # type: ignore[no-any-return]
        return math.where(math.reduce_all(missing, axis, keepdims), cast_to(float("nan"), a.dtype), found)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"`{name[3:]}` of the elements that are not NaN; NaN where there is none."
    return run


nanmax = _extreme("nanmax", reductions.max, -np.inf)
nanmin = _extreme("nanmin", reductions.min, np.inf)


def nanargmax(a: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """`argmax` of the elements that are not NaN."""
    return argmax(_instead(a, -np.inf)[0], axis, keepdims=keepdims)  # type: ignore[no-any-return]


def nanargmin(a: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """`argmin` of the elements that are not NaN."""
    return argmin(_instead(a, np.inf)[0], axis, keepdims=keepdims)  # type: ignore[no-any-return]


def nanmean(a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Tensor:
    """`mean` of the elements that are not NaN."""
    a, missing = _instead(_floats(a, dtype), 0)
    count = math.reduce_sum(math.cast(math.logical_not(missing), a.dtype), axis, keepdims)
    return math.divide(math.reduce_sum(a, axis, keepdims), count)


def nanvar(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: Any = 0,
    keepdims: bool = False,
) -> Tensor:
    """`var` of the elements that are not NaN."""
    a = _floats(a, dtype)
    filled, missing = _instead(a, 0)
    off = math.abs(math.subtract(filled, nanmean(a, axis, keepdims=True)))
    squares = math.where(missing, array.zeros_like(off), math.square(off))
    count = math.reduce_sum(math.cast(math.logical_not(missing), off.dtype), axis, keepdims)
    free = math.subtract(count, cast_to(tensor_of(ddof), count.dtype))
    none = math.less_equal(free, cast_to(0.0, free.dtype))
    return math.divide(
        math.reduce_sum(squares, axis, keepdims), math.where(none, cast_to(float("nan"), free.dtype), free)
    )


def nanstd(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: Any = 0,
    keepdims: bool = False,
) -> Tensor:
    """`std` of the elements that are not NaN."""
    return math.sqrt(nanvar(a, axis, dtype, ddof, keepdims))


def bincount(x: TensorLike, /, weights: TensorLike | None = None, minlength: int = 0) -> Tensor:
    """How often each of 0, 1, 2, ... occurs in a vector of integers, or the sum of its weights."""
    x = math.cast(tensor_of(x), dtypes.int64)
    size = math.maximum(
        math.reduce_max(array.concat([x, lift(np.array([-1]))], 0)) + lift(np.int64(1)),
        lift(np.int64(minlength)),
    )
    parts = array.ones_like(x) if weights is None else inexact(weights)
    return array.unsorted_segment_sum(parts, x, size)


def histogram_bin_edges(
    a: TensorLike, bins: Any = 10, range: Any = None, weights: TensorLike | None = None
) -> Tensor:
    """The bounds of a histogram: as many equal parts of `range`, by default from the least to the largest element."""
    if not isinstance(bins, int | np.integer):
        return tensor_of(bins)
    a = inexact(a)
    if range is not None:
        low, high = (cast_to(tensor_of(bound), a.dtype) for bound in range)
    else:
        low, high = math.reduce_min(a), math.reduce_max(a)
    same, half = math.equal(low, high), cast_to(0.5, a.dtype)
    low, high = math.where(same, low - half, low), math.where(same, high + half, high)
    return array.linspace(low, high, int(bins) + 1)


def histogram(
    a: TensorLike, bins: Any = 10, range: Any = None, density: Any = None, weights: TensorLike | None = None
) -> tuple[Tensor, Tensor]:
    """How many elements, or which sum of weights, lie between neighbours of some bounds; the last part includes its end.

    Returns: (counts, bounds); with `density` divided by the total and the widths. Counts have a gradient in the weights alone.
    """
    edges = histogram_bin_edges(a, bins, range)
    flat, bounds = promoted(array.reshape(tensor_of(a), [-1]), edges)
    place = searchsorted(bounds, flat, "right") - lift(np.int64(1))
    last = math.cast(array.shape(bounds)[0], dtypes.int64) - lift(np.int64(1))
    place = math.where(math.equal(flat, bounds[-1]), last - lift(np.int64(1)), place)
    outside = math.logical_or(math.less(flat, bounds[0]), math.logical_not(math.less_equal(flat, bounds[-1])))
    place = math.where(outside, lift(np.int64(-1)), place)
    parts = array.ones_like(place) if weights is None else array.reshape(tensor_of(weights), [-1])
    counts = array.unsorted_segment_sum(parts, place, last)
    if not density:
        return counts, edges
    counts = inexact(counts)
    widths = cast_to(reductions.diff(edges), counts.dtype)
    return math.divide(math.divide(counts, widths), math.reduce_sum(counts)), edges


def interp(
    x: TensorLike, xp: TensorLike, fp: TensorLike, left: Any = None, right: Any = None, period: Any = None
) -> Tensor:
    """Values at x of the straight lines through points (xp, fp), xp rising; the ends' values outside, or `left` and `right`.

    Differentiable in x, xp and fp.
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


def cov(
    m: TensorLike, y: TensorLike | None = None, rowvar: bool = True, bias: bool = False, ddof: Any = None
) -> Tensor:
    """The covariances of variables, which are the rows of `m`, and those of `y`; the columns with rowvar=False."""
    rows = [inexact(x) for x in (m, y) if x is not None]
    rows = [
        array.expand_dims(x, 0) if rank_of("cov", x) == 1 else x if rowvar else array.transpose(x)
        for x in rows
    ]
    x = array.concat(promoted(*rows), 0) if len(rows) > 1 else rows[0]
    free = (0 if bias else 1) if ddof is None else ddof
    off = x - math.reduce_mean(x, -1, True)
    count = math.cast(array.shape(x)[1], x.dtype) - cast_to(tensor_of(free), x.dtype)
    found = linalg.matmul(off, linalg.adjoint(off)) / count
    return array.squeeze(found)


def corrcoef(x: TensorLike, y: TensorLike | None = None, rowvar: bool = True) -> Tensor:
    """The correlation of variables, which are the rows of `x`, and those of `y`; the columns with rowvar=False."""
    c = cov(x, y, rowvar)
    if c.ndim == 0:
        return math.divide(c, c)
    spread = math.sqrt(math.real(linalg.diag_part(c)))
    scaled = (
        c
        / math.cast(array.expand_dims(spread, 1), c.dtype)
        / math.cast(array.expand_dims(spread, 0), c.dtype)
    )
    if c.dtype.is_complex:
        return scaled
    one = cast_to(1.0, c.dtype)
    return math.minimum(math.maximum(scaled, -one), one)


def polyval(p: TensorLike, x: TensorLike) -> Tensor:
    """The polynomial with coefficients `p`, that of the highest power first, at x."""
    p, x = promoted(p, x)
    found = array.zeros_like(x)
    for coefficient in array.unstack(p):
        found = found * x + coefficient
    return found
