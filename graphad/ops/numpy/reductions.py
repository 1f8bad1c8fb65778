"""Reductions along axes: sums, products, extremes, logic, argmax and argmin; running sums, differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import normalize_axes, normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly
from graphad.ops.numpy.promotion import (
    along,
    cast_to,
    numpys_axes,
    on_axis,
    rank_of,
    tensor_of,
)
from graphad.ops.numpy.types import default_dtype


def wide(a: TensorLike, dtype: DTypeLike | None = None) -> Any:
    """The operand of a sum, in `dtype`; without one, narrow integers and bools as int64 or uint64."""
    a = tensor_of(a)
    if dtype is not None:
        return cast_to(a, default_dtype(dtype))
    if not (a.dtype.is_integer or a.dtype.is_bool):
        return a
    return cast_to(a, dtypes.uint64 if a.dtype.is_unsigned else dtypes.int64)


def _truth(a: TensorLike) -> Tensor:
    a = tensor_of(a)
    return a if a.dtype.is_bool else math.not_equal(a, cast_to(0, a.dtype))


def _kept(a: Tensor, where: TensorLike | None, neutral: int) -> Tensor:
    """`a` with the neutral element where `where` excludes an element."""
    return a if where is None or where is True else math.where(tensor_of(where), a, cast_to(neutral, a.dtype))


def _from(found: Tensor, initial: TensorLike | None, join: Callable[..., Tensor]) -> Tensor:
    return found if initial is None else join(found, tensor_of(initial, found.dtype))


@blaming
def sum(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """The sum over axes, all by default; narrow integers are computed as int64 or uint64 unless `dtype` is given.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the sum; by default that of `a`, int64 or uint64 for integers and bools.
      keepdims: Whether to keep the axes with size 1.
      initial: A number that is added.
      where: Bools that broadcast with `a`: the elements to include.
    Returns: Tensor without the axes, of that dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.sum([[1.0, 2.0], [3.0, 4.0]], axis=0).numpy()
      array([4., 6.])
    """
    return _from(math.reduce_sum(_kept(wide(a, dtype), where, 0), axis, keepdims), initial, math.add)


@blaming
def prod(
    a: TensorLike,
    axis: AxisLike = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    *,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """The product over axes, all by default; narrow integers are computed as int64 or uint64 unless `dtype` is given.

    Args:
      a: Tensor of any shape, a numeric dtype or bool.
      axis: The axis or axes; all by default.
      dtype: The dtype of the product; by default that of `a`, int64 or uint64 for integers and bools.
      keepdims: Whether to keep the axes with size 1.
      initial: A number by which the product is multiplied.
      where: Bools that broadcast with `a`: the elements to include.
    Returns: Tensor without the axes, of that dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.prod([1.0, 2.0, 3.0]).numpy()
      np.float64(6.0)
    """
    return _from(math.reduce_prod(_kept(wide(a, dtype), where, 1), axis, keepdims), initial, math.multiply)


def _extreme(
    name: str, reduce: Callable[..., Tensor], logical: Callable[..., Tensor], join: Callable[..., Tensor]
) -> Callable[..., Tensor]:
    @blaming
    def function(
        a: Any,
        axis: AxisLike = None,
        keepdims: bool = False,
        *,
        initial: TensorLike | None = None,
        where: TensorLike | None = None,
    ) -> Tensor:
        a = tensor_of(a)
        chosen = where is not None and where is not True
        if chosen and initial is None:
            raise InvalidArgumentError(f"{name}: where= needs initial=, for rows without any element.")
        if a.dtype.is_bool:
            if initial is None:
                _require_elements(name, a, axis)
            found = logical(_kept(a, where, name == "min"), axis, keepdims)
            with_it = math.logical_or if name == "max" else math.logical_and
            return found if initial is None else with_it(found, _truth(initial))
        if chosen:
            a = math.where(tensor_of(where), a, tensor_of(initial, a.dtype))
        if initial is not None and None not in (a.dims or (None,)) and 0 in a.dims:
            shape = np.empty(a.dims).sum(axis=numpys_axes(axis), keepdims=keepdims).shape
            return array.fill(shape, tensor_of(initial, a.dtype))
        if initial is None:
            _require_elements(name, a, axis)
        return _from(reduce(a, axis, keepdims), initial, join)

    function.__name__ = function.__qualname__ = name
    word = "largest" if name == "max" else "smallest"
    shown = {"max": "array([2., 4.])", "min": "array([1., 3.])"}[name]
    function.__doc__ = f"""The {word} element over axes, all by default; NaN if an element is NaN.

