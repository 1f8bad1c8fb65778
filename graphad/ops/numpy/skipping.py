"""Reductions that ignore NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INEXACT, require_kind
from graphad.core.shapes import normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, has_no_nan, is_eager
from graphad.ops.math.power import root_of_squares
from graphad.ops.numpy import reductions
from graphad.ops.numpy.promotion import NUMBERS, cast_to, require_no_out, tensor_of
from graphad.ops.numpy.quantiles import fractions, middle, quantiles
from graphad.ops.numpy.reductions import argmax, argmin, cumprod, cumsum, prod
from graphad.ops.numpy.statistics import floats_of


@blaming
def nanquantile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False,
    weights: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """`quantile` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: As in `quantile`.
      keepdims: Whether to keep the axes with size 1.
      weights: As in `quantile`.
    Returns: Tensor [*shape of q, ...] without the axes; NaN if all elements are NaN.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis is out of
      range; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    Example:
      >>> numpy.nanquantile([1.0, np.nan, 4.0], 0.5).numpy()
      np.float64(2.5)
    """
    return quantiles("nanquantile", a, q, axis, method, keepdims, True, weights)


@blaming
def nanpercentile(
    a: TensorLike, q: TensorLike, axis: AxisLike = None, *, method: str = "linear", keepdims: bool = False,
    weights: TensorLike | None = None,
) -> Tensor:  # fmt: skip
    """`percentile` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype; integers and bools count as float64.
      q: A number from 0 to 100, or a tensor of them, whose axes come first in the result.
      axis: The axis or axes; all by default.
      method: As in `quantile`.
      keepdims: Whether to keep the axes with size 1.
      weights: As in `quantile`.
    Returns: Tensor [*shape of q, ...] without the axes; NaN if all elements are NaN.
    Raises: UnsupportedOptionError (a ValueError): another method; InvalidArgumentError (a ValueError): an axis is out of
      range; DTypeError (a TypeError): complex numbers.
    Source: Hyndman and Fan, Sample quantiles in statistical packages, 1996; "linear" is their definition 7.
    """
    return quantiles("nanpercentile", a, fractions("nanpercentile", q), axis, method, keepdims, True, weights)


@blaming
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
    return quantiles("nanmedian", a, 0.5, axis, "linear", keepdims, True, between=middle)


def _instead(a: TensorLike, value: TensorLike, where: TensorLike | None = None) -> tuple[Any, Any]:
    """The elements with a value in place of NaN and of what `where` excludes, and the mask of these; None if there are none."""
    a = tensor_of(a)
    missing: Any = None
    if a.dtype.is_differentiable and not has_no_nan(a):
        missing = math.is_nan(math.real(a)) if not a.dtype.is_complex else math.not_equal(a, a)
    if where is not None and where is not True:
        excluded = math.logical_not(array.broadcast_to(tensor_of(where), array.shape(a)))
        missing = excluded if missing is None else math.logical_or(missing, excluded)
    return (a, None) if missing is None else (math.where(missing, cast_to(value, a.dtype), a), missing)


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
    @blaming
    def run(
        a: Any,
        axis: AxisLike = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> Tensor:
        a = tensor_of(a)
        if initial is not None or (where is not None and where is not True):
            options = {"initial": initial, "where": where}
            return function(_instead(a, value)[0], axis, keepdims, **options)  # type: ignore[no-any-return]
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
  initial: A number that is included as one more element.
  where: Bools that broadcast with `a`: the elements to include; `initial` must be given then.
Returns: Tensor without the axes, of the dtype of `a`. Equal elements share the gradient.
Raises: InvalidArgumentError (a ValueError): an axis is out of range, `where` is given without `initial`, or there is no
element.
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


def _require_number(name: str, a: Any, axis: int | None) -> None:
    """Raises: InvalidArgumentError: all elements of a row are NaN, as far as they are known."""
    if is_eager(a) and a.data.dtype.kind == "f" and a.data.size and not has_no_nan(a):
        place = None if axis is None else normalize_axis(name, axis, a.data.ndim)
        if np.isnan(a.data).all(axis=place).any():
            raise InvalidArgumentError(f"{name}: all elements are NaN, or all of a row along axis {axis}.")


@blaming
def nanargmax(a: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """`argmax` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype.
      axis: The axis; by default all elements are one vector.
      keepdims: Whether to keep the axis with size 1.
    Returns: int64 tensor without the axis. No gradient.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range or of size 0, or all elements along it are NaN, for
      which a traced function gives 0; DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.nanargmax([1.0, np.nan, 2.0]).numpy()
      np.int64(2)
    """
    a = tensor_of(a)
    found = directly(np.argmax, a, axis=axis, keepdims=keepdims) if _is_plain(a, axis) else None
    _require_number("nanargmax", a, axis)
    return argmax(_instead(a, -np.inf)[0], axis, keepdims=keepdims) if found is None else found


@blaming
def nanargmin(a: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
    """`argmin` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a real dtype.
      axis: The axis; by default all elements are one vector.
      keepdims: Whether to keep the axis with size 1.
    Returns: int64 tensor without the axis. No gradient.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range or of size 0, or all elements along it are NaN, for
      which a traced function gives 0; DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.nanargmin([np.nan, 1.0, 2.0]).numpy()
      np.int64(1)
    """
    a = tensor_of(a)
    found = directly(np.argmin, a, axis=axis, keepdims=keepdims) if _is_plain(a, axis) else None
    _require_number("nanargmin", a, axis)
    return argmin(_instead(a, np.inf)[0], axis, keepdims=keepdims) if found is None else found


@blaming
def nanmean(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: TensorLike | None = None,
) -> Tensor:
    """`mean` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      out: None, since tensors are immutable.
      keepdims: Whether to keep the axes with size 1.
      where: Bools that broadcast to the shape of `a`: the elements to include.
    Returns: Tensor without the axes; NaN if all elements are NaN.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice; DTypeError (a TypeError): `dtype` is
      neither a float nor a complex one.
    Example:
      >>> numpy.nanmean([1.0, np.nan, 4.0]).numpy()
      np.float64(2.5)
    """
    require_no_out("nanmean", out)
    a, missing = _instead(_inexact("nanmean", a, dtype), 0, where)
    total = math.reduce_sum(a, axis, keepdims)
    return math.divide(total, _count(a, missing, axis, keepdims, total))


def _inexact(name: str, a: TensorLike, dtype: DTypeLike | None) -> Tensor:
    return require_kind(name, floats_of(a, dtype), INEXACT, "a")


def _count(a: Any, missing: Any, axis: AxisLike, keepdims: bool, total: Any) -> Tensor:
    """How many elements of each sum in `total` are not NaN, of the dtype of a."""
    if missing is not None:
        return math.reduce_sum(math.cast(math.logical_not(missing), a.dtype), axis, keepdims)
    return math.cast(lift(np.float64(a.data.size // total.data.size)), a.dtype)


@blaming
def nanvar(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: TensorLike = 0,
    keepdims: bool = False,
    *,
    correction: TensorLike | None = None,
    mean: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """`var` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      out: None, since tensors are immutable.
      ddof, correction: Subtracted from the number of elements; NumPy's name and the standard's name for it.
      keepdims: Whether to keep the axes with size 1.
      mean: The mean, if it is already known.
      where: Bools that broadcast to the shape of `a`: the elements to include.
    Returns: Tensor without the axes, real; NaN where there are no more elements than `ddof`.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice; DTypeError (a TypeError): `dtype` is
      neither a float nor a complex one.
    Example:
      >>> numpy.nanvar([1.0, np.nan, 3.0]).numpy()
      np.float64(1.0)
    """
    require_no_out("nanvar", out)
    a = _inexact("nanvar", a, dtype)
    if correction is not None and type(ddof) in NUMBERS and ddof:
        raise InvalidArgumentError(f"nanvar: ddof is {ddof} and correction {correction}; give one of them.")
    ddof = ddof if correction is None else correction
    filled, missing = _instead(a, 0, where)
    center = (
        nanmean(a, axis, keepdims=True, where=where) if mean is None else cast_to(tensor_of(mean), a.dtype)
    )
    off = math.abs(math.subtract(filled, center))
    squares = math.square(off)
    if missing is not None:
        squares = math.where(missing, array.zeros_like(off), squares)
    total = math.reduce_sum(squares, axis, keepdims)
    count = _count(off, missing, axis, keepdims, total)
    free = math.subtract(count, cast_to(tensor_of(ddof), count.dtype))
    none = math.less_equal(free, cast_to(0.0, free.dtype))
    return math.divide(total, math.where(none, cast_to(float("nan"), free.dtype), free))


@blaming
def nanstd(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: TensorLike = 0,
    keepdims: bool = False,
    *,
    correction: TensorLike | None = None,
    mean: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """`std` of the elements that are not NaN.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the computation; by default that of `a`, float64 for integers and bools.
      out: None, since tensors are immutable.
      ddof, correction: Subtracted from the number of elements; NumPy's name and the standard's name for it.
      keepdims: Whether to keep the axes with size 1.
      mean: The mean, if it is already known.
      where: Bools that broadcast to the shape of `a`: the elements to include.
    Returns: Tensor without the axes, real; NaN where there are no more elements than `ddof`.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice; DTypeError (a TypeError): `dtype` is
      neither a float nor a complex one.
    Example:
      >>> numpy.nanstd([1.0, np.nan, 3.0]).numpy()
      np.float64(1.0)
    """
    require_no_out("nanstd", out)
    found = nanvar(
        _inexact("nanstd", a, dtype),
        axis,
        None,
        None,
        ddof,
        keepdims,
        correction=correction,
        mean=mean,
        where=where,
    )
    return root_of_squares(found)
