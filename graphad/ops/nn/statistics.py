"""Sums from which moments are made, and normalisation of images by moments."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.errors import ArgumentTypeError
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones_like
from graphad.ops.math.arithmetic import square
from graphad.ops.math.cast import cast
from graphad.ops.math.power import reciprocal
from graphad.ops.math.reduce import reduce_sum
from graphad.ops.nn.normalize import batch_normalization


def sufficient_statistics(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """What mean and variance along `axes` are made of.

    Args:
      x: Tensor of any shape, a float dtype.
      axes: The axes to sum over.
      shift: What to subtract first, so that large numbers near each other keep their digits; of the shape of the sums, or None.
      keepdims: Whether the axes stay, with size 1.
    Returns: (how many elements are summed, a scalar; their sum; the sum of their squares; `shift`), of the dtype of x.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    """
    x = lift(x)
    count = reduce_sum(ones_like(x), axes)
    each: Any = x if shift is None else x - lift_like("sufficient_statistics", shift, x.dtype)
    # All sums have as many elements.
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
    """Mean and variance from what `sufficient_statistics` gives.

    Args:
      counts: Scalar: how many elements were summed; a float dtype.
      mean_ss, variance_ss: Tensors of one shape: the sums of the elements and of their squares.
      shift: What was subtracted first, or None.
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
    """`batch_normalization`, whose factor is left out unless it is asked for.

    Args:
      input: Tensor [batch, height, width, channels], a float dtype.
      mean, variance: Tensors [channels].
      beta: Tensor [channels], which is added.
      gamma: Tensor [channels], the factor.
      variance_epsilon: What is added to the variance.
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
