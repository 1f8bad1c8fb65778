"""Sums over sparse tensors: matrix products, reductions, segments, counts."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.refusal import require_one_of
from graphad.core.shapes import are_compatible, format_dims, normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.combine import tensor_scatter_nd_max
from graphad.ops.array.create import fill, ones
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat as joined
from graphad.ops.array.join import stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.reshape import reshape as reshaped
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.support import index_tensor, static_array, static_int
from graphad.ops.linalg import adjoint as adjoint_of
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal
from graphad.ops.math.complexes import conj
from graphad.ops.math.power import sqrt
from graphad.ops.math.reduce import reduce_all, reduce_prod
from graphad.ops.math.reduce import reduce_max as largest
from graphad.ops.math.segment import divisors_of, sorted_segments
from graphad.ops.math.select import maximum, minimum, where
from graphad.ops.sparse.places import in_line, out_of_line, sums_by_key, taken
from graphad.ops.sparse.rows import maxima, product, sums
from graphad.ops.sparse.tensor import SparseTensor, require_rank, require_sparse
from graphad.ops.state.effects import require


def sparse_dense_matmul(
    sp_a: Any,
    b: SparseTensor | TensorLike,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The product of a sparse and a dense matrix, or of a dense and a sparse one.

    Args:
      sp_a, b: A SparseTensor [m, k] and a dense tensor [k, n], or the other way round; of one numeric dtype.
      adjoint_a, adjoint_b: Whether to take the conjugate transpose of `sp_a` or `b` first.
    Returns: Dense tensor [m, n] of that dtype.
    Raises: ArgumentTypeError (a TypeError): neither is sparse; InvalidArgumentError (a ValueError): the inner sizes differ;
      DTypeError (a TypeError): the dtypes differ.
    Example:
      >>> sparse.sparse_dense_matmul(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), [[1.0], [1.0]]).numpy()
      array([[2.],
             [3.]], dtype=float32)
    """
    op = "sparse.sparse_dense_matmul"
    if isinstance(b, SparseTensor) and not isinstance(sp_a, SparseTensor):
        return adjoint_of(_product(op, b, adjoint_of(sp_a) if not adjoint_a else lift(sp_a), not adjoint_b))
    sparse = require_sparse(op, sp_a, "sp_a")
    dense = lift_like(op, b, sparse.dtype)
    return _product(op, sparse, adjoint_of(dense) if adjoint_b else dense, adjoint_a)


def _product(op: str, a: SparseTensor, b: Tensor, adjoint: bool) -> Tensor:
    if a.rank not in (None, 2) or b.ndim not in (None, 2):
        raise InvalidArgumentError(
            f"{op}: the operands have shapes {format_dims(a.dims)} and {format_dims(b.dims)}; two matrices are needed."
        )
    found = product(a, b, adjoint)
    if found is not None:
        return found
    row, column = (1, 0) if adjoint else (0, 1)
    inner = a.dense_shape[column]
    require(
        cast(shape_of(b)[0], int64) == inner,
        f"{op}: the inner sizes differ: axis {column} of the sparse shape \x00 is summed; the dense matrix has shape \x00.",
        [a.dense_shape, shape_of(b)],
    )
    values = conj(a.values) if adjoint and a.dtype.is_complex else a.values
    parts = taken(b, a.indices[:, column]) * values[:, None]
    size: Any = a.dense_shape[row] if a.dims is None or a.dims[row] is None else a.dims[row]
    return unsorted_segment_sum(parts, a.indices[:, row], size)


def _groups(op: str, x: SparseTensor, axis: TensorLike | None) -> tuple[list[int], list[int]]:
    """The reduced axes, and the remaining ones."""
    rank = require_rank(op, x)
    if axis is None:
        return list(range(rank)), []
    known = static_array(axis)
    if known is None:
        raise InvalidArgumentError(f"{op}: axis must be known while tracing; give a number.")
    gone = sorted({normalize_axis(op, int(k), rank) for k in known.ravel()})
    return gone, [k for k in range(rank) if k not in gone]


