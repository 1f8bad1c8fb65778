"""`np.where` for large arrays, without a branch for each element.

NumPy branches on each element of the condition, and for random conditions the processor mispredicts half of the branches. A bit
mask and three bitwise steps give the same bits with vector instructions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphad.core.annotations import Array


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


def _bits(x: Any, like: Any, whole: Any) -> Any:
    """The bits of the elements as integers; None if dtype or memory layout do not allow the view."""
    if not isinstance(x, np.ndarray):
        if isinstance(x, np.generic) and x.dtype != like.dtype:
            return None
        x = np.asarray(x, like.dtype)
    return x.view(whole) if x.dtype == like.dtype and x.dtype.kind != "O" else None


def _fits(condition: Array, x: Array) -> bool:
    return bool(x.ndim == 0 or x.shape == condition.shape)


def _selected(condition: Array, x: Array, y: Array, whole: Any) -> Any:
    mask = condition.astype(whole)
    np.negative(mask, out=mask)  # all bits set where the condition is true
    if y.ndim == 0 and not y:
        return np.bitwise_and(x, mask, out=mask)
    if x.ndim == 0 and not x:
        return np.bitwise_and(y, np.invert(mask, out=mask), out=mask)
    differing = x ^ y
    mask &= differing
    mask ^= y
    return mask
