"""Convolution of images [batch, ..., channels] along any number of axes, by the routines of `direct`, else as one matrix product
over all windows.

The op, its input gradient and its filter gradient are closed under differentiation: each is bilinear, and its derivatives are
the other two.

Filters with 1 / n of the input channels form n groups: group k maps the k-th part of the channels to the k-th part of the
outputs. The number of groups follows from the shapes. When both images and filters are batched, each row is a group as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.dims import Size, product
from graphad.core.dtypes import float32, float64
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, define
from graphad.core.references import is_reference
from graphad.core.schema import Given, Padding, Positive
from graphad.core.shapes import are_compatible, are_numbers, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.support import require_gradient
from graphad.ops.array.transpose import Reverse, Transpose, move_axis
from graphad.ops.linalg.contraction import einsum
from graphad.ops.linalg.matmul import matmul
from graphad.ops.nn import direct
from graphad.ops.nn import windows as w
from graphad.ops.rules import FLOATING, OF_THE_OTHER, require_kind, same_dtype


class Filtering(w.Windowed):
    """The base of the three ops."""

    total = True
    title = "conv{}d"

    def like(self, kind: Any, *dims: TensorLike) -> Any:
        """Another one of the three ops, for the same convolution."""
        return kind(self.strides, self.padding, self.dilations, *dims)

    def result(self, x: TensorSpec, kernel: TensorSpec) -> tuple[Any, ...]:
        """The shape of the result for an image and filters."""
        op, rank = self.called(), len(self.strides)
        same_dtype(op, (x, kernel))
        require_kind(op, x, FLOATING, "input")
        if kernel.dims is not None and len(kernel.dims) != rank + 2:
            raise InvalidArgumentError(
                f"{op}: filters have shape {format_dims(kernel.dims)}; "
                f"{w.layout(rank).replace('batch, ', '').replace('channels', 'channels in, channels out')} is needed."
            )
        filters = (None,) * (rank + 2) if kernel.dims is None else kernel.dims
        _require_windows(op, filters)
        found = self.places(x.dims, filters[:rank])
        channels: Any = None if x.dims is None else x.dims[-1]
        taken, outputs = filters[rank:]
        if channels is not None and taken is not None and channels != taken:
            if taken == 0 or channels == 0 or channels % taken != 0:
                raise InvalidArgumentError(
                    f"{op}: the input has {channels} channels, the filters with shape {format_dims(filters)} take {taken}; the "
                    "numbers must be equal, or the first a multiple of the second for groups of filters."
                )
            if outputs is not None and outputs % (channels // taken) != 0:
                raise InvalidArgumentError(
                    f"{op}: the input has {channels} channels and the filters with shape {format_dims(filters)} take {taken}: "
                    f"they are {channels // taken} groups, which do not divide the {outputs} outputs."
                )
        return (*found, outputs)

    def columns(self, x: Array, kernel: Sequence[int]) -> tuple[tuple[int, ...], Any]:
        """The number of windows along each axis, and a matrix with a row for each window, for filters of shape `kernel`; for
        several groups a stack of such matrices.
        """
        _require_windows(self.called(), kernel)
        window = kernel[:-2]
        parts = w.windows(w.padded(x, self.pads(x.shape, window)), window, self.strides, self.dilations)
        places = parts.shape[: len(window) + 1]
        if x.shape[-1] == kernel[-2]:
            return places, parts.reshape(math.prod(places), math.prod(kernel[:-1]))
        n = _group_count(x.shape[-1], kernel)
        groups = np.moveaxis(parts.reshape(*parts.shape[:-1], n, kernel[-2]), -2, 0)
        return places, groups.reshape(n, math.prod(places), math.prod(kernel[:-1]))

    def grouped_columns(self, x: Ranked, kernel: Sequence[Any]) -> Tensor:
        """`columns` as recorded ops: [groups, places, window], and without groups for one."""
        n = _group_count(x.dims[-1], kernel)
        if n == 1:
            return self.patches(x, kernel)
        rank, y = len(self.strides), self.all_parts(x, kernel)
        places = product(y.dims[: rank + 1])
        y = bind(Reshape((places, math.prod(kernel[:rank]), n, kernel[-2])), y)
        return bind(Reshape((n, places, math.prod(kernel[:-1]))), bind(Transpose((2, 0, 1, 3)), y))

    def all_parts(self, x: Tensor, kernel: Sequence[Any]) -> Any:
        """All windows, as a recorded op."""
        return bind(w.Patches(tuple(kernel[:-2]), self.strides, self.padding, self.dilations), x)

    def has_products(self, x: Ranked, *shapes: Sequence[Any]) -> bool:
        """Whether these shapes are numbers, and products of the dtype of x have library routines."""
        sizes = [size for shape in shapes for size in shape]
        return x.dtype in (float32, float64) and are_numbers(sizes) and 0 not in sizes

    def patches(self, x: Ranked, kernel: Sequence[Any]) -> Tensor:
        """`columns` by ops; a stack of matrices for a stack of images."""
        rank = len(self.strides)
        op = w.Patches(tuple(kernel[:rank]), self.strides, self.padding, self.dilations)
        stacked = len(x.dims) == rank + 3
        y = bind(op, w.fold_rows(x) if stacked else x)
        dims = ranked(y.dims)
        places = dims[: rank + 1]
        lead = (x.dims[0], x.dims[1] * product(places[1:])) if stacked else (product(places),)
        return bind(Reshape((*lead, product(dims[rank + 1 :]))), y)


def _require_windows(op: str, filters: Sequence[Any]) -> None:
    """Raises: InvalidArgumentError: filters of this shape have size 0 along an axis of the image."""
    if 0 in filters[:-2]:
        raise InvalidArgumentError(
            f"{op}: filters have shape {format_dims(tuple(filters))}; a window needs at least one element along each axis."
        )


def _groups(kernel: np.ndarray, n: int) -> np.ndarray:
    """Filters as a matrix from windows to outputs; for several groups a stack of matrices."""
    flat = kernel.reshape(math.prod(kernel.shape[:-1]), kernel.shape[-1])
    return flat if n == 1 else _parted(flat, n)


def _parted(x: np.ndarray, n: int) -> np.ndarray:
    """The columns of a matrix split into n groups: [rows, n * m] as [n, rows, m]."""
    return np.moveaxis(x.reshape(len(x), n, x.shape[1] // n), 1, 0)


def _joined(x: np.ndarray) -> np.ndarray:
    """The inverse of `_parted`; a plain matrix is returned unchanged."""
    return x if x.ndim == 2 else np.moveaxis(x, 0, 1).reshape(x.shape[1], x.shape[0] * x.shape[2])


def _group_count(channels: int, kernel: Sequence[int]) -> int:
    return channels // kernel[-2] if kernel[-2] else 1


def _takes_channels_alone(n: int, kernel: Sequence[int]) -> bool:
    """Whether each of several channels has filters of its own, whose products would have one row or column."""
    return n > 1 and kernel[-2] == 1 and len(kernel) <= 2 + len(_PLACES)


def _letters(rank: int) -> tuple[str, str]:
    """The axes of places and of windows in equations."""
    return _PLACES[:rank], _WITHIN[:rank]


_PLACES, _WITHIN = "ijkl", "pqrs"


def _stacked(kernel: Ranked, n: int) -> Tensor:
    """`_groups` as recorded ops."""
    return _apart(bind(Reshape((math.prod(kernel.dims[:-1]), kernel.dims[-1])), kernel), n)


def _apart(x: Any, n: int) -> Tensor:
    """`_parted` as recorded ops; a matrix as it is for one group."""
    rows, columns = x.dims
    return x if n == 1 else bind(Transpose((1, 0, 2)), bind(Reshape((rows, n, columns // n)), x))


def _side_by_side(y: Any, n: int) -> Tensor:
    """`_joined` as recorded ops."""
    if n == 1:
        return y  # type: ignore[no-any-return]
    _, rows, columns = y.dims
    return bind(Reshape((rows, n * columns)), bind(Transpose((1, 0, 2)), y))


def _as_groups(x: Tensor, place: int) -> Tensor:
    """Stacked rows turned into groups: the first axis is moved before axis `place` and merged with it."""
    y = move_axis(x, 0, place)
    dims = ranked(y.dims)
    return bind(Reshape((*dims[:place], dims[place] * dims[place + 1], *dims[place + 2 :])), y)


def _from_groups(y: Tensor, rows: int) -> Tensor:
    """The inverse of `_as_groups` for the last axis."""
    dims = ranked(y.dims)
    return move_axis(bind(Reshape((*dims[:-1], rows, dims[-1] // rows)), y), -2, 0)


def _as_matrix(x: Ranked, stacked: bool) -> Tensor:
    """A value, or stack of values, with all axes but the last merged."""
    lead = x.dims[: int(stacked)]
    return bind(Reshape((*lead, product(x.dims[int(stacked) : -1]), x.dims[-1])), x)


def _no_rows(ctx: BatchContext) -> bool:
    """Whether there are no rows to turn into groups."""
    return type(ctx.size) is int and not ctx.size


@define
class Convolution(Filtering):
    """y[b, i..., o] is the sum over p... and c of element p... of window i... of x[b, ..., c] times kernel[p..., c, o]. The
    kernel is [..., channels, outputs]; nothing is mirrored. If x has n times the channels of the kernel, the outputs are n
    groups of equal size: group k sums over the k-th part of the channels of x.
    """

    name = "convolution"
    rounds_once = True
    keeps, keeps_alone = (True, False), OF_THE_OTHER
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    formerly = {"conv2d": w.was_of_images}

    def infer(self, x: TensorSpec, kernel: TensorSpec) -> TensorSpec:
        return TensorSpec.of(self.result(x, kernel), x.dtype)

    def eval(self, x: Array, kernel: Array) -> Array:
        made = direct.convolution(self, widened(x), widened(kernel))
        return self.by_numpy(x, kernel) if made is None else as_dtype_of(made, x)

    def by_numpy(self, x: Array, kernel: Array) -> Array:
        """The same as one product of all windows."""
        places, columns = self.columns(widened(x), kernel.shape)
        y = _joined(columns @ _groups(widened(kernel), _group_count(x.shape[-1], kernel.shape)))
        return as_dtype_of(y.reshape(*places, kernel.shape[-1]), x)

    def lower(self, x: TensorSpec, kernel: TensorSpec) -> forms.Form | None:
        return forms.Convolved("values", self)

    def expanded(self, x: Ranked, kernel: Ranked) -> Tensor | None:
        if not self.has_products(x, x.dims[1:], kernel.dims):
            return None
        places = self.result(TensorSpec.of(x.dims, x.dtype), TensorSpec.of(kernel.dims, x.dtype))
        n = _group_count(x.dims[-1], kernel.dims)
        if _takes_channels_alone(n, kernel.dims):
            o, p = _letters(len(self.strides))
            parts = self.all_parts(x, kernel.dims)
            alone = bind(Reshape((*kernel.dims[:-2], n, kernel.dims[-1] // n)), kernel)
            return bind(Reshape(places), einsum(f"b{o}{p}c,{p}cm->b{o}cm", parts, alone))
        y = matmul(self.grouped_columns(x, kernel.dims), _stacked(kernel, n))
        return bind(Reshape(places), _side_by_side(y, n))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, kernel = ctx.inputs
        x_bar = kernel_bar = None
        if ctx.needs(0):
            dims, given = self.shape_of(ctx, 0)
            x_bar = bind(self.like(ConvolutionInputGrad, dims), g, kernel, *given)
        if ctx.needs(1):
            dims, given = self.shape_of(ctx, 1)
            kernel_bar = bind(self.like(ConvolutionFilterGrad, dims), x, g, *given)
        return x_bar, kernel_bar

    def batch(self, ctx: BatchContext, x: Ranked, kernel: Ranked) -> Tensor:
        images, filters = ctx.stacked(0), ctx.stacked(1)
        if not filters:
            return w.unfold_rows(bind(self, w.fold_rows(x), kernel), ctx.size, x.dims[1])
        row, of_kernel = x.dims[int(images) :], kernel.dims[1:]
        if not are_numbers(of_kernel[:-2]) or _no_rows(ctx):
            return ctx.rowwise(self, x, kernel)
        if row[-1] != of_kernel[-2]:
            x = x if images else ctx.stack(x)
            y = bind(self, _as_groups(x, len(row) - 1), _as_groups(kernel, len(of_kernel) - 1))
            return _from_groups(y, ctx.size)
        result = self.result(TensorSpec.of(row, x.dtype), TensorSpec.of(of_kernel, x.dtype))
        y = matmul(self.patches(x, of_kernel), _as_matrix(kernel, True))
        return bind(Reshape((ctx.size, *result)), y)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return w.image_rows(axes[:1]) if axes[1] is None else MIXED


_MANY_CHANNELS = 8  # from here on a product for each element of a window is quicker than one for all


@define
class ConvolutionInputGrad(Filtering):
    """The transpose of convolution as a function of x: maps a cotangent g of the result and a kernel to an image of the shape
    `dims`.
    """

    name = "convolution_input_grad"
    rounds_once = True
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

    def eval(self, g: Array, kernel: Array) -> Array:
        made = direct.image_gradient(self, self.dims, widened(g), widened(kernel))
        return self.by_numpy(g, kernel) if made is None else as_dtype_of(made, g)

    def by_numpy(self, g: Array, kernel: Array) -> Array:
        """The same as a product whose parts are added up where they come from."""
        shape, window = self.dims, kernel.shape[:-2]
        pads, outputs = self.pads(shape, window), kernel.shape[-1]
        n = _group_count(shape[-1], kernel.shape)
        flat = widened(g).reshape(math.prod(g.shape[:-1]), outputs)
        if n == 1 and shape[-1] >= _MANY_CHANNELS and type(flat) is np.ndarray and flat.size:
            whole = self._by_elements(flat, widened(kernel), g.shape[:-1], w.padded_shape(shape, pads))
            return as_dtype_of(w.unpadded(whole, shape, pads), g)
        parts = (flat if n == 1 else _parted(flat, n)) @ np.swapaxes(_groups(widened(kernel), n), -1, -2)
        if n == 1:
            parts = parts.reshape(*g.shape[:-1], *kernel.shape[:-1])
        else:
            parts = np.moveaxis(parts.reshape(n, *g.shape[:-1], *kernel.shape[:-1]), 0, -2)
            parts = parts.reshape(*g.shape[:-1], *window, shape[-1])
        whole = w.add_windows(parts, w.padded_shape(shape, pads), self.strides, self.dilations)
        return as_dtype_of(w.unpadded(whole, shape, pads), g)

    def _by_elements(self, flat: Array, kernel: Array, places: Sequence[int], shape: Sequence[int]) -> Array:
        """The padded image, by a product for each element of a window, which is added where the element comes from.

        With many channels this is quicker than one product for all of a window: whole rows of the image are added at once. Sums
        have the same terms in the same order.
        """
        out = np.zeros(shape, flat.dtype)
        part = np.empty((len(flat), shape[-1]), flat.dtype)
        for at in np.ndindex(kernel.shape[:-2]):
            np.matmul(flat, kernel[at].T, out=part)
            out[w.places(at, places[1:], self.strides, self.dilations)] += part.reshape(*places, shape[-1])
        return out

    def lower(self, g: TensorSpec, kernel: TensorSpec, *given: TensorSpec) -> forms.Form | None:
        return None if given else forms.Convolved("images", self)

    def expanded(self, g: Ranked, kernel: Ranked, *given: Tensor) -> Tensor | None:
        if not self.has_products(g, self.dims[1:], kernel.dims, g.dims[1:]):
            return None
        rank, n = len(self.strides), _group_count(self.dims[-1], kernel.dims)
        window, inputs, outputs = kernel.dims[:rank], kernel.dims[-2], kernel.dims[-1] // n
        if _takes_channels_alone(n, kernel.dims):
            o, p = _letters(rank)
            alone = bind(Reshape((*window, n, outputs)), kernel)
            bars = bind(Reshape((*g.dims[:-1], n, outputs)), g)
            apart: Any = einsum(f"b{o}cm,{p}cm->b{o}{p}c", bars, alone)
            return bind(
                w.PatchesSum(tuple(window), self.strides, self.padding, self.dilations, self.dims), apart
            )
        pads = [
            (span - 1 - before, span - 1 - after)
            for span, (before, after) in zip(self.spans(window), self.pads(self.dims, window), strict=True)
        ]
        if set(self.strides) == {1} and min(map(min, pads)) >= 0:  # it is a convolution with mirrored filters
            turned: Any = bind(Reverse(tuple(range(rank))), kernel) if math.prod(window) > 1 else kernel
            turned = bind(Reshape((math.prod(window), inputs, n, outputs)), turned)
            turned = bind(Reshape((*window, outputs, n * inputs)), bind(Transpose((0, 3, 2, 1)), turned))
            return bind(Convolution(self.strides, tuple(pads), self.dilations), g, turned)
        rows = bind(Reshape((product(g.dims[:-1]), n * outputs)), g)
        parts: Any = matmul(_apart(rows, n), _stacked(kernel, n), transpose_b=True)
        if n > 1:
            parts = bind(Reshape((n, product(g.dims[:-1]), math.prod(window), inputs)), parts)
            parts = bind(Transpose((1, 2, 0, 3)), parts)
        parts = bind(Reshape((*g.dims[:-1], *window, n * inputs)), parts)
        return bind(w.PatchesSum(tuple(window), self.strides, self.padding, self.dilations, self.dims), parts)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        g, kernel = ctx.inputs[:2]
        kernel_bar = None
        if ctx.needs(1):
            dims, given = self.shape_of(ctx, 1)
            kernel_bar = bind(self.like(ConvolutionFilterGrad, dims), h, g, *given)
        return bind(self.like(Convolution), h, kernel) if ctx.needs(0) else None, kernel_bar

    def batch(self, ctx: BatchContext, g: Ranked, kernel: Ranked, *given: Ranked) -> Tensor:
        if not ctx.stacked(1):
            return w.images_of_rows(self, ctx, g, [kernel], given)
        window = kernel.dims[1:-2]
        if not are_numbers(window) or _no_rows(ctx):
            return ctx.rowwise(self, g, kernel, *given)
        stacked = ctx.stacked(0)
        if is_reference(self.dims[-1]):  # the number of groups is unknown
            return ctx.rowwise(self, g, kernel, *given)
        if self.dims[-1] != kernel.dims[-2]:
            made = self.changed(dims=(*self.dims[:-1], ctx.size * self.dims[-1]))
            g = g if stacked else ctx.stack(g)
            x = bind(
                made,
                _as_groups(g, len(g.dims) - 2),
                _as_groups(kernel, len(kernel.dims) - 2),
                *given[: made.given],
            )
            return _from_groups(x, ctx.size)
        parts = matmul(_as_matrix(g, stacked), _as_matrix(kernel, True), transpose_b=True)
        row = g.dims[int(stacked) :]
        parts = bind(Reshape((ctx.size, *row[:-1], *kernel.dims[1:-1])), parts)
        op = w.PatchesSum(tuple(window), self.strides, self.padding, self.dilations, self.dims)
        return w.images_of_rows(op, ctx, parts, (), given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return w.image_rows(axes[:1]) if axes[1] is None else MIXED


@define
class ConvolutionFilterGrad(Filtering):
    """The transpose of convolution as a function of its kernel: maps x and a cotangent g of the result to filters of the shape
    `dims`.
    """

    name = "convolution_filter_grad"
    rounds_once = True
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

    def eval(self, x: Array, g: Array) -> Array:
        made = direct.filter_gradient(self, widened(x), self.dims, widened(g))
        return self.by_numpy(x, g) if made is None else as_dtype_of(made, x)

    def by_numpy(self, x: Array, g: Array) -> Array:
        """The same as one product of all windows, turned over."""
        places, columns = self.columns(widened(x), self.dims)
        n, flat = _group_count(x.shape[-1], self.dims), widened(g).reshape(math.prod(places), g.shape[-1])
        y = _joined(np.swapaxes(columns, -1, -2) @ (flat if n == 1 else _parted(flat, n)))
        return as_dtype_of(y.reshape(self.dims), x)

    def lower(self, x: TensorSpec, g: TensorSpec, *given: TensorSpec) -> forms.Form | None:
        return None if given else forms.Convolved("filters", self)

    def expanded(self, x: Ranked, g: Ranked, *given: Tensor) -> Tensor | None:
        if not self.has_products(x, self.dims, x.dims[1:], g.dims[1:]):
            return None
        n = _group_count(x.dims[-1], self.dims)
        if _takes_channels_alone(n, self.dims):
            o, p = _letters(len(self.strides))
            bars = bind(Reshape((*g.dims[:-1], n, g.dims[-1] // n)), g)
            summed = einsum(f"b{o}{p}c,b{o}cm->{p}cm", self.all_parts(x, self.dims), bars)
            return bind(Reshape(self.dims), summed)
        rows = bind(Reshape((product(g.dims[:-1]), g.dims[-1])), g)
        y = matmul(self.grouped_columns(x, self.dims), _apart(rows, n), transpose_a=True)
        return bind(Reshape(self.dims), _side_by_side(y, n))

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        x, g = ctx.inputs[:2]
        x_bar = None
        if ctx.needs(0):
            dims, given = self.shape_of(ctx, 0)
            x_bar = bind(self.like(ConvolutionInputGrad, dims), g, h, *given)
        return x_bar, bind(self.like(Convolution), x, h) if ctx.needs(1) else None

    def batch(self, ctx: BatchContext, x: Ranked, g: Ranked, *given: Ranked) -> Tensor:
        if not are_numbers(self.dims[:-2]) or is_reference(self.dims[-2]) or _no_rows(ctx):
            return ctx.rowwise(self, x, g, *given)
        if x.dims[-1] != self.dims[-2]:
            made = self.changed(dims=(*self.dims[:-1], ctx.size * g.dims[-1]))
            x, g = (y if ctx.stacked(i) else ctx.stack(y) for i, y in enumerate((x, g)))
            kernel = bind(made, _as_groups(x, len(x.dims) - 2), _as_groups(g, len(g.dims) - 2))
            return _from_groups(kernel, ctx.size)
        y = matmul(self.patches(x, self.dims), _as_matrix(g, ctx.stacked(1)), transpose_a=True)
        return bind(Reshape((ctx.size, *self.dims)), y, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None if axes[0] is None and axes[1] is None else MIXED
