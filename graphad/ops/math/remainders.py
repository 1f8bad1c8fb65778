"""Remainders of many float32 numbers by quotients in float64, with the bits of the C library's `fmod`, in less time;
where the compiler's loops are there, these have the same bits, in a fraction of it.

Let q be x / y in float64, rounded towards 0. Where q is below 2^28, q y has 52 bits at most and is exact, and so is x - q y,
which is a float32. A quotient that is no integer differs from the next one by 2^-24 at least, and is rounded by less than 2^-25:
q is not rounded to an integer beyond. For larger quotients, zeros, infinities and NaN the library is asked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import graphad.kernels as kernels
from graphad.ops.math.native_loops import many

if TYPE_CHECKING:
    from graphad.core.annotations import Array

MANY = 4096  # numbers
_BLOCK = 16384  # numbers, whose intermediate results stay in the cache
_LARGEST = 2.0**28
_SIGN = np.int32(-(2**31))  # the bits of -0.0


def truncated(x: Any, y: Any) -> Any:
    """`np.fmod(x, y)` for floats, if x has `MANY` or more."""
    if not _are_many(x, y):
        return np.fmod(x, y)
    found = many("truncated", x, y, is_light=True)
    return _by_blocks(x, y, _truncated) if found is None else found


def floored(x: Any, y: Any) -> Any:
    """`kernels.scalars.float_remainder(x, y)`."""
    if x.size < MANY or not _are_many(x, y):
        return kernels.scalars.float_remainder(x, y)
    found = many("floored", x, y, is_light=True)
    return _by_blocks(x, y, _floored) if found is None else found


def _are_many(x: Any, y: Any) -> bool:
    """Whether x is an array of many numbers, and y one such, or a number."""
    return (
        type(x) is np.ndarray
        and x.dtype == np.float32
        and getattr(y, "dtype", None) == np.float32
        and (not np.ndim(y) or (type(y) is np.ndarray and y.shape == x.shape))
    )


def _by_blocks(x: Array, y: Any, remainder: Any) -> Array:
    found = np.empty(x.shape, np.float32)
    rest, first = found.reshape(-1), x.reshape(-1)
    second = y.reshape(-1) if np.ndim(y) else None
    for start in range(0, x.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        rest[part] = remainder(first[part], y if second is None else second[part])
    return found


def _truncated(x: Array, y: Any) -> Array:
    a, b = x.astype(np.float64), y.astype(np.float64)
    with np.errstate(all="ignore"):
        q = a / b
        np.trunc(q, q)
        rest = np.abs(q)
        if not np.maximum.reduce(rest) < _LARGEST:
            return np.fmod(x, y)  # type: ignore[no-any-return]
        np.multiply(q, b, rest)
        np.subtract(a, rest, rest)
    is_zero = rest == 0
    if is_zero.any():
        np.copysign(rest, a, out=rest, where=is_zero)
    found = rest.astype(np.float32)
    return np.fmod(x, y) if np.isnan(np.minimum.reduce(found)) else found  # type: ignore[no-any-return]


def _floored(x: Array, y: Any) -> Array:
    rest = _truncated(x, y)
    # y is added where the signs differ, else -0.0, which changes no number.
    bits = y.view(np.int32)
    added = rest.view(np.int32) ^ bits
    added >>= 31
    is_zero = rest == 0
    if is_zero.any():
        added[is_zero] = 0
    added &= bits ^ _SIGN
    added ^= _SIGN
    rest += added.view(np.float32)
    return rest
