"""The different elements of tensors, and which are in others."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.numpy.choosing import argsort, flatnonzero, lexsort, searchsorted, sort
from graphad.ops.numpy.joining import concat
from graphad.ops.numpy.promotion import promoted, rank_of, tensor_of
from graphad.ops.numpy.shapes import moveaxis, ravel


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def _groups(x: TensorLike) -> tuple[Any, Any, Any, Any]:
    """The elements as a vector, the order that sorts them, where groups of equal ones start, and which element starts one."""
    flat = ravel(x)
    order = argsort(flat)
    ranked = array.gather(flat, order)
    starts = array.concat(
        [array.ones_like(ranked[:1], dtypes.bool_), math.not_equal(ranked[1:], ranked[:-1])], 0
    )
    return flat, order, array.reshape(math.where(starts), [-1]), starts


def unique_all(x: TensorLike, /) -> UniqueAll:
    """The different elements in order, where each is first, where each element of x is among them, and how often it occurs.

    NaN differs from all, so each is an element of its own. The values are differentiable.

    Args: x: Tensor of any shape, any dtype.
    Returns: (values, indices, inverse_indices, counts): vectors, but the inverse in the shape of x; int64 but for the
      values.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> [part.numpy().tolist() for part in numpy.unique_all([3, 1, 3])]
      [[1, 3], [1, 0], [1, 0, 1], [1, 2]]
    """
    flat, order, starts, is_start = _groups(x)
    indices = array.gather(order, starts)
    group = math.cumsum(math.cast(is_start, dtypes.int64)) - lift(np.int64(1))
    inverse = array.scatter_nd(array.expand_dims(order, 1), group, array.shape(flat, dtypes.int64))
    ends = array.concat([starts[1:], array.shape(flat, dtypes.int64)], 0)
    return UniqueAll(
        array.gather(flat, indices),
        indices,
        array.reshape(inverse, array.shape(tensor_of(x))),
        (ends - starts)[: _first(starts)],
    )


def _first(starts: Tensor) -> Tensor:
    return array.shape(starts)[0]


def unique_counts(x: TensorLike, /) -> UniqueCounts:
    """The different elements in order, and how often each occurs.

    Args: x: Tensor of any shape, any dtype.
    Returns: (values, counts): vectors, the counts int64. NaN differs from all.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> [part.numpy().tolist() for part in numpy.unique_counts([3, 1, 3])]
      [[1, 3], [1, 2]]
    """
    flat, order, starts, _ = _groups(x)
    ends = array.concat([starts[1:], array.shape(flat, dtypes.int64)], 0)
    values = array.gather(flat, array.gather(order, starts))
    return UniqueCounts(values, (ends - starts)[: _first(starts)])


def unique_inverse(x: TensorLike, /) -> UniqueInverse:
    """The different elements in order, and where each element of x is among them.

    Args: x: Tensor of any shape, any dtype.
    Returns: (values, inverse_indices): a vector, and int64 in the shape of x. NaN differs from all.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> [part.numpy().tolist() for part in numpy.unique_inverse([3, 1, 3])]
      [[1, 3], [1, 0, 1]]
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: TensorLike, /) -> Tensor:
    """The different elements in order; differentiable.

    Args: x: Tensor of any shape, any dtype.
    Returns: Vector of the dtype of x. NaN differs from all.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.unique_values([3, 1, 3]).numpy()
      array([1, 3])
    """
    flat, order, starts, _ = _groups(x)
    return array.gather(flat, array.gather(order, starts))


def _unique_slices(x: Tensor, axis: Any) -> tuple[Any, Any, Any, Any]:
    """What `unique_all` gives, for slices along an axis, in the order of their elements."""
    axis = normalize_axis("unique", axis, rank_of("unique", x))
    front = moveaxis(x, axis, 0)
    beside = [size for size in ranked(front.dims)[1:] if isinstance(size, int)]
    if len(beside) < len(ranked(front.dims)) - 1:
        raise InvalidArgumentError(f"unique: the sizes beside axis {axis} must be known while tracing.")
    size = prod(beside)
    slices = array.reshape(front, [-1, size])
    order = lexsort(array.unstack(array.reverse(array.transpose(slices), [0]))) if size else None
    if order is None:
        raise InvalidArgumentError("unique: slices without elements cannot be compared.")
    ranked_slices = array.gather(slices, order)
    differs = math.reduce_any(math.not_equal(ranked_slices[1:], ranked_slices[:-1]), 1)
    is_start = array.concat([array.ones_like(order[:1], dtypes.bool_), differs], 0)
    starts = array.reshape(math.where(is_start), [-1])
    group = math.cumsum(math.cast(is_start, dtypes.int64)) - lift(np.int64(1))
    count = array.shape(order, dtypes.int64)
    inverse = array.scatter_nd(array.expand_dims(order, 1), group, count)
    indices = array.gather(order, starts)
    ends = array.concat([starts[1:], count], 0)
    return (
        moveaxis(array.gather(front, indices), 0, axis),
        indices,
        inverse,
        (ends - starts)[: _first(starts)],
    )


