"""Moments, normalisation, dropout, and small functions for layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.annotations import AxisLike, ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like, lift_own, stands_for_tensor
from graphad.core.dtypes import bfloat16, float16, float32
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import FLOATING, require_kind
from graphad.core.refusal import refuse
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.squeezing import squeeze
from graphad.ops.array.support import require_number
from graphad.ops.linalg import clip_by_norm
from graphad.ops.math import cast, reduce_mean, rsqrt, square, where
from graphad.ops.math.arithmetic import ADD
from graphad.ops.math.sum_of_products import sum_of_products
from graphad.ops.random import stateless_uniform, uniform


@blaming
def moments(
    x: TensorLike,
    axes: AxisLike,
    shift: TensorLike | None = None,
    keepdims: bool = False,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The mean of x and its biased variance over `axes`; float16 is computed in float32.

    Args:
      x: Tensor [...], a float dtype.
      axes: The axis or axes of the means, a list.
      shift: Ignored.
      keepdims: Keep the axes with size 1.
    Returns: (mean, variance), both without these axes, of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an axis is out of range.
    Example:
      >>> nn.moments([1.0, 3.0], [0])[1].numpy()
      np.float32(1.0)
    """
    x = lift(x)
    narrow = x.dtype is float16
    x = cast(x, float32) if narrow else x
    mean = reduce_mean(x, axis=axes, keepdims=True)
    variance = reduce_mean(square(x - mean), axis=axes, keepdims=keepdims)
    mean = mean if keepdims else squeeze(mean, axes)
    return (cast(mean, float16), cast(variance, float16)) if narrow else (mean, variance)


def widened(x: Any) -> Any:
    """float16 and bfloat16 as float32, in which a variance neither overflows nor has the digits of a few bits."""
    return cast(x, float32) if x.dtype in (float16, bfloat16) else x


