"""Windows over images [batch, ..., channels] with any number of axes between: padding, output sizes, the view of all windows,
and two ops.

`Patches` lays all windows out beside each other and `PatchesSum` adds them up where they came from. Both are linear and each
is the transpose of the other, so what is made of them has derivatives of every order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Cotangents, Ranked, RowAxes, RowAxis, VjpContext
from graphad.core.bind import bind
from graphad.core.dims import Size
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.references import entries_of
from graphad.core.schema import Given, Padding, Positive
from graphad.core.shapes import format_dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, wide
from graphad.ops.array.shape import Reshape, sizes_of
from graphad.ops.array.support import require_gradient

Pads = tuple[tuple[int, int], ...]
AXES = ("depth", "height", "width")


def layout(rank: int, first: bool = False) -> str:
    """The axes of an image with `rank` axes besides batch and channels, for messages; `first`: channels come before them."""
    between = AXES[-rank:] if 0 < rank <= len(AXES) else (f"{rank} axes",)
    return f"[batch, channels, {', '.join(between)}]" if first else f"[batch, {', '.join(between)}, channels]"


def pads_of(padding: Any, sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int]) -> Pads:
    """How many elements to add before and after along each axis; SAME puts the odd one after."""
    if padding == "VALID":
        return ((0, 0),) * len(strides)
    if padding != "SAME":
        return padding  # type: ignore[no-any-return]
    totals = [
        max((-(-size // s) - 1) * s + k - size, 0) for size, k, s in zip(sizes, spans, strides, strict=True)
    ]
    return tuple([(total // 2, total - total // 2) for total in totals])


def span(size: int, dilation: int) -> Any:
    """How many elements a window of `size` covers."""
    return (size - 1) * dilation + 1


def output_size(
    op: str, padding: Any, size: Size | None, window: Size | None, stride: int, place: int
) -> Any:
    """The size of the result along one axis, None where it is not known; `window` is the window's span."""
    if size is None or window is None:
        return None
    if padding == "SAME":
        return size if stride == 1 else (size + (stride - 1)) // stride
    size = size if padding == "VALID" else size + sum(padding[place])
    if size < window:
        if window >= size + 2 * stride:
            raise InvalidArgumentError(
                f"{op}: the window covers {window} elements, the input has only {size} (padding included)."
            )
        return 0  # no window fits
    return size - window + 1 if stride == 1 else (size - window) // stride + 1


def padded(x: np.ndarray, pads: Pads, value: float = 0) -> np.ndarray:
    """x with `value` around it."""
    if pads == ((0, 0),) * len(pads):
        return x
    out = arrays.full(padded_shape(x.shape, pads), value, x.dtype, x)
    out[_inside(x.shape, pads)] = x
    return out


def padded_shape(shape: Sequence[int], pads: Pads) -> tuple[int, ...]:
    """The shape of an image after `padded`."""
    return (
        shape[0],
        *[n + before + after for n, (before, after) in zip(shape[1:-1], pads, strict=True)],
        shape[-1],
    )


def _inside(shape: Sequence[int], pads: Pads) -> tuple[slice, ...]:
    """Where an image of this shape lies in the padded one."""
    return (
        slice(None),
        *[slice(before, before + n) for n, (before, _) in zip(shape[1:-1], pads, strict=True)],
    )


def unpadded(x: np.ndarray, shape: Sequence[int], pads: Pads) -> np.ndarray:
    """The image of this shape without what `padded` added."""
    return arrays.contiguous(x[_inside(shape, pads)])


