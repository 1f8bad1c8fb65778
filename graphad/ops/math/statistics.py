"""Functions built from reductions: variance, standard deviation, norms, counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INEXACT, require_kind
from graphad.core.shapes import normalize_axes, normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops.array.reshape import Squeeze, expand_dims
from graphad.ops.array.support import is_open, over_open_axes
from graphad.ops.array.transpose import transpose
from graphad.ops.linalg.eigen import svd
from graphad.ops.math.arithmetic import MUL, SUB, abs, square
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import not_equal
from graphad.ops.math.complexes import CONJ, conjugate, real
from graphad.ops.math.power import pow, root_of_squares, sqrt
from graphad.ops.math.reduce import ReduceMean, as_axes, reduce_max, reduce_sum
from graphad.ops.math.sum_of_products import sum_of_products
from graphad.ops.rules import scalar_like


@blaming
def reduce_variance(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The variance of the elements over axes: the mean of (x - mean(x)) ** 2.

    Args:
      input_tensor: Tensor [...], a float or complex dtype.
      axis: Axis or list of axes to reduce, negative ones from the end; None for all.
      keepdims: Keep the reduced axes with size 1.
    Returns: Tensor without these axes, with the dtype of the input, real for a complex one.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): another dtype.
    """
    x = lift(input_tensor)
    require_kind("reduce_variance", x, INEXACT)
    if is_open(axis):
        return over_open_axes("reduce_variance", axis, x, lambda axes: reduce_variance(x, axes, keepdims))
    axes = as_axes("reduce_variance", axis, x)
    off = bind(SUB, x, _bound(ReduceMean, axes, True, x))
    if x.dtype.is_complex:
        off = real(bind(MUL, bind(CONJ, off), off))
    else:
        off = square(off)
    return _bound(ReduceMean, axes, keepdims, off)


def _bound(op_class: type[ReduceMean], axes: tuple[int, ...] | None, keepdims: bool, x: Tensor) -> Tensor:
    return x if axes is not None and not axes else bind(op_class(axes, bool(keepdims)), x)


