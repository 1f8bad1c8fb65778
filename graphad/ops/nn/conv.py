"""Convolution of images [batch, ..., channels] along any number of axes as one matrix product over all windows.

The op, its input gradient and its filter gradient are closed under differentiation: each is bilinear, and the derivative
of one is the other two.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from graphad.core.bind import bind
from graphad.core.dims import Size, product
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, define
from graphad.core.schema import Given, Padding, Positive
from graphad.core.shapes import are_compatible, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.shape import Reshape
from graphad.ops.array.support import require_gradient
from graphad.ops.linalg import matmul
from graphad.ops.nn import windows as w
from graphad.ops.rules import FLOATING, require_kind, same_dtype


class Filtering(w.Windowed):
    """What the three ops share."""

    total = True
    title = "conv{}d"

    def like(self, kind: Any, *dims: Any) -> Any:
        """Another of the three ops, for the same convolution."""
        return kind(self.strides, self.padding, self.dilations, *dims)

    def result(self, x: TensorSpec, kernel: TensorSpec) -> tuple[Any, ...]:
        """The shape of the convolution of an image and filters."""
        op, rank = self.called(), len(self.strides)
        same_dtype(op, (x, kernel))
        require_kind(op, x, FLOATING, "input")
        if kernel.dims is not None and len(kernel.dims) != rank + 2:
            raise InvalidArgumentError(
                f"{op}: filters have shape {format_dims(kernel.dims)}; "
                f"{w.layout(rank).replace('batch, ', '').replace('channels', 'channels in, channels out')} is needed."
            )
        filters = (None,) * (rank + 2) if kernel.dims is None else kernel.dims
        found = self.places(x.dims, filters[:rank])
        channels = None if x.dims is None else x.dims[-1]
        if channels is not None and filters[rank] is not None and channels != filters[rank]:
            raise InvalidArgumentError(
                f"{op}: the input has {channels} channels, the filters with shape {format_dims(filters)} take {filters[rank]}."
            )
        return (*found, filters[-1])

    def columns(self, x: Any, kernel: Sequence[Any]) -> tuple[tuple[int, ...], Any]:
        """How many windows there are, and all as a matrix with a row for each, for filters of shape `kernel`."""
        window = kernel[:-2]
        parts = w.windows(w.padded(x, self.pads(x.shape, window)), window, self.strides, self.dilations)
        places = parts.shape[: len(window) + 1]
        return places, parts.reshape(math.prod(places), math.prod(kernel[:-1]))

    def patches(self, x: Any, kernel: Sequence[Any]) -> Any:
        """The same as recorded ops; a stack of matrices for a stack of images."""
        rank = len(self.strides)
        op = w.Patches(tuple(kernel[:rank]), self.strides, self.padding, self.dilations)
        stacked = len(x.dims) == rank + 3
        y = bind(op, w.fold_rows(x) if stacked else x)
        dims = ranked(y.dims)
        places = dims[: rank + 1]
        lead = (x.dims[0], x.dims[1] * product(places[1:])) if stacked else (product(places),)
        return bind(Reshape((*lead, product(dims[rank + 1 :]))), y)


def _as_matrix(x: Any, stacked: bool) -> Any:
    """A value, or stack of values, with all axes but the last taken together."""
    lead = x.dims[: int(stacked)]
    return bind(Reshape((*lead, product(x.dims[int(stacked) : -1]), x.dims[-1])), x)


def _known(sizes: Sequence[Any]) -> bool:
    return all(type(size) is int for size in sizes)


@define
class Convolution(Filtering):
    """y[b, i..., o] is the sum over p... and c of element p... of window i... of x[b, ..., c] times kernel[p..., c, o]. The
    kernel is [..., channels, outputs]; nothing is mirrored.
    """

    name = "convolution"
    keeps = (True, False)
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    formerly = {"conv2d": w.was_of_images}

    def infer(self, x: TensorSpec, kernel: TensorSpec) -> TensorSpec:
        return TensorSpec.of(self.result(x, kernel), x.dtype)

    def eval(self, x: Any, kernel: Any) -> Any:
        places, columns = self.columns(widened(x), kernel.shape)
        y = columns @ widened(kernel).reshape(columns.shape[1], kernel.shape[-1])
        return as_dtype_of(y.reshape(*places, kernel.shape[-1]), x)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        x, kernel = ctx.inputs
        x_bar = kernel_bar = None
        if ctx.needs(0):
            dims, given = self.shape_of(ctx, 0)
            x_bar = bind(self.like(ConvolutionInputGrad, dims), g, kernel, *given)
        if ctx.needs(1):
            dims, given = self.shape_of(ctx, 1)
            kernel_bar = bind(self.like(ConvolutionFilterGrad, dims), x, g, *given)
        return x_bar, kernel_bar

    def batch(self, ctx: Any, x: Any, kernel: Any) -> Any:
        images, filters = ctx.stacked(0), ctx.stacked(1)
        if not filters:
            return w.unfold_rows(bind(self, w.fold_rows(x), kernel), ctx.size, x.dims[1])
        row, of_kernel = x.dims[int(images) :], kernel.dims[1:]
        if not _known(of_kernel[:-2]):
            return ctx.rowwise(self, x, kernel)
        result = self.result(TensorSpec.of(row, x.dtype), TensorSpec.of(of_kernel, x.dtype))
        y = matmul(self.patches(x, of_kernel), _as_matrix(kernel, True))
        return bind(Reshape((ctx.size, *result)), y)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return w.image_rows(axes[:1]) if axes[1] is None else MIXED


@define
class ConvolutionInputGrad(Filtering):
    """The transpose of convolution as a function of x: for a cotangent g of the result and a kernel, an image of the shape
    `dims`.
    """

    name = "convolution_input_grad"
    title = "conv{}d_transpose"
    keeps = ((0, 1), False)
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    dims: Given[tuple[Size, ...]]
    formerly = {"conv2d_input_grad": w.shape_was_like}
    formerly_like = frozenset(formerly)

    def infer(self, g: TensorSpec, kernel: TensorSpec) -> TensorSpec:
        same_dtype(self.called(), (g, kernel))
        x = TensorSpec.of(self.dims, g.dtype)
        want = self.result(x, kernel)
        if not are_compatible(g.dims, want):
            raise InvalidArgumentError(
                f"{self.called()}: input has shape {format_dims(g.dims)}; for output_shape {format_dims(x.dims)} and "
                f"filters with shape {format_dims(kernel.dims)} it must have shape {format_dims(want)}."
            )
        return x

    def eval(self, g: Any, kernel: Any) -> Any:
        shape, window = self.dims, kernel.shape[:-2]
        pads, outputs = self.pads(shape, window), kernel.shape[-1]
        inner = math.prod(kernel.shape[:-1])
        parts = (
            widened(g).reshape(math.prod(g.shape[:-1]), outputs) @ widened(kernel).reshape(inner, outputs).T
        )
        parts = parts.reshape(*g.shape[:-1], *kernel.shape[:-1])
        whole = w.add_windows(parts, w.padded_shape(shape, pads), self.strides, self.dilations)
        return as_dtype_of(w.unpadded(whole, shape, pads), g)

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        g, kernel = ctx.inputs[:2]
        kernel_bar = None
        if ctx.needs(1):
            dims, given = self.shape_of(ctx, 1)
            kernel_bar = bind(self.like(ConvolutionFilterGrad, dims), h, g, *given)
        return bind(self.like(Convolution), h, kernel) if ctx.needs(0) else None, kernel_bar

    def batch(self, ctx: Any, g: Any, kernel: Any, *given: Any) -> Any:
        if not ctx.stacked(1):
            return w.images_of_rows(self, ctx, g, [kernel], given)
        window = kernel.dims[1:-2]
        if not _known(window):
            return ctx.rowwise(self, g, kernel, *given)
        stacked = ctx.stacked(0)
        parts = matmul(_as_matrix(g, stacked), _as_matrix(kernel, True), transpose_b=True)
        row = g.dims[int(stacked) :]
        parts = bind(Reshape((ctx.size, *row[:-1], *kernel.dims[1:-1])), parts)
        op = w.PatchesSum(tuple(window), self.strides, self.padding, self.dilations, self.dims)
        return w.images_of_rows(op, ctx, parts, (), given)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return w.image_rows(axes[:1]) if axes[1] is None else MIXED


@define
class ConvolutionFilterGrad(Filtering):
    """The transpose of convolution as a function of its kernel: for x and a cotangent g of the result, filters of the shape
    `dims`.
    """

    name = "convolution_filter_grad"
    title = "conv{}d_filter_grad"
    keeps = ((0, 1), False)
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    dims: Given[tuple[Size, ...]]
    formerly = {"conv2d_filter_grad": w.shape_was_like}
    formerly_like = frozenset(formerly)

    def infer(self, x: TensorSpec, g: TensorSpec) -> TensorSpec:
        kernel = TensorSpec.of(self.dims, x.dtype)
        require_gradient(self.called(), g, TensorSpec.of(self.result(x, kernel), x.dtype))
        return kernel

    def eval(self, x: Any, g: Any) -> Any:
        _, columns = self.columns(widened(x), self.dims)
        y = columns.T @ widened(g).reshape(columns.shape[0], g.shape[-1])
        return as_dtype_of(y.reshape(self.dims), x)

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        x, g = ctx.inputs[:2]
        x_bar = None
        if ctx.needs(0):
            dims, given = self.shape_of(ctx, 0)
            x_bar = bind(self.like(ConvolutionInputGrad, dims), g, h, *given)
        return x_bar, bind(self.like(Convolution), x, h) if ctx.needs(1) else None

    def batch(self, ctx: Any, x: Any, g: Any, *given: Any) -> Any:
        if not _known(self.dims[:-2]):
            return ctx.rowwise(self, x, g, *given)
        y = matmul(self.patches(x, self.dims), _as_matrix(g, ctx.stacked(1)), transpose_a=True)
        return bind(Reshape((ctx.size, *self.dims)), y, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return None if axes[0] is None and axes[1] is None else MIXED
