"""Stable orders of NumPy arrays along their last axis, NaN last.

NumPy's stable sorts are its slow ones, and finding an order takes it longer than sorting. Integers of a small range are sorted
digit by digit. Of other integers, and of float32 read as integers that come in the same order, each is one number with its place
below it: those are sorted, and their last bits are the order. Where there is no room for that, leading bits that all differ do as
well; else, as in float64, the quick sort finds the order, after which the few that are equal are put in order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray


_DIGITS = 1 << 16
_RUNS = 4
_LARGE = 256  # elements; for fewer the stable sort is as quick


def in_order(x: Any) -> Any:
    """`x` in a dtype whose order NumPy knows: float32 for bfloat16, in which it takes NaN for equal to every number."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def stable_order(x: DeviceArray | Array) -> Any:
    """The indices that sort x, from the smallest on; of equal elements the first comes first."""
    x = in_order(x)
    if not isinstance(x, np.ndarray) or x.size < _LARGE:
        return np.argsort(x, -1, kind="stable")
    if x.dtype.kind in "iu" and x.dtype.itemsize > 2:
        if x.ndim == 1 and np.count_nonzero(x[1:] < x[:-1]) < _RUNS:
            return np.argsort(x, -1, kind="stable")  # which merges what is in order
        least, most = int(x.min()), int(x.max())
        if most - least < _DIGITS:
            return np.argsort((x - least).astype(np.uint16), -1, kind="stable")
        if (most - least).bit_length() + x.shape[-1].bit_length() < 64:
            wide = x.astype(np.int64) if x.dtype.itemsize < 8 else x
            return _order_with_places((wide - wide.dtype.type(least)).astype(np.int64))
        order = _order_of_leading_bits(x)
        return _quick_order(x) if order is None else order
    elif x.dtype == np.float32 and x.shape[-1].bit_length() < 31:
        return _order_with_places(_as_integers(x))
    elif x.dtype.kind == "f" and x.dtype.itemsize > 2:
        return _quick_order(x)
    return np.argsort(x, -1, kind="stable")


def _order_with_places(keys: Array) -> Any:
    """The stable order of int64 keys that leave room for the number of places; they are overwritten."""
    places = np.arange(keys.shape[-1])
    bits = int(keys.shape[-1]).bit_length()
    keys <<= bits
    keys |= places
    keys.sort(-1)
    keys &= (1 << bits) - 1
    return keys


def _order_of_leading_bits(x: Any) -> Any:
    """The order of integers of 64 bits by those bits that leave room for the places; None if these are equal for two."""
    size = x.shape[-1]
    bits = np.uint64(size.bit_length())
    keys = x.view(np.uint64) >> bits << bits
    if x.dtype.kind == "i":
        keys ^= np.uint64(1 << 63)  # negative ones come first
    keys |= np.arange(size, dtype=np.uint64)
    keys.sort(-1)
    leading = keys >> bits
    if np.count_nonzero(leading[..., 1:] == leading[..., :-1]):
        return None
    keys &= np.uint64((1 << int(bits)) - 1)
    return keys.astype(np.int64)


def _as_integers(x: Any) -> Any:
    """int64 numbers in the order of float32 ones: 0.0 and -0.0 are one, and so is NaN, the largest."""
    bits = (x + np.float32(0)).view(np.int32)
    bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)
    keys = bits.astype(np.int64)
    is_nan = np.isnan(x)
    if is_nan.any():
        keys[is_nan] = 0x7FFFFFFF
    return keys


def descending_order(x: Array) -> Any:
    """The indices that sort x, from the largest on; of equal elements the first comes first."""
    return x.shape[-1] - 1 - stable_order(x[..., ::-1])[..., ::-1]


def _quick_order(x: Array) -> Array:
    order = np.argsort(x, -1)
    ranked = np.take_along_axis(x, order, -1)
    is_tie = ranked[..., 1:] == ranked[..., :-1]
    if x.dtype.kind == "f" and np.isnan(ranked[..., -1]).any():
        is_tie |= np.isnan(ranked[..., :-1])  # what comes behind it is one too
    ties = np.count_nonzero(is_tie)
    if not ties:
        return order
    if 4 * ties > x.size:
        return np.argsort(x, -1, kind="stable")
    size = x.shape[-1]
    goes_on = np.zeros(x.shape, bool)  # equal to the previous element
    goes_on[..., 1:] = is_tie
    member = goes_on.copy()
    member[..., :-1] |= is_tie
    places = np.flatnonzero(member)
    group = np.cumsum(~goes_on.reshape(-1)[places])
    flat = order.reshape(-1)
    flat[places] = np.sort(group * size + flat[places]) - group * size
    return flat.reshape(x.shape)


def sorted_values(x: Array, axis: int) -> Array | None:
    """x sorted along an axis, without computing the order.

    None if there is a -0.0, which NumPy's quicksort may exchange with 0.0.
    """
    if x.dtype.kind not in "iuf" or x.dtype.itemsize == 2:
        return None
    if x.dtype.kind == "f" and np.signbit(x[x == 0]).any():
        return None
    return np.sort(x, axis)
