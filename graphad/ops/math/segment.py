"""Sums and means of slices that belong together: `segment_sum`, `segment_mean` and their unsorted forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones
from graphad.ops.array.join import concat
from graphad.ops.array.scatter import unsorted_segment_sum
from graphad.ops.array.shape import reshape, shape
from graphad.ops.array.support import index_tensor, static_array
from graphad.ops.math.reduce import reduce_max
from graphad.ops.math.select import maximum


def _segments(op: str, segment_ids: Any) -> tuple[Any, Any]:
    """Sorted ids as a tensor, and how many segments there are."""
    ids = index_tensor(op, segment_ids, "segment_ids")
    if ids.ndim not in (None, 1):
        raise InvalidArgumentError(f"{op}: segment_ids has shape {ids.shape}; a vector is needed.")
    known = static_array(ids)
    if known is None:
        return ids, reduce_max(concat([ids, lift([-1], ids.dtype)], 0)) + 1
    if known.size and (known[0] < 0 or np.any(known[1:] < known[:-1])):
        raise InvalidArgumentError(
            f"{op}: segment ids are not increasing from 0 on: {known.tolist()}; sort them."
        )
    return ids, int(known[-1]) + 1 if known.size else 0


def _mean(total: Any, ids: Any, count: Any) -> Any:
    members = unsorted_segment_sum(ones(shape(ids), total.dtype), ids, count)
    if total.ndim is None:
        sizes = concat([shape(members), ones(shape(shape(total)[1:]), "int32")], 0)
        members = reshape(members, sizes)
    elif total.ndim > 1:
        members = reshape(members, [-1, *[1] * (total.ndim - 1)])
    members = maximum(members, 1)
    return total // members if total.dtype.is_integer else total / members


def segment_sum(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Sums of the slices of `data` along its first axis that share an id.

    Args:
      data: Numeric tensor [n, ...].
      segment_ids: Sorted integer vector of n ids from 0 on.
    Returns: Tensor [last id + 1, ...], zero for segments without members.
    """
    ids, count = _segments("segment_sum", segment_ids)
    return unsorted_segment_sum(data, ids, count)


def segment_mean(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
    """Means of the slices of `data` along its first axis that share an id; arguments and shapes as for `segment_sum`."""
    ids, count = _segments("segment_mean", segment_ids)
    return _mean(unsorted_segment_sum(data, ids, count), ids, count)  # type: ignore[no-any-return]


def unsorted_segment_mean(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
    """Means of the slices of `data` that share an id; as `unsorted_segment_sum`, 0 for segments without members."""
    ids = index_tensor("unsorted_segment_mean", segment_ids, "segment_ids")
    total = unsorted_segment_sum(data, ids, num_segments)
    return _mean(total, ids, num_segments)  # type: ignore[no-any-return]
