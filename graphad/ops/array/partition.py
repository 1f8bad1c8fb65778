"""Partitioning and stitching by numbers, composed of masks, scatters and gathers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import Array, DTypeLike, TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import int32, int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.refusal import members
from graphad.core.shapes import are_compatible, format_dims, normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.create import constant, zeros
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.scatter import tensor_scatter_nd_update
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape, size
from graphad.ops.array.support import index_tensor
from graphad.ops.array.transpose import transpose
from graphad.ops.directly import directly
from graphad.ops.math.cast import cast
from graphad.ops.math.reduce import reduce_all, reduce_max
from graphad.ops.math.select import where
from graphad.ops.state.effects import require


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """The slices of `data` by the number of their part: parts[k] has data[i] for each i where partitions[i] is k, in order.

    Args:
      data: Tensor whose shape begins with that of `partitions`.
      partitions: Integers, from 0 to num_partitions - 1.
      num_partitions: How many parts there are, an int of at least 1.
    Returns: A list of tensors [members, *data.shape[rank of partitions:]] of the dtype of `data`.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit, there is no part, or a number is none of a part.
    """
    if not isinstance(num_partitions, int) or num_partitions < 1:
        raise InvalidArgumentError(
            f"dynamic_partition: num_partitions is {num_partitions!r}; an int of at least 1 is needed."
        )
    data, partitions = lift(data), index_tensor("dynamic_partition", partitions, "partitions")
    if partitions.dims == ():  # one number for the whole
        data, partitions = expand_dims(data, 0), expand_dims(partitions, 0)
    message = f"dynamic_partition: the partitions are \x00; they must be from 0 to {num_partitions - 1}."
    require(reduce_all((partitions >= 0) & (partitions < num_partitions)), message, [partitions])
    return [boolean_mask(data, partitions == k) for k in range(num_partitions)]


def _stitched(*arrays: Array) -> Array | None:
    """The slices of the second half of the arrays, each where the first half says; None where they do not fit."""
    numbers, parts = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
    inner = parts[0].shape[numbers[0].ndim :]
    if any(part.shape != (*at.shape, *inner) for at, part in zip(numbers, parts, strict=True)):
        return None
    if not all(at.size for at in numbers) or min(at.min() for at in numbers) < 0:
        return None
    found = np.zeros((1 + max(int(at.max()) for at in numbers), *inner), parts[0].dtype)
    for at, part in zip(numbers, parts, strict=True):
        found[at] = part
    return found


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """One tensor of numbered slices: result[indices[m][i]] is data[m][i]; of two with one number the later counts.

    Args:
      indices: Integer tensors; together they are to name each slice of the result. One that none names holds zeros.
      data: As many tensors, each of the shape of its indices and then that of a slice.
    Returns: Tensor [largest number + 1, ...] of the dtype of `data`.
    Raises: InvalidArgumentError (a ValueError): the lists or shapes do not fit.
    """
    if not isinstance(indices, list | tuple) or not isinstance(data, list | tuple):
        raise ArgumentTypeError(
            f"dynamic_stitch: indices is a {type(indices).__name__}, data a {type(data).__name__}; lists of tensors are needed."
        )
    if len(indices) != len(data) or not indices:
        raise InvalidArgumentError(
            f"dynamic_stitch: {len(indices)} tensors of indices and {len(data)} of data; as many are needed, at least one."
        )
    numbers = [cast(lift(part), int32) for part in indices]
    parts = [lift(data[0])]
    parts += [lift_like("dynamic_stitch", part, parts[0].dtype) for part in data[1:]]
    for k, (at, part) in enumerate(zip(numbers, parts, strict=True)):
        if at.ndim is None or part.ndim is None or at.ndim > part.ndim:
            raise InvalidArgumentError(
                f"dynamic_stitch: data[{k}] has shape {part.shape} and its indices {at.shape}, with which it must begin."
            )
        if not are_compatible(ranked(part.dims)[: at.ndim], at.dims):
            raise InvalidArgumentError(
                f"dynamic_stitch: data[{k}] has shape {part.shape}, which does not start with that of its indices, {at.shape}."
            )
        mine, first = ranked(part.dims)[at.ndim :], ranked(parts[0].dims)[numbers[0].ndim :]
        if not are_compatible(mine, first):
            raise InvalidArgumentError(
                f"dynamic_stitch: the slices of data[{k}] have shape {format_dims(mine)}, those of data[0] {format_dims(first)}; "
                "they must be equal."
            )
    found = directly(_stitched, *numbers, *parts)
    if found is not None:
        return found
    inner = shape(parts[0])[numbers[0].ndim :]
    flat = concat([reshape(at, [-1]) for at in numbers], 0)
    rows = concat(
        [reshape(part, concat([size(at)[None], inner], 0)) for at, part in zip(numbers, parts, strict=True)],
        0,
    )
    length = reduce_max(concat([flat, constant([-1], int32)], 0)) + 1
    start = zeros(concat([length[None], inner], 0), parts[0].dtype)
    return tensor_scatter_nd_update(start, expand_dims(flat, -1), rows)


def shape_n(input: Sequence[Any], out_type: DTypeLike = int32, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors.

    Args:
      input: A list of tensors of any shapes and dtypes.
      out_type: int32 or int64.
    Returns: A list of integer tensors [rank].
    Raises: ArgumentTypeError (a TypeError): it is not a list, or an element cannot be converted to a tensor.
    """
    return [shape(x, out_type) for x in members("shape_n", "input", input, "give a list of tensors")]


