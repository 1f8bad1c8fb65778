"""Reductions that ignore NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, has_no_nan, is_eager
from graphad.ops.numpy import reductions
from graphad.ops.numpy.promotion import cast_to, inexact, tensor_of
from graphad.ops.numpy.reductions import argmax, argmin, cumprod, cumsum, prod
from graphad.ops.numpy.statistics import floats_of, quantiles


def nanquantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """`quantile` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: The interpolation between two elements: "linear", "lower", "higher", "midpoint" or "nearest".
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor [*shape of q, ...] without the axes; NaN if all elements are NaN.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis is out of
      range; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    Example:
      >>> numpy.nanquantile([1.0, np.nan, 4.0], 0.5).numpy()
      np.float64(2.5)
    """
    return quantiles("nanquantile", a, q, axis, method, keepdims, True)


def nanpercentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False
) -> Tensor:
    """`percentile` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number from 0 to 100, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: The interpolation between two elements: "linear", "lower", "higher", "midpoint" or "nearest".
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor [*shape of q, ...] without the axes; NaN if all elements are NaN.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis is out of
      range; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    """
    return nanquantile(a, inexact(q) / 100.0, axis, method=method, keepdims=keepdims)


def nanmedian(a: TensorLike, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """`median` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes; NaN if all elements are NaN.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.nanmedian([1.0, np.nan, 2.0, 4.0]).numpy()
      np.float64(2.0)
    """
    return nanquantile(a, 0.5, axis, keepdims=keepdims)


def _instead(a: TensorLike, value: TensorLike) -> tuple[Any, Any]:
    """The elements with a value in place of NaN, and the mask of NaN, or None if there can be no NaN."""
    a = tensor_of(a)
    if not a.dtype.is_differentiable or has_no_nan(a):
        return a, None
    missing = math.is_nan(math.real(a)) if not a.dtype.is_complex else math.not_equal(a, a)
    return math.where(missing, cast_to(value, a.dtype), a), missing


def _without(name: str, function: Callable[..., Any], value: int) -> Callable[..., Any]:
    def run(a: TensorLike, axis: AxisLike = None, dtype: DTypeLike | None = None, **options: Any) -> Tensor:
        return function(_instead(a, value)[0], axis, dtype, **options)  # type: ignore[no-any-return]

    run.__name__ = run.__qualname__ = name
    word, given = {
        "nansum": ("The sum over axes, all by default", "without the axes"),
        "nanprod": ("The product over axes, all by default", "without the axes"),
        "nancumsum": (
            "Running sums along an axis, or of all elements as one vector",
            "of the shape of `a`, or a vector",
        ),
        "nancumprod": (
            "Running products along an axis, or of all elements as one vector",
            "of the shape of `a`, or a vector",
        ),
    }[name]
    shown = repr(getattr(np, name)([1.0, np.nan, 3.0]))
    run.__doc__ = f"""{word}, NaN counting as {value}: `{name[3:]}` otherwise.

Args:
  a: Tensor of any shape, a numeric dtype or bool.
  axis: The axis{"" if "cum" in name else " or axes"}; by default all elements.
  dtype: The dtype of the computation; by default that of `a`, int64 or uint64 for integers and bools.
  options: Further arguments of `{name[3:]}`.
Returns: Tensor {given}, of that dtype. The gradient of a NaN is 0.
Raises: InvalidArgumentError (a ValueError): an axis is out of range.
Example:
  >>> numpy.{name}([1.0, np.nan, 3.0]).numpy()
  {shown}
"""
    return run


nansum = _without("nansum", reductions.sum, 0)
nanprod = _without("nanprod", prod, 1)
nancumsum = _without("nancumsum", cumsum, 0)
nancumprod = _without("nancumprod", cumprod, 1)


def _extreme(name: str, function: Callable[..., Any], value: float) -> Callable[..., Any]:
    def run(a: Any, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
        a = tensor_of(a)
        if a.dtype.is_floating and is_eager(a):
            found = function(a, axis, keepdims)
            if has_no_nan(found):
                return found  # type: ignore[no-any-return]
        a, missing = _instead(a, value)
        found = function(a, axis, keepdims)
        if missing is None:
            return found  # type: ignore[no-any-return]
        return math.where(math.reduce_all(missing, axis, keepdims), cast_to(float("nan"), a.dtype), found)

    run.__name__ = run.__qualname__ = name
    word, shown = ("largest", "3.0") if name == "nanmax" else ("smallest", "1.0")
    run.__doc__ = f"""The {word} element over axes, all by default, of those that are not NaN; NaN if there are none.

