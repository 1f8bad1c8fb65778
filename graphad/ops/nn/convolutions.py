"""The public convolutions; all are made of the ops in `conv` and `windows`."""

from __future__ import annotations

from typing import Any

from graphad.core.bind import bind
from graphad.core.convert import lift_pair
from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.create import zeros
from graphad.ops.array.join import concat
from graphad.ops.array.shape import expand_dims, reshape, shape
from graphad.ops.array.squeeze import squeeze
from graphad.ops.linalg import einsum
from graphad.ops.nn import windows as w
from graphad.ops.nn.conv import Conv2D, Conv2DInputGrad


def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Two-dimensional convolution (cross-correlation).

    Args:
      input: Float tensor [batch, height, width, channels in].
      filters: Float tensor [height, width, channels in, channels out].
      strides, dilations: One number, two, or four with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]].
      data_format: "NHWC".
    Returns: Float tensor [batch, out height, out width, channels out].
    Raises: InvalidArgumentError: shapes, padding or data format do not fit.
    """
    w.require_nhwc("conv2d", data_format)
    x, kernel = lift_pair("conv2d", input, filters)
    return bind(Conv2D(*_attributes("conv2d", strides, padding, dilations)), x, kernel)  # type: ignore[no-any-return]


def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of `conv2d`: the gradient by its input.

    Args:
      input: Float tensor [batch, height, width, channels in].
      filters: Float tensor [height, width, channels out, channels in].
      output_shape: [batch, out height, out width, channels out].
      strides, padding, data_format, dilations: As for `conv2d`.
    Returns: Float tensor of shape `output_shape`.
    """
    w.require_nhwc("conv2d_transpose", data_format)
    x, kernel = lift_pair("conv2d_transpose", input, filters)
    op = Conv2DInputGrad(*_attributes("conv2d_transpose", strides, padding, dilations))
    return bind(op, x, kernel, zeros(output_shape, x.dtype))  # type: ignore[no-any-return]


def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: Any,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """One-dimensional convolution (cross-correlation).

    Args:
      input: Float tensor [batch, width, channels in].
      filters: Float tensor [width, channels in, channels out].
      stride, dilations: One number, or three with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [left, right], [0, 0]].
      data_format: "NWC".
    Returns: Float tensor [batch, out width, channels out].
    """
    if data_format not in (None, "NWC"):
        raise InvalidArgumentError(
            f"conv1d: data_format {data_format!r} is not available; transpose the input to 'NWC'."
        )
    x, kernel = lift_pair("conv1d", input, filters)
    if not isinstance(padding, str):
        padding = [[0, 0], [0, 0], *list(padding)[1:]]
    op = Conv2D(*_attributes("conv1d", _along("stride", stride), padding, _along("dilations", dilations)))
    return squeeze(bind(op, expand_dims(x, 1), expand_dims(kernel, 0)), [1])


def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Convolution (cross-correlation) along one axis or two; the rank of the filters says how many.

    Args:
      input: Float tensor [batch, width, channels in] or [batch, height, width, channels in].
      filters: Float tensor [width, channels in, channels out] or [height, width, channels in, channels out].
      strides, dilations: One number for each axis, or one for all; 1 by default.
      padding: "SAME", "VALID", or pairs of numbers for all axes, as for `conv2d`.
      data_format: "NWC" or "NHWC".
    """
    x, kernel = lift_pair("convolution", input, filters)
    rank = kernel.ndim if kernel.ndim is not None else x.ndim
    if rank is None:
        raise InvalidArgumentError("convolution: the rank of input or filters must be known.")
    strides, dilations = (
        w.numbers("convolution", word, 1 if value is None else value, rank - 2)
        for word, value in (("strides", strides), ("dilations", dilations))
    )
    x, lower, pads = w.as_image("convolution", x, rank - 2, padding, data_format)
    op = Conv2D((1,) * lower + strides, w.padding_name("convolution", pads), (1,) * lower + dilations)
    y = bind(op, x, expand_dims(kernel, 0) if lower else kernel)
    return squeeze(y, [1]) if lower else y  # type: ignore[no-any-return]


def _along(name: str, value: Any) -> Any:
    """A stride along the width as that of an image of height 1."""
    if value is None:
        return None
    items = list(value) if isinstance(value, list | tuple) else [value]
    if len(items) == 3 and items[0] == items[2] == 1:
        items = items[1:2]
    if len(items) != 1:
        raise InvalidArgumentError(
            f"conv1d: {name} {value!r} must be one positive number, or three with 1 at both ends."
        )
    return w.pair("conv1d", name, (1, items[0]))


def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Each channel convolved with filters of its own.

    Args:
      input: Float tensor [batch, height, width, channels].
      filter: Float tensor [height, width, channels, multiplier]; height and width must be known while tracing.
      strides, padding, data_format, dilations: As for `conv2d`.
    Returns: Float tensor [batch, out height, out width, channels * multiplier].
    """
    w.require_nhwc("depthwise_conv2d", data_format)
    x, kernel = lift_pair("depthwise_conv2d", input, filter)
    strides, padding, dilations = _attributes("depthwise_conv2d", strides, padding, dilations)
    if kernel.dims is None or len(kernel.dims) != 4 or None in kernel.dims[:2]:
        raise InvalidArgumentError(
            f"depthwise_conv2d: filter has shape {format_dims(kernel.dims)}; [height, width, channels, multiplier] is needed, "
            "with known height and width."
        )
    parts = bind(w.Patches(tuple(kernel.dims[:2]), strides, padding, dilations), x)
    y = einsum("bijpqc,pqcm->bijcm", parts, kernel)
    dims: Any = y.dims
    if None not in dims[1:]:
        return reshape(y, [-1 if dims[0] is None else dims[0], *dims[1:3], dims[3] * dims[4]])
    sizes: Any = shape(y)
    return reshape(y, concat([sizes[:3], [-1]], 0))


def _attributes(op: str, strides: Any, padding: Any, dilations: Any) -> tuple[Any, Any, Any]:
    return (
        w.pair(op, "strides", strides),
        w.padding_name(op, padding),
        w.pair(op, "dilations", 1 if dilations is None else dilations),
    )
