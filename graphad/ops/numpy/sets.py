"""The distinct elements of tensors, and set operations."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, overload

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.directly import directly, is_free, parts_directly
from graphad.ops.numpy.choosing import argsort, flatnonzero, lexsort, searchsorted, sort
from graphad.ops.numpy.joining import concat
from graphad.ops.numpy.promotion import known_sizes, promoted, rank_of, tensor_of
from graphad.ops.numpy.shapes import moveaxis, ravel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphad.core.annotations import Array


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
    """The elements as a vector, the order that sorts them, the positions at which groups of equal elements start, and the mask
    of these starts."""
    flat = ravel(x)
    order = argsort(flat)
    ranked = array.gather(flat, order)
    starts = array.concat(
        [array.ones_like(ranked[:1], dtypes.bool_), math.not_equal(ranked[1:], ranked[:-1])], 0
    )
    return flat, order, array.reshape(math.where(starts), [-1]), starts


def unique_all(x: TensorLike) -> UniqueAll:
    """The distinct elements in ascending order, the index of the first occurrence of each, the index among them of each element
    of x, and the counts.

    NaN differs from itself, so each NaN is a distinct element. The values are differentiable.

    Args: x: Tensor of any shape, any dtype.
    Returns: (values, indices, inverse_indices, counts): vectors, except the inverse, which has the shape of x; all but the
      values are int64.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
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


def _have_one_form(*xs: Tensor) -> bool:
    """Whether equal elements are the same bits, as those of floats need not be, and nothing follows the tensors."""
    return is_free(*xs) and not any(x.dtype.is_differentiable for x in xs)


def unique_counts(x: TensorLike) -> UniqueCounts:
    """The distinct elements in ascending order, and how often each occurs.

    Args: x: Tensor of any shape, any dtype.
    Returns: (values, counts): vectors, the counts int64. Each NaN is distinct.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> [part.numpy().tolist() for part in numpy.unique_counts([3, 1, 3])]
      [[1, 3], [1, 2]]
    """
    x = tensor_of(x)
    if _have_one_form(x):
        found = parts_directly(np.unique_counts, x)
        if found is not None:
            return UniqueCounts(*found)
    flat, order, starts, _ = _groups(x)
    ends = array.concat([starts[1:], array.shape(flat, dtypes.int64)], 0)
    values = array.gather(flat, array.gather(order, starts))
    return UniqueCounts(values, (ends - starts)[: _first(starts)])


def unique_inverse(x: TensorLike) -> UniqueInverse:
    """The distinct elements in ascending order, and the index among them of each element of x.

    Args: x: Tensor of any shape, any dtype.
    Returns: (values, inverse_indices): a vector, and int64 in the shape of x. Each NaN is distinct.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> [part.numpy().tolist() for part in numpy.unique_inverse([3, 1, 3])]
      [[1, 3], [1, 0, 1]]
    """
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: TensorLike) -> Tensor:
    """The distinct elements in ascending order; differentiable.

    Args: x: Tensor of any shape, any dtype.
    Returns: Vector of the dtype of x. Each NaN is distinct.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.unique_values([3, 1, 3]).numpy()
      array([1, 3])
    """
    flat, order, starts, _ = _groups(x)
    return array.gather(flat, array.gather(order, starts))


def _unique_slices(
    x: Tensor, axis: Array | Sequence[int] | Tensor | np.integer[Any] | int
) -> tuple[Any, Any, Any, Any]:
    """The results of `unique_all` for slices along an axis, in lexicographic order."""
    axis = normalize_axis("unique", axis, rank_of("unique", x))
    front = moveaxis(x, axis, 0)
    size = prod(known_sizes("unique", ranked(front.dims)[1:], f"the sizes of the axes other than {axis}"))
    slices = array.reshape(front, array.stack([array.shape(front)[0], size]))
    if size:
        order = lexsort(array.unstack(array.reverse(array.transpose(slices), [0])))
    else:  # slices without elements are all equal
        order = array.range(array.shape(front, dtypes.int64)[0])
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