def _left(x: SparseTensor, left: list[int]) -> tuple[Any, Any]:
    """The flat row-major position of each value in the remaining axes, and their sizes."""
    at = lift(left, int32)
    sizes: Any = gather(x.dense_shape, at)
    if not left:
        return in_line(gather(x.indices, at, axis=1), sizes), sizes
    places = x.indices[:, left[0]]
    for k, axis in enumerate(left[1:], 1):
        places = places * sizes[k] + x.indices[:, axis]
    return places, sizes


def _reduced(
    op: str,
    sp_input: SparseTensor,
    axis: Any,
    keepdims: bool | None,
    output_is_sparse: bool,
    largest_of: bool,
) -> SparseTensor | Tensor:
    x = require_sparse(op, sp_input)
    gone, left = _groups(op, x, axis)
    by_row = None if output_is_sparse or left != [0] else maxima(x) if largest_of else sums(x)
    if by_row is not None:
        return by_row[:, None] if keepdims else by_row
    places, sizes = _left(x, left)
    count = reduce_prod(sizes)
    if largest_of:
        lowest = x.dtype.min if x.dtype.is_integer else -float("inf")
        found = tensor_scatter_nd_max(fill(stack([count]), lift(lowest, x.dtype)), places[:, None], x.values)
    else:
        found = unsorted_segment_sum(x.values, places, count)
    there: Any = None
    if largest_of or output_is_sparse:  # (an empty sum is 0)
        there = unsorted_segment_sum(ones(shape_of(places), int32), places, count) > 0
        found = where(there, found, lift(0, x.dtype))
    if keepdims:
        shape: Any = where(
            lift([k in gone for k in range(require_rank(op, x))]), lift(1, int64), x.dense_shape
        )
    else:
        shape = sizes
    known = None
    if x.dims is not None and None not in x.dims:
        known = [1 if k in gone else n for k, n in enumerate(x.dims) if keepdims or k not in gone]
    if not output_is_sparse:
        return reshaped(found, shape if known is None else known)
    at = boolean_mask(range_of(count), there)
    return SparseTensor.of(
        out_of_line(at, shape), boolean_mask(found, there), shape, None if known is None else tuple(known)
    )


