"""Conversions between dense and sparse tensors, and elementwise functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.bind import constant_here
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like, stands_for_tensor
from graphad.core.dtypes import as_dtype, float32, int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import RawSize
from graphad.core.tensor import Tensor
from graphad.ops.array.combine import tensor_scatter_nd_add, tensor_scatter_nd_max
from graphad.ops.array.create import fill, ones, zeros
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.gather import gather, gather_nd
from graphad.ops.array.join import concat as joined
from graphad.ops.array.join import stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.passing import stop_gradient
from graphad.ops.array.scatter import (
    scatter_nd,
    tensor_scatter_nd_update,
    unsorted_segment_sum,
)
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.math.arithmetic import abs as abs_of
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import not_equal
from graphad.ops.math.exponential import exp
from graphad.ops.math.reduce import reduce_all, reduce_prod
from graphad.ops.math.select import maximum as larger
from graphad.ops.math.select import minimum as smaller
from graphad.ops.math.select import where
from graphad.ops.sparse.places import in_line, is_sparse, sums_by_key
from graphad.ops.sparse.rows import in_columns, total
from graphad.ops.sparse.tensor import SparseTensor, SparseTensorValue, flat_shape, require_sparse
from graphad.ops.state.effects import require


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """The nonzero elements of a dense tensor, as a sparse one.

    Args:
      tensor: Tensor of any shape and dtype.
    Returns: SparseTensor of the same shape and dtype, its indices in row-major order. The values are differentiable by the
      tensor.
    Raises: ArgumentTypeError (a TypeError): `tensor` cannot be converted to a tensor.
    Example:
      >>> sparse.from_dense([[0.0, 2.0], [0.0, 0.0]]).values.numpy()
      array([2.], dtype=float32)
    """
    x = lift(tensor)
    indices = where(x if x.dtype.is_bool else not_equal(x, lift(0, x.dtype)))
    return SparseTensor.of(indices, gather_nd(x, indices), flat_shape(x), x.dims)


@blaming
def to_dense(
    sp_input: SparseTensor,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A sparse tensor as a dense one.

    Args:
      sp_input: A SparseTensor of any shape and dtype.
      default_value: A scalar for all elements without a value, 0 by default.
      validate_indices: Whether indices that are out of order or repeated are an error.
    Returns: Tensor of the same shape and dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): indices are
      out of order or repeated.
    Example:
      >>> sparse.to_dense(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])).numpy()
      array([[0., 2.],
             [3., 0.]], dtype=float32)
    """
    x = require_sparse("sparse.to_dense", sp_input)
    if validate_indices:
        _require_order(x)
    if default_value is None and x.dtype.is_bool:
        default_value = False
    if default_value is None:
        y = scatter_nd(x.indices, x.values, x.dense_shape)
    else:
        base = fill(x.dense_shape, lift_like("sparse.to_dense", default_value, x.dtype))
        y = tensor_scatter_nd_update(base, x.indices, x.values)
    if x.dims is not None and None not in x.dims:
        y = _shaped(y, x.dims)
    return y


def _shaped(y: Tensor, dims: tuple[RawSize, ...]) -> Tensor:
    return y if y.dims == dims else ensure_shape(y, list(dims))


def _require_order(x: SparseTensor) -> None:
    places: Any = in_line(x.indices, x.dense_shape)
    require(
        reduce_all(places[1:] > places[:-1]),
        "sparse.to_dense: the indices \x00 are not in row-major order, or one is repeated; use sparse.reorder, or "
        "validate_indices=False.",
        [x.indices],
    )


def to_indicator(sp_input: SparseTensor, vocab_size: TensorLike, name: str | None = None) -> Tensor:
    """For each row, which of the integers from 0 to vocab_size - 1 are among its values.

    Args:
      sp_input: A SparseTensor [..., members] of an integer dtype.
      vocab_size: The number of integers.
    Returns: Bool tensor [..., vocab_size].
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; InvalidArgumentError (a ValueError): a value is
      out of range.
    Example:
      >>> sparse.to_indicator(SparseTensor([[0, 0], [1, 0]], [2, 0], [2, 1]), 3).numpy()
      array([[False, False,  True],
             [ True, False, False]])
    """
    x = require_sparse("sparse.to_indicator", sp_input)
    size = cast(vocab_size, int64)
    places = joined([x.indices[:, :-1], cast(x.values, int64)[:, None]], 1)
    shape = joined([x.dense_shape[:-1], stack([size])], 0)
    return scatter_nd(places, ones(shape_of(x.values), int32), shape) > 0