def reverse_sequence(
    input: TensorLike,
    seq_lengths: TensorLike,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Tensor:
    """The first seq_lengths[b] elements along `seq_axis` in reverse order, for each index b of `batch_axis`; the rest stays.

    Args:
      input: Tensor [batch, ..., n, ...] of any dtype.
      seq_lengths: Integers [batch], none above the size of `seq_axis`.
      seq_axis: The axis along which elements change places.
      batch_axis: The axis of the lengths, 0 by default.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, both are the same, or the shape of the lengths does not
      fit; a length is negative or above the size, at run time. DTypeError (a TypeError): the lengths are no integers.
    """
    x, lengths = lift(input), require_kind("reverse_sequence", lift(seq_lengths), INTEGER, "seq_lengths")
    if seq_axis is None or x.ndim is None:
        raise InvalidArgumentError(
            f"reverse_sequence: seq_axis is {seq_axis} and the input's shape {x.shape}; both an axis and a rank are needed."
        )
    along = normalize_axis("reverse_sequence", seq_axis, x.ndim, "input", x.dims)
    rows = normalize_axis(
        "reverse_sequence", 0 if batch_axis is None else batch_axis, x.ndim, "input", x.dims
    )
    if along == rows:
        raise InvalidArgumentError(
            f"reverse_sequence: seq_axis and batch_axis are both {along}; two axes are needed."
        )
    many = ranked(x.dims)[rows]
    if not are_compatible(lengths.dims, (many,)):
        raise InvalidArgumentError(
            f"reverse_sequence: seq_lengths has shape {lengths.shape} and the input {x.shape}; one length for each of the "
            f"{many} indices of axis {rows} is needed."
        )
    order = [rows, along, *(k for k in range(x.ndim) if k not in (rows, along))]
    moved = x if order == list(range(x.ndim)) else transpose(x, order)
    lengths = cast(lengths, int64)  # a large one stays too large
    count = shape(moved, int64)[1]
    require(
        reduce_all((lengths >= 0) & (lengths <= count)),
        "reverse_sequence: seq_lengths holds \x00; each must be from 0 to the size of seq_axis, \x00.",
        [lengths, count],
    )
    at = range_of(count)[None]
    places = where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
    turned = gather(moved, places, batch_dims=1)
    return turned if moved is x else transpose(turned, [int(k) for k in np.argsort(order)])
