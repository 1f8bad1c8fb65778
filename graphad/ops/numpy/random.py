"""Random numbers by the names of NumPy's legacy functions, float64; `graphad.random.set_seed` and `seed` make them
reproducible."""

from __future__ import annotations

from collections.abc import Sequence

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.convert import lift
from graphad.core.dtypes import float64
from graphad.core.tensor import Tensor
from graphad.ops.math import cast
from graphad.ops.numpy.promotion import usual_float
from graphad.ops.random import get_global_generator, normal, set_seed, stateless_poisson
from graphad.ops.random import uniform as drawn_between


def seed(s: float) -> None:
    """Restart the global generator from a seed, so that later draws are reproducible: `random.set_seed`.

    Args: s: An integer.
    Raises: ArgumentTypeError (a TypeError): `s` is not an integer.
    Example:
      >>> numpy.random.seed(1)
    """
    set_seed(s)


def rand(*size: int) -> Tensor:
    """Uniform numbers from 0, included, to 1, excluded; the sizes are arguments.

    Args: size: The sizes of the result.
    Returns: float64 tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    Example:
      >>> numpy.random.rand(2, 3).shape
      TensorShape([2, 3])
    """
    return drawn_between(size, dtype=usual_float())


def random(size: int | Sequence[int] | None = None) -> Tensor:
    """Uniform numbers from 0, included, to 1, excluded.

    Args: size: The sizes of the result, or one size of a vector; a scalar by default.
    Returns: float64 tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return drawn_between(_sizes(size), dtype=usual_float())


def uniform(low: TensorLike = 0.0, high: TensorLike = 1.0, size: int | Sequence[int] | None = None) -> Tensor:
    """Uniform numbers from `low`, included, to `high`, excluded.

    Args:
      low, high: The bounds.
      size: The sizes of the result, or one size of a vector; a scalar by default.
    Returns: float64 tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    return drawn_between(_sizes(size), low, high, usual_float())


def randn(*size: int) -> Tensor:
    """Normally distributed numbers with mean 0 and standard deviation 1; the sizes are arguments.

    Args: size: The sizes of the result.
    Returns: float64 tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Source: See `graphad.random.normal`.
    Example:
      >>> numpy.random.randn(4).shape
      TensorShape([4])
    """
    return normal(size, dtype=usual_float())


def standard_normal(size: int | Sequence[int] | None = None) -> Tensor:
    """Normally distributed numbers with mean 0 and standard deviation 1.

    Args: size: The sizes of the result, or one size of a vector; a scalar by default.
    Returns: float64 tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Source: See `graphad.random.normal`.
    """
    return normal(_sizes(size), dtype=usual_float())


def poisson(lam: TensorLike = 1.0, size: int | Sequence[int] | None = None) -> Tensor:
    """Counts of the Poisson distribution.

    Args:
      lam: Real tensor: the mean, not negative.
      size: The shape, to which `lam` is broadcast; that of `lam` by default.
    Returns: int64 tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): `lam` does not broadcast to the shape.
    """
    rate = cast(lift(lam), float64)
    shape = rate.shape if size is None else (size,) if isinstance(size, int) else size
    return stateless_poisson(shape, get_global_generator().next_key(), rate, "int64")


def randint(
    low: TensorLike,
    high: TensorLike | None = None,
    size: int | Sequence[int] | None = None,
    dtype: DTypeLike = "int64",
) -> Tensor:
    """Uniform integers from `low` to high - 1, or from 0 to low - 1 if `high` is not given.

    Args:
      low: The lowest number; if `high` is not given, the upper bound, and 0 is the lowest.
      high: The upper bound, excluded.
      size: The sizes of the result, or one size of a vector; a scalar by default.
      dtype: The dtype of the result.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or there is no integer between the bounds.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    Example:
      >>> numpy.random.randint(6, size=3).shape
      TensorShape([3])
    """
    first, last = (0, low) if high is None else (low, high)
    return cast(drawn_between(_sizes(size), first, last, "int64"), dtype)


def _sizes(size: int | Sequence[int] | None) -> Sequence[int] | int:
    return () if size is None else size