@blaming
def eye(
    num_rows: int, num_columns: int | None = None, dtype: DTypeLike = float32, name: str | None = None
) -> SparseTensor:
    """The matrix with ones on its diagonal.

    Args:
      num_rows: The number of rows.
      num_columns: The number of columns; as many as rows by default.
      dtype: The dtype.
    Returns: SparseTensor [num_rows, num_columns] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> sparse.to_dense(sparse.eye(2)).numpy()
      array([[1., 0.],
             [0., 1.]], dtype=float32)
    """
    columns = num_rows if num_columns is None else num_columns
    if type(num_rows) is int and type(columns) is int and min(num_rows, columns) > 0:
        diagonal = np.arange(min(num_rows, columns))
        return SparseTensor.of(
            constant_here(in_columns(diagonal, diagonal)),
            ones([len(diagonal)], as_dtype(dtype)),
            constant_here(np.array([num_rows, columns], np.int64)),
            (num_rows, columns),
        )
    count = smaller(cast(num_rows, int64), cast(columns, int64))
    places = range_of(count)
    sizes = stack([cast(num_rows, int64), cast(columns, int64)])
    known = (num_rows, columns) if type(num_rows) is int and type(columns) is int else None
    return SparseTensor.of(stack([places, places], 1), ones(shape_of(places), as_dtype(dtype)), sizes, known)


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> SparseTensor:
    """`op` applied to the values of sparse tensors; the indices stay.

    Args:
      op: A function that returns as many values as it takes.
      args, kwargs: Its arguments; each SparseTensor is replaced by its values. All must have the same indices.
    Returns: SparseTensor with the new values.
    Raises: InvalidArgumentError (a ValueError): there is no SparseTensor, or their indices or shapes differ.
    Example:
      >>> sparse.map_values(square, SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2])).values.numpy()
      array([4., 9.], dtype=float32)
    """
    found = [x for x in (*args, *kwargs.values()) if isinstance(x, SparseTensor)]
    if not found:
        raise InvalidArgumentError(
            "sparse.map_values: there is no SparseTensor among the arguments; give one."
        )
    for x in found[1:]:
        if x.indices is not found[0].indices:
            require(
                reduce_all(shape_of(x.indices) == shape_of(found[0].indices))
                & reduce_all(x.indices == found[0].indices),
                "sparse.map_values: sparse tensors have different indices: \x00 and \x00; they must be the same.",
                [found[0].indices, x.indices],
            )
        if x.dense_shape is not found[0].dense_shape:
            require(
                reduce_all(shape_of(x.dense_shape) == shape_of(found[0].dense_shape))
                & reduce_all(x.dense_shape == found[0].dense_shape),
                "sparse.map_values: sparse tensors have different shapes: \x00 and \x00; they must be the same.",
                [found[0].dense_shape, x.dense_shape],
            )

    def plain(x: SparseTensor | float) -> Any:
        return x.values if isinstance(x, SparseTensor) else x

    return found[0].with_values(op(*map(plain, args), **{key: plain(x) for key, x in kwargs.items()}))


def _joint(op: str, a: SparseTensor, b: SparseTensor) -> tuple[Any, Any, Any, Any]:
    """The union of the indices of two tensors, in order. For the concatenated values of both: the order that sorts them, and
    for each the number of its index in the union. The size of the union.
    """
    require(
        reduce_all(a.dense_shape == b.dense_shape),
        f"{op}: shapes \x00 and \x00 differ; they must be the same.",
        [a.dense_shape, b.dense_shape],
    )
    indices = joined([a.indices, b.indices], 0)
    order, group, first, count = sums_by_key(in_line(indices, a.dense_shape))
    return gather(indices, boolean_mask(order, first)), order, group, count


