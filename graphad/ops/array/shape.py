"""Shapes as data: the sizes of a tensor, their product and their number, and sizes that became numbers, as integer tensors.

All of them fold when the graph is specialised.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import dtypes
from graphad.core.annotations import (
    Array,
    BatchContext,
    DTypeLike,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    TensorLike,
    VjpContext,
)
from graphad.core.bind import bind, constant_here
from graphad.core.convert import lift
from graphad.core.dims import Size, product, run_time_symbols
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import Op, define, no_gradient
from graphad.core.references import entries_of
from graphad.core.schema import Offset
from graphad.core.shapes import are_numbers, format_dims, is_definite
from graphad.core.sparse import Sparse
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor


@define
class Shape(Op):
    """The sizes of x, a vector of `dtype`."""

    name = "shape"
    gives_sizes = True
    by_value = ()
    keeps = (False, False)
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of((None if x.dims is None else len(x.dims),), self.dtype)

    def eval(self, x: Array) -> Array:
        return packed("shape", x.shape, self.dtype)

    vjp = no_gradient("a shape is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(lift(packed("shape", x.dims[1:], self.dtype)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return ctx.sizes(x.dims, self.dtype)


@define
class ElementCount(Op):
    """The number of elements of x, a scalar of `dtype`."""

    name = "size"
    by_value = ()
    keeps = (False, False)
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of((), self.dtype)

    def eval(self, x: Array) -> Array:
        return packed("size", [np.size(x)], self.dtype)[0]  # type: ignore[no-any-return]

    vjp = no_gradient("a size is piecewise constant")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(lift(packed("size", [product(x.dims[1:])], self.dtype)[0]))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return ctx.size(product(x.dims), self.dtype)


@define
class Rank(Op):
    """The number of axes of x, an int32 scalar."""

    name = "rank"
    by_value = ()
    keeps = (False, False)

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of((), dtypes.int32)

    def eval(self, x: Array) -> Array:
        return np.int32(np.ndim(x))  # type: ignore[return-value]

    vjp = no_gradient("a rank is not a function of values")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(lift(np.int32(len(x.dims) - 1)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return ctx.size(len(x.dims), dtypes.int32)


@define
class SizeVector(Op):
    """The integers `dims`, a vector of `dtype`, or a scalar if `scalar` (of one number then). What is computed from sizes may be
    negative.
    """

    name = "sizes"
    holds_sizes = True
    by_value = ()
    dims: tuple[Offset, ...]
    dtype: DType
    scalar: bool = False

    def infer(self) -> TensorSpec:
        if self.scalar and len(self.dims) != 1:
            raise InvalidArgumentError(f"sizes: a scalar of {len(self.dims)} sizes; it has one.")
        return TensorSpec.of(() if self.scalar else (len(self.dims),), self.dtype)

    @property
    def as_size(self) -> Size | None:
        return self.dims[0] if self.scalar else None

    def eval(self) -> Array:
        if self.dtype.is_integer:
            values = packed("sizes", self.dims, self.dtype)
        else:  # as a cast gives them: infinite where a float dtype ends before
            values = dtypes.converted(np.array(self.dims, np.int64), self.dtype.numpy)
        return values[0] if self.scalar else values

    def parts_of(
        self,
        whole: kernels.sites.Site,
        sites: Sequence[kernels.sites.Site],
        number: Callable[[int], Any],
    ) -> list[kernels.sites.Part] | None:
        if not run_time_symbols(self.dims) or not self.dtype.is_integer or self.dtype.itemsize < 4:
            return None  # a plan is bound to the numbers, or they are not the words of rows
        part, site = kernels.sites.Part, kernels.sites.Site
        return [part(size, site(whole.root, (), (), k)) for k, size in enumerate(self.dims)]

    vjp = no_gradient("a size is not a function of values")

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def batch(self, ctx: BatchContext) -> Tensor:
        return ctx.unstacked(bind(self))


@functools.cache
def _limits(dtype: DType) -> tuple[Any, Any]:
    return dtype.min, dtype.max


def shape(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """The shape of a tensor as a tensor, a constant where it is known.

    Args:
      input: Tensor of any shape and dtype, or a SparseTensor.
      out_type: int32 or int64.
    Returns: Integer tensor [rank].
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> shape([[1, 2, 3], [4, 5, 6]]).numpy()
      array([2, 3], dtype=int32)
    """
    dtype, sizes = dtypes.as_dtype(out_type), input.sizes if isinstance(input, Sparse) else None
    return sizes_of(lift(input), dtype) if sizes is None else sizes.astype(dtype)


def size(input: TensorLike, out_type: DTypeLike = dtypes.int32, name: str | None = None) -> Tensor:
    """The number of elements of `input` as an integer scalar; a constant where the shape is known.

    Args:
      input: Tensor of any shape and dtype, or a SparseTensor.
      out_type: int32 or int64.
    Returns: Integer scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> size([[1, 2, 3], [4, 5, 6]]).numpy()
      np.int32(6)
    """
    if isinstance(input, Sparse) and input.sizes is not None:
        return input.sizes.prod().astype(out_type)  # type: ignore[no-any-return]
    x, dtype = lift(input), as_dtype(out_type)
    if x.dims is not None and are_numbers(x.dims):
        return lift(packed("size", [product(x.dims)], dtype)[0])
    return bind(ElementCount(dtype), x)


def rank(input: TensorLike, name: str | None = None) -> Tensor:
    """The number of axes of `input` as an int32 scalar; a constant where it is known.

    Args:
      input: Tensor of any shape and dtype, or a SparseTensor.
    Returns: int32 scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> rank([[1, 2], [3, 4]]).numpy()
      np.int32(2)
    """
    if isinstance(input, Sparse) and input.sizes is not None:
        return size(input.sizes)
    x = lift(input)
    return bind(Rank(), x) if x.dims is None else lift(np.int32(len(x.dims)))


def sizes_of(x: Any, dtype: DType = dtypes.int32) -> Tensor:
    """`shape` of a tensor, or of the placeholder of a dropped value in a derivative rule."""
    if x.dims is not None and are_numbers(x.dims):
        return constant_here(packed("shape", x.dims, dtype))
    return bind(Shape(dtype), x)


def packed(op: str, sizes: Sequence[Any], dtype: DType) -> Array:
    """Sizes that are numbers, as a vector. Raises: InvalidArgumentError: the dtype does not have one of them."""
    least, most = _limits(dtype)
    if sizes and not (least <= min(sizes) and max(sizes) <= most):
        raise InvalidArgumentError(
            f"{op}: the sizes are {format_dims(tuple(sizes))}, of which {dtype.name} does not hold one; use int64, as with "
            "out_type=tf.int64."
        )
    return np.array(sizes, dtype.numpy)


def shape_of(ctx: VjpContext, i: int) -> tuple[Any, tuple[Any, ...]]:
    """The shape of input i as an attribute, and the inputs that it refers to."""
    dims = ctx.shape(i)
    return (dims, ()) if is_definite(dims) else (entries_of(dims), (sizes_of(ctx.inputs[i]),))