def unique(
    ar: TensorLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: AxisLike = None,
    *, equal_nan: bool = True
) -> Any:  # fmt: skip
    """The different elements in order, all NaN being one, and on request what `unique_all` gives.

    Args:
      ar: Tensor of any shape, any dtype.
      return_index: Whether to return where each is first.
      return_inverse: Whether to return where each element of `ar` is among them.
      return_counts: Whether to return how often each occurs.
      axis: The axis whose slices are compared as wholes, of known sizes; None compares elements.
      equal_nan: Whether NaN is equal to NaN.
    Returns: Vector of the dtype of `ar`, or tensor with fewer slices, differentiable; a tuple with int64 tensors where more is
      asked for.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or the size of a slice is not known while tracing.
    Example:
      >>> numpy.unique([3, 1, 3, 2]).numpy()
      array([1, 2, 3])
    """
    if axis is not None:
        asked = (return_index, return_inverse, return_counts)
        values, *rest = _unique_slices(tensor_of(ar), axis)
        more = [part for part, is_asked in zip(rest, asked, strict=True) if is_asked]
        return (values, *more) if more else values
    ar = tensor_of(ar)
    found = unique_all(ar)
    if equal_nan and ar.dtype.is_differentiable:
        found = _one_nan(found)
    wanted = [True, return_index, return_inverse, return_counts]
    parts = [part for part, is_wanted in zip(found, wanted, strict=True) if is_wanted]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _one_nan(found: UniqueAll) -> UniqueAll:
    nan = math.is_nan(math.real(found.values))
    kept = array.reshape(math.where(math.logical_or(math.logical_not(nan), _is_first(nan))), [-1])
    last = math.cast(array.shape(kept)[0], dtypes.int64) - lift(np.int64(1))
    many = math.reduce_sum(math.where(nan, found.counts, array.zeros_like(found.counts)))
    values, indices, counts = (
        array.gather(part, kept) for part in (found.values, found.indices, found.counts)
    )
    counts = math.where(math.is_nan(math.real(values)), many, counts)
    return UniqueAll(values, indices, math.minimum(found.inverse_indices, last), counts)


def _is_first(mask: Tensor) -> Tensor:
    return math.equal(math.cumsum(math.cast(mask, dtypes.int64)), lift(np.int64(1)))


def isin(
    element: TensorLike,
    test_elements: TensorLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Which elements are among others.

    Args:
      element: Tensor of any shape, any dtype but a complex one.
      test_elements: The others, of any shape.
      assume_unique, kind: Are taken as NumPy takes them; the result is the same.
      invert: Whether to ask which are not.
    Returns: Bool tensor of the shape of `element`.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.isin([1, 2, 3], [3, 1]).numpy()
      array([ True, False,  True])
    """
    element, others = promoted(element, test_elements)
    others = sort(ravel(others))
    if others.dims == (0,):
        found = array.zeros_like(element, dtypes.bool_)
    else:
        place = searchsorted(others, element)
        size = math.cast(array.shape(others)[0], dtypes.int64)
        near = math.minimum(place, math.maximum(size - lift(np.int64(1)), lift(np.int64(0))))
        found = math.equal(array.gather(others, near), element)
    return math.logical_not(found) if invert else found


def union1d(ar1: TensorLike, ar2: TensorLike) -> Tensor:
    """The different elements of two tensors, in order.

    Args: ar1, ar2: Tensors of any shapes and dtypes; the dtypes become one.
    Returns: Vector of that dtype.
    Raises: ArgumentTypeError (a TypeError): what no tensor is made of.
    Example:
      >>> numpy.union1d([3, 1], [2, 3]).numpy()
      array([1, 2, 3])
    """
    found: Tensor = unique(concat([ravel(ar1), ravel(ar2)]))
    return found


def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The different elements that are in both of two tensors, in order, and on request where they are first.

    Args:
      ar1, ar2: Tensors of any shapes and dtypes but complex ones; the dtypes become one.
      assume_unique: Is taken as NumPy takes it.
      return_indices: Whether to return where they are first in each.
    Returns: Vector of that dtype; with `return_indices` a tuple of it and two int64 vectors.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.intersect1d([3, 1, 2], [2, 3]).numpy()
      array([2, 3])
    """
    first, second = unique_all(ar1), unique_all(ar2)
    a, b = promoted(first.values, second.values)
    chosen = flatnonzero(isin(a, b))
    values = array.gather(a, chosen)
    if not return_indices:
        return values
    where_second = array.gather(second.indices, searchsorted(b, values))
    return values, array.gather(first.indices, chosen), where_second


def setdiff1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The different elements of the first tensor that are not in the second, in order.

    Args:
      ar1, ar2: Tensors of any shapes and dtypes but complex ones.
      assume_unique: Is taken as NumPy takes it.
    Returns: Vector of the dtype of `ar1`.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.setdiff1d([3, 1, 2], [2, 3]).numpy()
      array([1])
    """
    values = unique(ar1)
    return array.gather(values, flatnonzero(isin(values, ar2, invert=True)))


def setxor1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The different elements that are in one of two tensors and not in both, in order.

    Args:
      ar1, ar2: Tensors of any shapes and dtypes but complex ones; the dtypes become one.
      assume_unique: Is taken as NumPy takes it.
    Returns: Vector of that dtype.
    Raises: DTypeError (a TypeError): complex numbers.
    Example:
      >>> numpy.setxor1d([3, 1], [2, 3]).numpy()
      array([1, 2])
    """
    return union1d(setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))
