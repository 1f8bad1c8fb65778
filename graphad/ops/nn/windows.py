"""Windows over images [batch, ..., channels] with any number of axes between: padding, output sizes, the view of all windows,
and two ops.

`Patches` extracts all windows and `PatchesSum` adds windows up at their positions. Both are linear and transposes of each
other, so functions composed of them have derivatives of every order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import Array, BatchContext, Cotangents, Ranked, RowAxes, RowAxis, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import QUOTIENT, Size, UndecidedSize, computed
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define, else_eval, no_form
from graphad.core.references import entries_of
from graphad.core.schema import Given, Padding, Positive
from graphad.core.shapes import are_numbers, format_dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, wide
from graphad.ops.array.padding import Pad
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.shape import sizes_of
from graphad.ops.array.strided import Slice, SliceGrad
from graphad.ops.array.support import require_gradient

if TYPE_CHECKING:
    from graphad.ops.nn.convolution_ops import ConvolutionInputGrad
    from graphad.ops.nn.pooling_ops import AvgPoolGrad

Pads = tuple[tuple[int, int], ...]
AXES = ("depth", "height", "width")


def layout(rank: int, first: bool = False) -> str:
    """The axes of an image with `rank` axes besides batch and channels, for messages; if `first`, channels come before them."""
    between = AXES[-rank:] if 0 < rank <= len(AXES) else (f"{rank} axes",)
    return f"[batch, channels, {', '.join(between)}]" if first else f"[batch, {', '.join(between)}, channels]"


def pads_of(padding: Any, sizes: Sequence[int], spans: Sequence[int], strides: Sequence[int]) -> Pads:
    """The padding before and after along each axis; SAME puts the odd element after."""
    if padding == "VALID":
        return ((0, 0),) * len(strides)
    if padding != "SAME":
        return padding  # type: ignore[no-any-return]
    totals = [
        max((-(-size // s) - 1) * s + k - size, 0) for size, k, s in zip(sizes, spans, strides, strict=True)
    ]
    return tuple([(total // 2, total - total // 2) for total in totals])


def span(size: Size, dilation: int) -> Size:
    """The number of elements that a window of `size` covers, dilation included."""
    return (size - 1) * dilation + 1


def output_size(
    op: str, padding: Any, size: Size | None, window: Size | None, stride: int, place: int
) -> Any:
    """The size of the result along one axis, None if unknown; `window` is the window's span."""
    if size is None or window is None:
        return None
    if padding == "SAME":
        return size if stride == 1 else (size + (stride - 1)) // stride
    size = size if padding == "VALID" else size + sum(padding[place])
    try:
        fits = size >= window
    except UndecidedSize:  # a size that a run finds, which has no answer where the window is larger
        found = computed(QUOTIENT, size - window + stride, stride)
        if found is None:
            raise
        return found
    if not fits:
        if window >= size + 2 * stride:
            raise InvalidArgumentError(
                f"{op}: the window covers {window} elements, the input has only {size} (padding included)."
            )
        return 0  # no window fits
    return size - window + 1 if stride == 1 else (size - window) // stride + 1


