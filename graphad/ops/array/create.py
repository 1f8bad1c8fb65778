"""Tensors made from numbers: constants, fills, zeros and ones.

A result that depends only on Python numbers is a constant; one that depends on a size known at run time is an op, which folds
into a constant or an op on symbols when the graph is specialised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import (
    Array,
    BatchContext,
    DTypeLike,
    FoldContext,
    Ranked,
    RowAxes,
    RowAxis,
    ShapeLike,
    TensorLike,
)
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_own, stands_for_tensor, to_numpy
from graphad.core.dims import product
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import ArgumentTypeError, DTypeError, InvalidArgumentError
from graphad.core.op import Op, define, no_gradient
from graphad.core.shapes import format_dims, is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.ops.array.broadcast import broadcast_for
from graphad.ops.array.sizes import require_sizes, static_sizes
from graphad.ops.array.support import (
    in_memory,
)
from graphad.ops.control.stacks import full_like, known_dims, known_spec
from graphad.ops.directly import is_free


def constant(
    value: TensorLike, dtype: DTypeLike | None = None, shape: ShapeLike | None = None, name: str | None = None
) -> Tensor:
    """A tensor with a fixed value.

    Args:
      value: A number, array or nested list; a tensor is passed on.
      dtype: Its dtype; by default float32 for Python floats, int32 for ints (int64 where they do not fit), an array's own.
      shape: Its shape: a scalar fills it, other values must have as many elements.
    Returns: Tensor of that shape and dtype.
    Raises:
      ArgumentTypeError (a TypeError): the number of elements does not fit `shape`.
      DTypeError (a TypeError): a float was given for an integer dtype.
    Example:
      >>> constant(2, shape=(2, 2)).numpy()
      array([[2, 2],
             [2, 2]], dtype=int32)
    """
    wanted = None if dtype is None else as_dtype(dtype)
    if stands_for_tensor(value):
        return lift(lift_own(value), wanted)
    if shape is None:
        return lift(value, wanted)
    sizes = static_sizes("constant", shape)
    if sizes is None:
        raise ArgumentTypeError(
            "constant: shape must be known; use fill(shape, value) for a shape that is a tensor."
        )
    require_sizes("constant", sizes)
    data = np.asarray(to_numpy(value, wanted))
    if data.ndim == 0 or (data.size == 1 and product(sizes) != 1):
        return lift(in_memory("constant", np.full, sizes, data.reshape(())))
    if data.size != product(sizes):
        raise ArgumentTypeError(
            "Eager execution of tf.constant with unsupported shape. "
            f"constant: value has {data.size} elements, shape is {tuple(sizes)} with {product(sizes)} elements."
        )
    return lift(data.reshape(sizes))


def convert_to_tensor(
    value: TensorLike,
    dtype: DTypeLike | None = None,
    dtype_hint: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`value` as a tensor: a tensor as it is, a variable read, numbers, arrays and nested lists converted.

    Args:
      value: A tensor, variable, number, array or nested list, of any shape.
      dtype: The dtype wanted; a tensor of another dtype is refused.
      dtype_hint: A dtype to use if `value` can have it.
    Returns: Tensor of the shape of `value`.
    Raises: DTypeError (a ValueError and TypeError): the dtypes do not fit.
    Example:
      >>> convert_to_tensor([[1, 2], [3, 4]]).dtype
      tf.int32
    """
    if isinstance(value, Handle):
        value = lift_own(value)
    if dtype is None and dtype_hint is not None:
        try:
            return lift(value, as_dtype(dtype_hint))
        except (DTypeError, InvalidArgumentError):
            return lift(value)
    return lift(value, None if dtype is None else as_dtype(dtype))


def fill(dims: ShapeLike, value: TensorLike, name: str | None = None) -> Tensor:
    """A tensor of shape `dims` with every element `value`.

    Args:
      dims: Sizes: a list, a shape, or an integer tensor.
      value: A scalar, number or tensor, or a vector of one element; its gradient is the sum.
    Returns: Tensor of that shape and the dtype of `value`.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or `value` has more elements or axes.
    Example:
      >>> fill([2, 2], 7).numpy()
      array([[7, 7],
             [7, 7]], dtype=int32)
    """
    value = lift(value)
    if value.dims == (1,):
        value = value[0]
    if value.dims is not None and len(value.dims) != 0:
        raise InvalidArgumentError(f"fill: value has shape {format_dims(value.dims)}; a scalar is needed.")
    return broadcast_for("fill", value, dims)


