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
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, Op, define
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.nn import windows as w
from graphad.ops.nn.conv import _fold_rows, _unfold_rows
from graphad.ops.rules import FLOATING, REAL, require_kind


class Pool(Op):
    """What the pooling ops share: every input is an image, or a result, with the batch first."""

    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Any

    def _pads(self, shape: Sequence[int]) -> w.Pads:
        return w.pads_of(self.padding, shape[1:3], self.window, self.strides)

    def _result(self, x: TensorSpec) -> TensorSpec:
        w.require_image(self.name, x.dims)
        if x.dims is None:
            return TensorSpec.of((None, None, None, None), x.dtype)
        sizes = [w.output_size(self.name, self.padding, x.dims[1 + k], self.window[k], self.strides[k], k) for k in (0, 1)]
        return TensorSpec.of((x.dims[0], *sizes, x.dims[3]), x.dtype)

    def _padded(self, x: np.ndarray, value: Any) -> np.ndarray:
        return w.padded(x, self._pads(x.shape), value)

    def batch(self, ctx: Any, *xs: Any) -> Any:
        stacked = [x if ctx.stacked(i) else ctx.stack(x) for i, x in enumerate(xs)]
        return _unfold_rows(bind(self, *[_fold_rows(x) for x in stacked]), ctx.size)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        found = {axis for axis in axes if axis is not None}
        return None if not found else 0 if found == {0} else MIXED


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind == "f" else np.iinfo(dtype).min


@define
class MaxPool(Pool):
    """The largest element of each window."""

    name = "max_pool2d"
    keeps = (True, False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Any

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
    """(x, g) -> the image with each g put where its window of x is largest."""

    name = "max_pool2d_grad"
    keeps = ((0,), False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Any

    def infer(self, x: TensorSpec, g: TensorSpec) -> TensorSpec:
        return x

    def eval(self, x: Any, g: Any) -> Any:
        at = _first_maximum(self, x)
        pads = self._pads(x.shape)
        (top, bottom), (left, right) = pads
        b, h, width, c = x.shape
        out = np.zeros((b, h + top + bottom, width + left + right, c), x.dtype)
        oh, ow = g.shape[1:3]
        rows, columns = at // self.window[1], at % self.window[1]
        rows += (np.arange(oh) * self.strides[0])[None, :, None, None]
        columns += (np.arange(ow) * self.strides[1])[None, None, :, None]
        batch, channel = np.arange(b)[:, None, None, None], np.arange(c)[None, None, None, :]
        np.add.at(out, (batch, rows, columns, channel), g)
        return np.ascontiguousarray(w.unpadded(out, pads))

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        return None, bind(MaxPoolPick(self.window, self.strides, self.padding), ctx.inputs[0], h)


@define
class MaxPoolPick(Pool):
    """(x, h) -> for each window the element of h where x is largest."""

    name = "max_pool2d_pick"
    keeps = ((0,), False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Any

    def infer(self, x: TensorSpec, h: TensorSpec) -> TensorSpec:
        return self._result(x)

    def eval(self, x: Any, h: Any) -> Any:
        at = _first_maximum(self, x)
        parts = w.windows(self._padded(h, 0), self.window, self.strides)
        b, oh, ow, kh, kw, c = parts.shape
        return np.take_along_axis(parts.reshape(b, oh, ow, kh * kw, c), at[:, :, :, None], axis=3)[:, :, :, 0]

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return None, bind(MaxPoolGrad(self.window, self.strides, self.padding), ctx.inputs[0], g)


@define
class AvgPool(Pool):
    """The mean of each window; padding does not count."""

    name = "avg_pool2d"
    keeps = (True, False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Any

    def infer(self, x: TensorSpec) -> TensorSpec:
        return self._result(require_kind(self.name, x, FLOATING, "input"))

    def eval(self, x: Any) -> Any:
        parts = w.windows(self._padded(x, 0), self.window, self.strides)
        return np.add.reduce(parts, axis=(3, 4)) / _counts(self, x)

    def vjp(self, ctx: Any, g: Any) -> Sequence[Any]:
        return (bind(AvgPoolGrad(self.window, self.strides, self.padding), g, ctx.inputs[0]),)


def _counts(op: Any, x: np.ndarray) -> np.ndarray:
    """How many elements of the image each window holds."""
    ones = op._padded(np.ones((1, *x.shape[1:3], 1), x.dtype), 0)
    return np.add.reduce(w.windows(ones, op.window, op.strides), axis=(3, 4))  # type: ignore[no-any-return]


@define
class AvgPoolGrad(Pool):
    """(g, x) -> each g spread evenly over its window; x only gives the shape."""

    name = "avg_pool2d_grad"
    keeps = (False, False)
    window: tuple[int, int]
    strides: tuple[int, int]
    padding: Any

    def infer(self, g: TensorSpec, x: TensorSpec) -> TensorSpec:
        return x

    def eval(self, g: Any, x: Any) -> Any:
        pads = self._pads(x.shape)
        (top, bottom), (left, right) = pads
        b, h, width, c = x.shape
        share = g / _counts(self, x)
        parts = np.broadcast_to(share[:, :, :, None, None], (*share.shape[:3], *self.window, c))
        full = w.add_windows(parts, (b, h + top + bottom, width + left + right, c), self.strides)
        return np.ascontiguousarray(w.unpadded(full, pads))

    def vjp(self, ctx: Any, h: Any) -> Sequence[Any]:
        return bind(AvgPool(self.window, self.strides, self.padding), h), None


def _pool(op_class: Any, name: str, input: Any, ksize: Any, strides: Any, padding: Any, data_format: str) -> Any:
    if data_format != "NHWC":
        raise InvalidArgumentError(f"{name}: data_format {data_format!r} is not available; transpose the input to 'NHWC'.")
    op = op_class(w.pair(name, "ksize", ksize), w.pair(name, "strides", strides), w.padding_name(name, padding))
    return bind(op, lift(input))


def max_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The largest element of each window of a real tensor [batch, height, width, channels].

    Args:
      ksize, strides: One number, two, or four with 1 at both ends.
      padding: "SAME" or "VALID".
    """
    return _pool(MaxPool, "max_pool2d", input, ksize, strides, padding, data_format)  # type: ignore[no-any-return]


def avg_pool2d(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = "NHWC", name: str | None = None
) -> Tensor:
    """The mean of each window of a float tensor [batch, height, width, channels]; arguments as `max_pool2d`."""
    return _pool(AvgPool, "avg_pool2d", input, ksize, strides, padding, data_format)  # type: ignore[no-any-return]