def near(
    size: int, window: int, stride: int, dilation: int, pad: tuple[int, int]
) -> tuple[int, tuple[int, int]]:
    """The size of a window without those of its elements that lie in the padding in every window, and the padding for it."""
    before, after = pad
    last = (size + before + after - span(window, dilation)) // stride * stride  # where the last window begins
    if last < 0:
        return window, pad
    first = max(before - last, 0) // dilation
    end = min(window, -(-(size + before) // dilation) + 1)
    if end <= first or (first == 0 and end == window):
        return window, pad
    before -= first * dilation
    return end - first, (before, max(last + span(end - first, dilation) - size - before, 0))


def padded(x: np.ndarray, pads: Pads, value: float = 0) -> np.ndarray:
    """x padded with `value`."""
    if pads == ((0, 0),) * len(pads):
        return x
    shape = padded_shape(x.shape, pads)
    out = (
        arrays.zeros(shape, x.dtype, x)
        if type(value) is int and not value
        else arrays.full(shape, value, x.dtype, x)
    )
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
    """The slices of an image of this shape in the padded one."""
    return (
        slice(None),
        *[slice(before, before + n) for n, (before, _) in zip(shape[1:-1], pads, strict=True)],
    )


def unpadded(x: np.ndarray, shape: Sequence[int], pads: Pads) -> np.ndarray:
    """The image without the padding that `padded` added."""
    return arrays.contiguous(x[_inside(shape, pads)])


def windows(
    x: np.ndarray, window: Sequence[int], strides: Sequence[int], dilations: Sequence[int]
) -> np.ndarray:
    """A view [batch, ..., (window), channels] of a padded image: the axes of the window positions, then those within a
    window."""
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
    """The slices of the padded image for element `at` of all `sizes` windows."""
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
    """The transpose of `windows`: the windows added up at their positions, in an image of `shape`."""
    out = arrays.zeros(shape, wide(parts.dtype), parts)
    rank = len(strides)
    sizes, window = parts.shape[1 : 1 + rank], parts.shape[1 + rank : -1]
    if parts.size:
        # With few channels they come first, so that the innermost loop runs along the last axis of the image.
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
    return as_dtype_of(out, parts)


_MOST_PARTS = 100  # elements of a window up to which its parts are added up by kernels


def is_padded(pads: Pads) -> bool:
    """Whether there is padding at all."""
    return any(before or after for before, after in pads)


def pad_around(x: Any, pads: Pads, value: float) -> Tensor:
    """`padded` as recorded ops."""
    if not is_padded(pads):
        return x  # type: ignore[no-any-return]
    return bind(Pad(((0, 0), *pads, (0, 0))), x, lift(x.dtype.numpy.type(value)))


def element(x: Any, at: Sequence[int], places: Sequence[Size], op: Any) -> Tensor:
    """Element `at` of every window of a padded image, where there are `places` windows along each axis."""
    starts = [i * d for i, d in zip(at, op.dilations, strict=True)]
    sizes = (x.dims[0], *places, x.dims[-1])
    return bind(Slice((0, *starts, 0), (1, *op.strides, 1), sizes), x)


def added(
    op: Any, part: Callable[[tuple[int, ...]], Any], lead: Sequence[Any], dims: Sequence[Any]
) -> Tensor:
    """`add_windows` and `unpadded` as recorded ops, into an image of shape `dims`.

    Args:
      op: The op that looks at windows.
      part: Element `at` of all windows; `lead` is their shape without the channels.
    """
    pads = op.pads(dims, op.window)
    whole = padded_shape(dims, pads)
    total: Any = None
    for at in np.ndindex(*op.window):
        starts = [i * d for i, d in zip(at, op.dilations, strict=True)]
        placed = bind(SliceGrad((0, *starts, 0), (1, *op.strides, 1), whole), part(at))
        total = placed if total is None else total + placed
    inner = tuple([before for before, _ in pads])
    return bind(Slice((0, *inner, 0), (1,) * len(dims), tuple(dims)), total)


# Helpers of batch rules for stacks of images. They only see definite shapes, whose sizes may be symbols.


def fold_rows(x: Tensor) -> Tensor:
    """[rows, batch, ...] to [rows * batch, ...]."""
    rows, batch, *rest = ranked(x.dims)
    return bind(Reshape((rows * batch, *rest)), x)


def unfold_rows(y: Tensor, rows: Size, batch: Size) -> Tensor:
    """[rows * batch, ...] to [rows, batch, ...]."""
    return bind(Reshape((rows, batch, *ranked(y.dims)[1:])), y)


def image_rows(axes: RowAxes) -> RowAxis:
    """The row axis of ops on images whose operands all have the same batch axis."""
    found = {axis for axis in axes if axis is not None}
    return None if not found else 0 if found == {0} else MIXED


class Windowed(Op):
    """The base of ops on windows of an image; it has as many axes as strides.

    Class attributes:
      title: Maps the number of axes to the name of the op in messages.
    """

    title = "{}"
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]

    def called(self) -> str:
        return self.title.format(len(self.strides))

    def spans(self, window: Sequence[Any]) -> list[Any]:
        """The number of elements that a window covers along each axis."""
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
        """The shape of input i, an image or filters, as an attribute, and the inputs to which it refers."""
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
    """There is a further, last input. If `dims` is nil, the result has the shape of that input; otherwise the input is an
    unused scalar.
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

    def expanded(self, x: Ranked) -> Tensor | None:
        if self._is_view(x.dims) or not are_numbers(x.dims[1:-1]):
            return None
        return bind(self.changed(padding="VALID"), pad_around(x, self.pads(x.dims, self.window), 0))

    @else_eval("a padded image is copied by NumPy, and its windows with it")
    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Windows(self.strides, self.dilations) if self._is_view(ranked(x.dims)) else None

    def _is_view(self, dims: Sequence[Size]) -> bool:
        """Whether there is no padding."""
        if self.padding == "SAME":
            return are_numbers(dims[1:-1]) and not is_padded(self.pads(dims, self.window))
        return self.padding == "VALID" or not is_padded(self.padding)

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
    """The transpose of patches: windows added up at their positions, in an image of the shape `dims`."""

    name = title = "patches_sum"
    keeps = (False, False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    dims: Given[tuple[Size, ...]]
    formerly = {"patches_grad": shape_was_like}
    formerly_like = frozenset(formerly)
    lower = no_form("an element is a sum over the windows that hold it, which NumPy adds window by window")

    def infer(self, g: TensorSpec) -> TensorSpec:
        x = TensorSpec.of(self.dims, g.dtype)
        require_gradient(self.name, g, self._windows().infer(x))
        return x

    def eval(self, g: Array) -> Array:
        pads = self.pads(self.dims, self.window)
        whole = add_windows(g, padded_shape(self.dims, pads), self.strides, self.dilations)
        return unpadded(whole, self.dims, pads)

    def expanded(self, g: Ranked, *given: Tensor) -> Tensor | None:
        rank, dims = len(self.strides), self.dims
        lead, window, channels = g.dims[: rank + 1], self.window, g.dims[-1]
        if not are_numbers((*dims[1:-1], *g.dims[1:-1])) or 0 in g.dims or math.prod(window) > _MOST_PARTS:
            return None

        def part(at: tuple[int, ...]) -> Tensor:
            whole = bind(
                Slice((*(0,) * len(lead), *at, 0), (1,) * len(g.dims), (*lead, *(1,) * rank, channels)),
                g,
            )
            return bind(Reshape((*lead, channels)), whole)

        return added(self, part, lead, dims)

    def _windows(self) -> Patches:
        return Patches(self.window, self.strides, self.padding, self.dilations)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(self._windows(), h),)

    def batch(self, ctx: BatchContext, g: Ranked, *given: Ranked) -> Tensor:
        return images_of_rows(self, ctx, g, (), given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return image_rows(axes)


def images_of_rows(
    op: AvgPoolGrad | ConvolutionInputGrad | PatchesSum,
    ctx: BatchContext,
    g: Tensor,
    others: Sequence[Tensor],
    given: Sequence[Tensor],
) -> Tensor:
    """An op whose result is an image of the shape `dims`, applied to stacked cotangents `g` and other operands that are not
    stacked."""
    batch = ranked(g.dims)[1]
    wide = op.op_class(
        *[getattr(op, field) for field in op.attributes if field != "dims"], (ctx.size * batch, *op.dims[1:])
    )
    return unfold_rows(bind(wide, fold_rows(g), *others, *given[: wide.given]), ctx.size, batch)
