"""Changing shapes: axes moved, added and removed; elements repeated and reversed."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from graphad.core.annotations import AxisLike, ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.errors import AxisError, InvalidArgumentError
from graphad.core.refusal import members
from graphad.core.shapes import no_axis, normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.passing import IDENTITY
from graphad.ops.array.sizes import is_one_size
from graphad.ops.array.static import broadcast_dynamic_shape
from graphad.ops.directly import directly
from graphad.ops.linalg import diagonals
from graphad.ops.numpy.promotion import cast_to, numpys_axes, rank_of, tensor_of
from graphad.ops.numpy.types import default_dtype


def listed(x: object) -> list[Any]:
    if not isinstance(x, Iterable) or getattr(x, "shape", None) == ():
        return [x]
    return members("numpy", "a list", x, "give an integer or a list of integers")


def reshape(
    a: TensorLike,
    shape: Any = None,
    order: str = "C",
    *,
    newshape: Any = None,
    copy: bool | None = None,
) -> Tensor:
    """The elements in another shape, in which one size may be -1; with order "F" the first index varies fastest.

    Args:
      a: Tensor of any shape and dtype.
      shape, newshape: The sizes, also as a tensor; one may be -1, which is then inferred.
      order: "C" or "F".
      copy: Accepted for compatibility; tensors are immutable, so no copy is needed.
    Returns: Tensor of that shape and of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the number of elements differs, or `order` is unknown.
    Example:
      >>> numpy.reshape([1, 2, 3, 4], [2, -1]).numpy()
      array([[1, 2],
             [3, 4]])
    """
    a = tensor_of(a)
    sizes = newshape if shape is None else shape
    sizes = [sizes] if is_one_size(sizes) and not isinstance(sizes, Tensor) else sizes
    if order == "F":
        return array.transpose(array.reshape(array.transpose(a), list(sizes)[::-1]))
    if order not in ("C", "A"):
        raise InvalidArgumentError(f"reshape: order {order!r} is unknown; it is 'C' or 'F'.")
    return array.reshape(a, sizes)


@blaming
def ravel(a: TensorLike, order: str = "C") -> Tensor:
    """All elements as one vector.

    Args:
      a: Tensor of any shape and dtype.
      order: "C", in which the last index varies fastest, or "F", in which the first does; "A" and "K", the order in memory,
        are "C" for a tensor.
    Returns: Vector of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `order` is unknown.
    Example:
      >>> numpy.ravel([[1, 2], [3, 4]]).numpy()
      array([1, 2, 3, 4])
    """
    a = tensor_of(a)
    order = "C" if order == "K" else order
    found = directly(_in_line, a) if order == "C" else None
    return reshape(a, [-1], order) if found is None else found


def _in_line(x: Any) -> Any:
    return x.reshape(-1)


def transpose(a: TensorLike, axes: TensorLike | None = None) -> Tensor:
    """The axes permuted, reversed by default.

    Args:
      a: Tensor of any shape and dtype.
      axes: For each axis of the result the axis of `a` it is.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `axes` does not name every axis once.
    Example:
      >>> numpy.transpose([[1, 2], [3, 4]]).numpy()
      array([[1, 3],
             [2, 4]])
    """
    return array.transpose(tensor_of(a), axes)


def permute_dims(a: TensorLike, axes: TensorLike | None = None) -> Tensor:
    """The axes permuted, or reversed.

    Args:
      a: Tensor of any shape and dtype.
      axes: For each axis of the result the axis of `a` it is; the last one first by default.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `axes` does not name every axis once.
    """
    return array.transpose(tensor_of(a), axes)


def matrix_transpose(x: TensorLike, /) -> Tensor:
    """The last two axes exchanged.

    Args: x: Tensor [..., rows, columns], any dtype.
    Returns: Tensor [..., columns, rows] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): x has rank below 2.
    """
    return array.matrix_transpose(tensor_of(x))


def swapaxes(a: TensorLike, axis1: int, axis2: int) -> Tensor:
    """Two axes exchanged.

    Args:
      a: Tensor of any shape and dtype.
      axis1, axis2: The axes.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> numpy.swapaxes(numpy.zeros([2, 3, 4]), 0, 2).shape
      TensorShape([4, 3, 2])
    """
    a = tensor_of(a)
    order = list(range(rank_of("swapaxes", a)))
    first, second = (normalize_axis("swapaxes", axis, len(order)) for axis in (axis1, axis2))
    order[first], order[second] = order[second], order[first]
    return array.transpose(a, order)


def moveaxis(a: TensorLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Tensor:
    """Axes moved to other positions; the others keep their order.

    Args:
      a: Tensor of any shape and dtype.
      source: The axis or axes.
      destination: The position of each in the result.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or named twice, or the two lists differ in length.
    Example:
      >>> numpy.moveaxis(numpy.zeros([2, 3, 4]), 0, -1).shape
      TensorShape([3, 4, 2])
    """
    a = tensor_of(a)
    rank = rank_of("moveaxis", a)
    old = [normalize_axis("moveaxis", axis, rank) for axis in listed(source)]
    new = [normalize_axis("moveaxis", axis, rank) for axis in listed(destination)]
    if len(old) != len(new) or len(set(old)) != len(old) or len(set(new)) != len(new):
        raise InvalidArgumentError(
            f"moveaxis: source {source} and destination {destination} must be equally many distinct axes."
        )
    order = [axis for axis in range(rank) if axis not in old]
    for place, axis in sorted(zip(new, old, strict=True)):
        order.insert(place, axis)
    return array.transpose(a, order)


@blaming
def rollaxis(a: TensorLike, axis: int, start: int = 0) -> Tensor:
    """An axis moved until it is before axis `start`.

    Args:
      a: Tensor of any shape and dtype.
      axis: The axis.
      start: The axis before which it is placed.
    Returns: Tensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    """
    a = tensor_of(a)
    found = directly(np.rollaxis, a, axis=axis, start=start)
    if found is not None:
        return found
    rank = rank_of("rollaxis", a)
    axis = normalize_axis("rollaxis", axis, rank)
    if not -rank <= start <= rank:
        raise AxisError(f"rollaxis: start is {start}; from {-rank} to {rank} are allowed for rank {rank}.")
    start = start + rank if start < 0 else start
    return moveaxis(a, axis, start - 1 if axis < start else start)


def squeeze(a: TensorLike, axis: int | Sequence[int] | None = None) -> Tensor:
    """Axes of size 1 removed: given ones, or all.

    Args:
      a: Tensor of any shape and dtype.
      axis: The axis or axes, each of size 1.
    Returns: Tensor without them, of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range or has another size.
    Example:
      >>> numpy.squeeze([[[1, 2]]]).numpy()
      array([1, 2])
    """
    if axis is not None and not isinstance(axis, int | np.integer):
        try:
            axis = list(axis)
        except TypeError as cause:
            raise no_axis("squeeze", axis) from cause
        if not axis:
            return tensor_of(a)
    return array.squeeze(tensor_of(a), axis)


@blaming
def expand_dims(a: TensorLike, axis: int | Sequence[int] = 0) -> Tensor:
    """Axes of size 1 inserted, at positions of the result.

    Args:
      a: Tensor of any shape and dtype.
      axis: The position or positions in the result.
    Returns: Tensor with as many axes more, of the same dtype.
    Raises: InvalidArgumentError (a ValueError): a position is out of range or named twice.
    Example:
      >>> numpy.expand_dims([1, 2], 0).shape
      TensorShape([1, 2])
    """
    a = tensor_of(a)
    if hasattr(axis, "__index__"):
        return array.expand_dims(a, axis)
    if not hasattr(axis, "__len__"):
        raise no_axis("expand_dims", axis)
    rank = rank_of("expand_dims", a) + len(axis)
    places = sorted(normalize_axis("expand_dims", k, rank, "the result") for k in axis)
    if len(set(places)) != len(places):
        raise InvalidArgumentError(f"expand_dims: axis {tuple(axis)} names an axis twice.")
    for place in places:
        a = array.expand_dims(a, place)
    return a


def _broadcast(x: TensorLike, shape: Any) -> Tensor:
    return array.broadcast_to(tensor_of(x), shape)


def broadcast_to(array: TensorLike, shape: ShapeLike) -> Tensor:
    """x broadcast to a shape: repeated along axes of size 1 and new leading axes.

    Args:
      array: Tensor of any dtype.
      shape: The sizes.
    Returns: Tensor of that shape and of the same dtype; its gradient is summed.
    Raises: InvalidArgumentError (a ValueError): array does not broadcast to that shape.
    Example:
      >>> numpy.broadcast_to([1, 2], [2, 2]).numpy()
      array([[1, 2],
             [1, 2]])
    """
    return _broadcast(array, [shape] if is_one_size(shape) else shape)


def broadcast_arrays(*arrays: TensorLike) -> tuple[Tensor, ...]:
    """Tensors broadcast to their common shape.

    Args: arrays: Tensors of shapes that broadcast, each of any dtype.
    Returns: A tuple of tensors of one shape, each of its own dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes do not broadcast together.
    Example:
      >>> [x.numpy().tolist() for x in numpy.broadcast_arrays([1, 2], [[3], [4]])]
      [[[1, 2], [1, 2]], [[3, 3], [4, 4]]]
    """
    xs = [tensor_of(x) for x in arrays]
    if not xs:
        return ()
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
    return tuple(array.broadcast_to(x, common) for x in xs)


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The broadcast shape of several shapes.

    Args: shapes: Tuples of sizes, or single sizes.
    Returns: A tuple of sizes.
    Raises: ValueError: the shapes do not broadcast together.
    Example:
      >>> numpy.broadcast_shapes((2, 1), (1, 3))
      (2, 3)
    """
    return np.broadcast_shapes(*shapes)