Args:
  a: Tensor of any shape, a real dtype or bool.
  axis: The axis or axes; all by default.
  keepdims: Whether to keep the axes with size 1.
  initial: A number that is included as one more element.
  where: Bools that broadcast with `a`: the elements to include; `initial` must be given then.
Returns: Tensor without the axes, of the dtype of `a`. Ties share the gradient.
Raises: InvalidArgumentError (a ValueError): an axis is out of range, `where` is given without `initial`, or there is no
element.
Example:
  >>> numpy.{name}([[1.0, 2.0], [3.0, 4.0]], axis=1).numpy()
  {shown}
"""
    return function


def _require_elements(name: str, a: Tensor, axis: AxisLike) -> None:
    """Raises: InvalidArgumentError: an extreme of no elements is asked for."""
    dims = a.dims
    if dims is None or 0 not in dims:
        return
    every = range(len(dims))
    axes = normalize_axes(name, axis, len(dims))
    axes = tuple(every) if axes is None else axes
    if 0 in [dims[k] for k in axes] and 0 not in [dims[k] for k in every if k not in axes]:
        raise InvalidArgumentError(
            f"{name}: a tensor of shape {dims} has no element along axis {axis}; give initial=, which stands for none."
        )


max = amax = _extreme("max", math.reduce_max, math.reduce_any, math.maximum)
min = amin = _extreme("min", math.reduce_min, math.reduce_all, math.minimum)


@blaming
def all(
    a: TensorLike, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
) -> Tensor:
    """Whether all elements over axes are true, or nonzero.

    Args:
      a: Tensor of any shape and dtype.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the axes with size 1.
      where: Bools that broadcast with `a`: the elements to include.
    Returns: Bool tensor without the axes; True where there is no element.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.all([[True, True], [True, False]], axis=1).numpy()
      array([ True, False])
    """
    return math.reduce_all(_kept(_truth(a), where, True), axis, keepdims)


@blaming
def any(
    a: TensorLike, axis: AxisLike = None, keepdims: bool = False, *, where: TensorLike | None = None
) -> Tensor:
    """Whether any element over axes is true, or nonzero.

    Args:
      a: Tensor of any shape and dtype.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the axes with size 1.
      where: Bools that broadcast with `a`: the elements to include.
    Returns: Bool tensor without the axes; False where there is no element.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.any([[False, False], [True, False]], axis=1).numpy()
      array([False,  True])
    """
    return math.reduce_any(_kept(_truth(a), where, False), axis, keepdims)


@blaming
def count_nonzero(a: TensorLike, axis: AxisLike = None, *, keepdims: bool = False) -> Tensor:
    """The number of elements over axes that are true, or nonzero.

    Args:
      a: Tensor of any shape and dtype.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the axes with size 1.
    Returns: int64 tensor without the axes.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice.
    Example:
      >>> numpy.count_nonzero([0.0, 2.0, 3.0]).numpy()
      np.int64(2)
    """
    return math.count_nonzero(tensor_of(a), axis, keepdims)


@blaming
def ptp(a: TensorLike, axis: AxisLike = None, keepdims: bool = False) -> Tensor:
    """The largest element minus the smallest, over axes.

    Args:
      a: Tensor of any shape, a real dtype.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the axes with size 1.
    Returns: Tensor without the axes, of the dtype of `a`. The gradient goes to the largest and smallest elements.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): another dtype.
    Example:
      >>> numpy.ptp([1.0, 7.0, 3.0]).numpy()
      np.float64(6.0)
    """
    return math.subtract(max(a, axis, keepdims), min(a, axis, keepdims))


def _position(name: str, search: Callable[..., Any]) -> Callable[..., Any]:
    @blaming
    def function(a: TensorLike, axis: int | None = None, *, keepdims: bool = False) -> Tensor:
        a = tensor_of(a)
        if axis is not None and a.ndim == 0:  # NumPy has a scalar for a vector of one element here
            normalize_axis(name, axis, 1)
            axis = None
        flat = axis is None
        place = 0 if axis is None else normalize_axis(name, axis, a.ndim)
        plainly = np.argmax if name == "argmax" else np.argmin
        short = None if a.dtype.is_complex else directly(plainly, a, axis=axis, keepdims=keepdims)
        if short is not None:
            return short
        if a.dtype.is_bool:
            a = math.cast(a, dtypes.uint8)
        rank = rank_of(name, a) if flat else 0
        a = array.reshape(a, [-1]) if flat else a
        found = search(a, place)
        if a.dtype.is_floating:
            missing = math.cast(math.is_nan(a), dtypes.uint8)
            first = math.argmax(missing, place)
            found = math.where(math.greater(math.reduce_max(missing, place), lift(np.uint8(0))), first, found)
        if not keepdims:
            return found  # type: ignore[no-any-return]
        return array.reshape(found, [1] * rank) if flat else array.expand_dims(found, place)

    function.__name__ = function.__qualname__ = name
    word = "largest" if name == "argmax" else "smallest"
    shown = {"argmax": "np.int64(1)", "argmin": "np.int64(2)"}[name]
    function.__doc__ = f"""Where the {word} element is along an axis, or in all elements as one vector. Of equal ones the first.

