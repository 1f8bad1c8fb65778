"""Convolutions of each channel with filters of its own: depthwise and separable ones, and their gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift_pair
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims, is_definite, ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import Reshape, reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import requested
from graphad.ops.array.transpose import move_axis
from graphad.ops.linalg import einsum
from graphad.ops.nn import windows as w
from graphad.ops.nn.arguments import channels_first, in_order
from graphad.ops.nn.convolution_ops import Convolution, ConvolutionFilterGrad, ConvolutionInputGrad
from graphad.ops.nn.convolutions import attributes_of


@blaming
def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Each channel convolved with its own filters.

    Args:
      input: Float tensor [batch, height, width, channels]. The filter has the same dtype.
      filter: Float tensor [height, width, channels, multiplier].
      strides, padding, data_format, dilations: As for `conv2d`.
    Returns: Float tensor [batch, out height, out width, channels * multiplier].
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    Source: Chollet, Xception: deep learning with depthwise separable convolutions, 2017.
    """
    return _depthwise("depthwise_conv2d", input, filter, strides, padding, data_format, dilations)


def _depthwise(
    op: str,
    input: object,
    filter: object,
    strides: object,
    padding: object,
    data_format: str | None,
    dilations: object,
) -> Tensor:
    first = channels_first(op, data_format, 2)
    x, kernel = lift_pair(op, input, filter)
    if kernel.dims is not None and len(kernel.dims) != 4:
        raise InvalidArgumentError(
            f"{op}: filter has shape {format_dims(kernel.dims)}; [height, width, channels, multiplier] is needed."
        )
    if x.dims is not None and len(x.dims) != 4:
        raise InvalidArgumentError(
            f"{op}: input has shape {format_dims(x.dims)}; {w.layout(2, first)} is needed."
        )
    channels = None if x.dims is None else x.dims[1 if first else 3]
    taken = None if kernel.dims is None else kernel.dims[2]
    if channels is not None and taken is not None and channels != taken:
        raise InvalidArgumentError(
            f"{op}: the input has {channels} channels, filter with shape {format_dims(kernel.dims)} takes {taken}; the numbers "
            "must be equal."
        )
    settings = attributes_of(op, strides, padding, dilations, 2, first)

    def convolve(images: Tensor) -> Tensor:
        channels = None if images.dims is None else images.dims[-1]
        if kernel.dims is not None and is_definite(kernel.dims) and channels is not None:
            return bind(Convolution(*settings), images, _as_groups(kernel))
        if kernel.dims is not None and None not in kernel.dims[:2]:
            return _channel_by_channel(bind(w.Patches(tuple(kernel.dims[:2]), *settings), images), kernel)
        # Each channel is a group. The reshape checks that their number is that of the filter.
        window, multiplier = shape(kernel)[:2], shape(kernel)[3]
        groups = concat([window, [1, shape(images)[3] * multiplier]], 0)
        return bind(Convolution(*settings), images, reshape(kernel, groups))

    return in_order(op, convolve, x, 2, first)


