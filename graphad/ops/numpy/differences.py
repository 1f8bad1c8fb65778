"""Differences of neighbours along an axis, and what is made of them: slopes, angles without jumps, integrals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.shapes import no_axis, normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, parts_directly
from graphad.ops.numpy.promotion import NUMBERS, along, cast_to, inexact, promoted, rank_of, tensor_of


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
    times = n if size is None or n < size else size  # after `size` differences nothing is left
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
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor; DTypeError (a TypeError): an end is a
      float, or complex, where the differences are integers, or real.
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
    ends = [
        None if x is None else array.reshape(_end_of(name, x, found.dtype), [-1])
        for name, x in (("to_begin", to_begin), ("to_end", to_end))
    ]
    parts = [part for part in (ends[0], found, ends[1]) if part is not None]
    return array.concat(parts, 0) if len(parts) > 1 else found


def _end_of(name: str, x: TensorLike, dtype: DType) -> Tensor:
    """Raises: DTypeError: `dtype` has no such numbers, as integers have no fractions."""
    given = tensor_of(x)
    if (given.dtype.is_complex and not dtype.is_complex) or (
        given.dtype.is_differentiable and not dtype.is_differentiable
    ):
        raise DTypeError(
            f"ediff1d: {name} has dtype {given.dtype.name}, the differences {dtype.name}, which has no such numbers; cast "
            "one of them."
        )
    return cast_to(given, dtype)


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
    found = []
    for k, h in zip(places, steps, strict=True):
        values, given = promoted(f, h if type(h) in NUMBERS else inexact(h))
        found.append(cast_to(_slopes(values, given, k, edge_order), f.dtype))
    return found[0] if len(found) == 1 else tuple(found)


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
      p: Tensor [..., size, ...], a float dtype; integers count as float64, unless the period is an integer too.
      discont: Differences below this, which is at least half a period, are left unchanged.
      axis: The axis.
      period: The length of a period.
    Returns: Tensor of the same shape; its gradient is that of `p`, since the added periods are constant.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> numpy.unwrap([0.0, 3.0, 7.0, 8.0], period=6.0).numpy()
      array([0., 3., 1., 2.])
    """
    p = tensor_of(p)
    is_whole = p.dtype.kind == "int" and type(period) is int
    p = p if is_whole else inexact(p)
    axis = normalize_axis("unwrap", axis, rank_of("unwrap", p))
    steps = diff(p, axis=axis)
    half, whole = cast_to(period // 2 if is_whole else period / 2, p.dtype), cast_to(period, p.dtype)
    near = math.mod(steps + half, whole) - half
    if not (is_whole and period % 2):
        at_edge = math.logical_and(math.equal(near, -half), math.greater(steps, cast_to(0, p.dtype)))
        near = math.where(at_edge, half, near)
    sizes, least = promoted(math.abs(steps), period / 2 if discont is None else discont)
    added = math.where(math.less(sizes, least), array.zeros_like(steps), near - steps)
    first = p[along(axis, slice(0, 1))]
    return array.concat([first, p[along(axis, slice(1, None))] + math.cumsum(added, axis)], axis)


def trapezoid(y: TensorLike, x: TensorLike | None = None, dx: TensorLike = 1.0, axis: int = -1) -> Tensor:
    """The integral along an axis by the trapezoidal rule, at coordinates `x` or with spacing `dx`.

    Args:
      y: Tensor [..., size, ...], a numeric dtype; integers count as float64.
      x: The coordinates: a vector, or a tensor of the shape of `y`.
      dx: The spacing, if `x` is not given.
      axis: The axis.
    Returns: Tensor without the axis, of the joint dtype of `y` and the coordinates or the spacing.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or the sizes differ.
    Example:
      >>> numpy.trapezoid([0.0, 1.0, 4.0]).numpy()
      np.float64(3.0)
    """
    y, given = (inexact(part) for part in promoted(y, dx if x is None else x))
    rank = rank_of("trapezoid", y)
    axis = normalize_axis("trapezoid", axis, rank)
    if x is None:
        steps = given
    else:
        x = given
        steps = diff(x, axis=0 if x.ndim == 1 else axis)
        if x.ndim == 1:
            steps = array.reshape(steps, [-1 if k == axis else 1 for k in range(rank)])
    pairs = (y[along(axis, slice(1, None))] + y[along(axis, slice(None, -1))]) * cast_to(0.5, y.dtype)
    return math.reduce_sum(pairs * steps, axis)
