"""Conversions between dtypes: of the value (`cast`, `saturate_cast`) and of the bits (`bitcast`)."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays, dtypes
from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    DTypeLike,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_own
from graphad.core.dims import Dim
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define, no_form, no_gradient
from graphad.core.shapes import format_dims
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.ops.accumulate import is_narrow
from graphad.ops.array.support import row_beside
from graphad.ops.math.complexes import complex as of_parts
from graphad.ops.math.complexes import imag, real
from graphad.ops.short import short_way


@define
class Cast(Op):
    """x converted to `dtype`: floats to integers drop the fraction (numbers out of range give an unspecified result), integers
    wrap around, nonzero becomes true, complex to real drops the imaginary part.
    """

    name = "cast"
    returns_input = True
    moves = True
    keeps = (False, False)
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of(x.dims, self.dtype)

    def eval(self, x: Array) -> Array:
        if x.dtype.kind == "c" and not (self.dtype.is_complex or self.dtype.is_bool):
            x = x.real
        return dtypes.converted(x, self.dtype.numpy)  # type: ignore[no-any-return]

    def evaluator_of(self, *specs: TensorSpec) -> Callable[..., Any] | None:
        source, dtype = specs[0].dtype, self.dtype.numpy
        if dtype.kind == "u" or (source.is_complex and not self.dtype.is_complex):
            return None
        return lambda x: x.astype(dtype)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        source = ctx.inputs[0].dtype
        if not (source.is_differentiable and self.dtype.is_differentiable):
            return (None,)
        return (bind(Cast(source), g),)

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return axes[0]

    def lower(self, x: TensorSpec) -> kernels.forms.Form | None:
        return (
            None
            if x.dtype.is_complex and not self.dtype.is_complex
            else kernels.forms.cast_map(x.dtype, self.dtype)
        )

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        known = ctx.known(x)
        if known is None or not (self.dtype.is_integer or self.dtype.is_floating) or wraps_sizes(self.dtype):
            return None
        if len(x.dims) > 1 or not any(isinstance(size, Dim) for size in known):
            return None
        return ctx.sizes(known, self.dtype) if x.dims else ctx.size(known[0], self.dtype)


def wraps_sizes(dtype: DType) -> bool:
    """Whether usual sizes are too large for an integer dtype, so that a cast of some is computed when their numbers are known."""
    return dtype.is_integer and dtype.itemsize < 4


def _converted(x: EagerTensor, dtype: DTypeLike) -> Tensor | None:
    """The same of an eager tensor."""
    wanted = dtype if type(dtype) is DType else dtypes.as_dtype(dtype)
    data, numpy = x.data, wanted.numpy
    if data.dtype is numpy:
        return x
    # NumPy's result for floats as unsigned integers is undefined, and it warns of a dropped imaginary part.
    return None if wanted.kind == "uint" or data.dtype.kind == "c" else EagerTensor(data.astype(numpy))


@short_way(_converted)
def cast(x: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`x` converted to `dtype`.

    Args:
      x: Tensor of any shape and dtype; of a SparseTensor or IndexedSlices the values are converted.
      dtype: The dtype of the result. Floats become ints by dropping the fraction, complex numbers real by dropping the
        imaginary part.
    Returns: Tensor with the shape of `x`; `x` itself if it has the dtype. Gradients pass between float and complex dtypes, and
      end at an integer dtype.
    Raises: ArgumentTypeError (a TypeError): no such dtype.
    Example:
      >>> cast([1.7, -1.7], int32).numpy()
      array([ 1, -1], dtype=int32)
    """
    wanted = dtypes.as_dtype(dtype)
    if isinstance(x, Handle) and x.spec.dtype is wanted:
        return lift_own(x)
    if isinstance(x, Sparse):
        return x.with_values(cast(x.values, wanted))  # type: ignore[return-value] # Tensor is the declared one
    x = lift(x)
    if x.dtype is wanted:
        return x
    return bind(Cast(wanted), x)


def _limits(dtype: DType) -> tuple[Any, Any]:
    """The smallest and the largest number of a real dtype, as Python numbers, which compare exactly."""
    return (float(dtype.min), float(dtype.max)) if dtype.is_floating else (dtype.min, dtype.max)