@overload
def atleast_1d(ary: TensorLike, /) -> Tensor: ...
@overload
def atleast_1d(first: TensorLike, second: TensorLike, /, *others: TensorLike) -> tuple[Tensor, ...]: ...
def atleast_1d(*arys: TensorLike) -> Tensor | tuple[Tensor, ...]:
    """Tensors of rank 1 or more: scalars become vectors of one element.

    Args: arys: Tensors of any shapes and dtypes.
    Returns: The tensor for one, a tuple of them for several, each of its own dtype.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.atleast_1d(3.0).numpy()
      array([3.])
    """
    found = tuple([array.reshape(x, [1]) if x.ndim == 0 else x for x in map(tensor_of, arys)])
    return found[0] if len(found) == 1 else found


@overload
def atleast_2d(ary: TensorLike, /) -> Tensor: ...
@overload
def atleast_2d(first: TensorLike, second: TensorLike, /, *others: TensorLike) -> tuple[Tensor, ...]: ...
def atleast_2d(*arys: TensorLike) -> Tensor | tuple[Tensor, ...]:
    """Tensors of rank 2 or more: vectors become rows.

    Args: arys: Tensors of any shapes and dtypes.
    Returns: The tensor for one, a tuple of them for several, each of its own dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is not known while tracing.
    Example:
      >>> numpy.atleast_2d([1.0, 2.0]).shape
      TensorShape([1, 2])
    """
    found = tuple(
        [
            x if rank_of("atleast_2d", x) > 1 else array.expand_dims(atleast_1d(x), 0)
            for x in map(tensor_of, arys)
        ]
    )
    return found[0] if len(found) == 1 else found


