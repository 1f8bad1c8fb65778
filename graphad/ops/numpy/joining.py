"""Joining, splitting, padding, and inserting or deleting elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.errors import (
    ArgumentTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    ResourceExhaustedError,
)
from graphad.core.refusal import members, refuse
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.support import static_here
from graphad.ops.directly import alike_directly, directly
from graphad.ops.numpy.promotion import (
    NUMBERS,
    along,
    by_numpy,
    cast_to,
    dims_of,
    on_axis,
    promoted,
    rank_of,
    tensor_of,
)
from graphad.ops.numpy.shapes import atleast_1d, atleast_2d, atleast_3d, listed, moveaxis, ravel
from graphad.ops.numpy.types import default_dtype

_MOST_PARTS = 10_000_000


def _together(arrays: TensorLike, dtype: DTypeLike | None) -> list[Any]:
    xs = promoted(*_parts(arrays))
    return xs if dtype is None else [cast_to(x, default_dtype(dtype)) for x in xs]


def _parts(arrays: Any) -> list[Any]:
    if stands_for_tensor(arrays):
        return array.unstack(arrays)
    if not isinstance(arrays, Iterable):
        raise ArgumentTypeError(f"numpy: a list of tensors is needed, got a {type(arrays).__name__}.")
    found = members("numpy", "arrays", arrays, "give a list of tensors")
    if not found:
        raise InvalidArgumentError("numpy: there are no tensors; give at least one.")
    return found


def concat(arrays: TensorLike, /, axis: int | None = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors concatenated along an axis, or without an axis flattened first.

    Args:
      arrays: Tensors of one rank and of equal sizes except along the axis; a tensor stands for its slices along axis 0.
      axis: The axis; None flattens the tensors.
      dtype: The dtype; by default their promoted dtype.
    Returns: Tensor of that dtype.
    Raises: InvalidArgumentError (a ValueError): there are no tensors, ranks or sizes differ, or the axis is out of range.
    Example:
      >>> numpy.concat([[1, 2], [3.0]]).numpy()
      array([1., 2., 3.])
    """
    xs = _together(arrays, dtype)
    if axis is None:
        xs, axis = [array.reshape(x, [-1]) for x in xs], 0
    return array.concat(xs, axis)


