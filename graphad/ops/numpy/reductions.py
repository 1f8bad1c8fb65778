"""Reductions along axes: sums, products, extremes, logic, argmax and argmin; running sums, differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import no_axis, normalize_axes, normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, parts_directly
from graphad.ops.numpy.promotion import (
    along,
    cast_to,
    inexact,
    numpys_axes,
    on_axis,
    promoted,
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


@blaming
def diff(
    a: TensorLike,
    n: int = 1,
    axis: int = -1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Tensor:
    """Differences of neighbours along an axis, taken `n` times; `prepend` and `append` are concatenated first.

    Args:
      a: Tensor [..., size, ...], any dtype; of bools, whether neighbours differ.
      n: The number of times, 0 or more.
      axis: The axis.
      prepend, append: Tensors with the other sizes of `a`, or numbers that fill a slice.
    Returns: Tensor [..., size - n, ...] of the dtype of `a`.
    Raises: InvalidArgumentError (a ValueError): `n` is negative, or the axis is out of range.
    Example:
      >>> numpy.diff([1.0, 4.0, 9.0]).numpy()
      array([3., 5.])
    """
    a = tensor_of(a)
    axis = normalize_axis("diff", axis, rank_of("diff", a))
    if n < 0:
        raise InvalidArgumentError(f"diff: n is {n}; it must be 0 or more.")
    if n == 0:
        return a
    parts = [_slab(x, a, axis) for x in (prepend,) if x is not None] + [a]
    parts += [_slab(x, a, axis) for x in (append,) if x is not None]
    if len(parts) > 1:
        a = array.concat(promoted(*parts), axis)
    size = a.shape[axis]
    times = n if size is None or n < size else size  # then nothing is left
    for _ in range(times):
        later, sooner = a[along(axis, slice(1, None))], a[along(axis, slice(None, -1))]
        a = math.not_equal(later, sooner) if a.dtype.is_bool else math.subtract(later, sooner)
    return a


def _slab(x: object, a: Tensor, axis: int) -> Tensor:
    """The tensor that is concatenated before or after `a`; a number fills a slice of size 1."""
    x = tensor_of(x)
    if x.ndim:
        return x
    sizes = array.shape(a)
    size = [sizes[k] if k != axis else 1 for k in range(rank_of("diff", a))]
    return array.broadcast_to(x, size)


def ediff1d(ary: TensorLike, to_end: TensorLike | None = None, to_begin: TensorLike | None = None) -> Tensor:
    """Differences of neighbours of the flattened tensor, with optional values at both ends.

    Args:
      ary: Tensor of any shape, a numeric dtype.
      to_end, to_begin: Values after and before the differences, cast to their dtype.
    Returns: Vector of the dtype of `ary`: one element less than `ary`, plus the given values.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.ediff1d([1.0, 4.0, 9.0], to_begin=0.0).numpy()
      array([0., 3., 5.])
    """
    ary = tensor_of(ary)
    if to_end is None and to_begin is None and not ary.dtype.is_bool:
        found = directly(np.ediff1d, ary)
        if found is not None:
            return found
    found = diff(array.reshape(ary, [-1]))
    ends = [None if x is None else array.reshape(tensor_of(x, found.dtype), [-1]) for x in (to_begin, to_end)]
    parts = [part for part in (ends[0], found, ends[1]) if part is not None]
    return array.concat(parts, 0) if len(parts) > 1 else found


@blaming
def gradient(
    f: TensorLike, *varargs: TensorLike, axis: int | Sequence[int] | None = None, edge_order: int = 1
) -> Tensor | tuple[Tensor, ...]:
    """Derivatives along axes by differences: central ones inside, one-sided ones at both ends.

    Args:
      f: Tensor of any shape of rank 1 or more, a float or complex dtype; integers count as float64.
      varargs: The spacing: one number for all axes, or a number or vector of coordinates for each.
      axis: The axis or axes; all by default.
      edge_order: 1 or 2, the order of the one-sided differences.
    Returns: A tensor of the shape of `f` for one axis, a tuple of them for several.
    Raises: InvalidArgumentError (a ValueError): the number of spacings is neither 1 nor that of the axes, `edge_order` is
      unknown, or an axis is named twice or too short.
    Example:
      >>> numpy.gradient([1.0, 4.0, 9.0, 16.0]).numpy()
      array([3., 4., 6., 7.])
    """
    f = inexact(f)
    rank = rank_of("gradient", f)
    axes = range(rank) if axis is None else [axis] if isinstance(axis, int | np.integer) else axis
    if not hasattr(axes, "__iter__"):
        raise no_axis("gradient", axis)
    places = [normalize_axis("gradient", k, rank) for k in axes]
    if len(set(places)) < len(places):
        raise InvalidArgumentError(f"gradient: axis {axis} names an axis twice.")
    for k in places:
        size = f.dims[k] if f.dims is not None else None
        if isinstance(size, int) and size <= edge_order:
            raise InvalidArgumentError(
                f"gradient: axis {k} has size {size}; with edge_order {edge_order} it must be {edge_order + 1} or more."
            )
    steps: list[Any] = list(varargs) if len(varargs) == len(places) else list(varargs or (1.0,)) * len(places)
    if len(steps) != len(places):
        raise ArgumentTypeError(
            f"gradient: {len(varargs)} distances for {len(places)} axes; give one distance, or one for each axis."
        )
    if edge_order not in (1, 2):
        raise InvalidArgumentError(f"gradient: edge_order is {edge_order!r}; it is 1 or 2.")
    if edge_order == 1 and f.dtype.itemsize >= 4 and not {type(h) for h in steps} - {int, float}:
        parts = parts_directly(
            lambda x: [np.gradient(x, h, axis=k) for k, h in zip(places, steps, strict=True)], f
        )
        if parts is not None:
            return parts[0] if len(parts) == 1 else tuple(parts)
    found = tuple(
        [
            _slopes(f, cast_to(tensor_of(h), f.dtype), k, edge_order)
            for k, h in zip(places, steps, strict=True)
        ]
    )
    return found[0] if len(found) == 1 else found


def _slopes(f: Any, h: Tensor, axis: int, order: int) -> Tensor:
    def part(start: int | None, stop: int | None) -> Any:
        return f[along(axis, slice(start, stop))]

    rank = len(f.dims)
    if h.ndim == 0:
        inner = (part(2, None) - part(None, -2)) / (h * cast_to(2.0, f.dtype))
        if order == 1:
            first, last = (part(1, 2) - part(0, 1)) / h, (part(-1, None) - part(-2, -1)) / h
        else:
            first = (part(1, 2) * 2.0 - part(0, 1) * 1.5 - part(2, 3) * 0.5) / h
            last = (part(-1, None) * 1.5 - part(-2, -1) * 2.0 + part(-3, -2) * 0.5) / h
        return array.concat([first, inner, last], axis)
    gaps = array.reshape(h[1:] - h[:-1], [-1 if k == axis else 1 for k in range(rank)])

    def gap(start: int | None, stop: int | None) -> Tensor:
        return gaps[along(axis, slice(start, stop))]

    a, b = gap(None, -1), gap(1, None)
    inner = (
        -b / (a * (a + b)) * part(None, -2)
        + (b - a) / (a * b) * part(1, -1)
        + a / (b * (a + b)) * part(2, None)
    )
    if order == 1:
        first, last = (part(1, 2) - part(0, 1)) / gap(0, 1), (part(-1, None) - part(-2, -1)) / gap(-1, None)
    else:
        a, b = gap(0, 1), gap(1, 2)
        first = (
            -(a * 2.0 + b) / (a * (a + b)) * part(0, 1)
            + (a + b) / (a * b) * part(1, 2)
            - a / (b * (a + b)) * part(2, 3)
        )
        a, b = gap(-2, -1), gap(-1, None)
        last = b / (a * (a + b)) * part(-3, -2) - (b + a) / (a * b) * part(-2, -1)
        last = last + (b * 2.0 + a) / (b * (a + b)) * part(-1, None)
    return array.concat([first, inner, last], axis)


@blaming
def unwrap(
    p: TensorLike, discont: float | None = None, axis: int = -1, *, period: float = 2 * np.pi
) -> Tensor:
    """Angles without jumps: whole periods are added so that neighbours along an axis differ by at most half a period.

    Args:
      p: Tensor [..., size, ...], a float dtype; integers count as float64.
      discont: Differences below this, which is at least half a period, are left unchanged.
      axis: The axis.
      period: The length of a period.
    Returns: Tensor of the same shape; its gradient is that of `p`, since the added periods are constant.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> numpy.unwrap([0.0, 3.0, 7.0, 8.0], period=6.0).numpy()
      array([0., 3., 1., 2.])
    """
    p = inexact(p)
    axis = normalize_axis("unwrap", axis, rank_of("unwrap", p))
    least = period / 2 if discont is None else discont
    steps = diff(p, axis=axis)
    half, whole = cast_to(period / 2, p.dtype), cast_to(period, p.dtype)
    near = math.mod(steps + half, whole) - half
    at_edge = math.logical_and(math.equal(near, -half), math.greater(steps, cast_to(0, p.dtype)))
    near = math.where(at_edge, half, near)
    added = math.where(
        math.less(math.abs(steps), cast_to(least, p.dtype)), array.zeros_like(steps), near - steps
    )
    first = p[along(axis, slice(0, 1))]
    return array.concat([first, p[along(axis, slice(1, None))] + math.cumsum(added, axis)], axis)


def trapezoid(y: TensorLike, x: TensorLike | None = None, dx: TensorLike = 1.0, axis: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule, at coordinates `x` or with spacing `dx`.

    Args:
      y: Tensor [..., size, ...], a float or complex dtype; integers count as float64.
      x: The coordinates: a vector, or a tensor of the shape of `y`.
      dx: The spacing, if `x` is not given.
      axis: The axis.
    Returns: Tensor without the axis, of the dtype of `y`.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or the sizes differ.
    Example:
      >>> numpy.trapezoid([0.0, 1.0, 4.0]).numpy()
      np.float64(3.0)
    """
    y = inexact(y)
    rank = rank_of("trapezoid", y)
    axis = normalize_axis("trapezoid", axis, rank)
    if x is None:
        steps = cast_to(tensor_of(dx), y.dtype)
    else:
        x = cast_to(tensor_of(x), y.dtype)
        steps = diff(x, axis=0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            steps = array.reshape(steps, [-1 if k == axis else 1 for k in range(rank)])
    pairs = (y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]) * cast_to(0.5, y.dtype)
    return math.reduce_sum(pairs * steps, axis)
