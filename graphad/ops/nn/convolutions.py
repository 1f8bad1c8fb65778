"""The public convolutions, composed of the ops in `convolution_ops` and `windows`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift_pair
from graphad.core.dims import product
from graphad.core.dtypes import int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.references import ALL, AT
from graphad.core.shapes import are_compatible, format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.create import constant
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape, sizes_of
from graphad.ops.array.sizes import requested, require_sizes
from graphad.ops.nn.arguments import channels_first, in_order, padding_of, per_axis, require_axes
from graphad.ops.nn.convolution_ops import Convolution, ConvolutionInputGrad
from graphad.ops.nn.halves import by_halves


def _convolve(
    op: str,
    input: TensorLike,
    filters: TensorLike,
    rank: int,
    strides: object,
    padding: object,
    dilations: object,
    data_format: str | None = None,
) -> Tensor:
    first = channels_first(op, data_format, rank)
    x, kernel = lift_pair(op, input, filters)
    made = Convolution(*attributes_of(op, strides, padding, dilations, rank, first))

    def convolve(images: Tensor, kernel: Tensor) -> Any:
        return _over_batches(images, rank, lambda flat: bind(made, flat, kernel))

    def of_any(images: Tensor) -> Any:
        return by_halves(op, convolve, images, kernel) if images.dtype is int32 else convolve(images, kernel)

    return in_order(op, of_any, x, rank, first, True)


def attributes_of(
    op: str, strides: object, padding: object, dilations: object, rank: int, first: bool
) -> tuple[Any, Any, Any]:
    """Strides, padding and dilations as attributes of a convolution over `rank` axes; `first` if channels follow the batch."""
    return (
        per_axis(op, "stride" if op == "conv1d" else "strides", strides, rank, first),
        padding_of(op, padding, rank, first=first),
        per_axis(op, "dilations", dilations, rank, first),
    )


def _over_batches(x: Tensor, rank: int, f: Callable[[Any], Any]) -> Any:
    """f applied to images [batch, ..., channels] that may have several batch axes."""
    if x.ndim is None or x.ndim <= rank + 2:
        return f(x)
    lead = x.ndim - rank - 1
    if is_definite(x.dims):
        y = f(reshape(x, [product(x.dims[:lead]), *x.dims[lead:]]))
        if is_definite(y.dims):
            return reshape(y, [*x.dims[:lead], *y.dims[1:]])
        sizes: Any = constant(list(x.dims))
    else:
        sizes = shape(x)
        y = f(reshape(x, concat([[-1], sizes[lead:]], 0)))
    of_y: Any = shape(y)
    return reshape(y, concat([sizes[:lead], of_y[1:]], 0))


@blaming
def conv1d(
    input: TensorLike,
    filters: TensorLike,
    stride: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """One-dimensional convolution (cross-correlation).

    Args:
      input: Float tensor [batch, width, channels in]; there may be several batch axes. Filters have the same dtype.
      filters: Float tensor [width, channels in, channels out]. If they take channels in / n, they form n groups: each maps the
        next channels in / n of the input to the next channels out / n.
      stride, dilations: One number, or three with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [left, right], [0, 0]].
      data_format: "NWC", or "NCW": channels follow the batch, also in arguments for each axis.
    Returns: Float tensor [batch, out width, channels out].
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    """
    return _convolve("conv1d", input, filters, 1, stride, padding, dilations, data_format)


@blaming
def conv2d(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Two-dimensional convolution (cross-correlation).

    Args:
      input: Float or int32 tensor [batch, height, width, channels in]; there may be several batch axes. Filters have the same
        dtype.
      filters: Tensor [height, width, channels in, channels out]. If they take channels in / n, they form n groups: each
        maps the next channels in / n of the input to the next channels out / n.
      strides, dilations: One number, two, or four with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]].
      data_format: "NHWC", or "NCHW": channels follow the batch, also in arguments for each axis.
    Returns: Tensor [batch, out height, out width, channels out] of that dtype; sums of int32 wrap around.
    Raises: InvalidArgumentError: shapes, padding or data format do not fit.
    Example:
      >>> nn.conv2d(ones([1, 5, 5, 2]), ones([3, 3, 2, 4]), 1, "SAME").shape
      TensorShape([1, 5, 5, 4])
    """
    return _convolve("conv2d", input, filters, 2, strides, padding, dilations, data_format)