@blaming
def reduce_std(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The standard deviation of the elements over axes, the square root of `reduce_variance`.

    Args:
      input_tensor: Tensor [...], a float or complex dtype.
      axis: Axis or list of axes to reduce, negative ones from the end; None for all.
      keepdims: Keep the reduced axes with size 1.
    Returns: Tensor without these axes, with the dtype of the input, real for a complex one. The gradient is
      nan where all elements are equal.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): another dtype.
    """
    return root_of_squares(reduce_variance(input_tensor, axis, keepdims))


@blaming
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: AxisLike = None, keepdims: bool = False, name: str | None = None
) -> Tensor:
    """The square root of the sum of squares over axes.

    Args:
      input_tensor: Tensor [...], any numeric dtype.
      axis: Axis or list of axes to reduce, negative ones from the end; None for all.
      keepdims: Keep the reduced axes with size 1.
    Returns: Tensor without these axes, with the dtype of the input. The gradient at 0 is nan.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range; DTypeError (a TypeError): another dtype.
    """
    x = lift(input_tensor)
    total = sum_of_products(x, conjugate(x), axis, keepdims)
    return (
        root_of_squares(total)
        if x.dtype.is_differentiable
        else cast(sqrt(cast(total, dtypes.float64)), x.dtype)
    )


@blaming
def norm(
    tensor: TensorLike,
    ord: str | float = "euclidean",
    axis: AxisLike = None,
    keepdims: bool = False,
    name: str | None = None,
) -> Tensor:
    """The norm of vectors, or of matrices where `axis` names two axes.

    Args:
      tensor: Tensor of any shape, a float or complex dtype.
      ord: "euclidean" (the default), 1, 2, inf or another positive number for vectors; for matrices "fro",
        "euclidean", 1, 2, inf; 2 is the largest singular value.
      axis: None for all elements as one vector, one axis, or two axes of matrices.
      keepdims: Keep the reduced axes with size 1.
    Returns: Tensor. For complex input the euclidean norm of vectors and that of all elements of matrices are of its dtype, so
      that `x / norm(x)` is defined, with an imaginary part of 0; other norms are real. The gradient of the euclidean norm at
      0 is nan.
    Raises: InvalidArgumentError: an order that is not supported.
    Example:
      >>> norm([3.0, 4.0]).numpy()
      np.float32(5.0)
    """
    x = lift(tensor)
    matrix = isinstance(axis, list | tuple) and len(axis) == 2
    if isinstance(axis, list | tuple) and len(axis) not in (1, 2):
        raise InvalidArgumentError(f"norm: 'axis' must be None, an integer, or two integers, got {axis!r}.")
    if isinstance(axis, list | tuple):
        normalize_axes("norm", axis, x.ndim, "x", x.dims)  # raises unless they are different axes
    if isinstance(ord, str):
        if ord not in ("euclidean", "fro"):
            raise InvalidArgumentError(
                f"norm: 'ord' {ord!r} is not supported; it is 'euclidean', 'fro', inf or a positive number."
            )
        return _two_norm(x, axis, keepdims)
    if matrix:
        if ord == 2:
            return _spectral_norm(x, axis, keepdims)
        if ord not in (1, np.inf):
            raise InvalidArgumentError(
                f"norm: 'ord' {ord!r} is not supported for matrices; it is 'fro', 'euclidean', 1, 2 or inf."
            )
        pair: Any = axis
        rows, columns = pair
        inner, outer = (rows, columns) if ord == 1 else (columns, rows)
        sums = reduce_sum(abs(x), inner, True)
        largest = reduce_max(sums, outer, True)
        if keepdims:
            return largest
        return bind(Squeeze(normalize_axes("norm", list(pair), x.ndim, "x", x.dims) or ()), largest)
    if ord == 2:
        return _two_norm(x, axis, keepdims)
    if ord == 1:
        return reduce_sum(abs(x), axis, keepdims)
    if ord == np.inf:
        return reduce_max(abs(x), axis, keepdims)
    if not ord > 0:
        raise InvalidArgumentError(
            f"norm: 'ord' {ord!r} is not supported; it is 'euclidean', 'fro', inf or a positive number."
        )
    return pow(reduce_sum(pow(abs(x), ord), axis, keepdims), 1.0 / ord)


def _spectral_norm(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    """The largest singular value of the matrices over two axes."""
    if x.dims is None:
        raise InvalidArgumentError("norm: the rank of x must be known while tracing for a norm of order 2.")
    rank = len(x.dims)
    pair = [normalize_axis("norm", k, rank, "x", x.dims) for k in axis]
    others = [k for k in range(rank) if k not in pair]
    s = svd(transpose(x, [*others, *pair]), compute_uv=False)
    largest = reduce_max(s, -1)
    for k in sorted(pair) if keepdims else ():
        largest = expand_dims(largest, k)
    return largest


def _two_norm(x: Tensor, axis: Any, keepdims: bool) -> Tensor:
    if not x.dtype.is_complex:
        return root_of_squares(sum_of_products(x, x, axis, keepdims))
    return cast(root_of_squares(reduce_sum(real(bind(MUL, x, conjugate(x))), axis, keepdims)), x.dtype)


@blaming
def count_nonzero(
    input: TensorLike,
    axis: AxisLike = None,
    keepdims: bool = False,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """The number of elements over axes that are nonzero (or True). No gradient.

    Args:
      input: Tensor of any shape and dtype.
      axis: Axis or list of axes to reduce, negative ones from the end; None for all.
      keepdims: Keep the reduced axes with size 1.
      dtype: The dtype of the result.
    Returns: Tensor of dtype `dtype` without these axes.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> math.count_nonzero([0, 1, 2]).numpy()
      np.int64(2)
    """
    x = lift(input)
    nonzero = x if x.dtype.is_bool else not_equal(x, scalar_like(0, x))
    return reduce_sum(cast(nonzero, dtype), axis, keepdims)
