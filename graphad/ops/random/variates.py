"""The functions that draw numbers: from the global generator, from the stream of a seed, or from a seed alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.tensor import Tensor
from graphad.ops.random.algorithm import check_algorithm
from graphad.ops.random.draw import lift_seed
from graphad.ops.random.keyed import normal_of, shuffled, uniform_of

if TYPE_CHECKING:
    pass

from graphad.ops.random.generator import fresh_key


@blaming
def normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers.

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      mean, stddev: Numbers or tensors that broadcast; gradients flow to them.
      dtype: A float dtype.
      seed: Names a stream of its own, which starts anew with `set_seed`.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative; DTypeError (a TypeError): no float dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      normal numbers as of Box and Muller, A note on the generation of random normal deviates, 1958.
    Example:
      >>> random.normal([2, 3]).shape
      TensorShape([2, 3])
    """
    return normal_of("normal", fresh_key(seed), shape, mean, stddev, dtype)


@blaming
def truncated_normal(
    shape: ShapeLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Normal numbers within two standard deviations of the mean.

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      mean, stddev: Numbers or tensors that broadcast; gradients flow to them.
      dtype: A float dtype.
      seed: As for `normal`.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative; DTypeError (a TypeError): no float dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      normal numbers as of Box and Muller, A note on the generation of random normal deviates, 1958.
    """
    return normal_of("truncated_normal", fresh_key(seed), shape, mean, stddev, dtype)


@blaming
def uniform(
    shape: ShapeLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Uniform numbers from `minval`, included, to `maxval`, excluded.

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      minval: The lower bound, included.
      maxval: The upper bound, excluded: by default 1 for float dtypes, required for integer ones.
      dtype: A float or integer dtype.
      seed: Names a stream of its own, which starts anew with `set_seed`.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or integers without `maxval`; DTypeError (a TypeError):
      another dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    Example:
      >>> random.uniform([2, 3]).shape
      TensorShape([2, 3])
    """
    return uniform_of(fresh_key(seed), shape, minval, maxval, dtype)


@blaming
def shuffle(value: TensorLike, seed: int | None = None, name: str | None = None) -> Tensor:
    """`value` with its slices along axis 0 in random order; differentiable.

    Args:
      value: Tensor [n, ...] of any dtype.
      seed: As for `uniform`.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): it is a scalar.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return shuffled(fresh_key(seed), value)


def stateless_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: object = "auto_select",
) -> Tensor:
    """Normal numbers that depend on `seed` ([2] integers) and nothing else.

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      seed: Integer tensor [2].
      mean, stddev: Numbers or tensors that broadcast; gradients flow to them.
      dtype: A float dtype.
      alg: Accepted for compatibility: there is one algorithm.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or the seed is not two integers; DTypeError (a TypeError):
      no float dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      normal numbers as of Box and Muller, A note on the generation of random normal deviates, 1958.
    Example:
      >>> reduce_all(random.stateless_normal([2], [1, 2]) == random.stateless_normal([2], [1, 2])).numpy()
      np.True_
    """
    check_algorithm("random.stateless_normal", alg)
    return normal_of("normal", lift_seed(seed), shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    mean: TensorLike = 0.0,
    stddev: TensorLike = 1.0,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: object = "auto_select",
) -> Tensor:
    """Normal numbers within two standard deviations that depend on `seed` ([2] integers) and nothing else.

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      seed: Integer tensor [2].
      mean, stddev: Numbers or tensors that broadcast; gradients flow to them.
      dtype: A float dtype.
      alg: Accepted for compatibility: there is one algorithm.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or the seed is not two integers; DTypeError (a TypeError):
      no float dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      normal numbers as of Box and Muller, A note on the generation of random normal deviates, 1958.
    """
    check_algorithm("random.stateless_truncated_normal", alg)
    return normal_of("truncated_normal", lift_seed(seed), shape, mean, stddev, dtype)


def stateless_uniform(
    shape: ShapeLike,
    seed: TensorLike,
    minval: TensorLike | None = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
    alg: object = "auto_select",
) -> Tensor:
    """Uniform numbers from `minval`, included, to `maxval`, excluded, that depend on `seed` ([2] integers) and nothing else.

    Args:
      shape: Sizes: a list, a shape, or an integer tensor.
      seed: Integer tensor [2].
      minval: The lower bound, included.
      maxval: The upper bound, excluded: by default 1 for float dtypes, required for integer ones.
      dtype: A float or integer dtype.
      alg: Accepted for compatibility: there is one algorithm.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or the seed is not two integers; DTypeError (a TypeError):
      another dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    check_algorithm("random.stateless_uniform", alg)
    return uniform_of(lift_seed(seed), shape, minval, maxval, dtype)