@blaming
def conv3d(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any],
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Three-dimensional convolution (cross-correlation).

    Args:
      input: Float tensor [batch, depth, height, width, channels in]; there may be several batch axes. Filters have the
        same dtype.
      filters: Float tensor [depth, height, width, channels in, channels out]. If they take channels in / n, they form n groups:
        each maps the next channels in / n of the input to the next channels out / n.
      strides, dilations: One number, three, or five with 1 at both ends.
      padding: "SAME", "VALID", or five pairs (before, after), the first and the last of zeros.
      data_format: "NDHWC", or "NCDHW": channels follow the batch, also in arguments for each axis.
    Returns: Float tensor [batch, out depth, out height, out width, channels out].
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    """
    return _convolve("conv3d", input, filters, 3, strides, padding, dilations, data_format)


@blaming
def convolution(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int] | None = None,
    padding: str | Sequence[Any] = "VALID",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Convolution (cross-correlation) along one to three axes, depending on the rank of the filters.

    Args:
      input: Float tensor [batch, ..., channels in]; there may be several batch axes. Filters have the same dtype.
      filters: Float tensor [..., channels in, channels out]; with channels in / n they form n groups, as for `conv2d`.
      strides, dilations: One number for each axis, or one for all; 1 by default.
      padding: "SAME", "VALID", or pairs of numbers for all axes, as for `conv2d`.
      data_format: "NWC", "NHWC" or "NDHWC", or with channels after the batch "NCW", "NCHW" or "NCDHW".
    Returns: Float tensor [batch, ..., channels out].
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    """
    x, kernel = lift_pair("convolution", input, filters)
    rank = _axes_between("convolution", x, kernel)
    if x.ndim is None or x.ndim < rank + 2:
        require_axes("convolution", x, rank)
    return _convolve("convolution", x, kernel, rank, strides, padding, dilations, data_format)


def _axes_between(op: str, x: Tensor, kernel: Tensor) -> int:
    """The number of spatial axes, from the filters or else from the images."""
    rank = kernel.ndim if kernel.ndim is not None else x.ndim
    if rank is None:
        raise InvalidArgumentError(f"{op}: the rank of input or filters must be known.")
    if not 3 <= rank <= 5:
        raise InvalidArgumentError(
            f"{op}: filters have shape {format_dims(kernel.dims)}; one to three axes before the channels are needed."
        )
    return int(rank) - 2


@blaming
def atrous_conv2d(
    value: TensorLike,
    filters: TensorLike,
    rate: TensorLike,
    padding: str | Sequence[Any],
    name: str | None = None,
) -> Tensor:
    """Dilated convolution: `conv2d` with stride 1 and dilations `rate`.

    Args:
      value: Float tensor [batch, height, width, channels in].
      filters: Float tensor [height, width, channels in, channels out] of the same dtype.
      rate: The distance of the elements of a window, one number.
      padding: "SAME" or "VALID".
    Returns: Float tensor [batch, out height, out width, channels out].
    Raises: InvalidArgumentError (a ValueError): shapes or padding do not fit; DTypeError (a TypeError): dtypes that differ.
    Source: Yu and Koltun, Multi-scale context aggregation by dilated convolutions, 2016.
    """
    return _convolve("atrous_conv2d", value, filters, 2, 1, padding, rate)


def _transpose(
    op: str,
    input: object,
    filters: object,
    output_shape: object,
    rank: int,
    strides: object,
    padding: object,
    dilations: object,
    data_format: str | None = None,
) -> Tensor:
    first = channels_first(op, data_format, rank)
    x, kernel = lift_pair(op, input, filters)
    dims, given = requested(op, output_shape)
    require_sizes(op, dims, "output_shape")
    if any(type(size) is tuple and size[0] == ALL for size in dims):
        dims = tuple([(AT, 1, i) for i in range(rank + 2)])
    if len(dims) == rank + 2 and first:
        dims = (dims[0], *dims[2:], dims[1])
    elif len(dims) == rank:  # without batch and channels
        sides: list[Any] = []
        for tensor, axis in ((x, 0), (kernel, rank)):  # the batch comes first in either order
            size = None if tensor.dims is None else tensor.dims[axis]
            if size is None:
                given = (*given, sizes_of(tensor))
                size = (AT, len(given), axis)
            sides.append(size)
        dims = (sides[0], *dims, sides[1])
    made = ConvolutionInputGrad(*attributes_of(op, strides, padding, dilations, rank, first), dims)
    if first and not given:
        _require_transposed(op, made, x, kernel, rank)

    def convolve(images: Tensor, kernel: Tensor) -> Tensor:
        return bind(made, images, kernel, *given)

    def of_any(images: Tensor) -> Any:
        whole = images.dtype is int32
        return by_halves(op, convolve, images, kernel, rank) if whole else convolve(images, kernel)

    return in_order(op, of_any, x, rank, first)