Args:
  a: Tensor of any shape, a real dtype or bool.
  axis: The axis; by default all elements are one vector.
  keepdims: Whether to keep the axis with size 1.
Returns: int64 tensor without the axis; the first NaN where there is one. No gradient.
Raises: InvalidArgumentError (a ValueError): the axis is out of range or of size 0.
Example:
  >>> numpy.{name}([2.0, 5.0, 1.0]).numpy()
  {shown}
"""
    return function


argmax = _position("argmax", math.argmax)
argmin = _position("argmin", math.argmin)


def _running(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(a: Any, axis: int | None = None, dtype: DTypeLike | None = None) -> Tensor:
        a = wide(a, dtype)
        a, axis = on_axis(a, axis)
        return function(a, axis)  # type: ignore[no-any-return]

    run.__name__ = run.__qualname__ = name
    word, shown = ("sums", "[1, 3, 6]") if name == "cumsum" else ("products", "[1, 2, 6]")
    run.__doc__ = f"""Running {word} along an axis, or of all elements as one vector.

Args:
  a: Tensor of any shape, a numeric dtype or bool.
  axis: The axis; by default all elements are one vector.
  dtype: The dtype of the computation; by default that of `a`, int64 or uint64 for integers and bools.
Returns: Tensor of the shape of `a`, or a vector, of that dtype.
Raises: InvalidArgumentError (a ValueError): the axis is out of range.
Example:
  >>> numpy.{name}([1, 2, 3]).numpy()
  array({shown})
"""
    return run


cumsum = _running("cumsum", math.cumsum)
cumprod = _running("cumprod", math.cumprod)


def _cumulative(name: str, function: Callable[..., Any], start: int) -> Callable[..., Any]:
    @blaming
    def run(
        x: Any, /, *, axis: int | None = None, dtype: DTypeLike | None = None, include_initial: bool = False
    ) -> Tensor:
        x = wide(x, dtype)
        rank = rank_of(name, x)
        if axis is None:
            if rank != 1:
                raise InvalidArgumentError(
                    f"{name}: x has rank {rank}; give an axis, which is optional only for vectors."
                )
            axis = 0
        axis = normalize_axis(name, axis, rank)
        found = function(x, axis)
        if not include_initial:
            return found  # type: ignore[no-any-return]
        first = array.pad(
            x[along(axis, slice(0, 0))], [[int(k == axis), 0] for k in range(rank)], constant_values=start
        )
        return array.concat([first, found], axis)

    run.__name__ = run.__qualname__ = name
    word = "sums" if name == "cumulative_sum" else "products"
    shown = "[0, 1, 3, 6]" if name == "cumulative_sum" else "[1, 1, 2, 6]"
    run.__doc__ = f"""Running {word} along an axis, with `include_initial` starting from that of no elements.

Args:
  x: Tensor [..., size, ...], a numeric dtype or bool.
  axis: The axis; it may be omitted only for a vector.
  dtype: The dtype of the computation; by default that of x, int64 or uint64 for integers and bools.
  include_initial: Whether the result begins with {start}, the value for no elements.
Returns: Tensor of the shape of x, or [..., size + 1, ...], of that dtype.
Raises: InvalidArgumentError (a ValueError): the axis is out of range, or omitted although x is not a vector.
Example:
  >>> numpy.{name}([1, 2, 3], include_initial=True).numpy()
  array({shown})
"""
    return run


cumulative_sum = _cumulative("cumulative_sum", math.cumsum, 0)
cumulative_prod = _cumulative("cumulative_prod", math.cumprod, 1)