Args:
  a: Tensor of any shape, a real dtype.
  axis: The axis or axes; all by default.
  keepdims: Whether to keep the axes with size 1.
Returns: Tensor without the axes, of the dtype of `a`. Equal elements share the gradient.
Raises: InvalidArgumentError (a ValueError): an axis is out of range.
Example:
  >>> numpy.{name}([1.0, np.nan, 3.0]).numpy()
  np.float64({shown})
"""
    return run


nanmax = _extreme("nanmax", reductions.max, -np.inf)
nanmin = _extreme("nanmin", reductions.min, np.inf)


def _is_plain(a: Any, axis: int | None) -> bool:
    """Whether there is no NaN, and an axis to search: NumPy takes one of a number."""
    return has_no_nan(a) and (axis is None or bool(a.dims))


def nanargmax(a: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """`argmax` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype.
      axis: The axis; by default all elements are one vector.
      keepdims: Whether to keep the axis with size 1.
    Returns: int64 tensor without the axis; 0 where all are NaN. No gradient.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range or of size 0; DTypeError (a TypeError): complex
      numbers.
    Example:
      >>> numpy.nanargmax([1.0, np.nan, 2.0]).numpy()
      np.int64(2)
    """
    a = tensor_of(a)
    found = directly(np.argmax, a, axis=axis, keepdims=keepdims) if _is_plain(a, axis) else None
    return argmax(_instead(a, -np.inf)[0], axis, keepdims=keepdims) if found is None else found


def nanargmin(a: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """`argmin` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype.
      axis: The axis; by default all elements are one vector.
      keepdims: Whether to keep the axis with size 1.
    Returns: int64 tensor without the axis; 0 where all are NaN. No gradient.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range or of size 0; DTypeError (a TypeError): complex
      numbers.
    Example:
      >>> numpy.nanargmin([np.nan, 1.0, 2.0]).numpy()
      np.int64(1)
    """
    a = tensor_of(a)
    found = directly(np.argmin, a, axis=axis, keepdims=keepdims) if _is_plain(a, axis) else None
    return argmin(_instead(a, np.inf)[0], axis, keepdims=keepdims) if found is None else found


def nanmean(
    a: Tensor, axis: AxisLike = None, dtype: DTypeLike | None = None, keepdims: bool = False
) -> Tensor:
    """`mean` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes; NaN if all elements are NaN.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.nanmean([1.0, np.nan, 4.0]).numpy()
      np.float64(2.5)
    """
    a, missing = _instead(floats_of(a, dtype), 0)
    total = math.reduce_sum(a, axis, keepdims)
    return math.divide(total, _count(a, missing, axis, keepdims, total))


def _count(a: Any, missing: Any, axis: AxisLike, keepdims: bool, total: Any) -> Tensor:
    """How many elements of each sum in `total` are not NaN, of the dtype of a."""
    if missing is not None:
        return math.reduce_sum(math.cast(math.logical_not(missing), a.dtype), axis, keepdims)
    return math.cast(lift(np.float64(a.data.size // total.data.size)), a.dtype)


def nanvar(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: TensorLike = 0,
    keepdims: bool = False,
) -> Tensor:
    """`var` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      ddof: Subtracted from the number of elements.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes, real; NaN where there are no more elements than `ddof`.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.nanvar([1.0, np.nan, 3.0]).numpy()
      np.float64(1.0)
    """
    a = floats_of(a, dtype)
    filled, missing = _instead(a, 0)
    off = math.abs(math.subtract(filled, nanmean(a, axis, keepdims=True)))
    squares = math.square(off)
    if missing is not None:
        squares = math.where(missing, array.zeros_like(off), squares)
    total = math.reduce_sum(squares, axis, keepdims)
    count = _count(off, missing, axis, keepdims, total)
    free = math.subtract(count, cast_to(tensor_of(ddof), count.dtype))
    none = math.less_equal(free, cast_to(0.0, free.dtype))
    return math.divide(total, math.where(none, cast_to(float("nan"), free.dtype), free))


def nanstd(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    ddof: TensorLike = 0,
    keepdims: bool = False,
) -> Tensor:
    """`std` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      ddof: Subtracted from the number of elements.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes, real; NaN where there are no more elements than `ddof`.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.nanstd([1.0, np.nan, 3.0]).numpy()
      np.float64(1.0)
    """
    return math.sqrt(nanvar(a, axis, dtype, ddof, keepdims))
