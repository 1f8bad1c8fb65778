"""Softmax and its logarithm along one axis, shifted by the maximum so that nothing overflows."""

from __future__ import annotations

from collections.abc import Sequence

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
from graphad.core.convert import lift
from graphad.core.op import Op, define
from graphad.core.schema import Axis
from graphad.core.shapes import normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.accumulate import as_dtype_of, widened
from graphad.ops.array.support import row_beside
from graphad.ops.math import abs as absolute
from graphad.ops.math import exp, log, reduce_max, reduce_sum
from graphad.ops.math.arithmetic import scaled
from graphad.ops.math.cast import rounded_once
from graphad.ops.rules import FLOATING, require_kind, require_rank


class AlongAxis(Op):
    """The base of softmax and log_softmax: a float tensor, normalised along `axis`."""

    keeps = (False, (0,))
    axis: Axis

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind(self.name, x, FLOATING, "logits")
        require_rank(self.name, x, 1, "logits")
        normalize_axis(self.name, self.axis, x.rank, "logits", x.dims)
        return x

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        fits = data.dtype.char in "fd" and 0 <= self.axis < data.ndim
        return self.eval(data) if fits else None  # type: ignore[return-value]

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(type(self)(self.axis % (len(x.dims) - 1) + 1), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return row_beside(axes[0], specs[0], self.axis)

    def touching(self, ctx: VjpContext, y_bar: Tensor) -> Tensor:
        return reduce_max(absolute(y_bar), axis=self.axis, keepdims=True)


def shifted(x: Array, axis: int) -> Array:
    """x less its maximum along an axis, which is an array of its own."""
    return x - np.maximum.reduce(x, axis, keepdims=True, initial=-np.inf)


@define
class Softmax(AlongAxis):
    """e^x / sum(e^x) along `axis`, without overflow."""

    name = "softmax"
    total = True
    axis: Axis
    infer = AlongAxis.infer

    def eval(self, x: Array) -> Array:
        e = shifted(widened(x), self.axis)
        if type(e) is not np.ndarray:
            e = np.exp(e)
            return as_dtype_of(e / np.add.reduce(e, self.axis, keepdims=True), x)
        np.exp(e, out=e)
        e /= np.add.reduce(e, self.axis, keepdims=True)
        return as_dtype_of(e, x)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        y = ctx.outputs[0]
        gy = scaled(ctx, g, y)
        return (gy - scaled(ctx, reduce_sum(gy, axis=self.axis, keepdims=True), y),)

    @rounded_once
    def expand(self, x: Ranked) -> Tensor | None:
        e = exp(x - reduce_max(x, axis=self.axis, keepdims=True))
        return e / reduce_sum(e, axis=self.axis, keepdims=True)

    def logarithm(self) -> Op:
        return LogSoftmax(self.axis)


@define
class LogSoftmax(AlongAxis):
    """x - log(sum(e^x)) along `axis`, without overflow."""

    name = "log_softmax"
    total = True
    axis: Axis
    infer = AlongAxis.infer

    def eval(self, x: Array) -> Array:
        z = shifted(widened(x), self.axis)
        total = np.log(np.add.reduce(np.exp(z), self.axis, keepdims=True))
        return as_dtype_of(np.subtract(z, total, out=z) if type(z) is np.ndarray else z - total, x)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (g - scaled(ctx, reduce_sum(g, axis=self.axis, keepdims=True), exp(ctx.outputs[0])),)

    @rounded_once
    def expand(self, x: Ranked) -> Tensor | None:
        z = x - reduce_max(x, axis=self.axis, keepdims=True)
        return z - log(reduce_sum(exp(z), axis=self.axis, keepdims=True))


def softmax(logits: TensorLike, axis: int | None = -1, name: str | None = None) -> Tensor:
    """exp(logits) / sum(exp(logits)) along one axis, without overflow.

    Args:
      logits: Tensor [..., n, ...], a float dtype.
      axis: The axis, the last by default, and for None.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range; DTypeError (a TypeError): another dtype.
    Source: Bridle, Probabilistic interpretation of feedforward classification network outputs, 1990.
    Example:
      >>> math.softmax([0.0, 0.0]).numpy()
      array([0.5, 0.5], dtype=float32)
    """
    x = lift(logits)
    return bind(Softmax(normalize_axis("softmax", -1 if axis is None else axis, x.ndim, "logits", x.dims)), x)


def log_softmax(logits: TensorLike, axis: int | None = -1, name: str | None = None) -> Tensor:
    """log(softmax(logits)) along `axis`, accurate for small probabilities.

    Args:
      logits: Tensor [..., n, ...], a float dtype.
      axis: The axis, the last by default, and for None.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range; DTypeError (a TypeError): another dtype.
    Source: Bridle, Probabilistic interpretation of feedforward classification network outputs, 1990.
    Example:
      >>> math.log_softmax([0.0, 0.0]).numpy()
      array([-0.6931472, -0.6931472], dtype=float32)
    """
    x = lift(logits)
    return bind(
        LogSoftmax(normalize_axis("log_softmax", -1 if axis is None else axis, x.ndim, "logits", x.dims)), x
    )
