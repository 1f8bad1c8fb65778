"""Sums and products of many NumPy numbers, accumulated wide: two-byte floats in float32, and rounded once at the end.

In float16 a running sum of ones stays at 2048. Every `eval` that adds up more than two numbers does it with these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_FLOAT32 = np.dtype(np.float32)
# `reduce` with its arguments by position, which is quicker; NumPy's stubs want names.
ADDED: Any = np.add.reduce
ALL_TRUE: Any = np.logical_and.reduce
ANY_TRUE: Any = np.logical_or.reduce


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether this is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which numbers of `dtype` are accumulated."""
    return _FLOAT32 if is_narrow(dtype) else dtype


def widened(x: Any) -> Any:
    """`x` itself, or in float32 if it is narrow."""
    return x.astype(_FLOAT32) if is_narrow(x.dtype) else x


def as_dtype_of(y: Any, x: Any) -> Any:
    """`y` rounded to the dtype of `x`."""
    return y if y.dtype is x.dtype else y.astype(x.dtype)


def by_position(formula: np.ufunc) -> Any:
    """The formula's `reduce`, for calls whose arguments come by position."""
    return formula.reduce


def combined(formula: np.ufunc, x: Any, axes: Any, keepdims: bool = False) -> Any:
    """x with some axes (None for all) combined away by np.add or np.multiply."""
    dtype = x.dtype
    accumulated = wide(dtype)
    y = by_position(formula)(x, axes, accumulated, None, keepdims)
    return (
        y if accumulated is dtype else y.astype(dtype)
    )  # sizes, whose dtype is object, give one that has none


def summed(x: Any, axes: Any, keepdims: bool = False) -> Any:
    """x summed over some axes, None for all."""
    dtype = x.dtype
    accumulated = wide(dtype)
    y = ADDED(x, axes, accumulated, None, keepdims)
    return y if accumulated is dtype else y.astype(dtype)


def running(formula: np.ufunc, x: Any, axis: int) -> Any:
    """The running np.add, np.multiply or np.logaddexp of x along an axis."""
    y = formula.accumulate(widened(x), axis)
    return y if y.dtype is x.dtype else y.astype(x.dtype)


def added_at(shape: Any, key: Any, values: Any, axis: int = 0) -> Any:
    """Zeros of a shape, to which `values` are added at `key`, once for each time that an element is named.

    Args:
      key: As for `out[key] += values`, where `axis` of `out` and of `values` stands first.
    """
    out = np.zeros(shape, wide(values.dtype))
    into, added = (np.moveaxis(out, axis, 0), np.moveaxis(values, axis, 0)) if axis else (out, values)
    np.add.at(into, key, added)
    return as_dtype_of(out, values)