@overload
def atleast_3d(ary: TensorLike, /) -> Tensor: ...
@overload
def atleast_3d(first: TensorLike, second: TensorLike, /, *others: TensorLike) -> tuple[Tensor, ...]: ...
def atleast_3d(*arys: TensorLike) -> Tensor | tuple[Tensor, ...]:
    """Tensors of rank 3 or more: vectors get an axis on each side, matrices one at the end.

    Args: arys: Tensors of any shapes and dtypes.
    Returns: The tensor for one, a tuple of them for several, each of its own dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is not known while tracing.
    Example:
      >>> numpy.atleast_3d([1.0, 2.0]).shape
      TensorShape([1, 2, 1])
    """
    found = tuple(
        [
            x if rank_of("atleast_3d", x) > 2 else array.expand_dims(atleast_2d(x), -1)
            for x in map(tensor_of, arys)
        ]
    )
    return found[0] if len(found) == 1 else found


def flip(m: TensorLike, axis: AxisLike = None) -> Tensor:
    """The elements in reverse order along axes, all by default.

    Args:
      m: Tensor of any shape and dtype.
      axis: The axis or axes.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> numpy.flip([1, 2, 3]).numpy()
      array([3, 2, 1])
    """
    m = tensor_of(m)
    found = directly(np.flip, m, axis=numpys_axes(axis))
    if found is not None:
        return found
    rank = rank_of("flip", m)
    axes = [normalize_axis("flip", k, rank) for k in (range(rank) if axis is None else listed(axis))]
    return array.reverse(m, axes) if axes else bind(IDENTITY, m)


