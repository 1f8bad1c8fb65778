"""Products, convolutions and pools, as `keras.backend` has them."""

from __future__ import annotations

from collections.abc import Sequence

from graphad.core.annotations import TensorLike
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.layers.backend.formats import (
    channels_are_first,
    numbers,
    padding_of,
    with_channels_first,
    with_channels_last,
)
from graphad.ops import array, linalg, nn
from graphad.ops.sparse.reductions import sparse_dense_matmul
from graphad.ops.sparse.tensor import SparseTensor

_Numbers = int | Sequence[int]


def dot(x: TensorLike | SparseTensor, y: TensorLike) -> Tensor:
    """The product over the last axis of x and the axis before the last one of y; of a sparse x too.

    Args:
      x: Tensor [..., n] or a `SparseTensor` [m, n].
      y: Tensor [..., n, k] of the same dtype.
    Returns: Tensor, the axes of x and then those of y without n.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    if isinstance(x, SparseTensor):
        return sparse_dense_matmul(x, y)
    x, y = lift(x), lift(y)
    if x.ndim is None or y.ndim is None or (x.ndim <= 2 and y.ndim <= 2):
        return linalg.matmul(x, y)
    return linalg.tensordot(x, y, [[x.ndim - 1], [y.ndim - 2]])


def batch_dot(x: TensorLike, y: TensorLike, axes: int | Sequence[int] | None = None) -> Tensor:
    """For each row of a batch the product over an axis of x and one of y.

    Args:
      x, y: Tensors [batch, ...] of rank 2 or more, a numeric dtype.
      axes: The axis of each, or one for both; by default the last of x, and of y the one before its last, its last at rank 2.
    Returns: Tensor, the axes of x without its own, then those of y without its own and without batch; [batch, 1] for two
      tensors of rank 2.
    Raises: InvalidArgumentError (a ValueError): axes or shapes that do not fit.
    """
    x, y = lift(x), lift(y)
    if x.ndim is None or y.ndim is None or min(x.ndim, y.ndim) < 2:
        raise InvalidArgumentError(
            f"batch_dot: x has shape {tuple(x.shape)}, y {tuple(y.shape)}; two axes or more are needed, the first one for the "
            "batch."
        )
    if axes is None:
        axes = [x.ndim - 1, max(y.ndim - 2, 1)]
    pair = [axes, axes] if isinstance(axes, int) else list(axes)
    if len(pair) != 2 or not all(isinstance(axis, int) for axis in pair):
        raise InvalidArgumentError(f"batch_dot: axes is {axes!r}; one integer or two are needed.")
    a, b = (axis + rank if axis < 0 else axis for axis, rank in zip(pair, (x.ndim, y.ndim), strict=True))
    if not (0 < a < x.ndim and 0 < b < y.ndim):
        raise InvalidArgumentError(
            f"batch_dot: axes is {axes!r} for shapes {tuple(x.shape)} and {tuple(y.shape)}; an axis of each but the first is "
            "needed."
        )
    for what, one, other in (("batch", x.shape[0], y.shape[0]), ("axes", x.shape[a], y.shape[b])):
        if None not in (one, other) and one != other:
            raise InvalidArgumentError(
                f"batch_dot: x has shape {tuple(x.shape)}, y {tuple(y.shape)}; the sizes of their {what} differ, {one} and "
                f"{other}."
            )
    if x.ndim == y.ndim == 2:
        return array.expand_dims(linalg.einsum("bi,bi->b", x, y), 1)
    of_x = "b" + "".join("i" if k == a else chr(ord("A") + k) for k in range(1, x.ndim))
    of_y = "b" + "".join("i" if k == b else chr(ord("m") + k) for k in range(1, y.ndim))
    left = [letter for letter in of_x[1:] + of_y[1:] if letter != "i"]
    return linalg.einsum(f"{of_x},{of_y}->b{''.join(left)}", x, y)


def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Tensor:
    """x and a bias for each channel, or one of the shape of a sample.

    Args:
      x: Tensor of any shape, a numeric dtype.
      bias: Tensor [channels], or of the shape of a sample.
      data_format: "channels_last" or "channels_first"; None is the first.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x, bias = lift(x), lift(bias)
    first = channels_are_first("bias_add", data_format)
    if x.ndim is None or bias.ndim not in (1, x.ndim - 1):
        raise InvalidArgumentError(
            f"bias_add: bias has shape {tuple(bias.shape)}, x {tuple(x.shape)}; bias has one axis, or all of x but the first."
        )
    if bias.ndim == 1:
        return nn.bias_add(x, bias, "NCHW" if first else "NHWC")
    bias = array.expand_dims(bias, 0)
    return x + (with_channels_first(bias) if first else bias)


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    var: TensorLike,
    beta: TensorLike | None,
    gamma: TensorLike | None,
    axis: int = -1,
    epsilon: float = 1e-3,
) -> Tensor:
    """As `graphad.nn.batch_normalization`; what is given has a shape that broadcasts to x, so axis is not used.

    Args:
      x: Tensor of any shape, a numeric dtype.
      mean: The mean: a number or a tensor.
      var: The variance.
      beta: What is added, or None.
      gamma: The scale, or None.
      axis: An axis or several, None for all.
      epsilon: What is added to the variance.
    Returns: Tensor of the shape of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return nn.batch_normalization(x, mean, var, beta, gamma, epsilon)


# -- convolutions ------------------------------------------------------------------------------------------------------------


def conv1d(
    x: TensorLike,
    kernel: TensorLike,
    strides: _Numbers = 1,
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: _Numbers = 1,
) -> Tensor:
    """As `graphad.nn.conv1d`; padding 'causal' puts zeros before the first element alone.

    Args:
      x: Tensor of any shape, a numeric dtype.
      kernel: Float tensor, the axes of space, then channels in and out.
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      dilation_rate: One number, or one for each axis of space.
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    x, kernel = lift(x), lift(kernel)
    if padding == "causal":
        rate = numbers("conv1d", "dilation_rate", dilation_rate, 1)[0]
        x = array.pad(x, [[0, 0], [rate * (kernel.shape[0] - 1), 0], [0, 0]])
        padding = "valid"
    return _convolved("conv1d", 1, x, kernel, strides, padding, data_format, dilation_rate)


