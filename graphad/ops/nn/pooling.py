"""Maximum and average over windows of images [batch, height, width, channels].

A window's cotangent goes to its first maximum. The gradient of max pooling and the picking of maxima are each other's
transposes, so derivatives of every order exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Size
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, wide, widened
from graphad.ops.array.squeeze import squeeze
from graphad.ops.array.support import require_gradient
from graphad.ops.nn import windows as w
from graphad.ops.nn.windows import Padding
from graphad.ops.rules import FLOATING, REAL, require_kind


class Pool(Op):
    """What the pooling ops share: every input is an image, or a result, with the batch first."""

    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding

    def _pads(self, shape: Sequence[int]) -> w.Pads:
        return w.pads_of(self.padding, shape[1:3], self.window, self.strides)

    def _result(self, x: TensorSpec) -> TensorSpec:
        w.require_image(self.name, x.dims)
        if x.dims is None:
            return TensorSpec.of((None, None, None, None), x.dtype)
        sizes = [
            w.output_size(self.name, self.padding, x.dims[1 + k], self.window[k], self.strides[k], k)
            for k in (0, 1)
        ]
        return TensorSpec.of((x.dims[0], *sizes, x.dims[3]), x.dtype)

    def _padded(self, x: np.ndarray, value: Any) -> np.ndarray:
        return w.padded(x, self._pads(x.shape), value)

    def batch(self, ctx: Any, *xs: Any) -> Any:
        stacked = [x if ctx.stacked(i) else ctx.stack(x) for i, x in enumerate(xs)]
        return w.unfold_rows(bind(self, *[w.fold_rows(x) for x in stacked]), ctx.size, stacked[0].dims[1])

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return w.image_rows(axes)


def _lowest(dtype: Any) -> Any:
    return np.iinfo(dtype).min if dtype.kind in "iu" else -np.inf


@define
class MaxPool(Pool):
    """The largest element of each window of x; a channel by itself."""

    name = "max_pool2d"
    keeps = (True, False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding

    def infer(self, x: TensorSpec) -> TensorSpec:
        return self._result(require_kind(self.name, x, REAL, "input"))

    def eval(self, x: Any) -> Any:
        parts = w.windows(self._padded(x, _lowest(x.dtype)), self.window, self.strides)
        return np.maximum.reduce(parts, axis=(3, 4))

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (bind(MaxPoolGrad(self.window, self.strides, self.padding), ctx.inputs[0], g),)


def _first_maximum(op: Any, x: np.ndarray) -> np.ndarray:
    """For each window and channel, the position of its first maximum."""
    parts = w.windows(op._padded(x, _lowest(x.dtype)), op.window, op.strides)
    b, oh, ow, kh, kw, c = parts.shape
    return parts.reshape(b, oh, ow, kh * kw, c).argmax(axis=3)


@define
class MaxPoolGrad(Pool):
    """An image of the shape of x with each g added where its window of x is largest, at the first such place in row-major
    order.
    """

    name = "max_pool2d_grad"
    keeps = ((0,), False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding

    def infer(self, x: TensorSpec, g: TensorSpec) -> TensorSpec:
        require_gradient(self.name, g, self._result(require_kind(self.name, x, REAL, "input")))
        return x

    def eval(self, x: Any, g: Any) -> Any:
        at, pads = _first_maximum(self, x), self._pads(x.shape)
        out = np.zeros(w.padded_shape(x.shape, pads), x.dtype)
        oh, ow = g.shape[1:3]
        for k in range(self.window[0] * self.window[1] if g.size else 0):
            rows, columns = (
                w.place(k // self.window[1], oh, self.strides[0]),
                w.place(k % self.window[1], ow, self.strides[1]),
            )
            out[:, rows, columns] += np.where(at == k, g, g.dtype.type(0))
        return w.unpadded(out, pads)

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        return None, bind(MaxPoolPick(self.window, self.strides, self.padding), ctx.inputs[0], h)


@define
class MaxPoolPick(Pool):
    """For each window the element of h where x is largest, at the first such place in row-major order: the transpose of
    max_pool2d_grad.
    """

    name = "max_pool2d_pick"
    keeps = ((0,), False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding

    def infer(self, x: TensorSpec, h: TensorSpec) -> TensorSpec:
        require_gradient(self.name, h, x)
        return self._result(require_kind(self.name, x, REAL, "input"))

    def eval(self, x: Any, h: Any) -> Any:
        at = _first_maximum(self, x)
        parts = w.windows(self._padded(h, 0), self.window, self.strides)
        b, oh, ow, kh, kw, c = parts.shape
        return np.take_along_axis(parts.reshape(b, oh, ow, kh * kw, c), at[:, :, :, None], axis=3)[:, :, :, 0]

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return None, bind(MaxPoolGrad(self.window, self.strides, self.padding), ctx.inputs[0], g)


@define
class AvgPool(Pool):
    """The mean of each window of x, of those elements that are not padding; a channel by itself."""

    name = "avg_pool2d"
    keeps = (False, False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding

    def infer(self, x: TensorSpec) -> TensorSpec:
        return self._result(require_kind(self.name, x, FLOATING, "input"))

    def eval(self, x: Any) -> Any:
        parts = w.windows(self._padded(widened(x), 0), self.window, self.strides)
        return as_dtype_of(np.add.reduce(parts, axis=(3, 4)) / _counts(self, x.shape, parts.dtype), x)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (
            w.shaped(AvgPoolGrad(self.window, self.strides, self.padding), [g], ctx.shape(0), ctx.inputs[0]),
        )


def _counts(op: Any, shape: Sequence[int], dtype: Any) -> np.ndarray:
    """How many elements of the image each window holds."""
    ones = op._padded(np.ones((1, *shape[1:3], 1), dtype), 0)
    return np.add.reduce(w.windows(ones, op.window, op.strides), axis=(3, 4))  # type: ignore[no-any-return]


@define
class AvgPoolGrad(Pool, w.Shaped):
    """The transpose of avg_pool2d: each g spread evenly over the elements of its window that are no padding; the result has
    the shape `dims`, or that of x, whose values do not matter.
    """

    name = "avg_pool2d_grad"
    keeps = (False, False)
    by_value = (0,)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Padding
    dims: tuple[Size, ...] | None = None

    def infer(self, g: TensorSpec, x: TensorSpec) -> TensorSpec:
        x = self.result(x)
        require_gradient(self.name, g, self._result(require_kind(self.name, x, FLOATING, "input")))
        return x

    def eval(self, g: Any, x: Any) -> Any:
        shape = self.result_shape(x)
        pads = self._pads(shape)
        share = widened(g) / _counts(self, shape, wide(g.dtype))
        parts = np.broadcast_to(share[:, :, :, None, None], (*share.shape[:3], *self.window, shape[3]))
        return as_dtype_of(
            w.unpadded(w.add_windows(parts, w.padded_shape(shape, pads), self.strides), pads), g
        )

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        return bind(AvgPool(self.window, self.strides, self.padding), h), None

    def batch(self, ctx: Any, g: Any, x: Any) -> Any:
        dims = w.row_shape(ctx, self, 1, x)
        if not ctx.stacked(0):
            return ctx.unstacked(w.shaped(self, [g], dims, None))
        wide = w.shaped(self, [w.fold_rows(g)], (ctx.size * dims[0], *dims[1:]), None)
        return w.unfold_rows(wide, ctx.size, dims[0])

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return w.image_rows(axes[:1])


def _pool(op_class: Any, input: Any, ksize: Any, strides: Any, padding: Any, data_format: str) -> Any:
    name = op_class.name
    w.require_nhwc(name, data_format)
    pads = w.padding_name(name, padding, op_class is MaxPool)
    window = w.pair(name, "ksize", ksize)
    if not isinstance(pads, str) and any(max(side) >= size for side, size in zip(pads, window, strict=True)):
        raise InvalidArgumentError(
            f"{name}: padding {padding!r} is not smaller than the window {window}; a window must meet the input."
        )
    return bind(op_class(window, w.pair(name, "strides", strides), pads), lift(input))


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The largest element of each window of a real tensor [batch, height, width, channels].

    Args:
      ksize, strides: One number, two, or four with 1 at both ends.
      padding: "SAME", "VALID", or [[0, 0], [top, bottom], [left, right], [0, 0]]; padding is smaller than any number.
    """
    return _pool(MaxPool, input, ksize, strides, padding, data_format)  # type: ignore[no-any-return]