def reduce_sum(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor | SparseTensor:
    """The sums over axes.

    Args:
      sp_input: A SparseTensor of any shape and numeric dtype.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the reduced axes with size 1.
      output_is_sparse: Whether the result is sparse.
    Returns: Dense tensor without the axes, or a SparseTensor, of the same dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): an axis is
      out of range or unknown while tracing, or the rank is unknown.
    Example:
      >>> sparse.reduce_sum(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), 1).numpy()
      array([2., 3.], dtype=float32)
    """
    return _reduced("sparse.reduce_sum", sp_input, axis, keepdims, output_is_sparse, False)


def reduce_max(
    sp_input: SparseTensor,
    axis: AxisLike = None,
    keepdims: bool | None = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor | SparseTensor:
    """The largest of the values over axes, and 0 where there is no value.

    Args:
      sp_input: A SparseTensor of any shape and real dtype.
      axis: The axis or axes; all by default.
      keepdims: Whether to keep the reduced axes with size 1.
      output_is_sparse: Whether the result is sparse.
    Returns: Dense tensor without the axes, or a SparseTensor, of the same dtype. Ties share the gradient.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): an axis is
      out of range or unknown while tracing, or the rank is unknown.
    Example:
      >>> sparse.reduce_max(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), 1).numpy()
      array([2., 3.], dtype=float32)
    """
    return _reduced("sparse.reduce_max", sp_input, axis, keepdims, output_is_sparse, True)


def _taken(
    op: str, data: object, indices: Any, segment_ids: Any, num_segments: object, slices: bool
) -> tuple[Any, Any, Any]:
    x = lift(data)
    rows = gather(x, indices) if slices else taken(x, indices)
    ids, count = sorted_segments(op, segment_ids)
    return rows, ids, count if num_segments is None else num_segments


@blaming
def segment_sum(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sums of the rows `indices` of `data`, by segment.

    Args:
      data: Tensor [n, ...], a numeric dtype.
      indices: Integer tensor [m]: rows of `data`.
      segment_ids: Integer tensor [m] of non-negative, sorted ids.
      num_segments: The number of segments; the last id plus 1 by default.
      sparse_gradient: Whether the gradient by `data` is an IndexedSlices.
    Returns: Tensor [segments, ...] of the same dtype, 0 for segments without rows.
    Raises: InvalidArgumentError (a ValueError): ids are not sorted or negative, or an index is out of range.
    Example:
      >>> sparse.segment_sum([[1.0], [2.0], [4.0]], [0, 2], [0, 0]).numpy()
      array([[5.]], dtype=float32)
    """
    rows, ids, count = _taken("sparse.segment_sum", data, indices, segment_ids, num_segments, sparse_gradient)
    return unsorted_segment_sum(rows, ids, count)


@blaming
def segment_mean(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The means of the rows `indices` of `data`, by segment.

    Args:
      data: Tensor [n, ...], a float dtype.
      indices: Integer tensor [m]: rows of `data`.
      segment_ids: Integer tensor [m] of non-negative, sorted ids.
      num_segments: The number of segments; the last id plus 1 by default.
      sparse_gradient: Whether the gradient by `data` is an IndexedSlices.
    Returns: Tensor [segments, ...] of the same dtype, 0 for segments without rows.
    Raises: InvalidArgumentError (a ValueError): ids are not sorted or negative, or an index is out of range.
    Example:
      >>> sparse.segment_mean([[1.0], [2.0], [4.0]], [0, 2], [0, 0]).numpy()
      array([[2.5]], dtype=float32)
    """
    rows, ids, count = _taken(
        "sparse.segment_mean", data, indices, segment_ids, num_segments, sparse_gradient
    )
    total = unsorted_segment_sum(rows, ids, count)
    return total / divisors_of(total, ids, count)


@blaming
def segment_sqrt_n(
    data: TensorLike,
    indices: TensorLike,
    segment_ids: TensorLike,
    num_segments: TensorLike | None = None,
    name: str | None = None,
    sparse_gradient: bool = False,
) -> Tensor:
    """The sums of the rows `indices` of `data`, by segment, divided by the square root of their number.

    Args:
      data: Tensor [n, ...], a float dtype.
      indices: Integer tensor [m]: rows of `data`.
      segment_ids: Integer tensor [m] of non-negative, sorted ids.
      num_segments: The number of segments; the last id plus 1 by default.
      sparse_gradient: Whether the gradient by `data` is an IndexedSlices.
    Returns: Tensor [segments, ...] of the same dtype, 0 for segments without rows.
    Raises: InvalidArgumentError (a ValueError): ids are not sorted or negative, or an index is out of range.
    Example:
      >>> sparse.segment_sqrt_n([[1.0], [2.0], [3.0]], [0, 2], [0, 0]).numpy()
      array([[2.828427]], dtype=float32)
    """
    rows, ids, count = _taken(
        "sparse.segment_sqrt_n", data, indices, segment_ids, num_segments, sparse_gradient
    )
    total = unsorted_segment_sum(rows, ids, count)
    return total / sqrt(divisors_of(total, ids, count))


def _weights_of(op: str, values: SparseTensor, weights: object) -> Tensor:
    """The weight of each value. Raises: they do not stand at the same places."""
    if not isinstance(weights, SparseTensor):
        raise InvalidArgumentError(f"{op}: weights must be a SparseTensor, as values are.")
    if not are_compatible(weights.indices.dims, values.indices.dims):
        raise InvalidArgumentError(
            f"{op}: there are {weights.indices.dims[0]} weights for {values.indices.dims[0]} values; they must be as many."
        )
    for part, word in (("dense_shape", "shape"), ("indices", "indices")):
        mine, its = getattr(values, part), getattr(weights, part)
        require(
            reduce_all(equal(mine, its)),
            f"{op}: values have {word} \x00, weights \x00; they must have the same {word}.",
            [mine, its],
        )
    found: Tensor = weights.values
    return found


@blaming
def bincount(
    values: object,
    weights: object = None,
    axis: int | None = 0,
    minlength: int | None = None,
    maxlength: int | None = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """The number of times that each integer occurs.

    Args:
      values: Non-negative integers, a tensor or a SparseTensor: of rank 1 or 2, or of any with all counted together.
      weights: The weight of each of them, of the same form; 1 by default.
      axis: 0 or None to count all of them together, -1 to count each row by itself.
      minlength, maxlength: Bounds of the size of the last axis, which is 1 at least; integers from `maxlength` on are not
        counted, and -1 is no bound.
      binary_output: Whether to return 1 for each integer that occurs, instead of its count.
    Returns: SparseTensor [integers] or [rows, integers]; it has the dtype of the weights, or else of the values.
    Raises: InvalidArgumentError (a ValueError): another axis or rank, a negative number, weights at other places, both weights
      and `binary_output`, or `maxlength` below -1; DTypeError (a TypeError): values that are no integers.
    Example:
      >>> sparse.bincount([0, 2, 2]).values.numpy()
      array([1, 2], dtype=int32)
    """
    op = "sparse.bincount"
    require_one_of(op, "axis", axis, (0, None, -1), "0, None and -1 are possible")
    if weights is not None and binary_output:
        raise InvalidArgumentError(f"{op}: weights and binary_output exclude each other.")
    if isinstance(values, SparseTensor):
        found, rank = require_kind(op, values.values, INTEGER, "values"), require_rank(op, values)
        rows, row_count = values.indices[:, 0], values.dense_shape[0]
        counted = None if weights is None else _weights_of(op, values, weights)
    else:
        dense = index_tensor(op, values, "values")
        if dense.ndim is None:
            raise InvalidArgumentError(f"{op}: the rank of values must be known.")
        rank, sizes = dense.ndim, shape_of(dense, int64)
        found = reshaped(dense, [-1])
        row_count = sizes[0] if rank else lift(1, int64)
        rows = reshaped(broadcast_to(range_of(row_count)[:, None], sizes), [-1]) if rank == 2 else None
        counted = None
        if weights is not None:
            given = lift(weights)
            if axis == -1 and not are_compatible(given.dims, dense.dims):
                raise InvalidArgumentError(
                    f"{op}: weights have shape {given.shape}, values {dense.shape}; they must have the same shape."
                )
            counted = reshaped(given, [-1])
    if rank not in (1, 2) and axis == -1:
        raise InvalidArgumentError(f"{op}: values have rank {rank}; it must be 1 or 2.")
    keys = cast(found, int64)
    require(reduce_all(keys >= 0), f"{op}: the values are \x00; they must be non-negative.", [keys])
    length = largest(joined([keys, lift([0], int64)], 0)) + 1
    length = length if minlength is None else maximum(length, cast(minlength, int64))
    most = None if maxlength is None else static_int(op, maxlength, "maxlength")
    if isinstance(most, int) and most < -1:
        raise InvalidArgumentError(f"{op}: maxlength is {most}; it must be 0 or more, or -1 for no bound.")
    length = length if maxlength is None or most == -1 else minimum(length, cast(maxlength, int64))
    by_row = axis == -1 and rank == 2
    each = ones(shape_of(keys), lift(found).dtype) if counted is None else lift(counted)
    inside: Any = keys < length
    place = boolean_mask(rows * length + keys if by_row else keys, inside)
    order, group, first, count = sums_by_key(place)
    total = unsorted_segment_sum(gather(boolean_mask(each, inside), order), group, count)
    if binary_output:
        total = ones(shape_of(total), total.dtype)
    shape = stack([row_count, length]) if by_row else stack([length])
    return SparseTensor.of(out_of_line(boolean_mask(gather(place, order), first), shape), total, shape)
