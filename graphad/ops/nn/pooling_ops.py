"""Maximum and average over windows of images [batch, ..., channels], along any number of axes.

A window's cotangent goes to its first maximum. The gradient of max pooling and the op that picks the elements at the maxima are
transposes of each other, so derivatives of every order exist.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np

from graphad.core import arrays
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
from graphad.core.convert import lift
from graphad.core.dims import Size
from graphad.core.dtypes import float32, float64
from graphad.core.memo import Memo
from graphad.core.op import define, no_form
from graphad.core.schema import Given, Padding, Positive
from graphad.core.shapes import are_numbers, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.accumulate import as_dtype_of, wide, widened
from graphad.ops.array.create import zeros_like, zeros_of
from graphad.ops.array.support import require_gradient
from graphad.ops.choice import chosen
from graphad.ops.math.compare import equal, logical_and, logical_not, logical_or, not_equal
from graphad.ops.math.reduce import ReduceMax, ReduceSum
from graphad.ops.math.select import where
from graphad.ops.nn import direct
from graphad.ops.nn import windows as w
from graphad.ops.rules import FLOATING, REAL, require_kind

P = TypeVar("P", bound="Pool")


class Pool(w.Windowed):
    """The base of the pooling ops: every input is an image, or a result, with the batch first.

    Class attributes:
      pads_anywhere: Whether its public functions take another padding than "SAME" and "VALID".
      goes_over_channels: Whether windows of images may be of channels instead.
    """

    pads_anywhere: ClassVar[bool] = False
    goes_over_channels: ClassVar[bool] = False
    takes_symbols = False
    window: tuple[Positive, ...]

    def like(self, kind: Any, *dims: TensorLike) -> Any:
        """Another one of the ops, for the same windows."""
        return kind(self.window, self.strides, self.padding, self.dilations, *dims)

    def pads_for(self, shape: Sequence[int]) -> w.Pads:
        """The padding of an image of this shape."""
        return _geometry(self, tuple(shape[1:-1]))[0]

    def near(self: P, shape: Sequence[int]) -> P:
        """The same for images of this shape, in windows without what lies in the padding in every window.

        So windows far larger than the image take no longer than those that just cover it.
        """
        parts = _geometry(self, tuple(shape[1:-1]))[1]
        if parts is None:
            return self
        return self.changed(
            window=tuple([size for size, _ in parts]), padding=tuple([pad for _, pad in parts])
        )

    def divisors(self, shape: Sequence[Any], dtype: Any) -> Any:
        """The number of elements of an image of this shape in each window, without padding; one number where all are equal."""
        if not any(map(any, self.pads_for(shape))):
            return dtype.type(math.prod(self.window))
        ones = np.ones((1, *shape[1:-1], 1), dtype)
        return np.add.reduce(self.parts(ones, 0), axis=self.within())

    def means(self, total: Any, shape: Sequence[int]) -> Any:
        """The sums of windows of an image of this shape, each divided by the number of its elements; they may be written over."""
        key = self, tuple(shape[1:]), total.dtype
        found = _divisors.get(key)
        if found is None:
            found = self.divisors(shape, total.dtype)
            if np.ndim(found) and found.size * shape[-1] <= _MOST_KEPT:
                # With a number for each channel NumPy's loop does not begin anew at each place.
                found = np.broadcast_to(found, (*found.shape[:-1], shape[-1])).copy()
            if np.size(found) <= _MOST_KEPT:
                _divisors.keep(key, found)
        return np.divide(total, found, out=total) if type(total) is np.ndarray else total / found

    def result(self, x: TensorSpec) -> TensorSpec:
        """The shape of the pooled image."""
        found = self.places(x.dims, self.window)
        return TensorSpec.of((*found, None if x.dims is None else x.dims[-1]), x.dtype)

    def parts(self, x: Any, outside: float) -> Any:
        """All windows of an image, padded with `outside`."""
        whole = w.padded(x, self.pads_for(x.shape), outside)
        return w.windows(whole, self.window, self.strides, self.dilations)

    def all_parts(self, x: Ranked, outside: float) -> Tensor:
        """`parts` as recorded ops."""
        whole = w.pad_around(x, self.pads_for(x.dims), outside)
        valid: Any = "VALID"
        return bind(w.Patches(self.window, self.strides, valid, self.dilations), whole)

    def within(self) -> tuple[int, ...]:
        """The axes of `parts` within a window."""
        rank = len(self.window)
        return tuple(range(1 + rank, 1 + 2 * rank))

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        stacked = [x if ctx.stacked(i) else ctx.stack(x) for i, x in enumerate(xs)]
        return w.unfold_rows(bind(self, *[w.fold_rows(x) for x in stacked]), ctx.size, stacked[0].dims[1])

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return w.image_rows(axes)


_geometries = Memo("geometries of pools", 1024)
_divisors = Memo("numbers of elements of windows", 64)
_MOST_KEPT = 1 << 14  # such numbers


def _geometry(op: Pool, sizes: tuple[Any, ...]) -> tuple[w.Pads, Any]:
    """The padding of an image with these sizes; and for each axis the window without what lies in the padding in every window,
    and the padding for it, where that is less, else None."""
    found = _geometries.get((op, sizes))
    if found is None:
        pads = op.pads((0, *sizes, 0), op.window)
        parts = None
        if are_numbers(sizes):
            parts = [
                w.near(*size) for size in zip(sizes, op.window, op.strides, op.dilations, pads, strict=True)
            ]
            if tuple([size for size, _ in parts]) == op.window:
                parts = None
            _geometries.keep((op, sizes), (pads, parts))
        return pads, parts
    return found  # type: ignore[no-any-return]


def _lowest(dtype: np.dtype[Any]) -> float | int:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


def _with_dilations(attributes: dict[str, Any]) -> dict[str, Any]:
    """There are two axes between batch and channels, and no attribute `dilations`; they are 1."""
    return attributes | {"dilations": (1, 1)}


def _with_dilations_and_like(attributes: dict[str, Any]) -> dict[str, Any]:
    """There are two axes between batch and channels, and no attribute `dilations`; they are 1. There is a further, last input.
    If `dims` is nil, the result has the shape of that input; otherwise the input is an unused scalar.
    """
    return w.shape_was_like(_with_dilations(attributes))


@define
class MaxPool(Pool):
    """The largest element of each window of x, for each channel."""

    name = "max_pool"
    title = "max_pool{}d"
    pads_anywhere = goes_over_channels = True
    keeps = (True, False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    formerly = {"max_pool2d": _with_dilations}

    def infer(self, x: TensorSpec) -> TensorSpec:
        return self.result(require_kind(self.called(), x, REAL, "input"))

    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Convolved("maxima", self)

    def expanded(self, x: Ranked) -> Tensor | None:
        if not are_numbers(x.dims[1:-1]):
            return None
        if self.near(x.dims) is not self:
            return bind(self.near(x.dims), x)
        return bind(ReduceMax(self.within()), self.all_parts(x, _lowest(x.dtype.numpy)))

    def eval(self, x: Array) -> Array:
        op = self.near(x.shape)
        if op is not self:
            return op.eval(x)
        made = direct.maxima(self, x)
        return self.by_numpy(x) if made is None else made

    def by_numpy(self, x: Array) -> Array:
        """The same along one axis after the other."""
        lowest = _lowest(x.dtype)
        parts = self.parts(x, lowest)
        if not parts.size or max(self.window) == 1:
            return np.maximum.reduce(parts, axis=self.within())  # type: ignore[no-any-return]
        return _largest(self, x, lowest)  # type: ignore[no-any-return]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(self.like(MaxPoolGrad), ctx.inputs[0], g),)


def _largest(op: Any, x: Any, outside: float) -> Any:
    """The maximum of each window, along one axis after the other."""
    y = w.padded(x, op.pads_for(x.shape), outside)
    for k, (size, stride, dilation) in enumerate(zip(op.window, op.strides, op.dilations, strict=True)):
        axis = k + 1
        count = (y.shape[axis] - w.span(size, dilation)) // stride + 1
        lead = (slice(None),) * axis
        y = functools.reduce(
            np.maximum,
            [
                y[(*lead, slice(i * dilation, i * dilation + (count - 1) * stride + 1, stride))]
                for i in range(size)
            ],
        )
    return arrays.contiguous(y)


def _pixels(x: Any) -> Any:
    """An image with all channels of a pixel as one element, which is moved as a whole; x itself where that takes longer."""
    size = x.shape[-1] * x.dtype.itemsize
    if type(x) is not np.ndarray or x.shape[-1] < 2 or size > _PIXEL or not x.flags.c_contiguous:
        return x
    return x.view(f"V{size}")[..., 0]


_PIXEL = 64  # bytes


def _part(x: Any, here: Any) -> Any:
    """A part of an image, without gaps."""
    pixels = _pixels(x)
    found = arrays.contiguous(pixels[here])
    return found if pixels is x else found.view(x.dtype).reshape(*found.shape, x.shape[-1])


def _first_maxima(op: Any, x: Any, sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], Any]]:
    """For each element of a window, in order, where it is the first maximum of a window and channel, which is never padding; the
    first NaN is the largest.
    """
    whole, inside = w.padded(x, op.pads_for(x.shape), _lowest(x.dtype)), _inside(op, x.shape, sizes)
    places = list(np.ndindex(op.window))
    parts = [_part(whole, w.places(at, sizes, op.strides, op.dilations)) for at in places]
    most = functools.reduce(np.maximum, parts)
    has_nan = bool((most != most).any())
    taken = None
    for at, part in zip(places, parts, strict=True):
        here = part == most
        if has_nan:
            here = here | (part != part)
        if at in inside:
            here = here & inside[at]
        yield at, (here if taken is None else here & ~taken)
        taken = here if taken is None else taken | here


def _inside(op: Any, shape: Sequence[int], sizes: Sequence[int]) -> dict[tuple[int, ...], np.ndarray]:
    """For each element of a window that is padding somewhere: in which windows it is none. Bools of shape [1, places..., 1]."""
    pads = op.pads_for(shape)
    if not w.is_padded(pads):
        return {}
    whole = w.padded(np.ones((1, *shape[1:-1], 1), bool), pads)
    found = {at: whole[w.places(at, sizes, op.strides, op.dilations)] for at in np.ndindex(op.window)}
    return {at: inside for at, inside in found.items() if not inside.all()}


def _picks(op: Any, x: Any, places: Sequence[Any]) -> list[tuple[tuple[int, ...], Tensor]] | None:
    """For each element of a window, in order, whether it is the first maximum of a window and channel: bools, as recorded ops."""
    if not are_numbers(x.dims[1:-1]) or math.prod(op.window) > _MOST_ELEMENTS or 0 in places:
        return None
    most = bind(op.like(MaxPool), x)
    whole, inside = (
        w.pad_around(x, op.pads_for(x.dims), _lowest(x.dtype.numpy)),
        _inside(op, x.dims, places),
    )
    found: list[tuple[tuple[int, ...], Tensor]] = []
    taken: Any = None
    for at in np.ndindex(*op.window):
        here = w.element(whole, at, places, op)
        is_most = logical_or(equal(here, most), not_equal(here, here))  # the first NaN is the largest
        if at in inside:
            is_most = logical_and(is_most, lift(np.ascontiguousarray(inside[at])))
        picked = is_most if taken is None else logical_and(is_most, logical_not(taken))
        taken = is_most if taken is None else logical_or(taken, is_most)
        found.append((at, picked))
    return found


_MOST_ELEMENTS = 32  # of a window for which picks are kernels


@define
class MaxPoolGrad(Pool):
    """An image of the shape of x and the dtype of g, with each g added at the first maximum, in row-major order, of its window
    of x.
    """

    name = "max_pool_grad"
    title = "max_pool{}d_grad"
    keeps = ((0,), False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    formerly = {"max_pool2d_grad": _with_dilations}

    def infer(self, x: TensorSpec, g: TensorSpec) -> TensorSpec:
        found = self.result(require_kind(self.called(), x, REAL, "input"))
        require_gradient(self.called(), g, TensorSpec.of(found.dims, g.dtype))
        return TensorSpec.of(x.dims, g.dtype)

    def lower(self, x: TensorSpec, g: TensorSpec) -> forms.Form | None:
        return forms.Convolved("at_maxima", self)

    def expanded(self, x: Ranked, g: Ranked) -> Tensor | None:
        picks = _picks(self, x, g.dims[1:-1])
        if picks is None:
            return None
        masks, none = dict(picks), zeros_like(g)
        return w.added(self, lambda at: where(masks[at], g, none), g.dims[:-1], x.dims)

    def eval(self, x: Array, g: Array) -> Array:
        op = self.near(x.shape)
        if op is not self:
            return op.eval(x, g)
        made = direct.at_maxima(self, x, g)
        return self.by_numpy(x, g) if made is None else made

    def by_numpy(self, x: Array, g: Array) -> Array:
        """The same as a choice for each element of a window."""
        pads = self.pads_for(x.shape)
        out = arrays.zeros(w.padded_shape(x.shape, pads), g.dtype, g)
        if g.size:
            pixels = _pixels(out)
            # Where no two windows share a pixel, each is written once.
            once = pixels is not out and all(a <= b for a, b in zip(self.window, self.strides, strict=True))
            once = once and set(self.dilations) == {1}
            for at, picked in _first_maxima(self, x, g.shape[1:-1]):
                here = w.places(at, g.shape[1:-1], self.strides, self.dilations)
                part = chosen(picked, g, g.dtype.type(0))
                if once:
                    part = np.ascontiguousarray(part + g.dtype.type(0))  # as if it was added to a zero
                    pixels[here] = part.view(pixels.dtype)[..., 0]
                else:
                    out[here] += part
        return w.unpadded(out, x.shape, pads)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        x = ctx.inputs[0]
        return zeros_of(x) if ctx.needs(0) else None, bind(self.like(MaxPoolPick), x, h)


@define
class MaxPoolPick(Pool):
    """For each window the element of h at the first maximum of x in row-major order: the transpose of max_pool_grad."""

    name = "max_pool_pick"
    title = "max_pool{}d_pick"
    keeps = ((0,), False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    formerly = {"max_pool2d_pick": _with_dilations}
    lower = no_form("which element of a window is picked is told by all of them")

    def infer(self, x: TensorSpec, h: TensorSpec) -> TensorSpec:
        require_gradient(self.called(), h, TensorSpec.of(x.dims, h.dtype))
        return TensorSpec.of(self.result(require_kind(self.called(), x, REAL, "input")).dims, h.dtype)

    def expanded(self, x: Ranked, h: Ranked) -> Tensor | None:
        places = self.result(TensorSpec.of(x.dims, x.dtype)).dims
        picks = _picks(self, x, ranked(places)[1:-1])
        if picks is None:
            return None
        whole, y = w.pad_around(h, self.pads_for(h.dims), 0), None
        for at, picked in picks:
            here = w.element(whole, at, ranked(places)[1:-1], self)
            y = where(picked, here, zeros_like(here) if y is None else y)
        return y

    def eval(self, x: Array, h: Array) -> Array:
        op = self.near(x.shape)
        if op is not self:
            return op.eval(x, h)
        parts = self.parts(h, 0)
        sizes = parts.shape[1 : 1 + len(self.window)]
        y = arrays.zeros((*parts.shape[: 1 + len(sizes)], h.shape[-1]), h.dtype, h)
        if y.size:
            for at, picked in _first_maxima(self, x, sizes):
                y = chosen(picked, parts[(slice(None),) * (1 + len(sizes)) + at], y)
        return y

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x = ctx.inputs[0]
        of_x = zeros_of(x) if ctx.needs(0) else None
        return of_x, bind(self.like(MaxPoolGrad), x, g) if ctx.needs(1) else None


@define
class AvgPool(Pool):
    """The mean of each window of x without its padding, for each channel."""

    name = "avg_pool"
    rounds_once = True
    title = "avg_pool{}d"
    keeps = (False, False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    formerly = {"avg_pool2d": _with_dilations}

    def infer(self, x: TensorSpec) -> TensorSpec:
        return self.result(require_kind(self.called(), x, FLOATING, "input"))

    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Convolved("means", self)

    def expanded(self, x: Ranked) -> Tensor | None:
        if not are_numbers(x.dims[1:-1]) or x.dtype not in (float32, float64):
            return None
        if self.near(x.dims) is not self:
            return bind(self.near(x.dims), x)
        counts = lift(self.divisors(x.dims, x.dtype.numpy))
        return bind(ReduceSum(self.within()), self.all_parts(x, 0)) / counts

    def eval(self, x: Array) -> Array:
        op = self.near(x.shape)
        if op is not self:
            return op.eval(x)
        wide_x = widened(x)
        total = direct.sums(self, wide_x)
        total = _sums(self, self.parts(wide_x, 0)) if total is None else total
        return as_dtype_of(self.means(total, x.shape), x)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        dims, given = self.shape_of(ctx, 0)
        return (bind(self.like(AvgPoolGrad, dims), g, *given),)


def _sums(op: Any, parts: Any) -> Any:
    """The sum of each window, element after element: the order in which NumPy adds them where there are several channels."""
    if parts.shape[-1] < 2 or not parts.size or math.prod(op.window) > _MOST_ELEMENTS:
        return np.add.reduce(parts, axis=op.within())
    lead = (slice(None),) * (1 + len(op.window))
    total = 0
    for at in np.ndindex(op.window):  # from 0 on, since of zeros the sum is 0.0, whatever their sign
        total = total + parts[lead + at]
    return total


@define
class AvgPoolGrad(Pool):
    """The transpose of avg_pool: each g spread evenly over the elements of its window that are not padding, in an image of the
    shape `dims`.
    """

    name = "avg_pool_grad"
    rounds_once = True
    title = "avg_pool{}d_grad"
    keeps = (False, False)
    window: tuple[Positive, ...]
    strides: tuple[Positive, ...]
    padding: Padding
    dilations: tuple[Positive, ...]
    dims: Given[tuple[Size, ...]]
    formerly = {"avg_pool2d_grad": _with_dilations_and_like}
    formerly_like = frozenset(formerly)

    def infer(self, g: TensorSpec) -> TensorSpec:
        x = TensorSpec.of(self.dims, g.dtype)
        require_gradient(self.called(), g, self.result(require_kind(self.called(), x, FLOATING, "input")))
        return x

    def lower(self, g: TensorSpec, *given: TensorSpec) -> forms.Form | None:
        return None if given else forms.Convolved("of_means", self)

    def expanded(self, g: Ranked, *given: Tensor) -> Tensor | None:
        known = are_numbers((*self.dims[1:-1], *g.dims[1:-1])) and 0 not in g.dims
        if not known or g.dtype not in (float32, float64) or math.prod(self.window) > _MOST_ELEMENTS:
            return None
        share = g / lift(self.divisors(self.dims, g.dtype.numpy))
        return w.added(self, lambda at: share, g.dims[:-1], self.dims)

    def eval(self, g: Array) -> Array:
        op = self.near(self.dims)
        if op is not self:
            return op.eval(g)
        pads, inner = self.pads_for(self.dims), self.within()
        each = self.means(g.astype(wide(g.dtype)), self.dims)
        made = direct.spread(self, self.dims, each)
        if made is not None:
            return as_dtype_of(made, g)
        share = np.expand_dims(each, inner)
        parts = np.broadcast_to(share, (*g.shape[:-1], *self.window, g.shape[-1]))
        whole = w.add_windows(parts, w.padded_shape(self.dims, pads), self.strides, self.dilations)
        return as_dtype_of(w.unpadded(whole, self.dims, pads), g)

    def vjp(self, ctx: VjpContext, h: Tensor) -> Cotangents:
        return (bind(self.like(AvgPool), h),)

    def batch(self, ctx: BatchContext, *xs: Ranked) -> Tensor:
        g, *given = xs
        return w.images_of_rows(self, ctx, g, (), given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return w.image_rows(axes[:1])