@overload
def unique(
    ar: TensorLike, return_index: Literal[False] = False, return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False, axis: AxisLike = None, *, equal_nan: bool = True, sorted: bool = True
) -> Tensor: ...  # fmt: skip
@overload
def unique(
    ar: TensorLike, return_index: Literal[True], return_inverse: bool = False, return_counts: bool = False,
    axis: AxisLike = None, *, equal_nan: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]: ...  # fmt: skip
@overload
def unique(
    ar: TensorLike, return_index: bool = False, *, return_inverse: Literal[True], return_counts: bool = False,
    axis: AxisLike = None, equal_nan: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]: ...  # fmt: skip
@overload
def unique(
    ar: TensorLike, return_index: bool = False, return_inverse: bool = False, *, return_counts: Literal[True],
    axis: AxisLike = None, equal_nan: bool = True, sorted: bool = True
) -> tuple[Tensor, ...]: ...  # fmt: skip
@overload
def unique(
    ar: TensorLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: AxisLike = None,
    *, equal_nan: bool = True, sorted: bool = True
) -> Any: ...  # fmt: skip
@blaming
def unique(
    ar: TensorLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: AxisLike = None,
    *, equal_nan: bool = True, sorted: bool = True
) -> Tensor | tuple[Tensor, ...]:  # fmt: skip
    """The distinct elements in ascending order, all NaN being equal, and optionally the other results of `unique_all`.

    Args:
      ar: Tensor of any shape, any dtype.
      return_index: Whether to return the index of the first occurrence of each.
      return_inverse: Whether to return the index among them of each element of `ar`.
      return_counts: Whether to return the number of occurrences of each.
      axis: The axis whose slices are compared as wholes, of known sizes; None compares elements.
      equal_nan: Whether NaN is equal to NaN.
      sorted: Accepted for compatibility; the elements always ascend.
    Returns: Vector of the dtype of `ar`, or tensor with fewer slices, differentiable; a tuple with int64 tensors if more is
      requested.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or the size of a slice is not known while tracing.
    Example:
      >>> numpy.unique([3, 1, 3, 2]).numpy()
      array([1, 2, 3])
    """
    if axis is not None:
        x, asked = tensor_of(ar), (return_index, return_inverse, return_counts)
        if rank_of("unique", x) == 1:
            normalize_axis("unique", axis, 1)
            return _parts_of(x, asked, equal_nan)
        values, *rest = _unique_slices(x, axis)
        more = [part for part, is_asked in zip(rest, asked, strict=True) if is_asked]
        return (values, *more) if more else values
    return _parts_of(tensor_of(ar), (return_index, return_inverse, return_counts), equal_nan)


def _parts_of(x: Tensor, asked: tuple[bool, ...], equal_nan: bool) -> Tensor | tuple[Tensor, ...]:
    """The distinct elements, and the parts of `unique_all` that are asked for."""
    found = unique_all(x)
    if equal_nan and x.dtype.is_differentiable:
        found = _one_nan(found)
    parts = [part for part, is_wanted in zip(found, (True, *asked), strict=True) if is_wanted]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _one_nan(found: UniqueAll) -> UniqueAll:
    nan = math.not_equal(found.values, found.values)  # a complex number is NaN by either part
    kept = array.reshape(math.where(math.logical_or(math.logical_not(nan), _is_first(nan))), [-1])
    last = math.cast(array.shape(kept)[0], dtypes.int64) - lift(np.int64(1))
    many = math.reduce_sum(math.where(nan, found.counts, array.zeros_like(found.counts)))
    values, indices, counts = (
        array.gather(part, kept) for part in (found.values, found.indices, found.counts)
    )
    counts = math.where(math.not_equal(values, values), many, counts)
    return UniqueAll(values, indices, math.minimum(found.inverse_indices, last), counts)


def _is_first(mask: Tensor) -> Tensor:
    return math.equal(math.cumsum(math.cast(mask, dtypes.int64)), lift(np.int64(1)))