def conv2d(
    x: TensorLike,
    kernel: TensorLike,
    strides: _Numbers = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: _Numbers = (1, 1),
) -> Tensor:
    """As `graphad.nn.conv2d`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      kernel: Float tensor, the axes of space, then channels in and out.
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      dilation_rate: One number, or one for each axis of space.
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return _convolved("conv2d", 2, lift(x), lift(kernel), strides, padding, data_format, dilation_rate)


def conv3d(
    x: TensorLike,
    kernel: TensorLike,
    strides: _Numbers = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: _Numbers = (1, 1, 1),
) -> Tensor:
    """As `graphad.nn.conv3d`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      kernel: Float tensor, the axes of space, then channels in and out.
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      dilation_rate: One number, or one for each axis of space.
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return _convolved("conv3d", 3, lift(x), lift(kernel), strides, padding, data_format, dilation_rate)


def _convolved(
    op: str,
    axes: int,
    x: Tensor,
    kernel: Tensor,
    strides: _Numbers,
    padding: str,
    data_format: str | None,
    dilation_rate: _Numbers,
) -> Tensor:
    first = channels_are_first(op, data_format)
    y = nn.convolution(
        with_channels_last(x) if first else x,
        kernel,
        numbers(op, "strides", strides, axes),
        padding_of(op, padding),
        dilations=numbers(op, "dilation_rate", dilation_rate, axes),
    )
    return with_channels_first(y) if first else y