def zeros(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of zeros (False for bool).

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      dtype: The dtype, float32 by default.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> zeros([2, 2], int32).numpy()
      array([[0, 0],
             [0, 0]], dtype=int32)
    """
    return _filled("zeros", shape, as_dtype(dtype), 0)


def ones(shape: ShapeLike, dtype: DTypeLike = dtypes.float32, name: str | None = None) -> Tensor:
    """A tensor of ones (True for bool).

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      dtype: The dtype, float32 by default.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> ones([2, 2]).numpy()
      array([[1., 1.],
             [1., 1.]], dtype=float32)
    """
    return _filled("ones", shape, as_dtype(dtype), 1)


def _filled(op: str, shape: object, dtype: DType, value: int) -> Tensor:
    sizes = static_sizes(op, shape)
    if sizes is not None:
        require_sizes(op, sizes)
    if sizes and is_free():
        return EagerTensor(in_memory(op, np.ones if value else np.zeros, sizes, dtype.numpy))
    scalar = lift(dtype.numpy.type(value))
    if sizes is None and isinstance(shape, Tensor) and shape.dims == ():
        shape = [shape]  # one size, as a number is
    return scalar if sizes == [] else broadcast_for(op, scalar, shape if sizes is None else sizes)


_FEW = 4096  # numbers, for which there is memory without asking


class _Like(Op):
    """A tensor with the shape of x and every element the same number."""

    keeps = (False, False)
    by_value = ()
    value = 0
    dtype: DType

    def infer(self, x: TensorSpec) -> TensorSpec:
        return TensorSpec.of(x.dims, self.dtype)

    def eval(self, x: Array) -> Array:
        return full_like(x, self.value, self.dtype.numpy)  # type: ignore[no-any-return]

    vjp = no_gradient("it does not depend on the values of its input")

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return ctx.unstacked(_filled(self.name, x.dims[1:], self.dtype, self.value))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        return None

    def fold(self, ctx: FoldContext, x: Ranked) -> Tensor | None:
        return _filled(self.name, x.dims, self.dtype, self.value)


@define
class ZerosLike(_Like):
    """Zeros of `dtype` with the shape of x."""

    name = "zeros_like"
    dtype: DType


@define
class OnesLike(_Like):
    """Ones of `dtype` with the shape of x."""

    name = "ones_like"
    value = 1
    dtype: DType


def zeros_like(input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Zeros with the shape of `input` and, unless another is given, its dtype. The gradient is None.

    Args:
      input: Tensor of any shape and dtype.
      dtype: The dtype of the result; by default that of `input`.
    Returns: Tensor of the shape of `input`.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> zeros_like([[1, 2], [3, 4]]).numpy()
      array([[0, 0],
             [0, 0]], dtype=int32)
    """
    return _like(ZerosLike, input, dtype)


def zeros_of(x: Any) -> Tensor:
    """Zeros with the shape and dtype of a tensor or a variable, or of what stands for a value of known shape that was dropped."""
    spec = known_spec(x)
    return zeros(spec.dims, spec.dtype) if is_definite(spec.dims) else zeros_like(x)


def ones_of(x: Any) -> Tensor:
    """The same of ones."""
    spec = known_spec(x)
    return ones(spec.dims, spec.dtype) if is_definite(spec.dims) else ones_like(x)


def ones_like(input: TensorLike, dtype: DTypeLike | None = None, name: str | None = None) -> Tensor:
    """Ones with the shape of `input` and, unless another is given, its dtype. The gradient is None.

    Args:
      input: Tensor of any shape and dtype.
      dtype: The dtype of the result; by default that of `input`.
    Returns: Tensor of the shape of `input`.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> ones_like([[1, 2], [3, 4]]).numpy()
      array([[1, 1],
             [1, 1]], dtype=int32)
    """
    return _like(OnesLike, input, dtype)


def _like(kind: Any, x: TensorLike, dtype: DTypeLike | None) -> Tensor:
    if dtype is None and is_free(x):
        data: Any = x.data  # type: ignore[union-attr]
        if type(data) is np.ndarray and data.ndim and 0 < data.size <= _FEW:  # no slices of several shapes
            return EagerTensor((np.ones if kind.value else np.zeros)(data.shape, data.dtype))
    if not isinstance(x, Tensor):
        x = lift(x)
    wanted = x.dtype if dtype is None else as_dtype(dtype)
    if is_definite(known_dims(x)) and not x.away:
        return _filled(kind.name, x.dims, wanted, kind.value)
    return bind(kind(wanted), x)  # type: ignore[no-any-return]