def depthwise_conv2d_backprop_input(
    input_sizes: ShapeLike,
    filter: TensorLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d` by its input.

    Args:
      input_sizes: The shape of the input, four numbers, known while tracing.
      filter: Float tensor [height, width, channels, multiplier].
      out_backprop: Float tensor [batch, out height, out width, channels * multiplier]: the gradient of the result.
      strides, padding, data_format, dilations: As for `depthwise_conv2d`.
    Returns: Tensor of the shape `input_sizes` and the dtype of the filter.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit each other or the requested size.
    """
    op = "depthwise_conv2d_backprop_input"
    g, kernel = lift_pair(op, out_backprop, filter)
    dims, given = requested(op, input_sizes)
    if given or len(dims) != 4 or not is_definite(kernel.dims):
        raise InvalidArgumentError(
            f"{op}: input_sizes {input_sizes!r} and the shape of the filter must be four known numbers."
        )
    first = channels_first(op, data_format, 2)
    inner = (dims[0], *dims[2:], dims[1]) if first else tuple(dims)
    made = ConvolutionInputGrad(*attributes_of(op, strides, padding, dilations, 2, first), inner)

    def spread(images: Tensor) -> Tensor:
        return bind(made, images, _as_groups(kernel))

    return in_order(op, spread, g, 2, first)


def depthwise_conv2d_backprop_filter(
    input: TensorLike,
    filter_sizes: ShapeLike,
    out_backprop: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NHWC",
    dilations: int | Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `depthwise_conv2d` by its filter.

    Args:
      input: Float tensor [batch, height, width, channels].
      filter_sizes: The shape of the filter, four numbers, known while tracing.
      out_backprop: Float tensor [batch, out height, out width, channels * multiplier]: the gradient of the result.
      strides, padding, data_format, dilations: As for `depthwise_conv2d`.
    Returns: Tensor of the shape `filter_sizes` and the dtype of the input.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit each other or the requested size.
    """
    op = "depthwise_conv2d_backprop_filter"
    x, g = lift_pair(op, input, out_backprop)
    dims, given = requested(op, filter_sizes)
    if given or len(dims) != 4:
        raise InvalidArgumentError(f"{op}: filter_sizes {filter_sizes!r} must be four known numbers.")
    first = channels_first(op, data_format, 2)
    height, width, channels, multiplier = dims
    settings = attributes_of(op, strides, padding, dilations, 2, first)
    made = ConvolutionFilterGrad(*settings, (height, width, 1, channels * multiplier))
    images, bars = (move_axis(y, 1, -1) if first else y for y in (x, g))
    return bind(Reshape(tuple(dims)), bind(made, images, bars))


def _as_groups(kernel: Tensor) -> Tensor:
    """Filters [height, width, channels, multiplier] of known sizes for groups of one channel each."""
    height, width, channels, multiplier = ranked(kernel.dims)
    return bind(Reshape((height, width, 1, channels * multiplier)), kernel)


def _channel_by_channel(parts: Tensor, kernel: Tensor) -> Tensor:
    """Windows [batch, y, x, height, width, channels] multiplied by the filters of their channels, [batch, y, x, channels *
    multiplier]."""
    y = einsum("bijpqc,pqcm->bijcm", parts, kernel)
    dims: Any = y.dims
    if None not in dims[1:]:
        return reshape(y, [-1 if dims[0] is None else dims[0], *dims[1:3], dims[3] * dims[4]])
    sizes: Any = shape(y)
    return reshape(y, concat([sizes[:3], [-1]], 0))


@blaming
def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """`depthwise_conv2d`, followed by a 1 x 1 convolution that mixes the channels.

    Args:
      input: Float tensor [batch, height, width, channels]. Filters have the same dtype.
      depthwise_filter: Float tensor [height, width, channels, multiplier].
      pointwise_filter: Float tensor [1, 1, channels * multiplier, channels out].
      strides, padding, data_format, dilations: As for `conv2d`, applied to the first convolution.
    Returns: Float tensor [batch, out height, out width, channels out].
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    Source: Chollet, Xception: deep learning with depthwise separable convolutions, 2017.
    """
    y, kernel = lift_pair(
        "separable_conv2d",
        _depthwise("separable_conv2d", input, depthwise_filter, strides, padding, data_format, dilations),
        pointwise_filter,
    )
    dims = kernel.dims
    if dims is not None and (len(dims) != 4 or any(size not in (None, 1) for size in dims[:2])):
        raise InvalidArgumentError(
            f"separable_conv2d: pointwise_filter has shape {format_dims(dims)}; [1, 1, channels * multiplier, channels out] "
            "is needed."
        )
    mix = Convolution((1, 1), "VALID", (1, 1))
    return in_order(
        "separable_conv2d",
        lambda images: bind(mix, images, kernel),
        y,
        2,
        channels_first("separable_conv2d", data_format, 2),
    )
