"""The public pools, composed of the ops in `pooling_ops`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype, int32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import REAL, require_kind, require_one_of
from graphad.core.tensor import Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.reshape import reshape
from graphad.ops.array.sequence import range
from graphad.ops.array.shape import shape
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal
from graphad.ops.math.reduce import reduce_prod
from graphad.ops.nn import arguments
from graphad.ops.nn.pooling_ops import AvgPool, MaxPool, MaxPoolPick, Pool
from graphad.ops.state.effects import require


def _pool(
    op: str,
    kind: type[Pool],
    x: Tensor,
    rank: int,
    window: object,
    strides: object,
    padding: object,
    data_format: str | None,
    dilations: object = None,
) -> Tensor:
    first = arguments.channels_first(op, data_format, rank)
    if kind is MaxPool and rank == 2 and not first:
        across = arguments.across_channels(window)
        if across > 1:
            return _over_channels(op, x, across, window, strides, padding)
    pads = arguments.padding_of(op, padding, rank, kind.pads_anywhere, first)
    window = arguments.per_axis(op, "ksize", window, rank, first)
    steps, apart = (
        arguments.per_axis(op, name, value, rank, first)
        for name, value in (("strides", strides), ("dilations", dilations))
    )
    if not isinstance(pads, str) and any(max(side) >= size for side, size in zip(pads, window, strict=True)):
        raise InvalidArgumentError(
            f"{op}: padding {padding!r} is not smaller than the window {window}; each window must overlap the input."
        )
    made = kind(window, steps, pads, apart)
    return arguments.in_order(op, lambda images: bind(made, images), x, rank, first)


def _over_channels(op: str, x: Any, count: int, window: Any, strides: Any, padding: object) -> Tensor:
    """The largest of each `count` neighbouring channels, groups of which follow one another."""
    images = require_kind(op, x, REAL, "input")
    arguments.require_axes(op, images, 2)
    images = ensure_shape(images, (None,) * 4) if images.dims is None else images
    steps = strides if isinstance(strides, int) else [int(n) for n in np.ravel(strides)]
    if [int(n) for n in np.ravel(window)][:3] != [1, 1, 1] or steps not in (count, [1, 1, 1, count]):
        raise InvalidArgumentError(
            f"{op}: ksize {window!r} with strides {strides!r}: a window over channels covers 1 row and column, and its stride is "
            "its size."
        )
    arguments.padding_of(op, padding, 2, False)  # only a word
    sizes, channels = shape(images), images.dims[3] if images.dims else None
    if isinstance(channels, int) and channels % count:
        raise InvalidArgumentError(
            f"{op}: input has {channels} channels; ksize {window!r} needs a multiple of {count}."
        )
    if not isinstance(channels, int):
        words = f"{op}: input has \x00 channels; ksize {window!r} needs a multiple of {count}."
        require(equal(sizes[3] % count, 0), words, [sizes[3]])
    rows = reshape(images, [-1, sizes[3], 1])
    largest = bind(MaxPool((count,), (count,), arguments.padding_of(op, "VALID", 1), (1,)), rows)
    return reshape(largest, [sizes[0], sizes[1], sizes[2], sizes[3] // count])


@blaming
def max_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window.

    Args:
      ksize, strides: One number, or three with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [left, right], [0, 0]]; padding never is the maximum.
      data_format: "NWC", or "NCW": channels follow the batch, also in arguments for each axis.
      input: Real tensor [batch, width, channels] of any real dtype.
    Returns: Tensor [batch, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the window or padding does not fit.
    """
    return _pool("max_pool1d", MaxPool, lift(input), 1, ksize, strides, padding, data_format)


