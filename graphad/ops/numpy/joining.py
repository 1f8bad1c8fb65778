"""Joining, splitting, padding, and inserting or deleting elements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.convert import stands_for_tensor
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, UnsupportedOptionError
from graphad.core.refusal import refuse
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.sorting import sorted_along
from graphad.ops.array.support import static_array
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


def _together(arrays: TensorLike, dtype: DTypeLike | None) -> list[Any]:
    xs = promoted(*_parts(arrays))
    return xs if dtype is None else [cast_to(x, default_dtype(dtype)) for x in xs]


def _widths(given: object, rank: int) -> np.ndarray:
    return np.broadcast_to(np.asarray(given, np.int64), (rank, 2))


def _parts(arrays: Any) -> list[Any]:
    if stands_for_tensor(arrays):
        return array.unstack(arrays)
    if not isinstance(arrays, Iterable):
        raise ArgumentTypeError(f"numpy: a list of tensors is needed, got a {type(arrays).__name__}.")
    found = list(arrays)
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
    known = static_array(given)
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
    return _cut(ary, np.cumsum([each + (k < longer) for k in range(count)])[:-1].tolist(), axis)


def hsplit(ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike) -> list[Tensor]:
    """`split` along axis 1, or along axis 0 for vectors.

    Args:
      ary: Tensor of rank 1 or more, any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the size is not a multiple of the number of parts.
    """
    ary = tensor_of(ary)
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike) -> list[Tensor]:
    """`split` along axis 0.

    Args:
      ary: Tensor [size, ...], any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the size is not a multiple of the number of parts.
    """
    return split(ary, indices_or_sections, 0)


def dsplit(ary: TensorLike, indices_or_sections: int | Sequence[int] | TensorLike) -> list[Tensor]:
    """`split` along axis 2.

    Args:
      ary: Tensor of rank 3 or more, any dtype.
      indices_or_sections: The number of parts, or the indices at which the second and later parts begin.
    Returns: A list of tensors of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is below 3, or the size is not a multiple of the number of parts.
    """
    return split(ary, indices_or_sections, 2)


# The statistic of each mode; the mean and the median have no function of the same dtype.
_SUMMARIES = {"maximum": "reduce_max", "minimum": "reduce_min", "mean": "", "median": ""}
_MODES = {"constant": "CONSTANT", "reflect": "REFLECT", "symmetric": "SYMMETRIC"}


_FEW = 16  # the most copies of an edge that are concatenated as slices


def _around(x: Tensor, axis: int, size: int, low: int, high: int, wraps: bool) -> list[Any]:
    """Parts concatenated along an axis, with padding before and after."""
    if wraps:
        before, behind = [x[along(axis, slice(size - low, None))]], [x[along(axis, slice(0, high))]]
    else:
        before, behind = [x[along(axis, slice(0, 1))]] * low, [x[along(axis, slice(size - 1, None))]] * high
    return [*(before if low else ()), x, *(behind if high else ())]


def pad(array: TensorLike, pad_width: TensorLike, mode: str = "constant", **kwargs: Any) -> Tensor:
    """A tensor padded along its axes.

    Args:
      array: Tensor of any shape and dtype.
      pad_width: The numbers of elements before and after each axis: a number, a pair, a pair for each axis, or a dict of these
        by axis.
      mode: "constant" (with constant_values=, one number), "edge", "reflect", "symmetric", "wrap", "empty" (zeros),
        "linear_ramp" (with end_values=, one number), or "maximum", "mean", "median", "minimum" of the axis.
      kwargs: `constant_values` or `end_values`, 0 by default.
    Returns: Tensor of the same dtype. The gradient of an element is the sum over all of its copies.
    Raises: UnsupportedOptionError (a ValueError): another mode or option; InvalidArgumentError (a ValueError): the mode
      needs a size that is not known while tracing.
    Example:
      >>> numpy.pad([1, 2], 1).numpy()
      array([0, 1, 2, 0])
    """
    return _padded(tensor_of(array), pad_width, mode, kwargs)


def _padded(x: Tensor, pad_width: Any, mode: str, kwargs: dict[str, Any]) -> Tensor:
    rank = rank_of("pad", x)
    if isinstance(pad_width, dict):
        pad_width = [np.broadcast_to(pad_width.get(k, pad_width.get(k - rank)) or 0, 2) for k in range(rank)]
    widths: Any = by_numpy("pad", _widths, pad_width, rank)
    value = kwargs.pop({"constant": "constant_values", "linear_ramp": "end_values"}.get(mode, ""), 0)
    if kwargs:
        raise UnsupportedOptionError(f"pad: {', '.join(sorted(kwargs))} with mode {mode!r} is not supported.")
    if mode in ("constant", "empty"):
        return array.pad(x, widths.tolist(), constant_values=cast_to(tensor_of(value), x.dtype))
    if mode in _MODES and all(_fits(ranked(x.dims)[k], max(widths[k]), mode) for k in range(rank)):
        return array.pad(x, widths.tolist(), _MODES[mode])
    if mode == "linear_ramp" or mode in _SUMMARIES:
        for k in range(rank):
            x = _extended(x, k, widths[k].tolist(), mode, value)
        return x
    if mode not in ("edge", "wrap", *_MODES):
        known = ", ".join(sorted(("constant", "edge", "empty", "linear_ramp", "wrap", *_MODES, *_SUMMARIES)))
        raise UnsupportedOptionError(f"pad: mode {mode!r} is not supported; {known} are.")
    found = directly(np.pad, x, pad_width=widths, mode=mode)
    if found is not None:
        return found
    for k in range(rank):
        size = ranked(x.dims)[k]
        if not isinstance(size, int):
            raise InvalidArgumentError(
                f"pad: mode {mode!r} needs the size of axis {k}, which is not known while tracing."
            )
        low, high = (int(n) for n in widths[k])
        if not low and not high:
            continue
        if (
            mode in ("edge", "wrap")
            and max(low, high) <= (size if mode == "wrap" else _FEW)
            and size
            and low >= 0
            and high >= 0
        ):
            x = array.concat(_around(x, k, size, low, high, mode == "wrap"), k)
            continue
        places = by_numpy("pad", np.pad, np.arange(size), widths[k], mode)
        x = array.gather(x, places, axis=k)
    return x


def _extended(x: Tensor, axis: int, widths: list[int], mode: str, end: Any) -> Tensor:
    """x with more elements before and after along an axis, whose size is at least 1."""
    parts = [x]
    for side, width in enumerate(widths):
        if mode == "linear_ramp":
            edge = x[along(axis, slice(-1, None) if side else slice(0, 1))]
            steps = np.arange(width)[::-1] if side else np.arange(width)
            wide = edge if edge.dtype.is_differentiable else math.cast(edge, dtypes.float64)
            share = cast_to(tensor_of(steps / max(width, 1)), wide.dtype)
            share = array.reshape(share, [-1] + [1] * (rank_of("pad", x) - 1 - axis))
            start = cast_to(tensor_of(end), wide.dtype)
            part = start + (wide - start) * share
            if part.dtype is not x.dtype:
                part = math.cast(part, x.dtype)
        else:
            part = array.repeat(_summary(x, axis, mode), width, axis)
        parts.insert(len(parts) if side else 0, part)
    return array.concat(parts, axis)


def _summary(x: Tensor, axis: int, mode: str) -> Tensor:
    name = _SUMMARIES[mode]
    if name:
        return cast_to(getattr(math, name)(x, axis, keepdims=True), x.dtype)
    wide = x if x.dtype.is_differentiable else math.cast(x, dtypes.float64)
    if mode == "mean":
        found = math.reduce_mean(wide, axis, keepdims=True)
    else:
        ordered = sorted_along(wide, axis, False, dtypes.int64)
        size = array.shape(wide)[axis]
        middle = [array.gather(ordered, place, axis=axis) for place in ((size - 1) // 2, size // 2)]
        found = array.expand_dims((middle[0] + middle[1]) / 2, axis)
    return found if wide is x else math.cast(math.round(found), x.dtype)


def _fits(size: Any, most: int, mode: str) -> bool:
    return not isinstance(size, int) or most < size + (mode == "symmetric")


def delete(arr: TensorLike, obj: int | slice | TensorLike, axis: int | None = None) -> Tensor:
    """The slices along an axis except those at `obj`.

    Args:
      arr: Tensor of any shape and dtype, the size of the axis known.
      obj: The indices to remove: an int, a slice, a list of ints or a mask.
      axis: The axis; by default all elements are one vector.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `obj` is a tensor, the size is not known while tracing, or the axis is out of
      range; IndexError: an index is out of range.
    Example:
      >>> numpy.delete([1, 2, 3], 1).numpy()
      array([1, 3])
    """
    arr = tensor_of(arr)
    found = None if stands_for_tensor(obj) else directly(np.delete, arr, obj=obj, axis=axis)
    if found is not None:
        return found
    arr, axis = on_axis(arr, axis)
    axis = normalize_axis("delete", axis, rank_of("delete", arr))
    size = arr.shape[axis]
    if size is None or stands_for_tensor(obj):
        raise InvalidArgumentError("delete: the size of the axis and the indices must be known; use a mask.")
    if type(obj) is int and -size <= obj < size:
        place = obj % size
        parts = [arr[along(axis, slice(None, place))], arr[along(axis, slice(place + 1, None))]]
        return array.concat(parts, axis)
    return array.gather(arr, by_numpy("delete", np.delete, np.arange(size), obj), axis=axis)


def insert(
    arr: TensorLike, obj: int | slice | TensorLike, values: TensorLike, axis: int | None = None
) -> Tensor:
    """`values` inserted before the index `obj`, an int, along an axis.

    Args:
      arr: Tensor of any shape and dtype.
      obj: The index, an int.
      values: The inserted values, cast to the dtype of `arr`: a tensor with the other sizes of `arr`, or one that broadcasts to
        a slice.
      axis: The axis; by default all elements are one vector.
    Returns: Tensor of the dtype of `arr`.
    Raises: InvalidArgumentError (a ValueError): `obj` is not an int, the axis is out of range, or sizes do not fit.
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
    if not hasattr(obj, "__index__"):
        raise InvalidArgumentError(f"insert: obj is {obj!r}; give an int, or use concatenate.")
    values = cast_to(tensor_of(values), arr.dtype)
    sizes = array.shape(arr)
    if rank_of("insert", values) < rank:
        values = moveaxis(atleast_1d(values), 0, -1) if values.ndim == 0 else values
        values = array.expand_dims(values, axis) if rank > 1 else values
    count = dims_of("insert", values)[axis] if values.ndim == rank else 1
    values = array.broadcast_to(values, [count if k == axis else sizes[k] for k in range(rank)])
    return array.concat(
        [arr[along(axis, slice(None, obj))], values, arr[along(axis, slice(obj, None))]], axis
    )


def _inserted(arr: Any, value: Any, place: int, axis: int | None) -> Any:
    size = arr.size if axis is None else arr.shape[axis]
    return np.insert(arr, place, value, axis) if 0 <= place <= size else None


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
    return array.reshape(array.gather(a, np.arange(count) % max(int(a.shape[0] or 0), 1)), sizes)