def windows(
    x: np.ndarray, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> np.ndarray:
    """A view [batch, ..., (window), channels] of a padded image: the places of windows, then those in a window."""
    counts = [
        max((n - span(k, d)) // s + 1, 0)
        for n, k, s, d in zip(x.shape[1:-1], window, strides, dilations, strict=True)
    ]
    steps = x.strides[1:-1]
    return arrays.strided(
        x,
        (x.shape[0], *counts, *window, x.shape[-1]),
        (
            x.strides[0],
            *[step * s for step, s in zip(steps, strides, strict=True)],
            *[step * d for step, d in zip(steps, dilations, strict=True)],
            x.strides[-1],
        ),
    )


def places(
    at: Sequence[int], sizes: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> tuple[slice, ...]:
    """Where element `at` of each of `sizes` windows lies in the padded image."""
    return (
        slice(None),
        *[
            slice(i * d, i * d + (n - 1) * s + 1, s)
            for i, n, s, d in zip(at, sizes, strides, dilations, strict=True)
        ],
    )


_FEW_CHANNELS = 16


def add_windows(
    parts: np.ndarray, shape: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> np.ndarray:
    """The transpose of `windows`: window contents added up where they came from, into an image of `shape`."""
    out = arrays.zeros(shape, wide(parts.dtype), parts)
    rank = len(strides)
    sizes, window = parts.shape[1 : 1 + rank], parts.shape[1 + rank : -1]
    if parts.size:
        # With few channels the innermost loop is to go along the last axis of the image; then they come first.
        turned = type(out) is np.ndarray and out.shape[-1] < _FEW_CHANNELS and rank > 0
        into = out
        if turned:
            out = arrays.zeros((shape[-1], *shape[:-1]), out.dtype, parts)
            parts = np.moveaxis(parts, -1, 0)
        lead = (slice(None),) * (turned + 1 + rank)
        for at in np.ndindex(window):
            where = places(at, sizes, strides, dilations)
            out[(slice(None), *where) if turned else where] += parts[lead + at]
        if turned:
            into[...] = np.moveaxis(out, 0, -1)
            out = into
    return as_dtype_of(out, parts)  # type: ignore[no-any-return]


# What batch rules do to stacks of images. They only see definite shapes, whose sizes may be symbols.


def fold_rows(x: Tensor) -> Tensor:
    """[rows, batch, ...] to [rows * batch, ...]."""
    rows, batch, *rest = ranked(x.dims)
    return bind(Reshape((rows * batch, *rest)), x)


def unfold_rows(y: Tensor, rows: Size, batch: Size) -> Tensor:
    """[rows * batch, ...] to [rows, batch, ...]."""
    return bind(Reshape((rows, batch, *ranked(y.dims)[1:])), y)


def image_rows(axes: RowAxes) -> RowAxis:
    """The row axis of ops on images in which the batches of all operands correspond."""
    found = {axis for axis in axes if axis is not None}
    return None if not found else 0 if found == {0} else MIXED


class Windowed(Op):
    """What the ops share that look at windows of an image: there are as many axes as strides.

    Class attributes:
      title: What messages call the op, from the number of axes.
    """

    title = "{}"
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]

    def called(self) -> str:
        return self.title.format(len(self.strides))

    def spans(self, window: Sequence[Any]) -> list[Any]:
        """How many elements a window covers along each axis."""
        return [None if k is None else span(k, d) for k, d in zip(window, self.dilations, strict=True)]

    def pads(self, shape: Sequence[int], window: Sequence[int]) -> Pads:
        """The padding of an image of this shape."""
        return pads_of(self.padding, shape[1:-1], self.spans(window), self.strides)

    def places(self, dims: Any, window: Sequence[Any]) -> tuple[Any, ...]:
        """The shape of the result for an image of shape `dims`, without the channels."""
        rank = len(self.strides)
        if (
            len(self.dilations) != rank
            or len(window) != rank
            or (type(self.padding) is tuple and len(self.padding) != rank)
        ):
            raise InvalidArgumentError(
                f"{self.called()}: a window of {len(window)} axes, strides {self.strides}, dilations {self.dilations} and "
                f"padding {self.padding!r} are not for the same number of axes."
            )
        if dims is None:
            dims = (None,) * (rank + 2)
        elif len(dims) != rank + 2:
            raise InvalidArgumentError(
                f"{self.called()}: input has shape {format_dims(dims)}; {layout(rank)} is needed."
            )
        op, spans = self.called(), self.spans(window)
        sizes = [
            output_size(op, self.padding, dims[1 + k], spans[k], self.strides[k], k) for k in range(rank)
        ]
        return (dims[0], *sizes)

    def shape_of(self, ctx: VjpContext, i: int) -> tuple[Any, tuple[Any, ...]]:
        """The shape of input i, an image or filters, as an attribute, and the inputs that it refers to."""
        dims = ctx.shape(i)
        if is_definite(dims):
            return dims, ()
        return entries_of((None,) * (len(self.strides) + 2) if dims is None else dims), (
            sizes_of(ctx.inputs[i]),
        )


def was_of_images(attributes: dict[str, Any]) -> dict[str, Any]:
    """There are two axes between batch and channels."""
    return attributes


def shape_was_like(attributes: dict[str, Any]) -> dict[str, Any]:
    """It has one more input, the last one. Where its `dims` is nil, the result has the shape of that input; else the input is a
    scalar that nothing reads.
    """
    if attributes["dims"] is not None:
        return attributes
    return attributes | {"dims": entries_of((None,) * (len(attributes["strides"]) + 2))}


@define
class Patches(Windowed):
    """y[b, i..., p..., c] is element p... of window i... of the padded image x[b, ..., c]."""

    name = title = "patches"
    keeps = (False, False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]

    def infer(self, x: TensorSpec) -> TensorSpec:
        channels = None if x.dims is None else x.dims[-1:]
        found = self.places(x.dims, self.window)
        return TensorSpec.of((*found, *self.window, *(channels or (None,))), x.dtype)

    def eval(self, x: Array) -> Array:
        whole = padded(x, self.pads(x.shape, self.window))
        return arrays.contiguous(windows(whole, self.window, self.strides, self.dilations))

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        sizes, given = self.shape_of(ctx, 0)
        return (bind(PatchesSum(self.window, self.strides, self.padding, self.dilations, sizes), g, *given),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return unfold_rows(bind(self, fold_rows(x)), ctx.size, x.dims[1])

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return image_rows(axes)


@define
class PatchesSum(Windowed):
    """The transpose of patches: windows added up where they came from, into an image of the shape `dims`."""

    name = title = "patches_sum"
    keeps = (False, False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    dims: Given[tuple[Size, ...]]
    formerly = {"patches_grad": shape_was_like}
    formerly_like = frozenset(formerly)

    def infer(self, g: TensorSpec) -> TensorSpec:
        x = TensorSpec.of(self.dims, g.dtype)
        require_gradient(self.name, g, self._windows().infer(x))
        return x

    def eval(self, g: Array) -> Array:
        pads = self.pads(self.dims, self.window)
        whole = add_windows(g, padded_shape(self.dims, pads), self.strides, self.dilations)
        return unpadded(whole, self.dims, pads)

    def _windows(self) -> Any:
        return Patches(self.window, self.strides, self.padding, self.dilations)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(self._windows(), h),)

    def batch(self, ctx: BatchContext, g: Ranked, *given: Ranked) -> Tensor:
        return images_of_rows(self, ctx, g, (), given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return image_rows(axes)


def images_of_rows(
    op: Any, ctx: BatchContext, g: Tensor, others: Sequence[Tensor], given: Sequence[Tensor]
) -> Tensor:
    """An op whose result is an image of the shape `dims`, for stacked gradients `g` and other operands that are not."""
    batch = ranked(g.dims)[1]
    wide = op.op_class(
        *[getattr(op, field) for field in op.attributes if field != "dims"], (ctx.size * batch, *op.dims[1:])
    )
    return unfold_rows(bind(wide, fold_rows(g), *others, *given[: wide.given]), ctx.size, batch)