@blaming
def _numbered(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    """Both operands as they are, or as integers that are equal where complex elements are, in the order that sorts these."""
    if not x.dtype.is_complex:
        return x, y
    place = ravel(unique_inverse(concat([ravel(x), ravel(y)])).inverse_indices)
    size = array.size(x)
    return array.reshape(place[:size], array.shape(x)), array.reshape(place[size:], array.shape(y))


def isin(
    element: TensorLike,
    test_elements: TensorLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Which elements are in another tensor.

    Args:
      element: Tensor of any shape and dtype.
      test_elements: The other tensor, of any shape.
      assume_unique, kind: Accepted for compatibility; the result is the same.
      invert: Whether to return which elements are not.
    Returns: Bool tensor of the shape of `element`.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.isin([1, 2, 3], [3, 1]).numpy()
      array([ True, False,  True])
    """
    element, others = promoted(element, test_elements)
    found = None if element.dtype.is_complex else directly(np.isin, element, others, invert=invert)
    if found is not None:
        return found
    element, others = _numbered(element, others)
    others = sort(ravel(others))
    if others.dims == (0,):
        found = array.zeros_like(element, dtypes.bool_)
    else:
        place = searchsorted(others, element)
        is_before_end = math.less(place, math.cast(array.shape(others)[0], dtypes.int64))
        others = array.concat([others, array.zeros([1], others.dtype)], 0)  # there may be none
        found = math.logical_and(is_before_end, math.equal(array.gather(others, place), element))
    return math.logical_not(found) if invert else found


def union1d(ar1: TensorLike, ar2: TensorLike) -> Tensor:
    """The distinct elements of two tensors, in ascending order.

    Args: ar1, ar2: Tensors of any shapes and dtypes; the dtypes are promoted.
    Returns: Vector of that dtype.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.union1d([3, 1], [2, 3]).numpy()
      array([1, 2, 3])
    """
    found: Tensor = unique(concat([ravel(ar1), ravel(ar2)]))
    return found


@overload
def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: Literal[False] = False
) -> Tensor: ...
@overload
def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, *, return_indices: Literal[True]
) -> tuple[Tensor, Tensor, Tensor]: ...
@blaming
def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: bool = False
) -> Tensor | tuple[Tensor, Tensor, Tensor]:
    """The distinct elements that are in both of two tensors, in ascending order, and optionally the indices of their first
    occurrences.

    Args:
      ar1, ar2: Tensors of any shapes and dtypes; the dtypes are promoted.
      assume_unique: Accepted for compatibility.
      return_indices: Whether to return the indices of the first occurrences in each tensor.
    Returns: Vector of that dtype; with `return_indices` a tuple of it and two int64 vectors.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
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
    where_second = array.gather(second.indices, searchsorted(*_numbered(b, values)))
    return values, array.gather(first.indices, chosen), where_second


def setdiff1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The distinct elements of the first tensor that are not in the second, in ascending order unless `assume_unique`.

    Args:
      ar1, ar2: Tensors of any shapes and dtypes.
      assume_unique: Whether the elements of `ar1` are distinct, so that they are taken as they stand, in their order.
    Returns: Vector of the dtype of `ar1`.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.setdiff1d([3, 1, 2], [2, 3]).numpy()
      array([1])
    """
    values: Tensor = ravel(ar1) if assume_unique else unique(ar1)
    return array.gather(values, flatnonzero(isin(values, ar2, invert=True)))


def setxor1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The distinct elements that are in exactly one of two tensors, in ascending order.

    Args:
      ar1, ar2: Tensors of any shapes and dtypes; the dtypes are promoted.
      assume_unique: Accepted for compatibility.
    Returns: Vector of that dtype.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.setxor1d([3, 1], [2, 3]).numpy()
      array([1, 2])
    """
    ar1, ar2 = tensor_of(ar1), tensor_of(ar2)
    if ar1.dtype is ar2.dtype and _have_one_form(ar1, ar2):
        found = directly(np.setxor1d, ar1, ar2)
        if found is not None:
            return found
    return union1d(setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))