@blaming
def max_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window.

    Args:
      ksize, strides: One number, two, or four with 1 at both ends; or [1, 1, 1, k], both: k neighbouring channels are a window.
      padding: "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]]; padding never is the maximum.
      data_format: "NHWC", or "NCHW": channels follow the batch, also in arguments for each axis.
      input: Real tensor [batch, height, width, channels] of any real dtype.
    Returns: Tensor [batch, out height, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the window or padding does not fit.
    Example:
      >>> nn.max_pool2d(ones([1, 4, 4, 1]), 2, 2, "VALID").shape
      TensorShape([1, 2, 2, 1])
    """
    return _pool("max_pool2d", MaxPool, lift(input), 2, ksize, strides, padding, data_format)


@blaming
def max_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest element of each window.

    Args:
      ksize, strides: One number, three, or five with 1 at both ends.
      padding: "SAME", "VALID", or five pairs (before, after), the first and the last of zeros; padding never is the maximum.
      data_format: "NDHWC", or "NCDHW": channels follow the batch, also in arguments for each axis.
      input: Real tensor [batch, depth, height, width, channels] of any real dtype.
    Returns: Tensor [batch, out depth, out height, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the window or padding does not fit.
    """
    return _pool("max_pool3d", MaxPool, lift(input), 3, ksize, strides, padding, data_format)


@blaming
def avg_pool1d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a float tensor [batch, width, channels]; padding is not counted.

    Args:
      input: Float tensor [batch, width, channels].
      ksize, strides: One number, or three with 1 at both ends.
      padding: "SAME" or "VALID".
      data_format: "NWC", or "NCW": channels follow the batch.
    Returns: Float tensor [batch, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the window or padding does not fit.
    """
    return _pool("avg_pool1d", AvgPool, lift(input), 1, ksize, strides, padding, data_format)


@blaming
def avg_pool2d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a float tensor [batch, height, width, channels]; padding is not counted.

    Args:
      input: Float tensor [batch, height, width, channels].
      ksize, strides: One number, two, or four with 1 at both ends.
      padding: "SAME" or "VALID".
      data_format: "NHWC", or "NCHW": channels follow the batch.
    Returns: Float tensor [batch, out height, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the window or padding does not fit.
    Example:
      >>> nn.avg_pool2d(ones([1, 4, 4, 1]), 2, 2, "VALID").shape
      TensorShape([1, 2, 2, 1])
    """
    return _pool("avg_pool2d", AvgPool, lift(input), 2, ksize, strides, padding, data_format)


@blaming
def avg_pool3d(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a float tensor [batch, depth, height, width, channels]; padding is not counted.

    Args:
      input: Float tensor [batch, depth, height, width, channels].
      ksize, strides: One number, three, or five with 1 at both ends.
      padding: "SAME" or "VALID".
      data_format: "NDHWC", or "NCDHW": channels follow the batch.
    Returns: Float tensor [batch, out depth, out height, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the window or padding does not fit.
    """
    return _pool("avg_pool3d", AvgPool, lift(input), 3, ksize, strides, padding, data_format)


@blaming
def max_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`max_pool1d`, `max_pool2d` or `max_pool3d`: for the rank of `input`, or that of `ksize` where it is unknown.

    Args:
      input: Real tensor [batch, ..., channels].
      ksize, strides: One number, one for each axis in between, or one for all axes with 1 at both ends.
      padding: "SAME", "VALID", or a pair (before, after) for each axis.
      data_format: "NWC", "NHWC" or "NDHWC", or with channels after the batch "NCW", "NCHW" or "NCDHW".
    Returns: Tensor [batch, ..., channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is not 3 to 5, or the window or padding does not fit.
    """
    return _by_rank("max_pool", MaxPool, lift(input), ksize, strides, padding, data_format)


@blaming
def avg_pool(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """`avg_pool1d`, `avg_pool2d` or `avg_pool3d`: for the rank of `input`, or that of `ksize` where it is unknown.

    Args:
      input: Float tensor [batch, ..., channels].
      ksize, strides: One number, one for each axis in between, or one for all axes with 1 at both ends.
      padding: "SAME" or "VALID".
      data_format: "NWC", "NHWC" or "NDHWC", or with channels after the batch "NCW", "NCHW" or "NCDHW".
    Returns: Float tensor [batch, ..., channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the rank is not 3 to 5, or the window or padding does not fit.
    """
    return _by_rank("avg_pool", AvgPool, lift(input), ksize, strides, padding, data_format)


class MaxPoolWithArgmax(NamedTuple):
    """The result of `max_pool_with_argmax`: the largest elements and their indices."""

    output: Tensor
    argmax: Tensor


@blaming
def max_pool_with_argmax(
    input: TensorLike,
    ksize: int | Sequence[int],
    strides: int | Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    output_dtype: DTypeLike = int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> MaxPoolWithArgmax:
    """`max_pool2d`, and the flat index in the input of each of its elements.

    Args:
      input: Real tensor [batch, height, width, channels].
      ksize, strides: One number, two, or four with 1 at both ends.
      padding: "SAME" or "VALID".
      data_format: "NHWC".
      output_dtype: int32 or int64.
      include_batch_in_index: Whether the index counts through all images, ((b * height + y) * width + x) * channels + c;
        otherwise it counts within one image, (y * width + x) * channels + c.
    Returns: (output, argmax), both [batch, out height, out width, channels]. At a tie the first element counts; argmax has no
      gradient.
    Raises: InvalidArgumentError (a ValueError): the window or padding does not fit.
    """
    op = "max_pool_with_argmax"
    if data_format != "NHWC":
        raise InvalidArgumentError(f"{op}: data_format {data_format!r} is not supported; it must be 'NHWC'.")
    dtype = require_one_of(op, as_dtype(output_dtype), (int32, int64), "output_dtype")
    x, pads = lift(input), arguments.padding_of(op, padding, 2, explicit=False)
    arguments.require_axes(op, x, 2)
    window = arguments.per_axis(op, "ksize", ksize, 2)
    attributes = (window, arguments.per_axis(op, "strides", strides, 2), pads, (1, 1))
    sizes: Any = shape(x, int64)
    one = sizes if include_batch_in_index else sizes[1:]
    places = broadcast_to(reshape(range(reduce_prod(one)), one), sizes)
    y = bind(MaxPool(*attributes), x)
    return MaxPoolWithArgmax(y, cast(bind(MaxPoolPick(*attributes), x, places), dtype))


def _by_rank(
    op: str,
    kind: type[Pool],
    x: Tensor,
    ksize: object,
    strides: object,
    padding: object,
    data_format: str | None,
) -> Tensor:
    if x.ndim is None and isinstance(ksize, list | tuple) and len(ksize) in (4, 5):
        x = ensure_shape(x, (None,) * len(ksize))
    if x.ndim is None:
        raise InvalidArgumentError(f"{op}: the rank of input must be known; use {op}1d, {op}2d or {op}3d.")
    rank = x.ndim - 2
    arguments.require_axes(op, x, rank)
    return _pool(op, kind, x, rank, ksize, strides, padding, data_format)


@blaming
def pool(
    input: TensorLike,
    window_shape: ShapeLike,
    pooling_type: str,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] = "VALID",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """The largest element or the mean of each window, along one to three axes.

    Args:
      input: Tensor [batch, width, channels], [batch, height, width, channels] or [batch, depth, height, width, channels], a
        real dtype for "MAX", a float one for "AVG".
      window_shape: One number for each of the axes between batch and channels.
      pooling_type: "MAX" or "AVG".
      strides: Likewise, or one number for all; 1 by default.
      padding: "SAME", "VALID", or for "MAX" pairs of numbers for all axes, as for `max_pool2d`.
      data_format: "NWC", "NHWC" or "NDHWC", or with channels after the batch "NCW", "NCHW" or "NCDHW".
      dilations: The distance of the elements of a window, in the form of `strides`.
    Returns: Tensor of the same rank and dtype.
    Raises: InvalidArgumentError: the window does not fit into the input, or an option is not supported.
    """
    kind = {"MAX": MaxPool, "AVG": AvgPool}.get(pooling_type) if isinstance(pooling_type, str) else None
    if kind is None:
        raise InvalidArgumentError(f"pool: pooling_type {pooling_type!r} is neither 'MAX' nor 'AVG'.")
    x, rank = lift(input), arguments.axes_of("pool", "window_shape", window_shape)
    arguments.require_axes("pool", x, rank)
    return _pool("pool", kind, x, rank, window_shape, strides, padding, data_format, dilations)
