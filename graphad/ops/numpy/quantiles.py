"""Quantiles, percentiles and medians: what lies at a place among the sorted elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import normalize_axes
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops import array, math
from graphad.ops.array.along import TakeAlong
from graphad.ops.directly import directly, is_eager, is_free
from graphad.ops.numpy.choosing import sort
from graphad.ops.numpy.promotion import NUMBERS, cast_to, inexact, joint_dtype, rank_of, tensor_of
from graphad.ops.numpy.statistics import weights_along

_SMALL = 2048  # up to so many elements, calling ops takes longer than computing the median
_FEW = 64  # up to so many elements a row is sorted as a whole
_MANY = 12  # for more quantiles than these, rows are sorted as a whole
# Methods that place the quantile q at q * (n - 1) among the sorted elements, counted from 0.
_BETWEEN = ("linear", "midpoint")
_ELEMENT = (
    "lower",
    "higher",
    "nearest",
)  # of these, those whose result is one of the elements, which may be integers
# Definitions 1 to 3 of Hyndman and Fan: the quantile as a function of q has steps.
_COUNTED = ("inverted_cdf", "averaged_inverted_cdf", "closest_observation")
# Definitions 4 to 6, 8 and 9 of Hyndman and Fan: where the first and the last element lie between the quantiles 0 and 1.
_ENDS = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (0.375, 0.375),
}


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


def _places(q: Tensor, last: Tensor, method: str) -> tuple[Any, Any, Any]:
    """The two sorted elements between which the quantile lies, and its relative position between them; None for the first."""
    zero, one = cast_to(0.0, last.dtype), cast_to(1.0, last.dtype)
    if method in _COUNTED:
        place = math.subtract(math.multiply(q, last + one), one)
        if method == "closest_observation":
            place = math.subtract(place, cast_to(0.5, last.dtype))
        low = math.floor(place)
        is_whole = math.equal(low, place)
        if method == "averaged_inverted_cdf":
            ends = [math.minimum(math.maximum(end, zero), last) for end in (low, low + one)]
            return ends[0], ends[1], math.where(is_whole, cast_to(0.5, last.dtype), one)
        if method == "closest_observation":  # a tie goes to the element whose number, counted from 1, is even
            is_whole = math.logical_and(is_whole, math.equal(math.mod(low, cast_to(2.0, last.dtype)), one))
        low = math.minimum(math.maximum(math.where(is_whole, low, low + one), zero), last)
        return low, low, None
    place = math.multiply(q, last)
    if method in _ENDS:
        first, end = _ENDS[method]
        shift = math.multiply(q, cast_to(2.0 - first - end, last.dtype)) + cast_to(first - 1.0, last.dtype)
        place = math.minimum(math.maximum(place + shift, zero), last)
    low, high = math.floor(place), math.ceil(place)
    if method in _ELEMENT:
        near = low if method == "lower" else high if method == "higher" else math.rint(place)
        return near, near, None
    part = math.subtract(place, low)
    if method == "midpoint":
        none = array.zeros_like(part)
        part = math.where(math.equal(part, zero), none, none + cast_to(0.5, place.dtype))
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
    places = parts * np.maximum(counts - 1, 0).astype(parts.dtype)[:, None]
    wanted = np.unique(np.concatenate([np.floor(places), np.ceil(places)]).astype(np.int64))
    if not skips_nan:
        wanted = np.union1d(wanted, [size - 1])  # the last element is NaN if any is
    if is_free(flat):
        found = np.partition(x, wanted, -1)[..., wanted]
        if np.count_nonzero(found) == found.size:  # equal elements have equal bits, except zeros
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


def _between(first: Tensor, second: Tensor, part: Tensor) -> Tensor:
    """What lies between two elements, from the nearer one, so that equal elements give exactly their value."""
    one, half = cast_to(1.0, part.dtype), cast_to(0.5, part.dtype)
    gap = math.subtract(second, first)
    near = math.add(first, math.multiply(gap, part))
    far = math.subtract(second, math.multiply(gap, math.subtract(one, part)))
    found = math.where(math.greater_equal(part, half), far, near)
    if not (is_eager(gap) and np.isfinite(gap.data).all()):
        # If one of them is infinite, the value between them is their sum: infinite, or NaN for opposite infinities.
        found = math.where(math.is_finite(gap), found, math.add(first, second))
        found = math.where(math.equal(part, one), second, found)
    return math.where(math.equal(part, cast_to(0.0, part.dtype)), first, found)


def middle(first: Tensor, second: Tensor, part: Tensor) -> Tensor:
    """The mean of two elements, by halves, which neither overflow nor lose the digits of elements of opposite sign."""
    half = cast_to(0.5, first.dtype)
    mean = math.add(math.multiply(first, half), math.multiply(second, half))
    return math.where(math.equal(part, cast_to(0.0, part.dtype)), first, mean)


def _require_fractions(name: str, q: Any, whole: int) -> None:
    if is_eager(q) and not ((values := q.data) >= 0).all() & (values <= whole).all():
        raise InvalidArgumentError(f"{name}: q is {values.tolist()!s:.100}; it must be from 0 to {whole}.")


def fractions(name: str, q: TensorLike) -> TensorLike:
    """Percents as fractions; a Python number remains one, since it has no dtype of its own."""
    percents = inexact(q)
    _require_fractions(name, percents, 100)
    return q / 100.0 if type(q) in NUMBERS else percents / 100.0  # type: ignore[operator]


def _require_weights(name: str, w: Tensor, method: str, skips_nan: bool) -> None:
    if method != "inverted_cdf":
        raise UnsupportedOptionError(f"{name}: weights need the method 'inverted_cdf', not {method!r}.")
    if is_eager(w):
        values = w.data
        if (values < 0).any():
            raise InvalidArgumentError(
                f"{name}: weights are {values.tolist()!s:.100}; they must not be negative."
            )
        if not skips_nan and not (np.isfinite(values).all() and (values.any() or not values.size)):
            raise InvalidArgumentError(
                f"{name}: weights are {values.tolist()!s:.100}; they must be finite, and not all 0."
            )


def _shares(flat: Any, w: Any) -> tuple[Any, Any]:
    """The rows in order, and the share of the weight up to each element, of which NaN has none."""
    last = len(flat.dims) - 1
    order = array.argsort(flat)
    ranked, w = (bind(TakeAlong(last), x, math.cast(order, dtypes.int64)) for x in (flat, w))
    w = math.where(math.equal(ranked, ranked), w, array.zeros_like(w))
    summed = math.cumsum(w, -1)
    return ranked, math.divide(summed, summed[..., -1:])


def quantiles(
    name: str,
    a: Any,
    q: Any,
    axis: AxisLike,
    method: str,
    keepdims: bool,
    skips_nan: bool,
    weights: Any = None,
    between: Callable[[Tensor, Tensor, Tensor], Tensor] = _between,
) -> Tensor:
    if method not in (*_BETWEEN, *_ELEMENT, *_COUNTED, *_ENDS):
        known = ", ".join((*_BETWEEN, *_ELEMENT, *_COUNTED, *_ENDS))
        raise UnsupportedOptionError(f"{name}: method {method!r} is not supported; it is one of {known}.")
    a = tensor_of(a)
    kind = joint = inexact(a).dtype
    if type(q) not in NUMBERS:
        q = inexact(q)
        joint = joint_dtype([kind, q])
    if method not in (*_ELEMENT, *_COUNTED) or method == "averaged_inverted_cdf":
        kind = joint
        a = cast_to(a, kind)
    has_nan = a.dtype.is_differentiable
    # float16 has too few digits for places.
    q = cast_to(inexact(q), dtypes.float64 if joint.size == 2 else joint)
    _require_fractions(name, q, 1)
    flat, kept = _to_end(name, a, axis)
    if flat.dims[-1] == 0:
        none = array.zeros_like(math.reduce_sum(inexact(flat), -1)) + cast_to(float("nan"), kind)
        none = array.reshape(none, [1] * len(a.dims) if kept is None else kept) if keepdims else none
        return array.broadcast_to(none, [*q.dims, *array.shape(none)])
    ranked: Any
    share: Any = None
    if weights is not None:
        w = cast_to(tensor_of(weights), dtypes.float64)
        _require_weights(name, w, method, skips_nan)
        w = _to_end(name, weights_along(name, a, w, axis), axis)[0]
        if not skips_nan and is_eager(w) and not (np.sum(w.data, -1) > 0).all():
            raise InvalidArgumentError(f"{name}: all weights of a row are 0; one must be positive.")
        ranked, share = _shares(flat, w)
        share = math.cast(share, q.dtype)  # so that a share of 0.4 equals a q of 0.4
        read = None
    else:
        read = _read(flat, q, skips_nan) if has_nan and method in (*_BETWEEN, *_ELEMENT) else None
        ranked = _ranked(flat, read)
    all_but_nan: Any = math.cast(array.shape(flat)[-1], q.dtype)
    if skips_nan and has_nan:
        all_but_nan = math.subtract(
            all_but_nan, math.reduce_sum(math.cast(math.is_nan(flat), q.dtype), -1, True)
        )
    last = math.maximum(math.subtract(all_but_nan, cast_to(1.0, q.dtype)), cast_to(0.0, q.dtype))
    last = math.multiply(last, array.ones_like(ranked[..., :1], q.dtype))
    found = []
    values = [q] if q.ndim == 0 else array.unstack(array.reshape(q, [-1]))
    for value in values:
        if share is None:
            low, high, part = _places(value, last, method)
        else:  # the first element at which the share of the weights reaches q; elements of weight 0 are passed over
            none = math.logical_or(math.less(share, value), math.equal(share, array.zeros_like(share)))
            low = math.minimum(math.reduce_sum(math.cast(none, q.dtype), -1, True), last)
            high, part = low, None
        first, second = (
            bind(TakeAlong(len(ranked.dims) - 1), ranked, _columns(read, math.cast(index, dtypes.int64)))
            for index in (low, high)
        )
        one = (first if part is None else between(first, second, math.cast(part, kind)))[..., 0]
        if not skips_nan and has_nan:
            one = math.where(math.is_nan(ranked[..., -1]), cast_to(float("nan"), a.dtype), one)
        if keepdims:
            one = array.reshape(one, [1] * len(a.dims) if kept is None else kept)
        found.append(one)
    if q.ndim == 0:
        return found[0]
    if not found:  # no quantile is asked for
        none = math.reduce_sum(cast_to(flat, kind), -1)
        none = array.reshape(none, [1] * len(a.dims) if kept is None else kept) if keepdims else none
        return array.zeros([*q.dims, *array.shape(none)], a.dtype)
    whole: Any = array.stack(found, 0)
    return whole if q.ndim == 1 else array.reshape(whole, [*q.dims, *whole.dims[1:]])


@blaming
def quantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False,
    weights: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """The quantiles over axes: the values below which a fraction `q`, from 0 to 1, of the elements lies; differentiable.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: One of NumPy's: "linear", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased",
        "interpolated_inverted_cdf" and "averaged_inverted_cdf" interpolate between two elements; "lower", "higher", "nearest",
        "inverted_cdf" and "closest_observation" take one of them.
      keepdims: Whether to keep the axes with size 1.
      weights: Tensor of the shape of `a`, or of the sizes of the given axes: how much each element counts; for "inverted_cdf".
    Returns: Tensor [*shape of q, ...] without the axes; NaN if an element is NaN. A method that takes an element keeps the dtype
      of integers.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis or q is out of
      range, or weights are negative; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    Example:
      >>> numpy.quantile([1.0, 2.0, 4.0], [0.25, 0.5]).numpy()
      array([1.5, 2. ])
    """
    return quantiles("quantile", a, q, axis, method, keepdims, False, weights)


@blaming
def percentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False,
    weights: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """`quantile` of q percent.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number from 0 to 100, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: One of NumPy's: "linear", "midpoint", "hazen", "weibull", "median_unbiased", "normal_unbiased",
        "interpolated_inverted_cdf" and "averaged_inverted_cdf" interpolate between two elements; "lower", "higher", "nearest",
        "inverted_cdf" and "closest_observation" take one of them.
      keepdims: Whether to keep the axes with size 1.
      weights: Tensor of the shape of `a`, or of the sizes of the given axes: how much each element counts; for "inverted_cdf".
    Returns: Tensor [*shape of q, ...] without the axes; NaN if an element is NaN. A method that takes an element keeps the dtype
      of integers.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis or q is out of
      range, or weights are negative; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    Example:
      >>> numpy.percentile([1.0, 2.0, 4.0], 75).numpy()
      np.float64(3.0)
    """
    return quantiles("percentile", a, fractions("percentile", q), axis, method, keepdims, False, weights)


def _median_of_few(x: Any, axis: int | None, keepdims: bool) -> Any:
    """The steps of `quantiles` and `middle`, by sorting."""
    if x.dtype.kind == "c":
        return None
    x = x if x.dtype.kind == "f" else x.astype(np.float64)
    rows = np.sort(x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1), -1, kind="stable")
    size, last = rows.shape[-1], rows[..., -1]
    found = rows[..., size // 2]
    if not size % 2:
        half = x.dtype.type(0.5)
        found = rows[..., size // 2 - 1] * half + found * half
    found = np.where(last == last, found, last)
    if keepdims:
        found = found.reshape([1] * x.ndim) if axis is None else np.expand_dims(found, axis)
    return found


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
    a = tensor_of(a)
    if (axis is None or type(axis) is int) and is_free(a) and 0 < a.data.size <= _SMALL:
        found = directly(_median_of_few, a, axis=axis, keepdims=keepdims)
        if found is not None:
            return found
    return quantiles("median", a, 0.5, axis, "linear", keepdims, False, between=middle)