def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The mean of each window of a float tensor [batch, height, width, channels]; padding ("SAME" or "VALID") does not count."""
    return _pool(AvgPool, input, ksize, strides, padding, data_format)  # type: ignore[no-any-return]


def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The largest element or the mean of each window, along one axis or two.

    Args:
      input: Tensor [batch, width, channels] or [batch, height, width, channels].
      window_shape: One number for each of the axes in between; their number says how many there are.
      pooling_type: "MAX" or "AVG".
      strides: Likewise, or one number for all; 1 by default.
      padding: "SAME", "VALID", or for "MAX" pairs of numbers for all axes, as for `max_pool2d`.
      data_format: "NWC" or "NHWC".
      dilations: Only 1 is available.
    Raises: InvalidArgumentError: the window has no place in the input, or something is not available.
    """
    kind = {"MAX": MaxPool, "AVG": AvgPool}.get(pooling_type)
    if kind is None:
        raise InvalidArgumentError(f"pool: pooling_type {pooling_type!r} is neither 'MAX' nor 'AVG'.")
    x = lift(input)
    window = w.numbers("pool", "window_shape", window_shape, None)
    strides = w.numbers("pool", "strides", 1 if strides is None else strides, len(window))
    if any(
        d != 1 for d in w.numbers("pool", "dilations", 1 if dilations is None else dilations, len(window))
    ):
        raise InvalidArgumentError(f"pool: dilations {dilations!r} are not available; only 1 is.")
    x, lower, pads = w.as_image("pool", x, len(window), padding, data_format)
    pads = w.padding_name("pool", pads, kind is MaxPool)
    y = bind(kind((1,) * lower + window, (1,) * lower + strides, pads), x)
    return squeeze(y, [1]) if lower else y  # type: ignore[no-any-return]