def fliplr(m: TensorLike) -> Tensor:
    """The columns in reverse order.

    Args: m: Tensor [rows, columns, ...], any dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is below 2.
    """
    return flip(m, 1)


def flipud(m: TensorLike) -> Tensor:
    """The rows in reverse order.

    Args: m: Tensor [rows, ...], any dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): m is a scalar.
    """
    return flip(m, 0)


@blaming
def rot90(m: TensorLike, k: int = 1, axes: Sequence[int] = (0, 1)) -> Tensor:
    """The plane of two axes rotated by k quarter turns, from the first towards the second.

    Args:
      m: Tensor of rank 2 or more, any dtype.
      k: The number of quarter turns; negative ones turn the other way.
      axes: The two axes.
    Returns: Tensor of the same dtype, the two sizes exchanged for an odd k.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or the two are one.
    Example:
      >>> numpy.rot90([[1, 2], [3, 4]]).numpy()
      array([[2, 4],
             [1, 3]])
    """
    m, k = tensor_of(m), operator.index(k)
    if len(axes) != 2:
        raise InvalidArgumentError(f"rot90: axes are {tuple(axes)}; two are needed, such as (0, 1).")
    found = directly(np.rot90, m, k=k, axes=axes)
    if found is not None:
        return found
    first, second = (normalize_axis("rot90", axis, rank_of("rot90", m)) for axis in axes)
    if first == second:
        raise InvalidArgumentError(f"rot90: axes {tuple(axes)} are one; two are needed.")
    if k % 4 == 0:
        return bind(IDENTITY, m)
    if k % 4 == 2:
        return flip(m, (first, second))
    return flip(swapaxes(m, first, second), first) if k % 4 == 1 else swapaxes(flip(m, first), first, second)


def roll(a: TensorLike, shift: Any, axis: Any = None) -> Tensor:
    """The elements shifted cyclically along axes; without an axis those of the flattened tensor.

    Args:
      a: Tensor of any shape and dtype.
      shift: The shift for each axis, or one for all; several for one axis are added.
      axis: The axis or axes.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> numpy.roll([1, 2, 3, 4], 1).numpy()
      array([4, 1, 2, 3])
    """
    a = tensor_of(a)
    if not hasattr(axis, "__len__"):
        if isinstance(shift, Tensor):
            shift = math.reduce_sum(shift) if shift.ndim else shift
        elif hasattr(shift, "__len__"):
            # All shifts along one axis are added.
            shift = math.reduce_sum(tensor_of(shift)) if len(shift) else 0
        if axis is None:
            return array.reshape(array.roll(array.reshape(a, [-1]), shift, 0), array.shape(a))
        return array.roll(a, shift, axis)
    several = shift.ndim != 0 if isinstance(shift, Tensor) else hasattr(shift, "__len__")
    shifts = shift if several else [shift] * len(axis)
    return (
        array.roll(a, list(shifts) if isinstance(shifts, tuple) else shifts, list(axis))
        if len(axis)
        else bind(IDENTITY, a)
    )


