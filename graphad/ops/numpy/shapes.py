"""Tensors in other shapes: axes moved, joined, split, repeated, turned round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, DTypeLike, ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import stands_for_tensor
from graphad.core.errors import InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.create import IDENTITY
from graphad.ops.array.static import broadcast_dynamic_shape
from graphad.ops.linalg import diagonals
from graphad.ops.numpy.promotion import along, cast_to, on_axis, promoted, rank_of, tensor_of
from graphad.ops.numpy.types import default_dtype


def _listed(x: Any) -> list[Any]:
    return [x] if hasattr(x, "__index__") and not isinstance(x, Tensor) else list(x)


def reshape(
    x: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: bool | None = None
) -> Tensor:
    """The elements in another shape, one size of which may be -1; with order "F" the first index goes fastest."""
    x = tensor_of(x)
    sizes = newshape if shape is None else shape
    sizes = [sizes] if hasattr(sizes, "__index__") and not isinstance(sizes, Tensor) else sizes
    if order == "F":
        return array.transpose(array.reshape(array.transpose(x), list(sizes)[::-1]))
    if order not in ("C", "A"):
        raise InvalidArgumentError(f"reshape: order {order!r} is unknown; it is 'C' or 'F'.")
    return array.reshape(x, sizes)


def ravel(a: TensorLike, order: str = "C") -> Tensor:
    """All elements as one vector."""
    return reshape(a, [-1], order)


def transpose(a: Any, axes: Any = None) -> Tensor:
    """The axes in another order, reversed by default."""
    return array.transpose(tensor_of(a), axes)


def permute_dims(x: Any, /, axes: Any) -> Tensor:
    """The axes in another order."""
    return array.transpose(tensor_of(x), axes)


def matrix_transpose(x: TensorLike, /) -> Tensor:
    """The last two axes exchanged."""
    return array.matrix_transpose(tensor_of(x))


def swapaxes(a: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged."""
    a = tensor_of(a)
    order = list(range(rank_of("swapaxes", a)))
    first, second = (normalize_axis("swapaxes", axis, len(order)) for axis in (axis1, axis2))
    order[first], order[second] = order[second], order[first]
    return array.transpose(a, order)


