"""Embedding look-ups combined over each row of a sparse tensor of ids; and the k largest or smallest elements."""

from __future__ import annotations

from typing import Any, Literal

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros_like
from graphad.ops.array.gather import gather
from graphad.ops.array.join import stack
from graphad.ops.array.reshape import reshape
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.sorting import top_k
from graphad.ops.array.transpose import move_axis
from graphad.ops.linalg import clip_by_norm
from graphad.ops.math.arithmetic import divide_no_nan, square
from graphad.ops.math.cast import cast
from graphad.ops.math.power import sqrt
from graphad.ops.math.reduce import reduce_prod
from graphad.ops.math.segment import divisors_of, sorted_segments
from graphad.ops.math.select import where
from graphad.ops.nn.normalize import whole_table
from graphad.ops.sparse.places import fill_empty_rows, in_line, retain
from graphad.ops.sparse.tensor import SparseTensor, require_rank, require_sparse

Combiner = Literal["sum", "mean", "sqrtn"]


def _combined(
    op: str,
    params: Tensor,
    ids: SparseTensor,
    weights: SparseTensor | None,
    combiner: object,
    max_norm: float | None,
) -> Tensor:
    kind = "mean" if combiner is None else combiner
    if kind not in ("sum", "mean", "sqrtn"):
        raise InvalidArgumentError(f"{op}: combiner {combiner!r} is not one of 'sum', 'mean' and 'sqrtn'.")
    rows: Any = gather(params, ids.values)
    if max_norm is not None:
        rows = clip_by_norm(rows, max_norm, list(range(1, rows.ndim)))
    segments, count = sorted_segments(op, ids.indices[:, 0])
    if weights is None:
        total = unsorted_segment_sum(rows, segments, count)
        if kind == "sum":
            return total
        members = divisors_of(total, segments, count)
        return total / (members if kind == "mean" else sqrt(members))
    factors = cast(weights.values, rows.dtype)
    shaped = reshape(factors, [-1, *[1] * (rows.ndim - 1)])
    total = unsorted_segment_sum(rows * shaped, segments, count)
    if kind == "sum":
        return total
    part = unsorted_segment_sum(shaped if kind == "mean" else square(shaped), segments, count)
    return divide_no_nan(total, part if kind == "mean" else sqrt(part))


