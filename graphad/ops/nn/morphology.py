"""Dilation and erosion of images: convolutions with sums in place of products, and maxima in place of sums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import REAL, require_kind
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.along import TakeAlong
from graphad.ops.array.create import ones_like
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.transpose import reverse
from graphad.ops.math.position import argmax
from graphad.ops.math.select import where
from graphad.ops.nn.arguments import padding_of, per_axis
from graphad.ops.nn.windows import Patches


def dilation2d(
    input: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    data_format: str,
    dilations: int | Sequence[int],
    name: str | None = None,
) -> Tensor:
    """The largest value of image + filter in each window, for each channel. At a tie the gradient goes to the first one.

    Args:
      input: Tensor [batch, height, width, channels], a real dtype.
      filters: Tensor [filter height, filter width, channels] of the same dtype; its sizes must be known while tracing.
      strides: One number, two, or four with 1 at both ends.
      padding: "SAME" or "VALID"; elements outside the image are ignored.
      data_format: "NHWC".
      dilations: One number, two, or four with 1 at both ends.
    Returns: Tensor [batch, out height, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    Source: Serra, Image analysis and mathematical morphology, 1982.
    """
    return _dilated(
        "dilation2d", *lift_pair("dilation2d", input, filters), strides, padding, data_format, dilations
    )


def erosion2d(
    value: TensorLike,
    filters: TensorLike,
    strides: int | Sequence[int],
    padding: str,
    data_format: str,
    dilations: int | Sequence[int],
    name: str | None = None,
) -> Tensor:
    """The smallest value of image - reversed filter in each window, for each channel: the dual of `dilation2d`.

    Args:
      value: Tensor [batch, height, width, channels], a signed dtype.
      filters: Tensor [filter height, filter width, channels] of the same dtype; its sizes must be known while tracing.
      strides, padding, data_format, dilations: As for `dilation2d`.
    Returns: Tensor [batch, out height, out width, channels] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): shapes, padding or data format do not fit.
    Source: Serra, Image analysis and mathematical morphology, 1982.
    """
    x, kernel = lift_pair("erosion2d", value, filters)
    return -_dilated("erosion2d", -x, reverse(kernel, [0, 1]), strides, padding, data_format, dilations)


def _dilated(
    op: str, x: Tensor, kernel: Any, strides: object, padding: str, data_format: object, dilations: object
) -> Tensor:
    require_kind(op, x, REAL, "input")
    dims = kernel.dims
    if dims is None or len(dims) != 3 or None in dims[:2]:
        raise InvalidArgumentError(
            f"{op}: filters have shape {format_dims(dims)}; [height, width, channels] is needed, with known height and width."
        )
    if data_format != "NHWC":
        raise InvalidArgumentError(f"{op}: data_format {data_format!r} is not 'NHWC'.")
    steps, apart = per_axis(op, "strides", strides, 2), per_axis(op, "dilations", dilations, 2)
    windows = Patches(tuple(dims[:2]), steps, padding_of(op, padding, 2, explicit=False), apart)
    parts = bind(windows, x)
    if windows.padding == "SAME":
        inside = bind(windows, ones_like(x[:1, :, :, :1])) > 0
        parts = where(inside, parts, lift(x.dtype.min, x.dtype))
    both = parts + kernel
    sizes: Any = shape(both)
    if both.dims is not None and None not in both.dims[1:]:
        batch = -1 if both.dims[0] is None else both.dims[0]
        lined = reshape(both, [batch, *both.dims[1:3], dims[0] * dims[1], both.dims[5]])
    else:
        lined = reshape(both, concat([sizes[:3], [dims[0] * dims[1]], sizes[5:]], 0))
    at = argmax(lined, axis=3)
    return bind(TakeAlong(3), lined, at[:, :, :, None])[:, :, :, 0]