def batch_normalization(
    x: TensorLike,
    mean: TensorLike,
    variance: TensorLike,
    offset: TensorLike | None,
    scale: TensorLike | None,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset; `offset` and `scale` may be None.

    Args:
      x: Float tensor [..., features].
      mean, variance: Tensors of the same dtype that broadcast with `x`.
      offset, scale: Likewise, or None.
      variance_epsilon: A small number that is added to the variance.
    Returns: Tensor of the shape and dtype of `x`.
    Raises: InvalidArgumentError (a ValueError): shapes that do not broadcast; DTypeError (a TypeError): dtypes that differ.
    Source: Ioffe and Szegedy, Batch normalization: accelerating deep network training by reducing internal covariate shift,
      2015.
    """
    x = lift(x)
    mean, variance = (lift_like("batch_normalization", item, x.dtype) for item in (mean, variance))
    factor = rsqrt(variance + variance_epsilon)
    if scale is not None:
        factor = factor * scale
    try:
        shifted = -mean * factor if offset is None else offset - mean * factor
    except TypeError as cause:
        refuse(cause, "batch_normalization", "offset", offset, "a float tensor or None is needed")
    return x * cast(factor, x.dtype) + cast(shifted, x.dtype)


@blaming
def bias_add(
    value: TensorLike, bias: TensorLike, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """value + bias along the last axis, or along axis 1 for data_format "NC...".

    Args:
      value: Tensor [..., features] of a numeric dtype.
      bias: Vector [features] of the same dtype.
      data_format: "NC..." if the features are along axis 1; otherwise they are along the last.
    Returns: Tensor of the shape and dtype of `value`.
    Raises: InvalidArgumentError (a ValueError): bias is not a vector, or its size is not that of the axis.
    Example:
      >>> nn.bias_add([[1.0, 2.0]], [10.0, 20.0]).numpy()
      array([[11., 22.]], dtype=float32)
    """
    value = lift(value)
    bias = lift_like("bias_add", bias, value.dtype)
    if bias.ndim not in (None, 1):
        raise InvalidArgumentError(f"bias_add: bias has shape {bias.shape}; a vector is needed.")
    first = data_format is not None and data_format.startswith("NC")
    if value.dims is not None:
        if len(value.dims) < 2:
            raise InvalidArgumentError(
                f"bias_add: value has shape {format_dims(value.dims)}; it must have rank 2 or more."
            )
        size, mine = value.dims[1 if first else -1], None if bias.dims is None else bias.dims[0]
        if size is not None and mine is not None and size != mine:
            raise InvalidArgumentError(
                f"bias_add: bias has {mine} elements, axis {1 if first else len(value.dims) - 1} of value with shape "
                f"{format_dims(value.dims)} has {size}; they must be equal."
            )
        if first:
            bias = reshape(bias, [-1] + [1] * (len(value.dims) - 2))
    elif first:
        raise InvalidArgumentError(
            f"bias_add: the rank of value must be known for data_format {data_format!r}."
        )
    return bind(ADD, value, bias)


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """sum(t**2) / 2.

    Args:
      t: Tensor of any shape, a float dtype.
    Returns: Scalar of the same dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Example:
      >>> nn.l2_loss([3.0, 4.0]).numpy()
      np.float32(12.5)
    """
    t = lift(t)
    return sum_of_products(t, t) * 0.5


@blaming
def dropout(
    x: TensorLike,
    rate: TensorLike,
    noise_shape: ShapeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """x with a random fraction `rate` of its elements set to 0 and the others divided by 1 - rate.

    Args:
      x: Tensor of any shape, a float dtype.
      rate: The fraction that is dropped, 0 <= rate < 1; a number or scalar tensor.
      noise_shape: The shape of the random mask, which is broadcast to x; a size of None is that of x.
      seed: A seed for reproducible masks.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a rate outside 0 to 1; DTypeError (a TypeError): another dtype.
    Source: Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, Dropout: a simple way to prevent neural networks
      from overfitting, 2014.
    Example:
      >>> nn.dropout([1.0, 2.0], 0.0).numpy()
      array([1., 2.], dtype=float32)
    """
    return dropped(
        "dropout", x, rate, noise_shape, lambda sizes, dtype: uniform(sizes, dtype=dtype, seed=seed)
    )


def dropped(
    op: str, x: TensorLike, rate: TensorLike, noise_shape: ShapeLike | None, draw: Callable[[Any, Any], Any]
) -> Tensor:
    """`dropout` with random numbers from 0 to 1 that `draw` returns for a shape and a dtype."""
    x = lift_own(x)
    require_kind(op, x, FLOATING, why=", since x is scaled")
    part: Any = rate
    require_number(op, rate, "rate")
    if stands_for_tensor(rate):
        part = cast(rate, x.dtype)
    elif not 0 <= part < 1:
        raise InvalidArgumentError(f"{op}: rate {rate} is out of range; 0 <= rate < 1 is needed.")
    elif part == 0:
        return x
    sizes: Any = x.shape if x.shape.is_fully_defined() else shape(x)
    if isinstance(noise_shape, list | tuple):
        sizes = [sizes[k] if size is None else size for k, size in enumerate(noise_shape)]
    elif noise_shape is not None:
        sizes = noise_shape
    kept = draw(sizes, x.dtype) >= lift_like(op, part, x.dtype)
    return where(kept, x * (1.0 / (1.0 - part)), lift(0.0, x.dtype))


def stateless_dropout(
    x: TensorLike,
    rate: TensorLike,
    seed: TensorLike,
    rng_alg: str | None = None,
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` with a mask that depends on a seed alone.

    Args:
      x: Tensor of any shape, a float dtype.
      rate: The fraction that is dropped, 0 <= rate < 1; a number or scalar tensor.
      seed: Integer tensor [2].
      rng_alg: Accepted for compatibility; there is one algorithm.
      noise_shape: The shape of the random mask, which is broadcast to x; a size of None is that of x.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a rate outside 0 to 1; DTypeError (a TypeError): another dtype.
    Source: Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, Dropout: a simple way to prevent neural networks
      from overfitting, 2014.
    """
    return dropped(
        "stateless_dropout",
        x,
        rate,
        noise_shape,
        lambda sizes, dtype: stateless_uniform(sizes, seed, dtype=dtype),
    )


def general_dropout(
    x: TensorLike,
    rate: TensorLike,
    uniform_sampler: Callable[..., Any],
    noise_shape: ShapeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """`dropout` with random numbers from a given function.

    Args:
      x: Tensor of any shape, a float dtype.
      rate: The fraction that is dropped, 0 <= rate < 1; a number or scalar tensor.
      uniform_sampler: Called with `shape` and `dtype`; returns numbers from 0 to 1.
      noise_shape: The shape of the random mask, which is broadcast to x; a size of None is that of x.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a rate outside 0 to 1; DTypeError (a TypeError): another dtype.
    Source: Srivastava, Hinton, Krizhevsky, Sutskever and Salakhutdinov, Dropout: a simple way to prevent neural networks
      from overfitting, 2014.
    """
    return dropped(
        "general_dropout",
        x,
        rate,
        noise_shape,
        lambda sizes, dtype: uniform_sampler(shape=sizes, dtype=dtype),
    )


def whole_table(params: Any) -> Any:
    """A table of embeddings as one tensor: a list of tensors is its parts, one behind the other."""
    if isinstance(params, list | tuple) and params and stands_for_tensor(params[0]):
        return params[0] if len(params) == 1 else concat(list(params), 0)
    return params


def embedding_lookup(
    params: TensorLike, ids: TensorLike, max_norm: float | None = None, name: str | None = None
) -> Tensor:
    """The rows `ids` of `params`, scaled down to norm `max_norm` if that is given and they are longer.

    Args:
      params: Tensor [n, ...] of any dtype, or of a float one with `max_norm`; or a list of tensors, its parts one behind the
        other.
      ids: Integer tensor [...].
      max_norm: The largest norm of a row; None does not limit it.
    Returns: Tensor [*ids.shape, ...] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): an id is out of range.
    Example:
      >>> nn.embedding_lookup([[1.0, 2.0], [3.0, 4.0]], [1, 0]).numpy()
      array([[3., 4.],
             [1., 2.]], dtype=float32)
    """
    rows = gather(whole_table(params), ids)
    if max_norm is None:
        return rows
    first, last = lift(ids).ndim, rows.ndim
    if first is None or last is None:
        raise InvalidArgumentError(
            "embedding_lookup: the ranks of params and ids must be known for max_norm."
        )
    return clip_by_norm(rows, max_norm, list(range(first, last)))