def embedding_lookup_sparse(
    params: TensorLike,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    combiner: Combiner | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """For each row of a sparse matrix of ids, the sum or mean of these rows of `params`.

    Args:
      params: Float tensor [n, ...]: the table; or a list of tensors, its parts one behind the other.
      sp_ids: SparseTensor [rows, any] of integers, in order, with a value in each row.
      sp_weights: SparseTensor with the same indices: the weight of each id; None is 1.
      combiner: "sum", "mean" (the sum divided by the sum of the weights; the default), or "sqrtn" (the sum divided by the root
        of the sum of squared weights).
      max_norm: Rows of `params` are scaled down to this norm first.
      allow_fast_lookup: Accepted for compatibility.
    Returns: Tensor [last row with an id + 1, ...] of the dtype of `params`.
    Raises: InvalidArgumentError (a ValueError): an id is out of range, or `combiner` is another word.
    """
    op = "embedding_lookup_sparse"
    ids = require_sparse(op, sp_ids, "sp_ids")
    weights = None if sp_weights is None else require_sparse(op, sp_weights, "sp_weights")
    return _combined(op, whole_table(params), ids, weights, combiner, max_norm)


def safe_embedding_lookup_sparse(
    embedding_weights: TensorLike,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: Combiner = "mean",
    default_id: int | None = None,
    max_norm: float | None = None,
    name: str | None = None,
    allow_fast_lookup: bool = False,
) -> Tensor:
    """`embedding_lookup_sparse` that allows rows without ids and ignores invalid ids and weights.

    Args:
      embedding_weights: Float tensor [n, ...]: the table; or a list of tensors, its parts one behind the other.
      sparse_ids: SparseTensor [..., any] of integers, in order; negative ones are ignored.
      sparse_weights: SparseTensor with the same indices, or None; ids whose weight is not positive are ignored, except for
        "sum".
      combiner: "sum", "mean" or "sqrtn", as for `embedding_lookup_sparse`.
      default_id: The id of rows without ids; None gives zeros there.
      max_norm: Rows of the table are scaled down to this norm first.
      allow_fast_lookup: Accepted for compatibility.
    Returns: Tensor [..., ...] of the dtype of the table: the sizes of `sparse_ids` except the last, then those of a row of the
    table.
    Raises: InvalidArgumentError (a ValueError): an id is out of range, or `combiner` is another word.
    """
    op = "safe_embedding_lookup_sparse"
    ids = require_sparse(op, sparse_ids, "sparse_ids")
    weights = None if sparse_weights is None else require_sparse(op, sparse_weights, "sparse_weights")
    table = lift(whole_table(embedding_weights))
    lead = ids.dense_shape[:-1]
    known = None if ids.dims is None or None in ids.dims[:-1] else list(ids.dims[:-1])
    if require_rank(op, ids) > 2:
        ids = _as_matrix(ids)
        weights = None if weights is None else _as_matrix(weights)
    kept: Any = ids.values >= 0
    if weights is not None and combiner != "sum":
        kept = kept & (weights.values > 0)
    weights = None if weights is None else retain(weights, kept)
    ids, empty = fill_empty_rows(retain(ids, kept), default_id or 0)
    weights = None if weights is None else fill_empty_rows(weights, 1)[0]
    found: Any = _combined(op, table, ids, weights, combiner, max_norm)
    if default_id is None:
        mask = reshape(empty, [-1, *[1] * (found.ndim - 1)])
        found = where(mask, zeros_like(found), found)
    if known is not None and len(known) != 1:
        found = reshape(found, [*known, *found.dims[1:]])
    elif known is None and lead.dims != (1,):
        raise InvalidArgumentError(
            f"{op}: the sizes of sparse_ids except the last must be known for a rank above 2."
        )
    return found  # type: ignore[no-any-return]


def _as_matrix(x: SparseTensor) -> SparseTensor:
    """The tensor with all axes but the last merged."""
    from_front = in_line(x.indices[:, :-1], x.dense_shape[:-1])
    shape = stack([reduce_prod(x.dense_shape[:-1]), x.dense_shape[-1]])
    return SparseTensor.of(stack([from_front, x.indices[:, -1]], 1), x.values, shape)


def _extreme(op: str, operand: object, k: int, axis: int, sign: int) -> tuple[Any, Any]:
    x = lift(operand)
    place = normalize_axis(op, axis, x.ndim, "operand", x.dims)
    values, indices = top_k(move_axis(x, place, -1) * sign, k)
    return move_axis(values * sign, -1, place), move_axis(indices, -1, place)


def approx_max_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The k largest elements along an axis and their indices. The result is exact here.

    Args:
      operand: Tensor of any shape, a float dtype.
      k: The number of elements.
      reduction_dimension: The axis.
      recall_target, reduction_input_size_override, aggregate_to_topk: Accepted for compatibility.
    Returns: (values of the same dtype, int32 indices), of the shape of the operand with k in place of the size of the axis.
    Raises: InvalidArgumentError (a ValueError): k is larger than the size of the axis.
    """
    return _extreme("approx_max_k", operand, k, reduction_dimension, 1)


def approx_min_k(
    operand: TensorLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The k smallest elements along an axis and their indices. The result is exact here.

    Args:
      operand: Tensor of any shape, a float dtype.
      k: The number of elements.
      reduction_dimension: The axis.
      recall_target, reduction_input_size_override, aggregate_to_topk: Accepted for compatibility.
    Returns: (values of the same dtype, int32 indices), of the shape of the operand with k in place of the size of the axis.
    Raises: InvalidArgumentError (a ValueError): k is larger than the size of the axis.
    """
    return _extreme("approx_min_k", operand, k, reduction_dimension, -1)
