"""`approx_max_k`, `approx_min_k` and `approx_top_k`: the results are exact, which satisfies every recall target."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind
from graphad.core.shapes import normalize_axis
from graphad.ops.array.along import TakeAlong
from graphad.ops.array.sorting import top_k
from graphad.ops.array.transpose import transpose

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


class ApproxTopK(NamedTuple):
    """The result of the functions of this module."""

    values: Tensor
    indices: Tensor


@blaming
def approx_top_k(
    input: TensorLike,
    k: TensorLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    is_max_k: bool = True,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The k largest elements along an axis, or the smallest, and their int32 indices; always exactly those.

    Args:
      input: Tensor [..., n, ...] of a float dtype.
      k: How many.
      reduction_dimension: The axis.
      recall_target: How many of them may be missed, above 0 and up to 1; none is.
      is_max_k: Whether the largest are asked for.
      reduction_input_size_override, aggregate_to_topk: Of no effect.
    Returns: (values, indices), both of the shape of `input` with k along the axis.
    Raises: InvalidArgumentError (a ValueError): `k` or the axis is out of range, or no such `recall_target`.
    """
    op = "approx_top_k"
    x = lift(input)
    require_kind(op, x, FLOATING, "input")
    if not 0.0 < recall_target <= 1.0:
        raise InvalidArgumentError(f"{op}: recall_target is {recall_target}; it is above 0 and at most 1.")
    if x.ndim is None:
        raise InvalidArgumentError(f"{op}: the rank of input must be known.")
    axis = normalize_axis(op, reduction_dimension, x.ndim, "input", x.dims)
    turn = [*(k for k in range(x.ndim) if k != axis), axis]
    last = x if axis == x.ndim - 1 else transpose(x, turn)
    indices = top_k(last if is_max_k else -last, k).indices
    values = bind(TakeAlong(x.ndim - 1), last, indices)
    if last is not x:
        back = [turn.index(k) for k in range(x.ndim)]
        values, indices = transpose(values, back), transpose(indices, back)
    return ApproxTopK(values, indices)


@blaming
def approx_max_k(
    operand: TensorLike,
    k: TensorLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The k largest elements along an axis and their int32 indices, as `approx_top_k`.

    Args:
      operand: Tensor [..., n, ...] of a float dtype.
      k: How many.
      reduction_dimension: The axis.
      recall_target, reduction_input_size_override, aggregate_to_topk: As for `approx_top_k`.
    Returns: (values, indices), both of the shape of `operand` with k along the axis.
    Raises: InvalidArgumentError (a ValueError): `k` or the axis is out of range.
    """
    return approx_top_k(operand, k, reduction_dimension, recall_target)


@blaming
def approx_min_k(
    operand: TensorLike,
    k: TensorLike,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
    name: str | None = None,
) -> ApproxTopK:
    """The k smallest elements along an axis and their int32 indices, as `approx_top_k`.

    Args:
      operand: Tensor [..., n, ...] of a float dtype.
      k: How many.
      reduction_dimension: The axis.
      recall_target, reduction_input_size_override, aggregate_to_topk: As for `approx_top_k`.
    Returns: (values, indices), both of the shape of `operand` with k along the axis.
    Raises: InvalidArgumentError (a ValueError): `k` or the axis is out of range.
    """
    return approx_top_k(operand, k, reduction_dimension, recall_target, False)
