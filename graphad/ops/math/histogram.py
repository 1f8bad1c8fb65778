"""Histograms with bins of equal width."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import Array, DTypeLike, TensorLike
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import DType, as_dtype, float64, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import REAL, require_kind
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like
from graphad.ops.array.reshape import reshape
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.support import static_array, static_int
from graphad.ops.directly import directly
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import is_nan
from graphad.ops.math.select import clip_by_value, where
from graphad.ops.state.effects import require


def histogram_fixed_width(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """The number of `values` in each of `nbins` bins of equal width: [nbins]. No gradient.

    Args:
      values: Real tensor of any shape; a NaN is in no bin.
      value_range: Two numbers of the same dtype, the lower end of the first bin and the upper end of the last one; values
        outside count in these two bins.
      nbins: The number of bins.
      dtype: int32 or int64.
    Returns: Tensor [nbins] of that dtype.
    Raises: InvalidArgumentError (a ValueError): `nbins` is not positive, or the range is empty; DTypeError (a TypeError):
      dtypes that differ.
    """
    at = _bins(*_checked("histogram_fixed_width", values, value_range, nbins))
    at = reshape(where(is_nan(at), -ones_like(at), at), [-1])
    return unsorted_segment_sum(ones_like(at, dtype=as_dtype(dtype)), cast(at, int32), nbins)


def histogram_fixed_width_bins(
    values: TensorLike,
    value_range: TensorLike,
    nbins: TensorLike = 100,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """The index, from 0 to nbins - 1, of the bin in which each of `values` lies; arguments as for `histogram_fixed_width`. No
    gradient. The bin of a NaN is unspecified.

    Args:
      values: Real tensor of any shape.
      value_range: Two numbers of the same dtype.
      nbins: The number of bins.
      dtype: int32 or int64.
    Returns: Tensor of the shape of `values` and that dtype.
    Raises: InvalidArgumentError (a ValueError): `nbins` is not positive, or the range is empty; DTypeError (a TypeError):
      dtypes that differ.
    """
    values, value_range, nbins = _checked("histogram_fixed_width_bins", values, value_range, nbins)
    found = directly(_numbers, values, value_range, nbins, dtype=as_dtype(dtype))
    return cast(_bins(values, value_range, nbins), as_dtype(dtype)) if found is None else found


_BLOCK = 8192  # numbers, whose steps in float64 stay in the cache
_LARGEST = 2.0**31 - 1  # what int32 holds


def _numbers(values: Array, ends: Array, count: Array, dtype: DType) -> Array | None:
    """The steps of `_bins`, and the cast, of floats without NaN; None for others.

    Steps in float32 find the bins of nearly all numbers of float32; those next to an edge go through the steps in float64.
    """
    flat = values.reshape(-1)
    if type(values) is not np.ndarray or values.dtype.kind != "f" or not flat.size:
        return None
    if dtype.numpy.kind != "i" or dtype.itemsize < 4:  # numbers outside of the range must fit too
        return None
    low, high = ends.astype(np.float64)
    bins = np.float64(count)
    reach = [
        (np.float64(f(flat)) - low) / (high - low) * bins for f in (np.minimum.reduce, np.maximum.reduce)
    ]
    if not (reach[0] > -_LARGEST and reach[1] < _LARGEST and bins < _LARGEST):  # NaN too
        return None
    found = np.empty(flat.size, dtype.numpy)
    steps = low, high, bins
    doubt = _doubt(reach, low / (high - low) * bins)
    if flat.dtype == np.float32 and doubt < _CLEAR:
        _find_mostly(flat, steps, reach, np.float32(doubt), found)
    else:
        last = dtype.numpy.type(count - 1)
        for start in range(0, flat.size, _BLOCK):
            part = found[start : start + _BLOCK]
            np.copyto(part, _exact(flat[start : start + _BLOCK], *steps), casting="unsafe")
            if reach[0] < 0:
                np.maximum(part, 0, out=part)
            if reach[1] >= bins:
                np.minimum(part, last, out=part)
    return found.reshape(values.shape)


def _find_mostly(flat: Array, steps: Any, reach: list[Any], doubt: np.float32, found: Array) -> None:
    """The bins by steps in float32, and by those in float64 where more and less by `doubt` are not in one bin."""
    low, high, bins = steps
    scale, shift = np.float32(bins / (high - low)), np.float32(-low / (high - low) * bins - doubt)
    is_within = reach[0] >= 0 and reach[1] < bins
    unclear = []
    for start in range(0, flat.size, _LARGE_BLOCK):
        part = found[start : start + _LARGE_BLOCK]
        at = flat[start : start + _LARGE_BLOCK] * scale
        at += shift
        if not is_within:
            np.clip(at, 0, np.float32(bins) - np.float32(0.5), at)
        np.copyto(part, at, casting="unsafe")
        at += 2 * doubt
        unclear.append(np.flatnonzero(part != at.astype(part.dtype)) + start)
    places = np.concatenate(unclear)
    if places.size:
        found[places] = np.clip(_exact(flat[places], *steps), 0, bins - 1)


_LARGE_BLOCK = 32768
_CLEAR = 1 / 16  # of a bin; with more doubt too many numbers are computed twice


def _doubt(reach: list[np.float64], shift: np.float64) -> float:
    """More than the error of a product and a sum in float32 in place of the steps in float64, of numbers that reach so far."""
    largest = max(abs(reach[0]), abs(reach[1])) + 2 * abs(shift) + 1
    # Each of the factor, the product, what is added and the sum is off by 2^-24 of that at most.
    return float(largest) * 2.0**-21


def _exact(values: Array, low: np.float64, high: np.float64, bins: np.float64) -> Any:
    at = np.subtract(values, low, dtype=np.float64)
    at /= high - low
    at *= bins
    return at


def _checked(
    op: str, values: object, value_range: TensorLike, nbins: object
) -> tuple[Tensor, Tensor, Tensor]:
    """The arguments as tensors."""
    values, value_range = lift_pair(op, values, value_range)
    require_kind(op, values, REAL, "values")
    if value_range.dims is not None and value_range.dims != (2,):
        raise InvalidArgumentError(
            f"{op}: value_range has shape {value_range.shape}; two numbers are needed."
        )
    count, ends = static_int(op, nbins, "nbins"), static_array(value_range)
    if count is None or count < 1:
        require(lift(nbins) >= 1, f"{op}: nbins is \x00; at least one bin is needed.", [lift(nbins)])
    if ends is not None and not ends[0] < ends[1]:
        raise InvalidArgumentError(
            f"{op}: value_range is ({ends[0]}, {ends[1]}); the first end must be below the second."
        )
    return values, value_range, lift(nbins)


def _bins(values: Tensor, value_range: Tensor, nbins: Tensor) -> Tensor:
    """The indices of bins as float64, with a fraction that a cast to integers leaves out, and NaN for NaN."""
    bins = cast(nbins, float64)
    low, high = cast(value_range[0], float64), cast(value_range[1], float64)
    at = (cast(values, float64) - low) / (high - low) * bins
    return clip_by_value(at, 0.0, bins - 1.0)  # NaN stays
