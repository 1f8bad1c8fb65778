"""`np.where`, `np.maximum`, `np.minimum` and `np.sign` for large arrays, without a branch for each element.

NumPy branches on each element of the condition, and for random conditions the processor mispredicts half of the branches. A bit
mask and three bitwise steps give the same bits with vector instructions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_MANY = 1024  # numbers; to limit fewer is as quick either way
_LARGE = 2048  # elements; fewer are quicker one by one
_WHOLE = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def chosen(condition: Any, x: Any, y: Any) -> np.ndarray:
    """`np.where(condition, x, y)` for a condition of bools, and x and y of one dtype, one of them maybe a Python number."""
    if type(condition) is np.ndarray and condition.size >= _LARGE and condition.dtype.kind == "b":
        like = x if isinstance(x, np.ndarray) else y
        whole = _WHOLE.get(like.dtype.itemsize) if isinstance(like, np.ndarray) else None
        if whole is not None:
            first, second = _bits(x, like, whole), _bits(y, like, whole)
            if (
                first is not None
                and second is not None
                and _fits(condition, first)
                and _fits(condition, second)
            ):
                found: np.ndarray = _selected(condition, first, second, whole).view(like.dtype)
                return found
    plain: np.ndarray = np.where(condition, x, y)
    return plain


def larger(x: Any, y: Any) -> Any:
    """`np.maximum(x, y)`."""
    pair = _bounded(x, y)
    return np.maximum(x, y) if pair is None else within(*pair, np.inf)


def smaller(x: Any, y: Any) -> Any:
    """`np.minimum(x, y)`."""
    pair = _bounded(x, y)
    return np.minimum(x, y) if pair is None else within(pair[0], -np.inf, pair[1])


def _bounded(x: Any, y: Any) -> tuple[Any, Any] | None:
    """Many floats and the number that bounds them, where one of x and y is such a number."""
    if is_bound(x, y) and x.dtype.kind == "f":
        return x, y
    if is_bound(y, x) and y.dtype.kind == "f" and x:  # which of two zeros is taken depends on their order
        return y, x
    return None


def is_bound(x: Any, y: Any) -> bool:
    """Whether y is one number, neither NaN nor -0.0, and x an array of many: `np.clip` limits these in packed instructions."""
    if (
        type(x) is not np.ndarray
        or np.ndim(y)
        or x.size < _MANY
        or x.dtype.kind not in "fiu"
        or x.dtype == np.float16
    ):
        return False
    return bool(y == y) and bool(y or not np.signbit(y))


def within(x: Any, low: Any, high: Any) -> Any:
    """x limited to bounds as `is_bound` wants them. A zero at a bound is 0.0, as `np.maximum` and `np.minimum` have it."""
    y = np.clip(x, low, high)
    if y.dtype.kind == "f" and not (low and high):
        y += y.dtype.type(0)
    return y


def _bits(x: Any, like: Any, whole: Any) -> Any:
    """The bits of the elements as integers; None if dtype or memory layout do not allow the view."""
    if not isinstance(x, np.ndarray):
        if isinstance(x, np.generic) and x.dtype != like.dtype:
            return None
        x = np.asarray(x, like.dtype)
    return x.view(whole) if x.dtype == like.dtype and x.dtype.kind != "O" else None


def _fits(condition: np.ndarray, x: np.ndarray) -> bool:
    return bool(x.ndim == 0 or x.shape == condition.shape)


def _selected(condition: Any, x: Any, y: Any, whole: Any) -> Any:
    mask = (-condition.view(np.int8)).astype(whole)  # all bits set where it holds
    if y.ndim == 0 and not y:
        return np.bitwise_and(x, mask, out=mask)
    if x.ndim == 0 and not x:
        return np.bitwise_and(y, np.invert(mask, out=mask), out=mask)
    differing = x ^ y
    mask &= differing
    mask ^= y
    return mask


_BITS: dict[int, tuple[Any, Any, Any]] = {
    4: (np.int32, np.int32(-(2**31)), np.float32(1).view(np.int32)),
    8: (np.int64, np.int64(-(2**63)), np.float64(1).view(np.int64)),
}


def signs(x: Any) -> Any:
    """`np.sign(x)`."""
    if type(x) is np.ndarray and x.size > 1024 and x.dtype.kind == "f" and x.dtype.itemsize in _BITS:
        if np.minimum.reduce(np.abs(x), None) > 0:  # neither a zero nor NaN: a one with the sign of x
            whole, sign, one = _BITS[x.dtype.itemsize]
            y = x.view(whole) & sign
            y |= one
            return y.view(x.dtype)
    return np.sign(x)
