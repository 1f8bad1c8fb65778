"""Functions of numbers that are short compositions of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import Array, DTypeLike, ShapeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like, lift_pair
from graphad.core.dtypes import as_dtype, float32, int32
from graphad.core.errors import InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like, zeros_like
from graphad.ops.array.gather import gather
from graphad.ops.array.join import stack
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.scatter import scatter_nd
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import size
from graphad.ops.array.squeezing import squeeze
from graphad.ops.array.support import index_tensor
from graphad.ops.directly import directly, is_eager
from graphad.ops.math.arithmetic import divide_no_nan
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal, logical_and
from graphad.ops.math.cumulative import cumsum
from graphad.ops.math.exponential import Log1p, log, log1p
from graphad.ops.math.gamma import BERNOULLI, lgamma
from graphad.ops.math.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum
from graphad.ops.math.select import maximum, where
from graphad.ops.math.sums import add_n
from graphad.ops.state.effects import require


def zero_fraction(value: TensorLike, name: str | None = None) -> Tensor:
    """The fraction of the elements that are 0, as float32; NaN if there are no elements.

    Args:
      value: Tensor of any shape and dtype.
    Returns: float32 scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> math.zero_fraction([0, 1, 0, 2]).numpy()
      np.float32(0.5)
    """
    value = lift(value)
    return reduce_mean(cast(value == zeros_like(value), float32))


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0.

    Args:
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the same shape and dtype; floats for integers.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    x = lift(x)
    return divide_no_nan(ones_like(x), x)


def _times_log1p(x: Array, y: Array) -> Array | None:
    """The steps of `xlog1py`; where no x is 0 there is nothing to choose."""
    if x.dtype is not y.dtype or x.dtype.char not in "fd":
        return None
    none = x == 0
    if not np.logical_or.reduce(none, None):
        return x * Log1p.formula(y)  # type: ignore[no-any-return]
    y = np.where(none, y.dtype.type(0), y)
    found: Array = np.where(none, y.dtype.type(0), x * Log1p.formula(y))
    return found


def xlog1py(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """x * log(1 + y), and 0 where x is 0, whatever y is.

    Args:
      x, y: Tensors of one float or complex dtype that broadcast together.
    Returns: Tensor of the broadcast shape and the same dtype.
    Raises: DTypeError (a TypeError): another dtype or dtypes that differ; InvalidArgumentError (a ValueError): shapes that do
      not broadcast.
    """
    x, y = lift_pair("xlog1py", x, y)
    if (found := directly(_times_log1p, x, y)) is not None:
        return found
    none = x == lift(0, x.dtype)
    # The argument of the logarithm is replaced as well, so that no derivative is 0 times infinity.
    return where(none, zeros_like(x * y), x * log1p(where(none, zeros_like(y), y)))


def polyval(coeffs: Sequence[Any], x: TensorLike, name: str | None = None) -> Tensor:
    """coeffs[0] * x**n + ... + coeffs[n] by Horner's rule; 0 for no coefficients.

    Args:
      coeffs: A list of tensors of one dtype that broadcast with `x`, the highest power first.
      x: Tensor of any shape, a numeric dtype.
    Returns: Tensor of the broadcast shape.
    Raises: InvalidArgumentError (a ValueError): `coeffs` is not a list.
    Example:
      >>> math.polyval([1.0, 0.0, -1.0], 3.0).numpy()
      np.float32(8.0)
    """
    if not isinstance(coeffs, list | tuple):
        raise InvalidArgumentError(
            f"polyval: coeffs is a {type(coeffs).__name__}; a list of coefficients is needed."
        )
    x = lift(x)
    if not coeffs:
        return zeros_like(x)
    value = lift(coeffs[0]) if isinstance(coeffs[0], Tensor) else lift(coeffs[0], x.dtype)
    for coefficient in coeffs[1:]:
        value = value * x + coefficient
    return value


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """log|B(x)| along the last axis: the sum of log|Gamma(x)| minus log|Gamma(sum of x)|.

    Args:
      x: Float tensor [..., n].
    Returns: Float tensor [...]. For positive elements with a sum from 10 on, the terms of Stirling's formula that cancel are
      taken out first, so that small elements beside large ones lose no digits.
    Raises: DTypeError (a TypeError): another dtype; InvalidArgumentError (a ValueError): it is a scalar.
    Source: NIST Digital Library of Mathematical Functions, 5.12 and 5.11.1.
    """
    x = lift(x)
    total = reduce_sum(x, axis=-1, keepdims=True)
    by_terms = logical_and(
        reduce_all(x > 0, axis=-1, keepdims=True), logical_and(total >= _STIRLING, total < np.inf)
    )
    is_large = logical_and(by_terms, x >= _STIRLING)
    parts = lgamma(where(is_large, 1.0, x))  # of large elements and sums the terms that are left
    inside = where(by_terms, total, _STIRLING)
    terms = parts - where(by_terms, x, 0.0) * (log(inside) - 1.0)
    if not _has_none(is_large):
        terms = where(is_large, _large_terms(where(is_large, x, _STIRLING), x), terms)
    of_total = where(
        by_terms, 0.5 * log(inside) - _HALF - _correction(inside), -lgamma(where(by_terms, 1.0, total))
    )
    return reduce_sum(terms, axis=-1) + squeeze(of_total, -1)


def _has_none(mask: Tensor) -> bool:
    """Whether the elements of a mask are known, and all False."""
    return is_eager(mask) and type(mask.data) is np.ndarray and not mask.data.any()


_STIRLING = 10.0  # from here on the series below is exact in float64
_HALF = 0.5 * math.log(2 * math.pi)
_CORRECTION = tuple(b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI[:9], 1))


def _correction(x: Tensor) -> Tensor:
    """log(Gamma(x)) - (x - 1/2) log(x) + x - log(2 pi) / 2."""
    over = 1.0 / x
    return over * polyval(list(_CORRECTION[::-1]), over * over)


def _large_terms(large: Tensor, x: Tensor) -> Tensor:
    """Of elements from 10 on; x log(x), x and their like of the sum cancel those of its elements."""
    others = cumsum(x, -1, exclusive=True) + cumsum(x, -1, exclusive=True, reverse=True)
    return _correction(large) + _HALF - large * log1p(others / large) - 0.5 * log(large)


def accumulate_n(
    inputs: Sequence[Any],
    shape: ShapeLike | None = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """The sum of tensors of one shape.

    Args:
      inputs: A list of tensors of one shape and one numeric dtype.
      shape, tensor_dtype: Accepted for compatibility.
    Returns: Tensor of their shape and dtype.
    Raises: InvalidArgumentError (a ValueError): the list is empty, or shapes differ; DTypeError (a TypeError): dtypes differ.
    """
    return add_n(inputs)


def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """scalar * x, for a scalar of the dtype of x.

    Args:
      scalar: A number or scalar tensor.
      x: Tensor of any shape, a numeric dtype, or IndexedSlices, whose values are multiplied.
    Returns: Like `x`.
    Raises: InvalidArgumentError (a ValueError): `scalar` is not a scalar.
    """
    x = x if isinstance(x, IndexedSlices) else lift(x)
    factor = lift_like("scalar_mul", scalar, x.dtype)
    if factor.ndim not in (None, 0):
        raise InvalidArgumentError(f"scalar_mul: scalar has shape {factor.shape}; it must be a scalar.")
    if isinstance(x, IndexedSlices):
        return x.with_values(factor * x.values)  # type: ignore[return-value]
    return factor * x


@blaming
def invert_permutation(x: TensorLike, name: str | None = None) -> Tensor:
    """The inverse permutation y, with y[x[i]] = i, of x [n], which holds each of 0 to n - 1 once.

    Args:
      x: Integer tensor [n].
    Returns: Integer tensor [n] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): it is not a vector, or a number is missing.
    Example:
      >>> math.invert_permutation([2, 0, 1]).numpy()
      array([1, 2, 0], dtype=int32)
    """
    x = index_tensor("invert_permutation", x, "x")
    known = directly(_inverse, x)
    if known is not None:
        return known
    count = size(x, x.dtype)
    numbers = range_of(count, dtype=x.dtype)
    y = scatter_nd(expand_dims(x, -1), numbers, count[None])
    # Where a number stands twice, y cannot name both places.
    found = reduce_all(equal(gather(y, x), numbers))
    require(found, "invert_permutation: x is \x00; it must hold each of 0 to n - 1 once.", [x])
    return y


def _inverse(x: Array) -> Array | None:
    """The inverse permutation of an array; None where it is not one, for which the ops have the words."""
    if type(x) is not np.ndarray or x.ndim != 1 or not x.size:
        return None
    if np.minimum.reduce(x) < 0 or np.maximum.reduce(x) >= x.size:
        return None
    places, numbers = x.astype(np.intp, copy=False), np.arange(x.size, dtype=x.dtype)
    y = np.empty_like(numbers)
    y[places] = numbers
    return y if (y.take(places) == numbers).all() else None


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether no element, in order of storage, is below the one before it.

    Args:
      x: Tensor of any shape, a real dtype.
    Returns: Bool scalar; True for fewer than two elements.
    Raises: DTypeError (a TypeError): another dtype.
    """
    x = reshape(x, [-1])
    return reduce_all(x[1:] >= x[:-1])


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Whether each element, in order of storage, is above the one before it.

    Args:
      x: Tensor of any shape, a real dtype.
    Returns: Bool scalar; True for fewer than two elements.
    Raises: DTypeError (a TypeError): another dtype.
    """
    x = reshape(x, [-1])
    return reduce_all(x[1:] > x[:-1])


def confusion_matrix(
    labels: TensorLike,
    predictions: TensorLike,
    num_classes: TensorLike | None = None,
    weights: TensorLike | None = None,
    dtype: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """How often each label occurs with each prediction: [classes, classes], a row for each label and a column for each
    prediction.

    Args:
      labels, predictions: Integers [n].
      num_classes: The number of classes; by default the largest label or prediction plus 1.
      weights: Numbers [n] that are added instead of ones.
      dtype: The dtype of the result.
    Returns: Tensor [classes, classes] of that dtype.
    Raises: InvalidArgumentError (a ValueError): a label or prediction is negative or too large, or the lengths differ.
    Example:
      >>> math.confusion_matrix([0, 1, 1], [0, 1, 0]).numpy()
      array([[1, 0],
             [1, 1]], dtype=int32)
    """
    labels, predictions = lift(labels), lift(predictions)
    if num_classes is None:
        largest = maximum(reduce_max(cast(labels, int32)), reduce_max(cast(predictions, int32)))
        num_classes = largest + 1
    classes = cast(num_classes, int32)
    for what, numbers in (("labels", labels), ("predictions", predictions)):
        is_class = logical_and(numbers >= 0, cast(numbers, int32) < classes)
        message = f"confusion_matrix: `{what}` out of bound: classes are 0 to num_classes - 1; num_classes is \x00, {what} \x00."
        require(reduce_all(is_class), message, [classes, numbers])
    at = stack([cast(labels, int32), cast(predictions, int32)], axis=1)
    dtype = as_dtype(dtype)
    values = ones_like(labels, dtype=dtype) if weights is None else cast(weights, dtype)
    return scatter_nd(at, values, stack([classes] * 2))