def conv2d_transpose(
    x: TensorLike,
    kernel: TensorLike,
    output_shape: Sequence[int | Tensor | None] | Tensor,
    strides: _Numbers = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: _Numbers = (1, 1),
) -> Tensor:
    """As `graphad.nn.conv2d_transpose`; a first size of None in output_shape is that of x.

    Args:
      x: Tensor of any shape, a numeric dtype.
      kernel: Float tensor, the axes of space, then channels in and out.
      output_shape: The shape of the result.
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      dilation_rate: One number, or one for each axis of space.
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    op = "conv2d_transpose"
    first = channels_are_first(op, data_format)
    x = with_channels_last(lift(x)) if first else lift(x)
    sizes = list(output_shape) if isinstance(output_shape, Sequence) else array.unstack(output_shape, 4)
    if first:
        sizes = [sizes[0], sizes[2], sizes[3], sizes[1]]
    if sizes[0] is None:
        sizes[0] = array.shape(x)[0]
    y = nn.conv2d_transpose(
        x,
        kernel,
        sizes,
        numbers(op, "strides", strides, 2),
        padding_of(op, padding),
        dilations=numbers(op, "dilation_rate", dilation_rate, 2),
    )
    return with_channels_first(y) if first else y


def depthwise_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    strides: _Numbers = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: _Numbers = (1, 1),
) -> Tensor:
    """As `graphad.nn.depthwise_conv2d`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      depthwise_kernel: Float tensor [height, width, channels, multiplier].
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      dilation_rate: One number, or one for each axis of space.
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    op = "depthwise_conv2d"
    first = channels_are_first(op, data_format)
    y = nn.depthwise_conv2d(
        with_channels_last(lift(x)) if first else lift(x),
        depthwise_kernel,
        [1, *numbers(op, "strides", strides, 2), 1],
        padding_of(op, padding),
        dilations=numbers(op, "dilation_rate", dilation_rate, 2),
    )
    return with_channels_first(y) if first else y


def separable_conv2d(
    x: TensorLike,
    depthwise_kernel: TensorLike,
    pointwise_kernel: TensorLike,
    strides: _Numbers = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    dilation_rate: _Numbers = (1, 1),
) -> Tensor:
    """As `graphad.nn.separable_conv2d`.

    Args:
      x: Tensor of any shape, a numeric dtype.
      depthwise_kernel: Float tensor [height, width, channels, multiplier].
      pointwise_kernel: Float tensor [1, 1, channels * multiplier, channels out].
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      dilation_rate: One number, or one for each axis of space.
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    y = depthwise_conv2d(x, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv2d(y, pointwise_kernel, data_format=data_format)


# -- pools -------------------------------------------------------------------------------------------------------------------


def pool2d(
    x: TensorLike,
    pool_size: _Numbers,
    strides: _Numbers = (1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """The largest element or the mean, 'max' or 'avg', of each window of images.

    Args:
      x: Tensor of any shape, a numeric dtype.
      pool_size: One number, or one for each axis of space.
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      pool_mode: "max" or "avg".
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return _pooled("pool2d", 2, x, pool_size, strides, padding, data_format, pool_mode)


def pool3d(
    x: TensorLike,
    pool_size: _Numbers,
    strides: _Numbers = (1, 1, 1),
    padding: str = "valid",
    data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:
    """The largest element or the mean, 'max' or 'avg', of each window of volumes.

    Args:
      x: Tensor of any shape, a numeric dtype.
      pool_size: One number, or one for each axis of space.
      strides: One number, or one for each axis of space.
      padding: For each axis a pair, how many zeros before and behind; "same" or "valid" for windows.
      data_format: "channels_last" or "channels_first"; None is the first.
      pool_mode: "max" or "avg".
    Returns: Float tensor, the axes in the order of x.
    Raises: ArgumentTypeError (a TypeError): an argument that cannot be converted.
    """
    return _pooled("pool3d", 3, x, pool_size, strides, padding, data_format, pool_mode)


def _pooled(
    op: str,
    axes: int,
    x: TensorLike,
    pool_size: _Numbers,
    strides: _Numbers,
    padding: str,
    data_format: str | None,
    pool_mode: str,
) -> Tensor:
    if pool_mode not in ("max", "avg"):
        raise InvalidArgumentError(f"{op}: pool_mode is {pool_mode!r}; it is 'max' or 'avg'.")
    first = channels_are_first(op, data_format)
    y = nn.pool(
        with_channels_last(lift(x)) if first else x,
        numbers(op, "pool_size", pool_size, axes),
        pool_mode.upper(),
        numbers(op, "strides", strides, axes),
        padding_of(op, padding),
    )
    return with_channels_first(y) if first else y