def moveaxis(x: TensorLike, source: Any, destination: Any, /) -> Tensor:
    """Axes moved to other places; the others keep their order."""
    x = tensor_of(x)
    rank = rank_of("moveaxis", x)
    old = [normalize_axis("moveaxis", axis, rank) for axis in _listed(source)]
    new = [normalize_axis("moveaxis", axis, rank) for axis in _listed(destination)]
    if len(old) != len(new) or len(set(old)) != len(old) or len(set(new)) != len(new):
        raise InvalidArgumentError(
            f"moveaxis: source {source} and destination {destination} must be as many different axes."
        )
    order = [axis for axis in range(rank) if axis not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return array.transpose(x, order)


def rollaxis(a: TensorLike, axis: int, start: int = 0) -> Tensor:
    """An axis moved back until it stands before axis `start`."""
    a = tensor_of(a)
    rank = rank_of("rollaxis", a)
    axis = normalize_axis("rollaxis", axis, rank)
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def squeeze(x: Any, /, axis: Any = None) -> Tensor:
    """Axes of size 1 left out: those named, or all."""
    return array.squeeze(tensor_of(x), axis if axis is None or isinstance(axis, int) else list(axis))


def expand_dims(x: Any, /, axis: Any = 0) -> Tensor:
    """Axes of size 1 put in, at places of the result."""
    x = tensor_of(x)
    if hasattr(axis, "__index__"):
        return array.expand_dims(x, axis)
    rank = rank_of("expand_dims", x) + len(axis)
    places = sorted(normalize_axis("expand_dims", k, rank) for k in axis)
    if len(set(places)) != len(places):
        raise InvalidArgumentError(f"expand_dims: axis {tuple(axis)} names an axis twice.")
    for place in places:
        x = array.expand_dims(x, place)
    return x  # type: ignore[no-any-return]


def broadcast_to(x: TensorLike, /, shape: ShapeLike) -> Tensor:
    """x repeated along axes of size 1 and new axes in front."""
    return array.broadcast_to(tensor_of(x), [shape] if hasattr(shape, "__index__") else shape)


def broadcast_arrays(*arrays: TensorLike) -> list[Tensor]:
    """Tensors broadcast to the one shape that they have together."""
    xs = [tensor_of(x) for x in arrays]
    if not xs:
        return []
    if all(x.dims is not None and all(isinstance(size, int) for size in x.dims) for x in xs):
        try:
            common: Any = np.broadcast_shapes(*[ranked(x.dims) for x in xs])
        except ValueError as cause:
            shapes = ", ".join(str(x.dims) for x in xs)
            raise InvalidArgumentError(
                f"broadcast_arrays: shapes {shapes} do not broadcast together."
            ) from cause
    else:
        common = array.shape(xs[0])
        for x in xs[1:]:
            common = broadcast_dynamic_shape(common, array.shape(x))
    return [array.broadcast_to(x, common) for x in xs]


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that tensors of several shapes have together."""
    return np.broadcast_shapes(*shapes)


def atleast_1d(*arys: TensorLike) -> Any:
    """Tensors of rank 1 or more: of scalars, vectors of one element."""
    found = tuple([array.reshape(x, [1]) if x.ndim == 0 else x for x in map(tensor_of, arys)])
    return found[0] if len(found) == 1 else found


def atleast_2d(*arys: TensorLike) -> Any:
    """Tensors of rank 2 or more: vectors become rows."""
    found = tuple(
        [
            x if rank_of("atleast_2d", x) > 1 else array.expand_dims(atleast_1d(x), 0)
            for x in map(tensor_of, arys)
        ]
    )
    return found[0] if len(found) == 1 else found


def atleast_3d(*arys: TensorLike) -> Any:
    """Tensors of rank 3 or more: vectors get an axis on each side, matrices one behind."""
    found = tuple(
        [
            x if rank_of("atleast_3d", x) > 2 else array.expand_dims(atleast_2d(x), -1)
            for x in map(tensor_of, arys)
        ]
    )
    return found[0] if len(found) == 1 else found


def _together(arrays: TensorLike, dtype: DTypeLike | None) -> list[Any]:
    xs = promoted(*_parts(arrays))
    return xs if dtype is None else [cast_to(x, default_dtype(dtype)) for x in xs]


def _parts(arrays: Any) -> list[Any]:
    return array.unstack(arrays) if stands_for_tensor(arrays) else list(arrays)


def concat(arrays: TensorLike, /, axis: int | None = 0, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors one behind the other along an axis, or without one all their elements as one vector."""
    xs = _together(arrays, dtype)
    if axis is None:
        xs, axis = [array.reshape(x, [-1]) for x in xs], 0
    return array.concat(xs, axis)


def concatenate(arrays: TensorLike, /, axis: int | None = 0, *, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors one behind the other along an axis; see `concat`."""
    return concat(arrays, axis, dtype)


def stack(arrays: TensorLike, /, axis: int = 0, *, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors of one shape along a new axis."""
    return array.stack(_together(arrays, dtype), axis)


def vstack(tup: Iterable[TensorLike], *, dtype: DTypeLike | None = None) -> Tensor:
    """Rows one below the other: vectors count as one row."""
    return concat([atleast_2d(x) for x in _parts(tup)], 0, dtype)


def hstack(tup: Iterable[TensorLike], *, dtype: DTypeLike | None = None) -> Tensor:
    """Tensors side by side: along axis 1, vectors along axis 0."""
    xs = [atleast_1d(x) for x in _parts(tup)]
    return concat(xs, 0 if xs and xs[0].ndim == 1 else 1, dtype)


def dstack(tup: Iterable[TensorLike]) -> Tensor:
    """Tensors one behind the other along axis 2."""
    return concat([atleast_3d(x) for x in _parts(tup)], 2)


def column_stack(tup: Iterable[TensorLike]) -> Tensor:
    """Vectors as columns side by side; matrices stay as they are."""
    xs = [atleast_1d(x) for x in _parts(tup)]
    return concat([array.expand_dims(x, 1) if x.ndim == 1 else x for x in xs], 1)


def append(arr: TensorLike, values: TensorLike, axis: int | None = None) -> Tensor:
    """`values` behind `arr` along an axis, or both as one vector."""
    return concat([arr, values], axis)


def block(arrays: TensorLike) -> Tensor:
    """Tensors put together as nested lists lay them out: the innermost lists along the last axis."""

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

    levels = depth(arrays)
    rank = max(largest(arrays), levels)
    return put(arrays, levels)


def unstack(x: TensorLike, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """The slices along an axis."""
    return tuple(array.unstack(tensor_of(x), axis=axis))


def split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """Parts along an axis: as many of equal size, or those that end before each of some indices."""
    ary = tensor_of(ary)
    if hasattr(indices_or_sections, "__index__"):
        return array.split(ary, int(indices_or_sections), axis)
    return _cut(ary, list(np.asarray(indices_or_sections)), axis)


def _cut(ary: Any, places: Sequence[Any], axis: int) -> list[Tensor]:
    axis = normalize_axis("split", axis, rank_of("split", ary))
    ends = [None, *(int(place) for place in places), None]
    return [ary[along(axis, slice(start, stop))] for start, stop in pairwise(ends)]


def array_split(ary: TensorLike, indices_or_sections: Any, axis: int = 0) -> list[Tensor]:
    """`split`, where the first parts may be longer by one."""
    ary = tensor_of(ary)
    if not hasattr(indices_or_sections, "__index__"):
        return split(ary, indices_or_sections, axis)
    count = int(indices_or_sections)
    size = ary.shape[axis]
    if size is None:
        raise InvalidArgumentError(
            "array_split: the size of the axis must be known while tracing; give indices."
        )
    longer, each = size % count, size // count
    return _cut(ary, np.cumsum([each + (k < longer) for k in range(count)])[:-1].tolist(), axis)


def hsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`split` along axis 1, of vectors along axis 0."""
    ary = tensor_of(ary)
    return split(ary, indices_or_sections, 0 if ary.ndim == 1 else 1)


def vsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`split` along axis 0."""
    return split(ary, indices_or_sections, 0)


def dsplit(ary: TensorLike, indices_or_sections: Any) -> list[Tensor]:
    """`split` along axis 2."""
    return split(ary, indices_or_sections, 2)


def flip(x: TensorLike, /, axis: AxisLike = None) -> Tensor:
    """The elements in reverse order along axes, all by default."""
    x = tensor_of(x)
    rank = rank_of("flip", x)
    axes = [normalize_axis("flip", k, rank) for k in (range(rank) if axis is None else _listed(axis))]
    return array.reverse(x, axes) if axes else bind(IDENTITY, x)


def fliplr(m: TensorLike) -> Tensor:
    """The columns in reverse order."""
    return flip(m, 1)


def flipud(m: TensorLike) -> Tensor:
    """The rows in reverse order."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Tensor:
    """The plane of two axes turned by k quarters, from the first towards the second."""
    m = tensor_of(m)
    first, second = (normalize_axis("rot90", axis, rank_of("rot90", m)) for axis in axes)
    if k % 4 == 0:
        return bind(IDENTITY, m)
    if k % 4 == 2:
        return flip(m, (first, second))
    return flip(swapaxes(m, first, second), first) if k % 4 == 1 else swapaxes(flip(m, first), first, second)


def roll(x: Any, /, shift: Any, axis: Any = None) -> Tensor:
    """The elements moved on along axes, those that leave at the end come in at the start; without an axis as one vector."""
    x = tensor_of(x)
    if axis is None:
        return array.reshape(array.roll(array.reshape(x, [-1]), shift, 0), array.shape(x))
    if not hasattr(axis, "__len__"):
        return array.roll(x, shift, axis)
    shifts = shift if isinstance(shift, Tensor) or hasattr(shift, "__len__") else [shift] * len(axis)
    return (
        array.roll(x, list(shifts) if isinstance(shifts, tuple) else shifts, list(axis))
        if len(axis)
        else bind(IDENTITY, x)
    )


def tile(x: TensorLike, reps: TensorLike, /) -> Tensor:
    """x repeated along its axes; with more repetitions than axes, new ones in front."""
    x = tensor_of(x)
    counts = reps if isinstance(reps, Tensor) else _listed(reps)
    if isinstance(counts, Tensor):
        return array.tile(x, counts)
    missing = rank_of("tile", x) - len(counts)
    for _ in range(-missing):
        x = array.expand_dims(x, 0)
    return array.tile(x, [1] * missing + counts)


def repeat(x: TensorLike, repeats: Any, /, *args: Any, axis: int | None = None) -> Tensor:
    """Each element, or slice along an axis, as often as `repeats` says; without an axis of all elements as one vector."""
    return array.repeat(tensor_of(x), repeats, *(args or (axis,)))


def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A diagonal over two axes, which becomes the last axis."""
    a = tensor_of(a)
    rank = rank_of("diagonal", a)
    pair = [normalize_axis("diagonal", axis, rank) for axis in (axis1, axis2)]
    a = array.transpose(a, [axis for axis in range(rank) if axis not in pair] + pair)
    return diagonals.diag_part(a, k=offset) if _reaches(a, offset) else a[..., 0, :0]


def _reaches(a: Any, offset: int) -> bool:
    rows, columns = a.dims[-2:]
    return not (isinstance(rows, int) and isinstance(columns, int)) or -rows < offset < columns


def diag(v: TensorLike, k: int = 0) -> Tensor:
    """Of a vector, a matrix with it as diagonal `k`; of a matrix, that diagonal."""
    v = tensor_of(v)
    rank = rank_of("diag", v)
    if rank not in (1, 2):
        raise InvalidArgumentError(f"diag: v has rank {rank}; it is a vector or a matrix.")
    if rank == 2:
        return diagonal(v, k)
    if v.dtype.is_bool:
        return math.not_equal(diag(math.cast(v, np.uint8), k), cast_to(0, default_dtype("uint8")))
    return diagonals.diag(v, k=k)


def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """A matrix with all elements as diagonal `k`."""
    return diag(ravel(v), k)


_MODES = {"constant": "CONSTANT", "reflect": "REFLECT", "symmetric": "SYMMETRIC"}


def pad(array_: Any, pad_width: Any, mode: str = "constant", **kwargs: Any) -> Tensor:
    """A tensor with more elements around it.

    Args:
      array_: Tensor.
      pad_width: How many before and behind each axis: a number, a pair, or a pair for each axis.
      mode: "constant" (with constant_values=, one number), "edge", "reflect", "symmetric" or "wrap".
    """
    x = tensor_of(array_)
    rank = rank_of("pad", x)
    if isinstance(pad_width, dict):
        pad_width = [np.broadcast_to(pad_width.get(k, pad_width.get(k - rank)) or 0, 2) for k in range(rank)]
    widths: Any = np.broadcast_to(np.asarray(pad_width, np.int64), (rank, 2))
    value = kwargs.pop("constant_values", 0) if mode == "constant" else 0
    if kwargs:
        raise UnsupportedOptionError(f"pad: {', '.join(sorted(kwargs))} with mode {mode!r} is not supported.")
    if mode == "constant":
        return array.pad(x, widths.tolist(), constant_values=cast_to(tensor_of(value), x.dtype))
    if mode in _MODES and all(_fits(ranked(x.dims)[k], max(widths[k]), mode) for k in range(rank)):
        return array.pad(x, widths.tolist(), _MODES[mode])
    if mode not in ("edge", "wrap", *_MODES):
        raise UnsupportedOptionError(
            f"pad: mode {mode!r} is not supported; 'constant', 'edge', 'reflect', 'symmetric' and 'wrap' are."
        )
    for k in range(rank):
        size = ranked(x.dims)[k]
        if not isinstance(size, int):
            raise InvalidArgumentError(
                f"pad: mode {mode!r} needs the size of axis {k}, which is not known while tracing."
            )
        places = np.pad(np.arange(size), widths[k], mode)  # type: ignore[call-overload]
        x = array.gather(x, places, axis=k)
    return x


def _fits(size: Any, most: int, mode: str) -> bool:
    return not isinstance(size, int) or most < size + (mode == "symmetric")


def delete(arr: TensorLike, obj: Any, axis: int | None = None) -> Tensor:
    """The slices along an axis but those that `obj`, an int, a slice or a list of ints or bools, names."""
    arr = tensor_of(arr)
    arr, axis = on_axis(arr, axis)
    axis = normalize_axis("delete", axis, rank_of("delete", arr))
    size = arr.shape[axis]
    if size is None or stands_for_tensor(obj):
        raise InvalidArgumentError("delete: the size of the axis and the indices must be known; use a mask.")
    return array.gather(arr, np.delete(np.arange(size), obj), axis=axis)


def insert(arr: Any, obj: Any, values: Any, axis: int | None = None) -> Tensor:
    """`values` put in before the index `obj`, an int, along an axis."""
    arr = tensor_of(arr)
    arr, axis = on_axis(arr, axis)
    rank = rank_of("insert", arr)
    axis = normalize_axis("insert", axis, rank)
    if not hasattr(obj, "__index__"):
        raise InvalidArgumentError(f"insert: obj is {obj!r}; an int is taken, or use concatenate.")
    values = cast_to(tensor_of(values), arr.dtype)
    sizes = array.shape(arr)
    if values.ndim < rank:
        values = moveaxis(atleast_1d(values), 0, -1) if values.ndim == 0 else values
        values = array.expand_dims(values, axis) if rank > 1 else values
    count = values.dims[axis] if values.ndim == rank else 1
    values = array.broadcast_to(values, [count if k == axis else sizes[k] for k in range(rank)])
    return array.concat(
        [arr[along(axis, slice(None, obj))], values, arr[along(axis, slice(obj, None))]], axis
    )


def resize(a: TensorLike, new_shape: ShapeLike) -> Tensor:
    """The elements, repeated as often as they have to be, in another shape."""
    a = ravel(a)
    sizes = _listed(new_shape)
    count = int(np.prod(sizes))
    return array.reshape(array.gather(a, np.arange(count) % max(int(a.shape[0] or 0), 1)), sizes)
