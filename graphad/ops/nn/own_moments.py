"""Normalisation of each example by moments of its own: over its features, over groups of channels, over single channels."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind, require_same_dtype
from graphad.core.shapes import are_compatible, are_numbers, format_dims, normalize_axes, normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.tiling import tile
from graphad.ops.math import cast, reduce_mean, square
from graphad.ops.nn.normalize import batch_normalization, moments, widened


def layer_normalization(
    x: TensorLike,
    axis: int | Sequence[int] = -1,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    variance_epsilon: float = 1e-3,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, with the mean and the variance over the given axes.

    Args:
      x: Float tensor [..., features].
      axis: The axis of the features, or several.
      offset, scale: Tensors of the same dtype with the sizes of these axes in their order; or None.
      variance_epsilon: A small number that is added to the variance.
    Returns: Tensor of the shape and dtype of `x`.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range, or `offset` or `scale` has another shape; DTypeError
      (a TypeError): another dtype.
    Source: Ba, Kiros and Hinton, Layer normalization, 2016.
    Example:
      >>> nn.layer_normalization([[1.0, 2.0, 3.0]]).numpy().round(3)
      array([[-1.224,  0.   ,  1.224]], dtype=float32)
    """
    op = "layer_normalization"
    features, dims = _ranked(op, x)
    rank = len(dims)
    axes: Any = normalize_axes(op, axis, rank)
    sizes = [dims[k] if k in axes else 1 for k in range(rank)]
    offset, scale = (
        _beside(op, words, given, [dims[k] for k in axes], sizes, features)
        for words, given in (("offset", offset), ("scale", scale))
    )
    wide = widened(features)
    mean, variance = moments(wide, axes, keepdims=True)
    return cast(batch_normalization(wide, mean, variance, offset, scale, variance_epsilon), features.dtype)


