"""Two-dimensional convolution of images [batch, height, width, channels] as one matrix product over all windows.

The op, its input gradient and its filter gradient are closed under differentiation: each is bilinear, and the derivative
of one is the other two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.dims import Size, product
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.shape import Reshape
from graphad.ops.array.support import require_gradient
from graphad.ops.linalg import matmul
from graphad.ops.nn import windows as w
from graphad.ops.nn.windows import Padding
from graphad.ops.rules import FLOATING, require_kind, same_dtype


class Convolution(Op):
    """What the three ops share."""

    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]

    def _spans(self, kernel: Sequence[Any]) -> list[Any]:
        return [None if k is None else w.span(k, d) for k, d in zip(kernel[:2], self.dilations, strict=True)]

    def _pads(self, image: Sequence[int], kernel: Sequence[int]) -> w.Pads:
        return w.pads_of(self.padding, image[1:3], self._spans(kernel), self.strides)

    def _columns(self, x: np.ndarray, kernel: Sequence[int]) -> np.ndarray:
        return w.windows(w.padded(x, self._pads(x.shape, kernel)), kernel[:2], self.strides, self.dilations)

    def _result(self, op: str, x: TensorSpec, kernel: TensorSpec) -> tuple[Any, ...]:
        """The shape of the convolution of an image and filters."""
        same_dtype(op, (x, kernel))
        require_kind(op, x, FLOATING, "input")
        w.require_image(op, x.dims)
        if kernel.dims is not None and len(kernel.dims) != 4:
            raise InvalidArgumentError(
                f"{op}: filters have shape {format_dims(kernel.dims)}; [height, width, channels in, channels out] is needed."
            )
        image = (None,) * 4 if x.dims is None else x.dims
        filters = (None,) * 4 if kernel.dims is None else kernel.dims
        if image[3] is not None and filters[2] is not None and image[3] != filters[2]:
            raise InvalidArgumentError(
                f"{op}: the input has {image[3]} channels, the filters with shape {format_dims(filters)} take {filters[2]}."
            )
        spans = self._spans(filters)
        sizes = [w.output_size(op, self.padding, image[1 + k], spans[k], self.strides[k], k) for k in (0, 1)]
        return (image[0], *sizes, filters[3])

    def _patches(self, x: Any, kernel: Sequence[Any]) -> Any:
        """All windows as a matrix with one row per window; a stack of matrices for a stack of images."""
        op = w.Patches(tuple(kernel[:2]), self.strides, self.padding, self.dilations)  # type: ignore[arg-type]
        stacked = len(x.dims) == 5
        y = bind(op, w.fold_rows(x) if stacked else x)
        lead = (x.dims[0], x.dims[1] * y.dims[1] * y.dims[2]) if stacked else (product(y.dims[:3]),)
        return bind(Reshape((*lead, product(y.dims[3:]))), y)


def _as_matrix(x: Any, split: int, stacked: bool) -> Any:
    """A value, or stack of values, with the axes before and from `split` on taken together."""
    dims = x.dims[1:] if stacked else x.dims
    return bind(Reshape((*x.dims[: int(stacked)], product(dims[:split]), product(dims[split:]))), x)


@define
class Conv2D(Convolution):
    """y[b, i, j, o] is the sum over p, q, c of element (p, q) of window (i, j) of x[b, ..., c] times kernel[p, q, c, o]. The
    kernel is [height, width, channels, outputs]; nothing is mirrored.
    """

    name = "conv2d"
    keeps = (True, False)
    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]

    def infer(self, x: TensorSpec, kernel: TensorSpec) -> TensorSpec:
        return TensorSpec.of(self._result("conv2d", x, kernel), x.dtype)

    def eval(self, x: Any, kernel: Any) -> Any:
        columns = self._columns(widened(x), kernel.shape)
        b, oh, ow = columns.shape[:3]
        inner = int(np.prod(columns.shape[3:]))
        y = columns.reshape(b * oh * ow, inner) @ widened(kernel).reshape(inner, kernel.shape[3])
        return as_dtype_of(y.reshape(b, oh, ow, kernel.shape[3]), x)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        x, kernel = ctx.inputs
        of_x, of_kernel = (
            kind(self.strides, self.padding, self.dilations) for kind in (Conv2DInputGrad, Conv2DFilterGrad)
        )
        return (
            w.shaped(of_x, [g, kernel], ctx.shape(0), x) if ctx.needs(0) else None,
            w.shaped(of_kernel, [x, g], ctx.shape(1), kernel) if ctx.needs(1) else None,
        )

    def batch(self, ctx: Any, x: Any, kernel: Any) -> Any:
        images, filters = ctx.stacked(0), ctx.stacked(1)
        if not filters:
            return w.unfold_rows(bind(self, w.fold_rows(x), kernel), ctx.size, x.dims[1])
        row, of_kernel = x.dims[int(images) :], kernel.dims[1:]
        result = self._result("conv2d", TensorSpec.of(row, x.dtype), TensorSpec.of(of_kernel, x.dtype))
        y = matmul(self._patches(x, of_kernel), _as_matrix(kernel, 3, True))
        return bind(Reshape((ctx.size, *result)), y)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return w.image_rows(axes[:1]) if axes[1] is None else MIXED


@define
class Conv2DInputGrad(Convolution, w.Shaped):
    """The transpose of conv2d as a function of x: for a cotangent g of the result and a kernel, an array of the shape
    `dims`, or of that of `like`, whose values do not matter.
    """

    name = "conv2d_input_grad"
    keeps = ((0, 1), False)
    by_value = (0, 1)
    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]
    dims: tuple[Size, ...] | None = None

    def infer(self, g: TensorSpec, kernel: TensorSpec, like: TensorSpec) -> TensorSpec:
        same_dtype("conv2d_transpose", (g, kernel))
        like = self.result(like)
        want = self._result("conv2d_transpose", like, kernel)
        if not are_compatible(g.dims, want):
            raise InvalidArgumentError(
                f"conv2d_transpose: input has shape {format_dims(g.dims)}; for output_shape {format_dims(like.dims)} and "
                f"filters with shape {format_dims(kernel.dims)} it must have shape {format_dims(want)}."
            )
        return like

    def eval(self, g: Any, kernel: Any, like: Any) -> Any:
        shape = self.result_shape(like)
        pads = self._pads(shape, kernel.shape)
        kh, kw, c, o = kernel.shape
        parts = widened(g).reshape(int(np.prod(g.shape[:3])), o) @ widened(kernel).reshape(kh * kw * c, o).T
        parts = parts.reshape(*g.shape[:3], kh, kw, c)
        whole = w.add_windows(parts, w.padded_shape(shape, pads), self.strides, self.dilations)
        return as_dtype_of(w.unpadded(whole, pads), g)

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        g, kernel, _ = ctx.inputs
        forward, of_kernel = (
            kind(self.strides, self.padding, self.dilations) for kind in (Conv2D, Conv2DFilterGrad)
        )
        return (
            bind(forward, h, kernel) if ctx.needs(0) else None,
            w.shaped(of_kernel, [h, g], ctx.shape(1), kernel) if ctx.needs(1) else None,
            None,
        )

    def batch(self, ctx: Any, g: Any, kernel: Any, like: Any) -> Any:
        dims = w.row_shape(ctx, self, 2, like)
        if not ctx.stacked(0) and not ctx.stacked(1):
            return ctx.unstacked(w.shaped(self, [g, kernel], dims, None))
        wide = (ctx.size * dims[0], *dims[1:])
        if not ctx.stacked(1):
            return w.unfold_rows(w.shaped(self, [w.fold_rows(g), kernel], wide, None), ctx.size, dims[0])
        parts = matmul(_as_matrix(g, 3, ctx.stacked(0)), _as_matrix(kernel, 3, True), transpose_b=True)
        sizes = g.dims[int(ctx.stacked(0)) + 1 :][:2]
        parts = bind(Reshape((wide[0], *sizes, *kernel.dims[1:4])), parts)
        op = w.PatchesGrad(tuple(kernel.dims[1:3]), self.strides, self.padding, self.dilations)
        return w.unfold_rows(w.shaped(op, [parts], wide, None), ctx.size, dims[0])

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return w.image_rows(axes[:1]) if axes[1] is None else MIXED


@define
class Conv2DFilterGrad(Convolution, w.Shaped):
    """The transpose of conv2d as a function of its kernel: for x and a cotangent g of the result, an array of the shape
    `dims`, or of that of `like`, whose values do not matter.
    """

    name = "conv2d_filter_grad"
    keeps = ((0, 1), False)
    by_value = (0, 1)
    strides: tuple[int, int]
    padding: Padding
    dilations: tuple[int, int]
    dims: tuple[Size, ...] | None = None

    def infer(self, x: TensorSpec, g: TensorSpec, like: TensorSpec) -> TensorSpec:
        like = self.result(like)
        require_gradient(self.name, g, TensorSpec.of(self._result(self.name, x, like), x.dtype))
        return like

    def eval(self, x: Any, g: Any, like: Any) -> Any:
        shape = self.result_shape(like)
        columns = self._columns(widened(x), shape)
        count, inner = int(np.prod(columns.shape[:3])), int(np.prod(columns.shape[3:]))
        y = columns.reshape(count, inner).T @ widened(g).reshape(count, g.shape[3])
        return as_dtype_of(y.reshape(shape), x)

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        x, g, _ = ctx.inputs
        of_x, forward = (
            kind(self.strides, self.padding, self.dilations) for kind in (Conv2DInputGrad, Conv2D)
        )
        return (
            w.shaped(of_x, [g, h], ctx.shape(0), x) if ctx.needs(0) else None,
            bind(forward, x, h) if ctx.needs(1) else None,
            None,
        )

    def batch(self, ctx: Any, x: Any, g: Any, like: Any) -> Any:
        dims = w.row_shape(ctx, self, 2, like)
        if not ctx.stacked(0) and not ctx.stacked(1):
            return ctx.unstacked(w.shaped(self, [x, g], dims, None))
        y = matmul(self._patches(x, dims), _as_matrix(g, 3, ctx.stacked(1)), transpose_a=True)
        return bind(Reshape((ctx.size, *dims)), y)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None if axes[0] is None and axes[1] is None else MIXED
