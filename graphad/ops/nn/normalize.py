"""Moments, normalisation by them, and small helpers of layers."""

from __future__ import annotations

from typing import Any

from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.shape import reshape, shape, squeeze
from graphad.ops.math import reduce_mean, reduce_sum, rsqrt, square, where
from graphad.ops.random import uniform


def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The mean of x and its biased variance over `axes`."""
    x = lift(x)
    mean = reduce_mean(x, axis=axes, keepdims=True)
    variance = reduce_mean(square(x - mean), axis=axes, keepdims=keepdims)
    return (mean if keepdims else squeeze(mean, axes)), variance


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: float, name: str | None = None
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset; `offset` and `scale` may be None."""
    factor = rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    shifted = -mean * factor if offset is None else offset - mean * factor
    return x * factor + shifted


def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """value + bias along the last axis, or along axis 1 for data_format "NC...". bias is a vector."""
    value, bias = lift(value), lift(bias)
    if bias.ndim not in (None, 1):
        raise InvalidArgumentError(f"bias_add: bias has shape {bias.shape}; a vector is needed.")
    if data_format is not None and data_format.startswith("NC") and value.ndim:
        bias = reshape(bias, [-1] + [1] * (value.ndim - 2))
    return value + bias


def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """sum(t**2) / 2."""
    t = lift(t)
    return reduce_sum(square(t)) * 0.5


def dropout(x: Any, rate: float, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """x with a random part `rate` set to 0 and the rest divided by 1 - rate."""
    x = lift(x)
    if not 0 <= rate < 1:
        raise InvalidArgumentError(f"dropout: rate {rate} is out of range; 0 <= rate < 1.")
    if rate == 0:
        return x
    sizes = noise_shape if noise_shape is not None else x.shape if x.shape.is_fully_defined() else shape(x)
    kept = uniform(sizes, dtype=x.dtype, seed=seed) >= lift(rate, x.dtype)
    return where(kept, x * (1.0 / (1.0 - rate)), lift(0.0, x.dtype))