def group_normalization(
    x: TensorLike,
    groups: int,
    axis: int = -1,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    variance_epsilon: float = 1e-3,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, with the mean and the variance of each example over all its
    places and the channels of a group.

    Args:
      x: Float tensor [batch, ..., channels], or with the channels along another axis.
      groups: In how many groups of neighbours the channels are divided.
      axis: The axis of the channels.
      offset, scale: Vectors [channels] of the same dtype, or None.
      variance_epsilon: A small number that is added to the variance.
    Returns: Tensor of the shape and dtype of `x`.
    Raises: InvalidArgumentError (a ValueError): the number of channels is unknown while tracing or no multiple of `groups`, the
      axis is that of the batch or out of range, or `offset` or `scale` has another shape; DTypeError (a TypeError): another
      dtype.
    Source: Wu and He, Group normalization, 2018.
    Example:
      >>> nn.group_normalization([[1.0, 3.0, 5.0, 9.0]], groups=2).numpy().round(3)
      array([[-1.   ,  1.   , -1.   ,  1.   ]], dtype=float32)
    """
    return _by_groups("group_normalization", x, groups, axis, offset, scale, variance_epsilon)


def instance_normalization(
    x: TensorLike,
    axis: int = -1,
    offset: TensorLike | None = None,
    scale: TensorLike | None = None,
    variance_epsilon: float = 1e-3,
    name: str | None = None,
) -> Tensor:
    """`group_normalization` with a group for each channel: the mean and the variance over all places of an example.

    Args:
      x: Float tensor [batch, ..., channels], or with the channels along another axis.
      axis: The axis of the channels.
      offset, scale: Vectors [channels] of the same dtype, or None.
      variance_epsilon: A small number that is added to the variance.
    Returns: Tensor of the shape and dtype of `x`.
    Raises: InvalidArgumentError (a ValueError): the number of channels is unknown while tracing, the axis is that of the batch
      or out of range, or `offset` or `scale` has another shape; DTypeError (a TypeError): another dtype.
    Source: Ulyanov, Vedaldi and Lempitsky, Instance normalization: the missing ingredient for fast stylization, 2016.
    Example:
      >>> nn.instance_normalization([[[1.0], [3.0]]]).numpy().round(3).ravel()
      array([-1.,  1.], dtype=float32)
    """
    return _by_groups("instance_normalization", x, None, axis, offset, scale, variance_epsilon)


@blaming
def _by_groups(
    op: str, x: TensorLike, groups: int | None, axis: int, offset: Any, scale: Any, epsilon: float
) -> Tensor:
    features, dims = _ranked(op, x)
    rank = len(dims)
    at = normalize_axis(op, axis, rank)
    if not at:
        raise InvalidArgumentError(
            f"{op}: axis {axis} of x with shape {format_dims(dims)} is that of the batch."
        )
    channels = dims[at]
    if not isinstance(channels, int):
        raise InvalidArgumentError(
            f"{op}: the number of channels, axis {axis} of x with shape {format_dims(dims)}, must be known while tracing."
        )
    count = channels if groups is None else groups
    if not isinstance(count, int) or isinstance(count, bool) or count < min(channels, 1):
        raise InvalidArgumentError(f"{op}: groups is {groups!r}; it must be an integer, 1 or more.")
    each, rest = divmod(channels, count) if count else (0, 0)
    if rest:
        raise InvalidArgumentError(f"{op}: {channels} channels cannot be divided into {groups} equal groups.")
    in_columns = at == rank - 1 > 1 and channels > 0
    sizes = [1] * at + ([channels] if in_columns else [count, each]) + [1] * (rank - at - 1)
    offset, scale = (
        _beside(op, words, given, [channels], sizes, features)
        for words, given in (("offset", offset), ("scale", scale))
    )
    wide, dtype = widened(features), features.dtype
    if in_columns:
        return cast(batch_normalization(wide, *_of_columns(wide, count, each), offset, scale, epsilon), dtype)
    whole: Any = dims if are_numbers(dims) else shape(wide)
    parts: Any = [whole[:at], [count, each], whole[at + 1 :]]
    parted = reshape(wide, [*itertools.chain(*parts)] if whole is dims else concat(parts, 0))
    mean, variance = moments(parted, [k for k in range(rank + 1) if k not in (0, at)], keepdims=True)
    return cast(reshape(batch_normalization(parted, mean, variance, offset, scale, epsilon), whole), dtype)


def _of_columns(x: Any, count: int, each: int) -> tuple[Tensor, Tensor]:
    """The moments of groups of the last axis, for each channel: from those of the channels, which kernels find by walking x once,
    as its elements come.
    """
    places = list(range(1, len(x.dims) - 1))

    def of_groups(numbers: Any) -> Tensor:
        means = reduce_mean(numbers, places, keepdims=True)
        if each > 1:
            shares = reduce_mean(reshape(means, [-1, count, each]), 2, keepdims=True)
            means = reshape(tile(shares, [1, 1, each]), [-1, *[1] * len(places), count * each])
        return means

    mean = of_groups(x)
    return mean, of_groups(square(x - mean))


def _ranked(op: str, given: TensorLike) -> tuple[Any, Any]:
    x = lift(given)
    require_kind(op, x, FLOATING)
    if x.dims is None:
        raise InvalidArgumentError(f"{op}: the rank of x must be known while tracing.")
    return x, x.dims


def _beside(op: str, words: str, given: Any, want: Any, sizes: Sequence[Any], x: Tensor) -> Any:
    """An offset or a scale with the axes of what it belongs to, `x`, and wide as that will be."""
    if given is None:
        return None
    beside = lift_like(op, given, x.dtype)
    require_same_dtype(op, x, beside, ("x", words))
    beside = widened(beside)
    have = beside.dims
    if not are_compatible(have, tuple(want)):
        raise InvalidArgumentError(
            f"{op}: {words} has shape {format_dims(have)}; the axes that are normalised have {format_dims(want)}."
        )
    first = next((k for k, size in enumerate(sizes) if size != 1), len(sizes))
    return beside if list(sizes[first:]) == list(want) else reshape(beside, sizes)