def tile(A: TensorLike, reps: TensorLike) -> Tensor:
    """A repeated along its axes; if there are more repetitions than axes, new axes are added in front.

    Args:
      A: Tensor of any shape and dtype.
      reps: The repetitions along each axis, or a number for the last one.
    Returns: Tensor of the same dtype; its gradient is summed.
    Raises: InvalidArgumentError (a ValueError): a number is negative.
    Example:
      >>> numpy.tile([1, 2], 2).numpy()
      array([1, 2, 1, 2])
    """
    A = tensor_of(A)
    counts = reps if isinstance(reps, Tensor) else listed(reps)
    if isinstance(counts, Tensor):
        return array.tile(A, counts)
    missing = rank_of("tile", A) - len(counts)
    for _ in range(-missing):
        A = array.expand_dims(A, 0)
    return array.tile(A, [1] * missing + counts)


def repeat(a: TensorLike, repeats: int | TensorLike, axis: int | None = None) -> Tensor:
    """Each slice along an axis repeated `repeats` times; without an axis each element of the flattened tensor.

    Args:
      a: Tensor of any shape and dtype.
      repeats: One number, or a vector of one for each slice.
      axis: The axis.
    Returns: Tensor of the same dtype; its gradient is summed.
    Raises: InvalidArgumentError (a ValueError): a number is negative, there are neither one nor as many numbers as slices, or
      the axis is out of range.
    Example:
      >>> numpy.repeat([1, 2], [2, 3]).numpy()
      array([1, 1, 2, 2, 2])
    """
    return array.repeat(tensor_of(a), repeats, axis)


@blaming
def diagonal(a: TensorLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor:
    """A diagonal over two axes, which becomes the last axis.

    Args:
      a: Tensor of rank 2 or more, any dtype.
      offset: The diagonal; a positive one is above the main one.
      axis1, axis2: The axes of its rows and columns.
    Returns: Tensor of the other axes and one for the diagonal, of the same dtype; empty where there is no such diagonal.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> numpy.diagonal([[1, 2], [3, 4]]).numpy()
      array([1, 4])
    """
    a = tensor_of(a)
    found = directly(np.diagonal, a, offset=offset, axis1=axis1, axis2=axis2)
    if found is not None:
        return found
    rank = rank_of("diagonal", a)
    pair = [normalize_axis("diagonal", axis, rank) for axis in (axis1, axis2)]
    if pair != [rank - 2, rank - 1]:
        a = array.transpose(a, [axis for axis in range(rank) if axis not in pair] + pair)
    if _reaches(a, offset):
        return diagonals.diag_part(a, k=offset)
    nothing = a[..., :0, :0]
    return array.reshape(nothing, array.shape(nothing)[:-1])


def _reaches(a: Any, offset: int) -> bool:
    rows, columns = a.dims[-2:]
    return not (isinstance(rows, int) and isinstance(columns, int)) or -rows < offset < columns


@blaming
def diag(v: TensorLike, k: int = 0) -> Tensor:
    """The matrix with a vector as diagonal `k`, or diagonal `k` of a matrix.

    Args:
      v: Vector or matrix of any dtype.
      k: The diagonal; a positive one is above the main one.
    Returns: Matrix or vector of the same dtype.
    Raises: InvalidArgumentError (a ValueError): `v` has another rank.
    Example:
      >>> numpy.diag([1, 2]).numpy()
      array([[1, 0],
             [0, 2]])
    """
    v = tensor_of(v)
    rank = rank_of("diag", v)
    if rank not in (1, 2):
        raise InvalidArgumentError(f"diag: v has rank {rank}; it must be a vector or a matrix.")
    if rank == 2:
        return diagonal(v, k)
    found = directly(np.diag, v, k=k)
    if found is not None:
        return found
    if v.dtype.is_bool:
        return math.not_equal(diag(math.cast(v, np.uint8), k), cast_to(0, default_dtype("uint8")))
    return diagonals.diag(v, k=k)


def diagflat(v: TensorLike, k: int = 0) -> Tensor:
    """A matrix with all elements as diagonal `k`.

    Args:
      v: Tensor of any shape and dtype.
      k: The diagonal; a positive one is above the main one.
    Returns: Square matrix of the same dtype.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.diagflat([[1, 2]]).numpy()
      array([[1, 0],
             [0, 2]])
    """
    return diag(ravel(v), k)