def _require_transposed(op: str, made: ConvolutionInputGrad, x: Tensor, kernel: Tensor, rank: int) -> None:
    """Raise, with shapes in the given order of axes, unless images with channels first fit the requested result."""
    n, *between, channels = made.result(TensorSpec.of(made.dims, x.dtype), kernel.spec)
    want = (n, channels, *between)
    if x.dims is not None and len(x.dims) == rank + 2 and not are_compatible(x.dims, want):
        n, *between, channels = made.dims
        raise InvalidArgumentError(
            f"{op}: input has shape {format_dims(x.dims)}; for output_shape {format_dims((n, channels, *between))} and filters "
            f"with shape {format_dims(kernel.dims)} it must have shape {format_dims(want)}."
        )


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any] = "SAME",
    data_format: str = "NWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv1d`: the gradient by its input.

    Args:
      input: Float tensor [batch, width, channels in]. Filters have the same dtype.
      filters: Float tensor [width, channels out, channels in].
      output_shape: [batch, out width, channels out], or only the width.
      strides, padding, data_format, dilations: As for `conv1d`.
    Returns: Float tensor of shape `output_shape`.
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    """
    return _transpose(
        "conv1d_transpose", input, filters, output_shape, 1, strides, padding, dilations, data_format
    )


def conv2d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any] = "SAME",
    data_format: str = "NHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv2d`: the gradient by its input.

    Args:
      input: Float or int32 tensor [batch, height, width, channels in]. Filters have the same dtype.
      filters: Tensor [height, width, channels out, channels in].
      output_shape: [batch, out height, out width, channels out], or only height and width.
      strides, padding, data_format, dilations: As for `conv2d`.
    Returns: Tensor of that dtype of shape `output_shape`; sums of int32 wrap around.
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    """
    return _transpose(
        "conv2d_transpose", input, filters, output_shape, 2, strides, padding, dilations, data_format
    )


def conv3d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any] = "SAME",
    data_format: str = "NDHWC",
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv3d`: the gradient by its input.

    Args:
      input: Float tensor [batch, depth, height, width, channels in]. Filters have the same dtype.
      filters: Float tensor [depth, height, width, channels out, channels in].
      output_shape: [batch, out depth, out height, out width, channels out], or only depth, height and width.
      strides, padding, data_format, dilations: As for `conv3d`.
    Returns: Float tensor of shape `output_shape`.
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    """
    return _transpose(
        "conv3d_transpose", input, filters, output_shape, 3, strides, padding, dilations, data_format
    )


def conv_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    strides: int | Sequence[int],
    padding: str | Sequence[Any] = "SAME",
    data_format: str | None = None,
    dilations: int | Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `convolution`, along one to three axes, depending on the rank of the filters.

    Args:
      input: Float tensor [batch, ..., channels in]. Filters have the same dtype.
      filters: Float tensor [..., channels out, channels in].
      output_shape: [batch, ..., channels out].
      strides, padding, data_format, dilations: As for `convolution`.
    Returns: Float tensor of shape `output_shape`.
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    """
    x, kernel = lift_pair("conv_transpose", input, filters)
    rank = _axes_between("conv_transpose", x, kernel)
    return _transpose(
        "conv_transpose", x, kernel, output_shape, rank, strides, padding, dilations, data_format
    )


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: ShapeLike,
    rate: TensorLike,
    padding: str | Sequence[Any],
    name: str | None = None,
) -> Tensor:
    """The transpose of `atrous_conv2d`: the gradient by its input.

    Args:
      value: Float tensor [batch, height, width, channels in].
      filters: Float tensor [height, width, channels out, channels in] of the same dtype.
      output_shape: [batch, out height, out width, channels out].
      rate: The distance of the elements of a window, one number.
      padding: "SAME" or "VALID".
    Returns: Float tensor of shape `output_shape`.
    Raises: InvalidArgumentError (a ValueError): shapes or padding do not fit; DTypeError (a TypeError): dtypes that differ.
    Source: Yu and Koltun, Multi-scale context aggregation by dilated convolutions, 2016.
    """
    return _transpose("atrous_conv2d_transpose", value, filters, output_shape, 2, 1, padding, rate)
