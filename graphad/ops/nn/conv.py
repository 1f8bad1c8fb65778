"""Two-dimensional convolution of images [batch, height, width, channels] as one matrix product over all windows.

The op, its input gradient and its filter gradient are closed under differentiation: each is bilinear, and the derivative
of one is the other two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift_pair
from graphad.core.dims import product
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.shape import reshape
from graphad.ops.nn import windows as w
from graphad.ops.rules import FLOATING, require_kind, same_dtype


class Convolution(Op):
    """What the three ops share."""

    keeps = (True, False)
    strides: tuple[int, int]
    padding: Any
    dilations: tuple[int, int]

    def _window(self, kernel: Sequence[int]) -> tuple[int, int]:
        return (kernel[0] - 1) * self.dilations[0] + 1, (kernel[1] - 1) * self.dilations[1] + 1

    def _pads(self, image: Sequence[int], kernel: Sequence[int]) -> w.Pads:
        return w.pads_of(self.padding, image[1:3], self._window(kernel), self.strides)

    def _columns(self, x: np.ndarray, kernel: Sequence[int]) -> np.ndarray:
        return w.windows(w.padded(x, self._pads(x.shape, kernel)), kernel[:2], self.strides, self.dilations)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return 0 if axes[0] == 0 and axes[1] is None else None if axes == (None, None) else MIXED


def _fold_rows(x: Any) -> Any:
    """[rows, batch, ...] to [rows * batch, ...]."""
    return reshape(x, (x.dims[0] * x.dims[1], *x.dims[2:]))


def _unfold_rows(y: Any, size: Any) -> Any:
    return reshape(y, (size, y.dims[0] // size, *y.dims[1:]))


@define
class Conv2D(Convolution):
    """y[b, i, j, o] = sum over window and channels of x * kernel."""

    name = "conv2d"
    strides: tuple[int, int]
    padding: Any
    dilations: tuple[int, int]

    def infer(self, x: TensorSpec, kernel: TensorSpec) -> TensorSpec:
        dtype = same_dtype("conv2d", (x, kernel), ("input", "filters"))
        require_kind("conv2d", x, FLOATING, "input")
        w.require_image("conv2d", x.dims)
        if kernel.dims is not None and len(kernel.dims) != 4:
            raise InvalidArgumentError(
                f"conv2d: filters have shape {format_dims(kernel.dims)}; [height, width, channels in, channels out] is needed."
            )
        if kernel.dims is None or x.dims is None or None in kernel.dims:
            return TensorSpec.of((None, None, None, kernel.dims[3] if kernel.dims else None), dtype)
        if x.dims[3] is not None and x.dims[3] != kernel.dims[2]:
            raise InvalidArgumentError(
                f"conv2d: the input has {x.dims[3]} channels, the filters with shape {format_dims(kernel.dims)} take {kernel.dims[2]}."
            )
        window = self._window(kernel.dims)
        sizes = [w.output_size("conv2d", self.padding, x.dims[1 + k], window[k], self.strides[k], k) for k in (0, 1)]
        return TensorSpec.of((x.dims[0], *sizes, kernel.dims[3]), dtype)

    def eval(self, x: Any, kernel: Any) -> Any:
        columns = self._columns(x, kernel.shape)
        b, oh, ow = columns.shape[:3]
        return (columns.reshape(b * oh * ow, -1) @ kernel.reshape(-1, kernel.shape[3])).reshape(b, oh, ow, -1)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        x, kernel = ctx.inputs
        of_x = bind(Conv2DInputGrad(self.strides, self.padding, self.dilations), g, kernel, x) if ctx.needs(0) else None
        of_kernel = bind(Conv2DFilterGrad(self.strides, self.padding, self.dilations), x, g, kernel) if ctx.needs(1) else None
        return of_x, of_kernel

    def batch(self, ctx: Any, x: Any, kernel: Any) -> Any:
        if ctx.stacked(1):
            return ctx.rowwise(self, x, kernel)
        return _unfold_rows(bind(self, _fold_rows(x), kernel), ctx.size)


@define
class Conv2DInputGrad(Convolution):
    """The cotangent of the input; the third input only gives the shape."""

    name = "conv2d_input_grad"
    keeps = ((0, 1), False)
    strides: tuple[int, int]
    padding: Any
    dilations: tuple[int, int]

    def infer(self, g: TensorSpec, kernel: TensorSpec, like: TensorSpec) -> TensorSpec:
        return like

    def eval(self, g: Any, kernel: Any, like: Any) -> Any:
        pads = self._pads(like.shape, kernel.shape)
        (top, bottom), (left, right) = pads
        b, h, width, c = like.shape
        parts = g.reshape(-1, g.shape[3]) @ kernel.reshape(-1, kernel.shape[3]).T
        parts = parts.reshape(*g.shape[:3], *kernel.shape[:2], c)
        full = w.add_windows(parts, (b, h + top + bottom, width + left + right, c), self.strides, self.dilations)
        return np.ascontiguousarray(w.unpadded(full, pads))

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        g, kernel, _ = ctx.inputs
        of_g = bind(Conv2D(self.strides, self.padding, self.dilations), h, kernel) if ctx.needs(0) else None
        of_kernel = bind(Conv2DFilterGrad(self.strides, self.padding, self.dilations), h, g, kernel) if ctx.needs(1) else None
        return of_g, of_kernel, None

    def batch(self, ctx: Any, g: Any, kernel: Any, like: Any) -> Any:
        if ctx.stacked(1) or not ctx.stacked(0):
            return ctx.rowwise(self, g, kernel, like)
        stacked = like if ctx.stacked(2) else ctx.stack(like)
        return _unfold_rows(bind(self, _fold_rows(g), kernel, _fold_rows(stacked)), ctx.size)


@define
class Conv2DFilterGrad(Convolution):
    """The cotangent of the filters; the third input only gives the shape."""

    name = "conv2d_filter_grad"
    keeps = ((0, 1), False)
    strides: tuple[int, int]
    padding: Any
    dilations: tuple[int, int]

    def infer(self, x: TensorSpec, g: TensorSpec, like: TensorSpec) -> TensorSpec:
        return like

    def eval(self, x: Any, g: Any, like: Any) -> Any:
        columns = self._columns(x, like.shape)
        flat = columns.reshape(int(product(columns.shape[:3])), -1)
        return (flat.T @ g.reshape(-1, g.shape[3])).reshape(like.shape)

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        x, g, _ = ctx.inputs
        of_x = bind(Conv2DInputGrad(self.strides, self.padding, self.dilations), g, h, x) if ctx.needs(0) else None
        of_g = bind(Conv2D(self.strides, self.padding, self.dilations), x, h) if ctx.needs(1) else None
        return of_x, of_g, None

    def batch(self, ctx: Any, x: Any, g: Any, like: Any) -> Any:
        return ctx.rowwise(self, x, g, like)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None if axes[0] is None and axes[1] is None else MIXED


def conv2d(
    input: Any, filters: Any, strides: Any, padding: Any, data_format: str = "NHWC", dilations: Any = 1, name: str | None = None
) -> Tensor:
    """Two-dimensional convolution (cross-correlation).

    Args:
      input: Float tensor [batch, height, width, channels in].
      filters: Float tensor [height, width, channels in, channels out].
      strides, dilations: One number, two, or four with 1 at both ends.
      padding: "SAME", "VALID", or pads for each axis.
      data_format: "NHWC".
    Returns: Float tensor [batch, out height, out width, channels out].
    Raises: InvalidArgumentError: shapes, padding or data format do not fit.
    """
    if data_format != "NHWC":
        raise InvalidArgumentError(f"conv2d: data_format {data_format!r} is not available; transpose the input to 'NHWC'.")
    x, kernel = lift_pair("conv2d", input, filters)
    op = Conv2D(pair(strides, "strides"), w.padding_name("conv2d", padding), pair(dilations, "dilations"))
    return bind(op, x, kernel)  # type: ignore[no-any-return]


def pair(value: Any, name: str) -> tuple[int, int]:
    """Strides or dilations as (vertical, horizontal)."""
    return w.pair("conv2d", name, value)