def concatenate(arrays: TensorLike, /, axis: int | None = 0, *, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors concatenated along an axis, or without an axis flattened first: `concat`.

    Args:
      arrays: Tensors of one rank and of equal sizes except along the axis; a tensor stands for its slices along axis 0.
      axis: The axis; None flattens the tensors.
      dtype: The dtype; by default their promoted dtype.
    Returns: Tensor of that dtype.
    Raises: InvalidArgumentError (a ValueError): there are no tensors, ranks or sizes differ, or the axis is out of range.
    Example:
      >>> numpy.concatenate([[[1, 2]], [[3, 4]]], axis=1).numpy()
      array([[1, 2, 3, 4]])
    """
    return concat(arrays, axis, dtype)


def stack(arrays: TensorLike, axis: int = 0, *, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors of one shape along a new axis.

    Args:
      arrays: Tensors of one shape; a tensor stands for its slices along axis 0.
      axis: The position of the new axis in the result.
      dtype: The dtype; by default their promoted dtype.
    Returns: Tensor with one axis more, of that dtype.
    Raises: InvalidArgumentError (a ValueError): there are no tensors, shapes differ, or the axis is out of range.
    Example:
      >>> numpy.stack([[1, 2], [3, 4]], axis=1).numpy()
      array([[1, 3],
             [2, 4]])
    """
    return array.stack(_together(arrays, dtype), axis)


def vstack(tup: Iterable[TensorLike], *, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors concatenated along axis 0; vectors count as rows.

    Args:
      tup: Tensors of equal sizes except along axis 0.
      dtype: The dtype; by default their promoted dtype.
    Returns: Tensor of rank 2 or more, of that dtype.
    Raises: InvalidArgumentError (a ValueError): there are no tensors, or sizes differ.
    Example:
      >>> numpy.vstack([[1, 2], [3, 4]]).numpy()
      array([[1, 2],
             [3, 4]])
    """
    return concat([atleast_2d(x) for x in _parts(tup)], 0, dtype)


def hstack(tup: Iterable[TensorLike], *, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors concatenated along axis 1, or vectors along axis 0.

    Args:
      tup: Tensors of equal sizes except along that axis.
      dtype: The dtype; by default their promoted dtype.
    Returns: Tensor of that dtype.
    Raises: InvalidArgumentError (a ValueError): there are no tensors, or sizes differ.
    Example:
      >>> numpy.hstack([[1, 2], [3]]).numpy()
      array([1, 2, 3])
    """
    xs = [atleast_1d(x) for x in _parts(tup)]
    return concat(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype)


def dstack(tup: Iterable[TensorLike]) -> Tensor:
    """Tensors concatenated along axis 2.

    Args: tup: Tensors whose sizes after `atleast_3d` are equal except along axis 2.
    Returns: Tensor of rank 3 or more, of their promoted dtype.
    Raises: InvalidArgumentError (a ValueError): there are no tensors, or sizes differ.
    Example:
      >>> numpy.dstack([[1, 2], [3, 4]]).numpy().tolist()
      [[[1, 3], [2, 4]]]
    """
    return concat([atleast_3d(x) for x in _parts(tup)], 2)


def column_stack(tup: Iterable[TensorLike]) -> Tensor:
    """Vectors as columns, and matrices, concatenated along axis 1.

    Args: tup: Vectors [rows] and matrices [rows, columns].
    Returns: Tensor [rows, total columns] of their promoted dtype.
    Raises: InvalidArgumentError (a ValueError): there are no tensors, or numbers of rows differ.
    Example:
      >>> numpy.column_stack([[1, 2], [3, 4]]).numpy()
      array([[1, 3],
             [2, 4]])
    """
    xs = [atleast_1d(x) for x in _parts(tup)]
    found = alike_directly(np.column_stack, *xs)
    if found is not None:
        return found
    return concat([array.expand_dims(x, 1) if x.ndim == 1 else x for x in xs], 1)


def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """`values` appended to `arr` along an axis, or without an axis both flattened.

    Args:
      arr, values: Tensors of one rank and of equal sizes except along the axis.
      axis: The axis; by default all elements of both are one vector.
    Returns: A new tensor of their promoted dtype.
    Raises: InvalidArgumentError (a ValueError): ranks or sizes differ, or the axis is out of range.
    Example:
      >>> numpy.append([1, 2], [3]).numpy()
      array([1, 2, 3])
    """
    xs = [tensor_of(x) for x in (arr, values)]
    found = alike_directly(np.concatenate, *xs, axis=axis)
    if found is not None:
        return found
    return concat([arr, values], axis)


@blaming
def block(arrays: TensorLike) -> Tensor:
    """Tensors assembled from nested lists of blocks: the innermost lists are concatenated along the last axis.

    Args: arrays: Nested lists of tensors of any dtypes whose sizes fit.
    Returns: Tensor of their promoted dtype.
    Raises: InvalidArgumentError (a ValueError): sizes do not fit.
    Example:
      >>> numpy.block([[numpy.ones([1, 1]), numpy.zeros([1, 2])]]).numpy()
      array([[1., 0., 0.]])
    """

    def depth(x: TensorLike) -> int:
        if isinstance(x, list) and not x:
            raise InvalidArgumentError("block: a list of blocks is empty.")
        return 1 + max(map(depth, x)) if isinstance(x, list) else 0

    def put(x: TensorLike, left: int) -> Tensor:
        if not isinstance(x, list):
            y = tensor_of(x)
            while rank_of("block", y) < rank:
                y = array.expand_dims(y, 0)
            return y
        return concat([put(item, left - 1) for item in x], axis=-left)

    def largest(x: TensorLike) -> int:
        return max(map(largest, x)) if isinstance(x, list) else rank_of("block", tensor_of(x))

    def plain(x: TensorLike) -> Any:
        return [plain(item) for item in x] if isinstance(x, list) else tensor_of(x)

    def again(x: TensorLike, data: Iterator[Any]) -> Any:
        return [again(item, data) for item in x] if isinstance(x, list) else next(data)

    def leaves(x: TensorLike) -> list[Any]:
        return [leaf for item in x for leaf in leaves(item)] if isinstance(x, list) else [x]

    arrays = plain(arrays)
    given = leaves(arrays)
    found = alike_directly(lambda xs: np.block(again(arrays, iter(xs))), *given)
    if found is not None:
        return found
    levels = depth(arrays)
    rank = max(largest(arrays), levels)
    return put(arrays, levels)


def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis.

    Args:
      x: Tensor [..., size, ...], any dtype, its size known.
      axis: The axis.
    Returns: A tuple of `size` tensors without the axis, of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or its size is not known while tracing.
    Example:
      >>> [x.numpy().tolist() for x in numpy.unstack([[1, 2], [3, 4]])]
      [[1, 2], [3, 4]]
    """
    return tuple(array.unstack(tensor_of(x), axis=axis))


def split(
    ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike, axis: int = 0
) -> list[Tensor]:
    """Parts along an axis: a number of equal parts, or parts that end before given indices.

    Args:
      ary: Tensor [..., size, ...], any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
      axis: The axis.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the size is not a multiple of the number of parts, or the axis is out of
      range.
    Example:
      >>> [x.numpy().tolist() for x in numpy.split([1, 2, 3, 4, 5], [2, 4])]
      [[1, 2], [3, 4], [5]]
    """
    ary = tensor_of(ary)
    known = _places("split", indices_or_sections)
    return _cut(ary, known, axis) if isinstance(known, list) else array.split(ary, known, axis)


def _places(op: str, given: object) -> Any:
    """The number of parts, an int, or the indices at which they begin, a list. Raises: ArgumentTypeError: it is neither."""
    known = static_here(given)
    if known is None or known.ndim > 1 or (known.size and known.dtype.kind not in "iu"):
        shown = " ".join(repr(given).split())
        raise ArgumentTypeError(
            f"{op}: indices_or_sections must be an integer or a list of them, got {shown[:60]}."
        )
    return known.tolist()


def _cut(ary: Tensor, places: Sequence[Any], axis: int) -> list[Tensor]:
    axis = normalize_axis("split", axis, rank_of("split", ary))
    ends = [None, *(int(place) for place in places), None]
    return [ary[along(axis, slice(start, stop))] for start, stop in pairwise(ends)]


@blaming
def array_split(
    ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike, axis: int = 0
) -> list[Tensor]:
    """`split` in which the first parts may be longer by one.

    Args:
      ary: Tensor [..., size, ...], any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
      axis: The axis.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the size is not known while tracing, or the axis is out of range.
    Example:
      >>> [x.numpy().tolist() for x in numpy.array_split([1, 2, 3], 2)]
      [[1, 2], [3]]
    """
    ary = tensor_of(ary)
    count = _places("array_split", indices_or_sections)
    if isinstance(count, list):
        return _cut(ary, count, axis)
    if count < 1:
        raise InvalidArgumentError(f"array_split: {count} parts were requested; 1 or more are needed.")
    size = ary.shape[axis]
    if size is None:
        raise InvalidArgumentError(
            "array_split: the size of the axis must be known while tracing; give indices."
        )
    longer, each = size % count, size // count
    if count > max(_MOST_PARTS, size):
        raise ResourceExhaustedError(
            f"array_split: {count} parts were requested, more than there is memory for."
        )
    return _cut(ary, np.cumsum([each + (k < longer) for k in range(count)])[:-1].tolist(), axis)


def hsplit(ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike) -> list[Tensor]:
    """`split` along axis 1, or along axis 0 for vectors.

    Args:
      ary: Tensor of rank 1 or more, any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the size is not a multiple of the number of parts.
    """
    ary = _of_rank("hsplit", ary, 1)
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def _of_rank(name: str, ary: TensorLike, least: int) -> Tensor:
    ary = tensor_of(ary)
    if rank_of(name, ary) < least:
        raise InvalidArgumentError(f"{name}: ary has rank {ary.ndim}; it must be {least} or more.")
    return ary


def vsplit(ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike) -> list[Tensor]:
    """`split` along axis 0.

    Args:
      ary: Tensor [size, ...] of rank 2 or more, any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is below 2, or the size is not a multiple of the number of parts.
    """
    return split(_of_rank("vsplit", ary, 2), indices_or_sections, 0)


def dsplit(ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike) -> list[Tensor]:
    """`split` along axis 2.

    Args:
      ary: Tensor of rank 3 or more, any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is below 3, or the size is not a multiple of the number of parts.
    """
    return split(_of_rank("dsplit", ary, 3), indices_or_sections, 2)


def delete(arr: TensorLike, obj: int | slice | TensorLike, axis: int | None = None) -> Tensor:
    """The slices along an axis except those at `obj`.

    Args:
      arr: Tensor of any shape and dtype, the size of the axis known.
      obj: The indices to remove: an int, a slice, or a list of ints or a mask, also as a tensor whose values are known.
      axis: The axis; by default all elements are one vector.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `obj` or the size is not known while tracing, or the axis is out of range;
      IndexError: an index is out of range.
    Example:
      >>> numpy.delete([1, 2, 3], 1).numpy()
      array([1, 3])
    """
    arr = tensor_of(arr)
    if stands_for_tensor(obj):
        obj = static_here(obj)
    found = None if obj is None else directly(np.delete, arr, obj=obj, axis=axis)
    if found is not None:
        return found
    arr, axis = on_axis(arr, axis)
    axis = normalize_axis("delete", axis, rank_of("delete", arr))
    size = arr.shape[axis]
    if size is None or obj is None:
        raise InvalidArgumentError("delete: the size of the axis and the indices must be known; use a mask.")
    if type(obj) is int and -size <= obj < size:
        place = obj % size
        parts = [arr[along(axis, slice(None, place))], arr[along(axis, slice(place + 1, None))]]
        return array.concat(parts, axis)
    return array.gather(arr, by_numpy("delete", np.delete, np.arange(size), obj), axis=axis)


def insert(
    arr: TensorLike, obj: int | slice | TensorLike, values: TensorLike, axis: int | None = None
) -> Tensor:
    """`values` inserted before the index `obj`, or before several, along an axis.

    Args:
      arr: Tensor of any shape and dtype.
      obj: The index, an int; or a slice, or a list of ints or a mask, also as a tensor whose values are known.
      values: The inserted values, cast to the dtype of `arr`: for one int `obj` a tensor whose first axis, if it
        has all of them, is moved to `axis`; else one that broadcasts to a slice for each index.
      axis: The axis; by default all elements are one vector.
    Returns: Tensor of the dtype of `arr`.
    Raises: InvalidArgumentError (a ValueError): `obj`, or with several indices the size, is not known while tracing, the axis is
      out of range, or sizes do not fit; OutOfRangeError (an IndexError): an index is out of range.
    Example:
      >>> numpy.insert([1, 2, 3], 1, 9).numpy()
      array([1, 9, 2, 3])
    """
    arr = tensor_of(arr)
    if type(obj) is int and type(values) in NUMBERS:
        found = directly(_inserted, arr, cast_to(tensor_of(values), arr.dtype), place=obj, axis=axis)
        if found is not None:
            return found
    arr, axis = on_axis(arr, axis)
    rank = rank_of("insert", arr)
    axis = normalize_axis("insert", axis, rank)
    values = cast_to(tensor_of(values), arr.dtype)
    sizes = array.shape(arr)
    size = ranked(arr.dims)[axis]
    if isinstance(obj, bool | np.bool_) or not hasattr(obj, "__index__") or getattr(obj, "ndim", 0) != 0:
        return _inserted_at(arr, _indices(obj, size), values, axis)
    if isinstance(obj, Tensor):
        obj = _indices(obj, size)[0]
    if isinstance(obj, int | np.integer) and isinstance(size, int):
        if not -size <= obj <= size:
            raise OutOfRangeError(f"insert: index {obj} is out of range for axis {axis} of size {size}.")
        obj = int(obj) % size if obj < 0 else int(obj)
    for _ in range(rank - rank_of("insert", values)):
        values = array.expand_dims(values, 0)
    # For a single index, NumPy takes the first axis of the values for the axis of insertion.
    values = moveaxis(values, 0, axis)
    count = dims_of("insert", values)[axis]
    values = array.broadcast_to(values, [count if k == axis else sizes[k] for k in range(rank)])
    return array.concat(
        [arr[along(axis, slice(None, obj))], values, arr[along(axis, slice(obj, None))]], axis
    )


def _indices(obj: Any, size: Any) -> list[int]:
    """Indices of an axis, from 0 to its size. Raises: InvalidArgumentError: they or the size are not known; OutOfRangeError."""
    if not isinstance(size, int):
        raise InvalidArgumentError(
            "insert: the size of the axis must be known while tracing; use concatenate."
        )
    if isinstance(obj, slice):
        return list(range(*obj.indices(size)))
    known = static_here(obj)
    if known is None:
        raise InvalidArgumentError("insert: the indices must be known while tracing; use concatenate.")
    known = np.flatnonzero(known) if known.dtype.kind == "b" else known.reshape(-1)
    if known.size and known.dtype.kind not in "iu":
        raise InvalidArgumentError(f"insert: obj has dtype {known.dtype}; give ints, a slice or a mask.")
    found = [int(k) for k in known]
    for k in found:
        if not -size <= k <= size:
            raise OutOfRangeError(f"insert: index {k} is out of range for an axis of size {size}.")
    return [k % size if k < 0 else k for k in found]


def _inserted_at(arr: Any, places: list[int], values: Any, axis: int) -> Tensor:
    """One of the values before each of the places; all of them before a single one."""
    rank, size = rank_of("insert", arr), dims_of("insert", arr)[axis]
    for _ in range(rank - rank_of("insert", values)):
        values = array.expand_dims(values, 0)
    if len(places) == 1:
        places = places * (dims_of("insert", values)[axis] or 1)
    sizes = array.shape(arr)
    values = array.broadcast_to(values, [len(places) if k == axis else sizes[k] for k in range(rank)])
    # A value comes before the element of its index, so it is sorted by its index less a half.
    order = np.argsort(np.array([*range(size), *[place - 0.5 for place in places]]), kind="stable")
    return array.gather(array.concat([arr, values], axis), order, axis=axis)


def _inserted(arr: Any, value: Any, place: int, axis: int | None) -> Any:
    size = arr.size if axis is None else arr.shape[axis]
    return np.insert(arr, place, value, axis) if 0 <= place <= size else None


@blaming
def resize(a: TensorLike, new_shape: ShapeLike) -> Tensor:
    """The elements in another shape, repeated as often as needed.

    Args:
      a: Tensor of any shape and dtype.
      new_shape: The sizes.
    Returns: Tensor of that shape and of the same dtype; the gradient of an element is the sum over its copies.
    Raises: ArgumentTypeError (a TypeError): a size is not an int.
    Example:
      >>> numpy.resize([1, 2, 3], [2, 2]).numpy()
      array([[1, 2],
             [3, 1]])
    """
    a = ravel(a)
    sizes = listed(new_shape)
    try:
        count = int(np.prod(sizes))
    except (TypeError, ValueError, OverflowError) as cause:
        refuse(
            cause, "resize", "new_shape", new_shape, "an integer or a list of integers is needed, the sizes"
        )
    size = ranked(a.dims)[0]
    if size == 0:
        # NumPy fills with zeros where there is nothing to repeat.
        return array.fill(sizes, cast_to(0, a.dtype))
    places: Any = np.arange(count)
    if isinstance(size, int):
        return array.reshape(array.gather(a, places % size), sizes)
    one = lift(np.int64(1))
    places = math.mod(lift(places), math.maximum(math.cast(array.shape(a)[0], one.dtype), one))
    a = array.concat([a, array.zeros([1], a.dtype)], 0)  # a zero, which is read if `a` is empty
    return array.reshape(array.gather(a, places), sizes)