@blaming
def add(a: Any, b: Any, threshold: TensorLike = 0) -> Tensor | SparseTensor:
    """The sum of two tensors of which at least one is sparse: sparse if both are.

    Args:
      a, b: Two SparseTensors, or a SparseTensor and a dense tensor, of one shape and numeric dtype.
      threshold: For two sparse tensors, sums of two values that are smaller in absolute value are dropped.
    Returns: SparseTensor if both are sparse, else a dense tensor, of the same dtype.
    Raises: ArgumentTypeError (a TypeError): neither is sparse; InvalidArgumentError (a ValueError): the shapes differ.
    Example:
      >>> sparse.add(SparseTensor([[0, 1], [1, 0]], [2.0, 3.0], [2, 2]), ones([2, 2])).numpy()
      array([[1., 3.],
             [4., 1.]], dtype=float32)
    """
    op = "sparse.add"
    a, b = (require_sparse(op, x) if isinstance(x, SparseTensorValue) else x for x in (a, b))
    if not (is_sparse(a) and is_sparse(b)):
        sparse, dense = (a, b) if isinstance(a, SparseTensor) else (b, a)
        x = require_sparse(op, sparse, "a")
        return tensor_scatter_nd_add(lift_like(op, dense, x.dtype), x.indices, x.values)
    found = total(a, b, threshold)
    if found is not None:
        return found
    indices, order, group, count = _joint(op, a, b)
    added = unsorted_segment_sum(gather(joined([a.values, b.values], 0), order), group, count)
    dtype = abs_of(added).dtype
    limit = cast(threshold, dtype) if stands_for_tensor(threshold) else lift(threshold, dtype)
    found = SparseTensor.of(indices, added, a.dense_shape, a.dims)
    single: Any = unsorted_segment_sum(ones(shape_of(group), int32), group, count) < 2
    left = single | (abs_of(added) >= limit)
    return SparseTensor.of(
        boolean_mask(found.indices, left), boolean_mask(added, left), a.dense_shape, a.dims
    )


def _extreme(op: str, a: SparseTensor, b: object, choose: Callable[[Any, Any], Any]) -> SparseTensor:
    x, y = require_sparse(op, a, "sp_a"), require_sparse(op, b, "sp_b")
    indices, order, group, count = _joint(op, x, y)
    sides = [
        joined([x.values, zeros(shape_of(y.values), y.dtype)], 0),
        joined([zeros(shape_of(x.values), x.dtype), y.values], 0),
    ]
    left, right = (unsorted_segment_sum(gather(side, order), group, count) for side in sides)
    return SparseTensor.of(indices, choose(left, right), x.dense_shape, x.dims)


@blaming
def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The elementwise maximum of two sparse tensors, where at least one has a value; a missing value counts as 0.

    Args:
      sp_a, sp_b: SparseTensors of one shape and real dtype.
    Returns: SparseTensor of that shape and dtype. At a tie the gradient goes to `sp_a`.
    Raises: ArgumentTypeError (a TypeError): one is not a SparseTensor; InvalidArgumentError (a ValueError): the shapes differ.
    Example:
      >>> sparse.maximum(sparse.eye(2), SparseTensor([[0, 0]], [3.0], [2, 2])).values.numpy()
      array([3., 1.], dtype=float32)
    """
    return _extreme("sparse.maximum", sp_a, sp_b, larger)


@blaming
def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """The elementwise minimum of two sparse tensors, where at least one has a value; a missing value counts as 0.

    Args:
      sp_a, sp_b: SparseTensors of one shape and real dtype.
    Returns: SparseTensor of that shape and dtype. At a tie the gradient goes to `sp_a`.
    Raises: ArgumentTypeError (a TypeError): one is not a SparseTensor; InvalidArgumentError (a ValueError): the shapes differ.
    Example:
      >>> sparse.minimum(sparse.eye(2), SparseTensor([[0, 0]], [3.0], [2, 2])).values.numpy()
      array([1., 0.], dtype=float32)
    """
    return _extreme("sparse.minimum", sp_a, sp_b, smaller)


@blaming
def softmax(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """exp(x) divided by its sum along the last axis, over the elements that have a value.

    Args:
      sp_input: A SparseTensor [..., size] of rank 2 or more, a float dtype.
    Returns: SparseTensor of the same shape and dtype.
    Raises: ArgumentTypeError (a TypeError): `sp_input` is not a SparseTensor; DTypeError (a TypeError): another dtype.
    Source: Bridle, Probabilistic interpretation of feedforward classification network outputs, 1990.
    Example:
      >>> sparse.softmax(SparseTensor([[0, 0], [0, 1]], [1.0, 1.0], [1, 3])).values.numpy()
      array([0.5, 0.5], dtype=float32)
    """
    x = require_sparse("sparse.softmax", sp_input)
    rows = in_line(x.indices[:, :-1], x.dense_shape[:-1])
    count = reduce_prod(x.dense_shape[:-1])
    lowest = fill(stack([count]), lift(-float("inf"), x.dtype))
    top = gather(tensor_scatter_nd_max(lowest, rows[:, None], stop_gradient(x.values)), rows)
    parts = exp(x.values - stop_gradient(top))
    return x.with_values(parts / gather(unsorted_segment_sum(parts, rows, count), rows))