@functools.lru_cache(256)
def _bounds(source: DType, wanted: DType) -> tuple[Any, Any]:
    """The least and the largest number of `source` within the range of `wanted`.

    Floats are limited even if the new dtype has the wider range: infinity becomes the largest number.
    """
    kind = source.numpy.type
    least, most = max(_limits(source)[0], _limits(wanted)[0]), min(_limits(source)[1], _limits(wanted)[1])
    low, high = (kind(float(limit) if source.is_floating else limit) for limit in (least, most))
    if source.is_floating:
        # The largest float below 2**31 is below int32's largest number; the nearest one is above it and would wrap.
        low = np.nextafter(low, kind(0)) if float(low) < least else low
        high = np.nextafter(high, kind(0)) if float(high) > most else high
    return low, high


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`value` converted to `dtype`, numbers outside its range becoming its smallest or largest number.

    Args:
      value: Tensor of any dtype; of a complex one the parts are limited one by one, or the real part is for a real `dtype`.
      dtype: The dtype of the result.
    Returns: Tensor with the shape of `value`.
    Raises: ArgumentTypeError (a TypeError): no such dtype.
    Example:
      >>> saturate_cast([-5, 300], uint8).numpy()
      array([  0, 255], dtype=uint8)
    """
    value, wanted = lift_own(value), dtypes.as_dtype(dtype)
    source = value.dtype
    if source.is_bool or wanted.is_bool:
        return cast(value, wanted)
    if wanted.is_complex:
        part = wanted.real_dtype
        if source.is_integer or source.real_dtype.max <= part.max:
            return cast(value, wanted)
        if source.is_complex:
            return of_parts(saturate_cast(real(value), part), saturate_cast(imag(value), part))
        return cast(saturate_cast(value, part), wanted)
    if source.is_complex:
        return saturate_cast(real(value), wanted)
    if source.is_integer and wanted.is_integer and source.min >= wanted.min and source.max <= wanted.max:
        return cast(value, wanted)
    # Few programs need the module.
    clip_by_value = importlib.import_module("graphad.ops.math.select").clip_by_value
    return cast(clip_by_value(value, *_bounds(source, wanted)), wanted)


@define
class Bitcast(Op):
    """The bytes of x, elements little-endian, read as `dtype`; smaller elements add a last axis, larger ones remove it."""

    name = "bitcast"
    keeps = (False, False)
    dtype: DType
    lower = no_form("a kernel reads the elements of an array in their own dtype alone")

    def infer(self, x: TensorSpec) -> TensorSpec:
        have, want = x.dtype.itemsize, self.dtype.itemsize
        if x.dims is None or have == want:
            return TensorSpec.of(x.dims, self.dtype)
        if have > want:
            return TensorSpec.of((*x.dims, have // want), self.dtype)
        if not x.dims or (x.dims[-1] is not None and x.dims[-1] != want // have):
            raise InvalidArgumentError(
                f"bitcast: x has shape {format_dims(x.dims)} and dtype {x.dtype.name}; to read it as {self.dtype.name} "
                f"its last size must be {want // have}."
            )
        return TensorSpec.of(x.dims[:-1], self.dtype)

    takes_symbols = False

    def eval(self, x: Array) -> Array:
        have, want = x.dtype.itemsize, self.dtype.itemsize
        data = arrays.contiguous(x if np.ndim(x) else np.reshape(x, (1,)))
        shape = np.shape(x)
        shape = shape if have == want else (*shape, have // want) if have > want else shape[:-1]
        return data.view(self.dtype.numpy).reshape(shape)

    vjp = no_gradient("bits are not numbers")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(self, x)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[0] is None or specs[0].dtype.itemsize >= self.dtype.itemsize:
            return axes[0]
        return row_beside(axes[0], specs[0], -1)


def rounded_once(expand: Callable[..., Any]) -> Callable[..., Any]:
    """An `expand` that computes float16 and bfloat16 in float32 and rounds the results, as `eval` does."""

    @functools.wraps(expand)
    def expanded(self: Op, *xs: Ranked) -> Any:
        narrow = next((x.dtype for x in xs if is_narrow(x.dtype.numpy)), None)
        if narrow is None:
            return expand(self, *xs)
        found = expand(self, *[bind(Cast(dtypes.float32), x) if x.dtype is narrow else x for x in xs])
        if isinstance(found, tuple):
            return tuple(bind(Cast(narrow), y) for y in found)
        return None if found is None else bind(Cast(narrow), found)

    return expanded


def bitcast(input: TensorLike, type: DTypeLike, name: str | None = None) -> Tensor:
    """The bytes of `input` read as another dtype, without conversion.

    Args:
      input: Tensor [..., n].
      type: The dtype of the result. If its elements are smaller, a last axis is added; if larger, the last axis is removed.
    Returns: Tensor of the same bytes, with one axis more or fewer if the element sizes differ.
    Raises: InvalidArgumentError: the last size does not fit the larger dtype.
    Example:
      >>> bitcast(1.0, int32).numpy()
      np.int32(1065353216)
    """
    return bind(Bitcast(dtypes.as_dtype(type)), lift(input))
