"""Sums from which moments are computed, and normalisation of images by moments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.errors import ArgumentTypeError
from graphad.core.shapes import are_numbers, normalize_axes
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like
from graphad.ops.math.arithmetic import square
from graphad.ops.math.cast import cast
from graphad.ops.math.power import reciprocal
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.nn.normalize import batch_normalization


@blaming
def sufficient_statistics(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """The sums from which mean and variance along `axes` are computed.

    Args:
      x: Tensor of any shape, a float dtype.
      axes: The axes to sum over.
      shift: Subtracted first, so that large numbers close to each other keep their digits; of the shape of the sums, or None.
      keepdims: Whether to keep the reduced axes with size 1.
    Returns: (the number of summed elements, a scalar; their sum; the sum of their squares; `shift`), of the dtype of x.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    """
    x = lift(x)
    dims: Any = x.dims
    each: Any = x if shift is None else x - lift_like("sufficient_statistics", shift, x.dtype)
    if dims is not None and are_numbers(dims):
        gone = normalize_axes("sufficient_statistics", axes, len(dims), "x", dims) or ()
        members = cast(math.prod(dims[axis] for axis in gone), x.dtype)
    else:  # all sums have the same number of elements
        count = reduce_sum(ones_like(x), axes)
        members = reduce_sum(count) / cast(reduce_sum(ones_like(count)), x.dtype)
    own = None if shift is None else lift_like("sufficient_statistics", shift, x.dtype)
    return members, reduce_sum(each, axes, keepdims), reduce_sum(square(each), axes, keepdims), own


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike | None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance from the result of `sufficient_statistics`.

    Args:
      counts: Scalar: the number of summed elements; a float dtype.
      mean_ss, variance_ss: Tensors of one shape: the sums of the elements and of their squares.
      shift: The `shift` that was subtracted first, or None.
    Returns: (mean, variance), tensors of the shape and dtype of the sums.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    total = lift(mean_ss)
    part: Any = reciprocal(lift_like("normalize_moments", counts, total.dtype))
    squares = lift_like("normalize_moments", variance_ss, total.dtype)
    mean = total * part
    variance = squares * part - square(mean)
    return (mean if shift is None else mean + lift_like("normalize_moments", shift, total.dtype)), variance


def batch_norm_with_global_normalization(
    input: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    beta: TensorLike,
    gamma: TensorLike,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """`batch_normalization` with an optional factor.

    Args:
      input: Tensor [batch, height, width, channels], a float dtype.
      mean, variance: Tensors [channels].
      beta: Tensor [channels]: the offset.
      gamma: Tensor [channels], the factor.
      variance_epsilon: A small number that is added to the variance.
      scale_after_normalization: Whether to multiply by gamma.
    Returns: Tensor of the shape and dtype of the input.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Source: Ioffe and Szegedy, Batch normalization: accelerating deep network training by reducing internal covariate shift,
      2015.
    """
    if not isinstance(scale_after_normalization, bool | np.bool_):
        raise ArgumentTypeError(
            "batch_norm_with_global_normalization: scale_after_normalization must be True or False, got a "
            f"{type(scale_after_normalization).__name__}."
        )
    factor = gamma if scale_after_normalization else None
    return batch_normalization(input, mean, variance, beta, factor, variance_epsilon)
