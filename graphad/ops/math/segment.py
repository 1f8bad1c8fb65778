"""Sums and means over segments of slices: `segment_sum`, `segment_mean` and their unsorted forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import Array, BatchContext, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.arrays import are_below
from graphad.core.bind import bind, constant_here
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import DType, int64, uint64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INEXACT, require_kind
from graphad.core.op import Op, define, else_eval, no_gradient
from graphad.core.schema import IntegerSpec, Text
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.shape import shape
from graphad.ops.array.support import index_tensor, row_beside, static_array
from graphad.ops.directly import is_eager
from graphad.ops.math.arithmetic import abs, sign
from graphad.ops.math.cast import cast
from graphad.ops.math.power import sqrt
from graphad.ops.math.reduce import reduce_max
from graphad.ops.math.select import maximum


@define
class SortedIds(Op):
    """The ids, which must be non-negative and non-decreasing; otherwise an error in the name of the op `of`."""

    name = "sorted_ids"
    words = {"ids": "segment_ids"}
    keeps = (False, False)
    vjp = no_gradient("its result is integers")
    of: Text

    @property
    def caller(self) -> str:
        return self.of

    def infer(self, ids: IntegerSpec) -> TensorSpec:
        if ids.dims == ():
            raise InvalidArgumentError(f"{self.of}: segment_ids is a scalar; a vector is needed.")
        return ids

    def eval(self, ids: Array) -> Array:
        if ids.size and ((ids[..., :1] < 0).any() or (ids[..., 1:] < ids[..., :-1]).any()):
            raise InvalidArgumentError(
                f"{self.of}: segment ids are not increasing from 0 on: {ids.tolist()}; sort them."
            )
        return ids

    @else_eval("it raises an error unless its numbers are in order")
    def lower(self, ids: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Rising() if ids.dims else None

    def batch(self, ctx: BatchContext, ids: Ranked) -> Tensor:
        return bind(self, ids)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(axes[0], specs[0], -1)


def sorted_segments(op: str, segment_ids: TensorLike) -> tuple[Any, Any]:
    """Sorted ids as a tensor, and the number of segments."""
    ids = index_tensor(op, segment_ids, "segment_ids")
    if ids.ndim not in (None, 1):
        raise InvalidArgumentError(f"{op}: segment_ids has shape {ids.shape}; a vector is needed.")
    known = static_array(ids)
    if known is None:
        ids = bind(SortedIds(op), ids)
        return ids, reduce_max(concat([ids, lift([-1], ids.dtype)], 0)) + 1
    SortedIds(op).eval(known)
    return ids, int(known[-1]) + 1 if known.size else 0


def _totals(data: TensorLike, ids: Tensor, count: TensorLike) -> tuple[Any, Any]:
    """The sum of each segment and the number of its members, at least 1, shaped to divide the sum."""
    total = unsorted_segment_sum(data, ids, count)
    return total, divisors_of(total, ids, count)


def divisors_of(total: Tensor, ids: Tensor, count: TensorLike) -> Tensor:
    """The number of members of each segment, at least 1, in the dtype of `total` and shaped to divide it."""
    members = maximum(members_of(total, ids, count), 1)
    return members if members.dtype is total.dtype else cast(members, total.dtype)


_EXACT = {"float32": 1 << 24, "float64": 1 << 53}  # up to these numbers a sum of ones is exact


def _counted(ids: Tensor, count: TensorLike, dtype: DType) -> Tensor | None:
    """How often each number below `count` is in a vector of ids at hand; None where a sum of ones has to tell it."""
    if type(count) is not int or not is_eager(ids) or not dtype.is_floating:
        return None
    numbers: Any = ids.data
    if numbers.ndim != 1 or numbers.size >= _EXACT.get(dtype.name, 0) or not are_below(numbers, count):
        return None
    return constant_here(np.bincount(numbers, minlength=count).astype(dtype.numpy))


def members_of(total: Tensor, ids: Tensor, count: TensorLike) -> Tensor:
    """The number of members of each segment, in the real dtype of `total` and shaped to broadcast with it."""
    members = _counted(ids, count, total.dtype.real_dtype)
    if members is None:
        members = unsorted_segment_sum(ones(shape(ids), total.dtype.real_dtype), ids, count)
    if total.ndim is None:
        sizes = concat([shape(members), ones(shape(shape(total)[1:]), "int32")], 0)
        return reshape(members, sizes)
    return reshape(members, [-1, *[1] * (total.ndim - 1)]) if total.ndim > 1 else members


@blaming
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Sums of the slices of `data` along its first axis that share an id.

    Args:
      data: Numeric tensor [n, ...].
      segment_ids: Sorted integer vector of n ids from 0 on.
    Returns: Tensor [last id + 1, ...], zero for segments without members.
    Raises: InvalidArgumentError (a ValueError): the ids are not sorted, negative, or not n.
    Example:
      >>> math.segment_sum([1, 2, 3], [0, 0, 1]).numpy()
      array([3, 3], dtype=int32)
    """
    ids, count = sorted_segments("segment_sum", segment_ids)
    return unsorted_segment_sum(data, ids, count)


