"""The index of the largest or smallest element along an axis: `argmax` and `argmin`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import (
    Array,
    AxisLike,
    BatchContext,
    DTypeLike,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import BOOLEAN, INTEGER, REAL, require_kind, require_kind_of
from graphad.core.op import MIXED, Op, define, else_eval, no_gradient
from graphad.core.schema import Axis
from graphad.core.shapes import format_dims, normalize_axis, reduced_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.kernels import forms
from graphad.ops.array.support import is_open, over_open_axes
from graphad.ops.choice import chosen

_ORDERED = REAL | BOOLEAN


class _Position(Op):
    """The index of the extreme along an axis: the first one at a tie; NaN is ignored."""

    keeps = (False, False)
    takes_symbols = False
    search: ClassVar[Callable[..., Any]]
    least: ClassVar[float]  # the value that stands for NaN
    axis: Axis
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        require_kind(self.name, x, _ORDERED)
        require_kind_of(self.name, self.dtype, INTEGER, "output_type")
        if x.dims is not None:
            axis = normalize_axis(self.name, self.axis, len(x.dims), "input", x.dims)
            if type(x.dims[axis]) is int and x.dims[axis] == 0:
                raise InvalidArgumentError(
                    f"{self.name}: Reduction axis {axis} is empty in shape {format_dims(x.dims)}."
                )
        return TensorSpec.of(reduced_dims(x.dims, (self.axis,), False), self.dtype)

    def quick(self, x: Tensor) -> Array | None:
        data = x.data
        if data.dtype.char in "fdil" and -data.ndim <= self.axis < data.ndim and data.shape[self.axis]:
            return self.eval(data)
        return None

    def eval(self, x: Array) -> Array:
        found = getattr(x, self.name)(self.axis) if type(x) is np.ndarray else type(self).search(x, self.axis)
        if x.dtype.kind not in "iub":
            # NumPy returns the index of a NaN if there is one.
            if np.logical_or.reduce(np.isnan(_elements(x, found, self.axis)), None):
                x = chosen(np.isnan(x), x.dtype.type(self.least), x)
                found = type(self).search(x, self.axis)
        return found.astype(self.dtype.numpy, copy=False)  # type: ignore[no-any-return]

    @else_eval("a position is told by all other elements")
    def lower(self, x: TensorSpec) -> forms.Form | None:
        return forms.Ordered("extreme", self.axis, self.least < 0, self.dtype)

    vjp = no_gradient("a position is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(type(self)(self.axis % (len(x.dims) - 1) + 1, self.dtype), x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None:
            return None
        gone = self.axis % len(specs[0].dims or ())
        return MIXED if axes[0] == gone else axes[0] - (gone < axes[0])


def _elements(x: Array, at: Any, axis: int) -> Any:
    """The elements with these positions along an axis."""
    if x.ndim == 1:
        return x[at]
    if x.ndim and axis in (-1, x.ndim - 1) and x.flags.c_contiguous:
        return x.reshape(-1)[np.arange(0, x.size, x.shape[-1]) + np.reshape(at, -1)]
    return np.take_along_axis(x, np.expand_dims(at, axis), axis)


@define
class ArgMax(_Position):
    """The index, of `dtype`, of the largest element along `axis`; of equal ones the first. A NaN counts as -inf."""

    name, search, least = "argmax", staticmethod(np.argmax), -np.inf
    axis: Axis
    dtype: DType


@define
class ArgMin(_Position):
    """The index, of `dtype`, of the smallest element along `axis`; of equal ones the first. A NaN counts as inf."""

    name, search, least = "argmin", staticmethod(np.argmin), np.inf
    axis: Axis
    dtype: DType


def argmax(
    input: TensorLike,
    axis: AxisLike = None,
    output_type: DTypeLike | None = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The index of the largest element along an axis, the first one at a tie; NaN is ignored. No gradient.

    Args:
      input: Tensor [..., n, ...] of a real dtype or bool.
      axis: The axis, 0 by default.
      output_type: int32 or int64; None is int64.
    Returns: Tensor of `output_type` without that axis.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range or has size 0; DTypeError (a TypeError): `output_type`
      is not an integer.
    Example:
      >>> math.argmax([[1, 3, 2]], axis=1).numpy()
      array([1])
    """
    return _position(ArgMax, input, axis, output_type)


def argmin(
    input: TensorLike,
    axis: AxisLike = None,
    output_type: DTypeLike | None = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The index of the smallest element along an axis, the first one at a tie; NaN is ignored. No gradient.

    Args:
      input: Tensor [..., n, ...] of a real dtype or bool.
      axis: The axis, 0 by default.
      output_type: int32 or int64; None is int64.
    Returns: Tensor of `output_type` without that axis.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range or has size 0; DTypeError (a TypeError): `output_type`
      is not an integer.
    Example:
      >>> math.argmin([[1, 3, 2]], axis=1).numpy()
      array([0])
    """
    return _position(ArgMin, input, axis, output_type)


def _position(op_class: type[_Position], input: object, axis: object, output_type: object) -> Tensor:
    x = lift(input)
    wanted = dtypes.int64 if output_type is None else dtypes.as_dtype(output_type)
    dtype = require_kind_of(op_class.name, wanted, INTEGER, "output_type")
    if is_open(axis):
        along = functools.partial(_position, op_class, x, output_type=output_type)
        return over_open_axes(op_class.name, axis, x, along, False)
    number = normalize_axis(op_class.name, 0 if axis is None else axis, x.ndim, "input", x.dims)
    return bind(op_class(number, dtype), x)
