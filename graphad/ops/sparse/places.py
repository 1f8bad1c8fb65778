"""The indices of sparse tensors, also as flat row-major positions, and functions that only move values."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.dtypes import int32, int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.refusal import members
from graphad.core.shapes import TensorShape, normalize_axis
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.create import ones
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat as joined
from graphad.ops.array.join import stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.passing import identity
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.sorting import argsort
from graphad.ops.array.support import static_array, static_int
from graphad.ops.math.cast import cast
from graphad.ops.math.cumulative import cumprod, cumsum
from graphad.ops.math.reduce import reduce_all, reduce_any, reduce_max, reduce_prod, reduce_sum
from graphad.ops.math.select import maximum, minimum, where
from graphad.ops.sparse import rows
from graphad.ops.sparse.tensor import SparseTensor, require_rank, require_sparse
from graphad.ops.state.effects import require


def in_line(indices: Tensor, sizes: Tensor) -> Tensor:
    """The flat row-major positions of indices [..., rank] in a shape, int64 [...]."""
    rank = None if indices.dims is None else indices.dims[-1]
    if type(rank) is not int or not rank:
        return reduce_sum(indices * cumprod(sizes, exclusive=True, reverse=True), -1)
    places: Any = indices[..., 0]
    for k in builtins.range(1, rank):
        places = places * sizes[k] + indices[..., k]
    return places  # type: ignore[no-any-return]


def out_of_line(places: Tensor, sizes: Tensor) -> Tensor:
    """The indices [n, rank] of flat row-major positions [n]."""
    rank = None if sizes.dims is None else sizes.dims[0]
    if type(rank) is int and rank:
        rest: Any = places
        columns = []
        for k in builtins.range(rank - 1, 0, -1):
            size = maximum(sizes[k], 1)
            above = rest // size
            columns.append(rest - above * size)
            rest = above
        return stack([rest % maximum(sizes[0], 1), *columns[::-1]], 1)
    steps: Any = cumprod(sizes, exclusive=True, reverse=True)
    return places[:, None] // maximum(steps, 1) % maximum(sizes, 1)


def sums_by_key(keys: Tensor) -> tuple[Any, Any, Any, Any]:
    """Groups of equal keys [n]: the order that sorts the keys; for each key in that order the number of its group, and whether
    it is the first of the group; the number of groups.
    """
    order = argsort(keys, stable=True)
    found: Any = gather(keys, order)
    first = joined([ones(shape_of(found[:1]), "bool"), found[1:] != found[:-1]], 0)
    count = reduce_sum(cast(first, int32))
    return order, cumsum(cast(first, int32)) - 1, first, count


def is_in_order(places: Tensor) -> bool:
    """Whether the flat positions [n] are known and non-decreasing."""
    if type(places) is not EagerTensor or type(places.data) is not np.ndarray:
        return False
    return not np.count_nonzero(places.data[1:] < places.data[:-1])


def taken(x: Tensor, at: Any) -> Tensor:
    """Elements of `x` along its first axis, with a dense gradient."""
    return gather(identity(x), at)


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """`sp_input` with its indices in row-major order.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
    Returns: SparseTensor of the same shape and dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor.
    Example:
      >>> sparse.reorder(SparseTensor([[1, 0], [0, 1]], [3.0, 2.0], [2, 2])).values.numpy()
      array([2., 3.], dtype=float32)
    """
    x = require_sparse("sparse.reorder", sp_input)
    places = in_line(x.indices, x.dense_shape)
    if is_in_order(places):
        return SparseTensor.of(identity(x.indices), identity(x.values), x.dense_shape, x.dims)
    order = argsort(places, stable=True)
    return SparseTensor.of(gather(x.indices, order), taken(x.values, order), x.dense_shape, x.dims)


def reshape(sp_input: SparseTensor, shape: ShapeLike, name: str | None = None) -> SparseTensor:
    """`sp_input` in another shape with as many elements; one size may be -1.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      shape: The sizes.
    Returns: SparseTensor of that shape and the same dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): the number
      of elements differs.
    Example:
      >>> sparse.reshape(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), [4]).indices.numpy().tolist()
      [[1], [2]]
    """
    op = "sparse.reshape"
    x = require_sparse(op, sp_input)
    sizes: Any = shape.as_list() if isinstance(shape, TensorShape) else shape
    wanted: Any = cast(sizes, int64)
    total = reduce_prod(x.dense_shape)
    rest = reduce_prod(where(wanted < 0, lift(1, int64), wanted))
    wanted = where(wanted < 0, total // maximum(rest, 1), wanted)
    require(
        reduce_prod(wanted) == total,
        f"{op}: a shape with \x00 elements does not fit a sparse tensor of shape \x00.",
        [reduce_prod(wanted), x.dense_shape],
    )
    indices = rows.moved(x, wanted)
    if indices is not None:
        return SparseTensor.of(EagerTensor(indices), x.values, wanted)
    return SparseTensor.of(out_of_line(in_line(x.indices, x.dense_shape), wanted), x.values, wanted)


def transpose(
    sp_input: SparseTensor, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """`sp_input` with its axes permuted; the indices of the result are in order.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      perm: The axis of the input for each axis of the result; reversed by default.
    Returns: SparseTensor of the same dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): `perm` does
      not name every axis once, or the rank is unknown.
    Example:
      >>> sparse.to_dense(sparse.transpose(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]))).numpy()
      array([[0., 3.],
             [2., 0.]], dtype=float32)
    """
    op = "sparse.transpose"
    x = require_sparse(op, sp_input)
    order: Any = range_of(require_rank(op, x) - 1, -1, -1) if perm is None else cast(perm, int32)
    known = static_array(order)
    if known is not None and known.tolist() == [1, 0]:
        found = rows.turned(x)
        if found is not None:
            return found
    dims = None if known is None or x.dims is None else tuple([x.dims[k] for k in known.tolist()])
    return reorder(
        SparseTensor.of(gather(x.indices, order, axis=1), x.values, gather(x.dense_shape, order), dims)
    )


def expand_dims(
    sp_input: SparseTensor, axis: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """`sp_input` with an axis of size 1 inserted.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      axis: The position of the new axis in the result; the last one by default.
    Returns: SparseTensor of the same dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): the axis is
      out of range, or the rank is unknown.
    Example:
      >>> sparse.expand_dims(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), 0).shape
      TensorShape([1, 2, 2])
    """
    op = "sparse.expand_dims"
    x = require_sparse(op, sp_input)
    rank = require_rank(op, x)
    place = normalize_axis(op, -1 if axis is None else static_int(op, axis, "axis"), rank + 1)
    zero = x.indices[:, :1] * 0 if rank else lift([[0]], int64) * cast(shape_of(x.values), int64)[:, None]
    parts = joined([x.indices[:, :place], zero, x.indices[:, place:]], 1)
    sizes = joined([x.dense_shape[:place], lift([1], int64), x.dense_shape[place:]], 0)
    dims = None if x.dims is None else (*x.dims[:place], 1, *x.dims[place:])
    return SparseTensor.of(parts, x.values, sizes, dims)


def concat(
    axis: int, sp_inputs: Sequence[SparseTensor], expand_nonconcat_dims: bool = False, name: str | None = None
) -> SparseTensor:
    """Sparse tensors concatenated along `axis`; the indices of the result are in order.

    Args:
      axis: The axis.
      sp_inputs: SparseTensors of one rank and dtype.
      expand_nonconcat_dims: Whether sizes along other axes may differ; the result has the largest.
    Returns: SparseTensor of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the list is empty, or sizes differ and may not; ArgumentTypeError (a
      TypeError): one is not a SparseTensor.
    Example:
      >>> sparse.concat(0, [sparse.eye(2), sparse.eye(2)]).shape
      TensorShape([4, 2])
    """
    op = "sparse.concat"
    given = members(op, "sp_inputs", sp_inputs, "give a list of SparseTensors")
    xs = [require_sparse(op, x, "sp_inputs") for x in given]
    if not xs:
        raise InvalidArgumentError(f"{op}: sp_inputs is empty; give at least one SparseTensor.")
    if len(xs) == 1:
        return xs[0]
    rank = require_rank(op, xs[0])
    place = normalize_axis(op, axis, rank)
    found = rows.behind_each_other(xs, place)
    if found is not None:
        return found
    along = lift([k == place for k in range(rank)])
    largest = xs[0].dense_shape
    for x in xs[1:]:
        if not expand_nonconcat_dims:
            require(
                reduce_all(along | (x.dense_shape == largest)),
                f"{op}: shapes \x00 and \x00 differ along an axis other than {place}.",
                [largest, x.dense_shape],
            )
        largest = maximum(largest, x.dense_shape)
    moved, start = [], lift(0, int64)
    for x in xs:
        moved.append(x.indices + where(along, start, lift(0, int64)))
        start = start + x.dense_shape[place]
    sizes = where(along, start, largest)
    return reorder(
        SparseTensor.of(joined(moved, 0), joined([x.values for x in xs], 0), sizes, _along(xs, place))
    )


def _along(xs: Sequence[SparseTensor], place: int) -> tuple[Any, ...] | None:
    """The known part of the shape of concatenated tensors."""
    shapes = [x.dims for x in xs]
    if any(dims is None for dims in shapes):
        return None
    columns = list(zip(*shapes, strict=True))
    if any(None in column for column in columns):
        return tuple([None] * len(columns))
    return tuple([sum(column) if k == place else max(column) for k, column in enumerate(columns)])


def retain(sp_input: SparseTensor, to_retain: TensorLike) -> SparseTensor:
    """`sp_input` with only some of its values.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      to_retain: Bool tensor [n], True for the values to keep.
    Returns: SparseTensor of the same shape and dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): there are
      not as many bools as values.
    Example:
      >>> sparse.retain(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), [True, False]).values.numpy()
      array([2.], dtype=float32)
    """
    x = require_sparse("sparse.retain", sp_input)
    return _kept(x, lift(to_retain))


def _kept(x: SparseTensor, mask: Tensor) -> SparseTensor:
    return SparseTensor.of(boolean_mask(x.indices, mask), boolean_mask(x.values, mask), x.dense_shape, x.dims)


def slice(
    sp_input: SparseTensor, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """The part from index `start` on with sizes `size`, or smaller where the tensor ends earlier.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      start: The first index along each axis.
      size: The size along each axis.
    Returns: SparseTensor of the same dtype, its indices relative to `start`.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor.
    Example:
      >>> sparse.slice(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), [0, 1], [2, 1]).values.numpy()
      array([2.], dtype=float32)
    """
    x = require_sparse("sparse.slice", sp_input)
    first, count = cast(start, int64), cast(size, int64)
    count = maximum(minimum(count, x.dense_shape - first), 0)
    found = rows.part(x, first, count)
    if found is not None:
        return found
    inside = _all_inside(x.indices, first, first + count)
    part = _kept(SparseTensor.of(x.indices, x.values, count), inside)
    return SparseTensor.of(part.indices - first, part.values, count)


def _all_inside(indices: Any, first: Tensor, end: Tensor) -> Any:
    """Whether each of the indices [n, rank] is at least `first` and below `end`."""
    rank = indices.dims[-1]
    if type(rank) is not int or not rank:
        return reduce_all((indices >= first) & (indices < end), -1)
    inside: Any = None
    for k in builtins.range(rank):
        here = (indices[:, k] >= first[k]) & (indices[:, k] < end[k])
        inside = here if inside is None else inside & here
    return inside


def split(
    sp_input: SparseTensor | None = None,
    num_split: int | None = None,
    axis: TensorLike | None = None,
    name: str | None = None,
) -> list[SparseTensor]:
    """`num_split` parts along `axis`; if the size is not a multiple, the first parts are larger by one.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      num_split: The number of parts, an int.
      axis: The axis.
    Returns: A list of SparseTensors of the same dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): `num_split`
      or `axis` is out of range.
    Example:
      >>> [part.values.numpy().tolist() for part in sparse.split(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), 2, 0)]
      [[2.0], [3.0]]
    """
    op = "sparse.split"
    x = require_sparse(op, sp_input)
    rank = require_rank(op, x)
    if type(num_split) is not int or num_split < 1 or axis is None:
        raise InvalidArgumentError(
            f"{op}: num_split is {num_split!r} and axis {axis!r}; a number of at least 1 and an axis of the tensor are needed."
        )
    place = normalize_axis(op, static_int(op, axis, "axis"), rank)
    whole = x.dense_shape[place]
    small, more = whole // num_split, whole % num_split
    parts = []
    for k in range(num_split):
        start = small * k + minimum(more, lift(k, int64))
        here = small + cast(more > k, int64)
        firsts = stack([start if axis == place else lift(0, int64) for axis in range(rank)])
        sizes = stack([here if axis == place else x.dense_shape[axis] for axis in range(rank)])
        parts.append(slice(x, firsts, sizes))
    return parts


def reset_shape(sp_input: SparseTensor, new_shape: ShapeLike | None = None) -> SparseTensor:
    """`sp_input` in a larger shape of the same rank, or in the smallest one that holds all of its indices.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      new_shape: The sizes; the smallest ones by default.
    Returns: SparseTensor of the same dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): a size is
      smaller than before, or the rank differs.
    Example:
      >>> sparse.reset_shape(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), [3, 4]).shape
      TensorShape([3, 4])
    """
    op = "sparse.reset_shape"
    x = require_sparse(op, sp_input)
    if new_shape is None:
        least = reduce_max(joined([x.indices + 1, x.indices[:0] + 0, (x.dense_shape * 0)[None]], 0), 0)
        return SparseTensor.of(x.indices, x.values, least)
    given: Any = new_shape.as_list() if isinstance(new_shape, TensorShape) else new_shape
    sizes = cast(given, int64)
    known, before = static_array(sizes), x.rank
    if known is not None and before is not None and known.shape != (before,):
        raise InvalidArgumentError(
            f"{op}: new_shape has {known.size} sizes, the sparse tensor has {before} axes; the numbers must be equal."
        )
    require(
        reduce_all(sizes >= x.dense_shape),
        f"{op}: new_shape \x00 is smaller than the shape \x00.",
        [sizes, x.dense_shape],
    )
    return SparseTensor.of(x.indices, x.values, sizes)


def fill_empty_rows(
    sp_input: SparseTensor, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """`sp_input` with `default_value` in the first column of each row that has no value.

    Args:
      sp_input: A SparseTensor [rows, columns] of any dtype.
      default_value: A scalar of that dtype.
    Returns: (SparseTensor whose rows are in order, each with its values in the order that they had; bool tensor [rows], True for
      the rows that were empty).
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): the rank is
      not known.
    Example:
      >>> sparse.fill_empty_rows(SparseTensor([[0, 1]], [2.0], [2, 2]), -1.0)[0].values.numpy()
      array([ 2., -1.], dtype=float32)
    """
    op = "sparse.fill_empty_rows"
    x = require_sparse(op, sp_input)
    rows = x.dense_shape[0]
    members = unsorted_segment_sum(ones(shape_of(x.values), int32), x.indices[:, 0], rows)
    empty: Any = members == 0
    which = boolean_mask(range_of(rows), empty)
    firsts = cast(which, int64)[:, None] * lift([1] + [0] * (require_rank(op, x) - 1), int64)
    filler = cast(default_value, x.dtype) + cast(which * 0, x.dtype)
    indices = joined([x.indices, firsts], 0)
    order = argsort(indices[:, 0], stable=True)
    values = joined([x.values, filler], 0)
    return SparseTensor.of(gather(indices, order), gather(values, order), x.dense_shape, x.dims), empty


def mask(a: IndexedSlices, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """IndexedSlices without some of the slices.

    Args:
      a: IndexedSlices of any dtype.
      mask_indices: Integer vector [m]: the indices of the slices to remove.
    Returns: IndexedSlices of the same shape and dtype.
    Raises: ArgumentTypeError (a TypeError): `a` is not an IndexedSlices.
    Example:
      >>> sparse.mask(IndexedSlices([[1.0], [2.0]], [0, 3]), [0]).indices.numpy()
      array([3], dtype=int32)
    """
    if not isinstance(a, IndexedSlices):
        raise ArgumentTypeError(f"mask: a is a {type(a).__name__}; IndexedSlices are needed.")
    gone: Any = lift(mask_indices)
    indices: Any = lift(a.indices)
    left: Any = ~reduce_any(indices[:, None] == cast(gone, indices.dtype)[None], 1)
    return IndexedSlices(boolean_mask(a.values, left), boolean_mask(indices, left), a.dense_shape)


def is_sparse(x: SparseTensor | Tensor) -> bool:
    """Whether `x` is a sparse tensor; raises if it is neither sparse nor dense."""
    if isinstance(x, SparseTensor):
        return True
    if not stands_for_tensor(x):
        lift(x)
    return False