@blaming
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: str | None = None) -> Tensor:
    """Means of the slices of `data` along its first axis that share an id; arguments and shapes as for `segment_sum`.

    Means of integers are rounded towards 0.

    Args:
      data: Numeric tensor [n, ...].
      segment_ids: Sorted integer vector of n ids from 0 on.
    Returns: Tensor [last id + 1, ...] of the same dtype, zero for segments without members.
    Raises: InvalidArgumentError (a ValueError): the ids are not sorted, negative, or not n.
    """
    ids, count = sorted_segments("segment_mean", segment_ids)
    data = lift(data)
    dtype = data.dtype
    if not dtype.is_integer:
        total, members = _totals(data, ids, count)
        return total / members  # type: ignore[no-any-return]
    total, members = _totals(cast(data, uint64 if dtype.is_unsigned else int64), ids, count)
    return cast(sign(total) * (abs(total) // members), dtype)  # rounded towards 0


@blaming
def unsorted_segment_mean(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Means of the slices of `data` that share an id; as `unsorted_segment_sum`, 0 for segments without members.

    Integers are divided as by `/`, so their means are floats.

    Args:
      data: Numeric tensor whose shape begins with that of `segment_ids`.
      segment_ids: Integer tensor; ids in any order, below `num_segments`; slices with a negative id are left out.
      num_segments: An int, or an integer scalar tensor.
    Returns: Tensor [num_segments, *data.shape[rank of segment_ids:]].
    Raises: InvalidArgumentError (a ValueError): an id is not below `num_segments`, or the shapes do not fit.
    """
    ids = index_tensor("unsorted_segment_mean", segment_ids, "segment_ids")
    total, members = _totals(data, ids, num_segments)
    return total / members  # type: ignore[no-any-return]


@blaming
def unsorted_segment_sqrt_n(
    data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: str | None = None
) -> Tensor:
    """Sums of the slices of `data` that share a segment id, divided by the square root of their number; float or complex
    dtypes, 0 for segments without members.

    Args:
      data: Float or complex tensor whose shape begins with that of `segment_ids`.
      segment_ids: Integer tensor; ids in any order; slices with a negative id are left out.
      num_segments: An int, or an integer scalar tensor.
    Returns: Tensor [num_segments, *data.shape[rank of segment_ids:]] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an id is not below `num_segments`, or the shapes do not fit.
    """
    ids = index_tensor("unsorted_segment_sqrt_n", segment_ids, "segment_ids")
    data = lift(data)
    require_kind("unsorted_segment_sqrt_n", data, INEXACT, "data")
    total, members = _totals(data, ids, num_segments)
    return total / sqrt(members)  # type: ignore[no-any-return]
