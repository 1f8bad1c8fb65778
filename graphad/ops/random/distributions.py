"""Gamma, Poisson, binomial and truncated normal samples, stateful and stateless, and seeds derived from seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import as_dtype
from graphad.core.kinds import FLOATING, require_kind_of
from graphad.core.refusal import refuse
from graphad.core.shapes import is_definite
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat, stack
from graphad.ops.array.shape import shape as shape_of
from graphad.ops.array.sizes import requested, require_sizes
from graphad.ops.array.static import broadcast_dynamic_shape
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import exp, log, log1p
from graphad.ops.math.incomplete import ndtri
from graphad.ops.math.power import sqrt
from graphad.ops.math.select import maximum, minimum, where
from graphad.ops.math.special import erfc
from graphad.ops.random import philox
from graphad.ops.random.algorithm import check_algorithm
from graphad.ops.random.draw import lift_seed
from graphad.ops.random.gammas import DrawGamma
from graphad.ops.random.generator import fresh_key
from graphad.ops.random.keyed import shuffled
from graphad.ops.random.samples import counts_of
from graphad.ops.random.variates import stateless_uniform

if TYPE_CHECKING:
    from collections.abc import Iterable

    from graphad.core.annotations import Array
    from graphad.core.dtypes import DType
    from graphad.core.shapes import TensorShape


_WIDE = dtypes.float64


def _joined(size: Array | Iterable[Any] | Tensor | TensorShape | int, *parameters: Any) -> Tensor | list[Any]:
    """`size` followed by the broadcast shape of the parameters."""
    known = all(is_definite(p.dims) for p in parameters)
    inner: Any = np.broadcast_shapes(*[p.dims for p in parameters]) if known else None
    if inner is None:
        inner = shape_of(parameters[0])
        for p in parameters[1:]:
            inner = broadcast_dynamic_shape(inner, shape_of(p))
    if known and isinstance(size, list | tuple) and all(isinstance(n, int) for n in size):
        return [*size, *inner]
    head = cast(lift(size) if not hasattr(size, "as_list") else lift(size.as_list()), dtypes.int32)
    return concat([head, cast(lift(np.array(inner, np.int32) if known else inner), dtypes.int32)], 0)


def _gamma(op: str, key: Tensor, size: object, alpha: Any, beta: Any) -> Tensor:
    sizes, given = requested(op, size)
    require_sizes(op, sizes)
    sample = bind(DrawGamma(sizes), key, alpha, *given)
    return maximum(sample if beta is None else sample / beta, lift(_tiny(alpha.dtype), alpha.dtype))


def _tiny(dtype: DType) -> float:
    """The smallest normal number, the lower bound of samples: its logarithm is finite."""
    return 2.0**-14 if dtype is dtypes.float16 else 2.0**-126 if dtype.itemsize <= 4 else 2.0**-1022


def _of_gamma(op: str, alpha: TensorLike, beta: TensorLike | None, dtype: DTypeLike) -> tuple[Any, Any]:
    dtype = require_kind_of(op, as_dtype(dtype), FLOATING)
    return lift_like(op, alpha, dtype), None if beta is None else lift_like(op, beta, dtype)


@blaming
def gamma(
    shape: ShapeLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples of the gamma distribution: [*shape, *broadcast shape of alpha and beta].

    Args:
      shape: The shape of the samples for each parameter.
      alpha: The shape parameter, above 0; gradients flow to it by implicit reparameterisation.
      beta: The inverse of the scale, 1 by default; gradients flow to it.
      dtype: A float dtype.
      seed: Selects a separate stream, which restarts with `set_seed`.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or parameters that do not broadcast; DTypeError (a
      TypeError): another dtype.
    Source: Marsaglia and Tsang, A simple method for generating gamma variables, 2000; the derivative: Figurnov, Mohamed and
      Mnih, Implicit reparameterization gradients, 2018.
    """
    alpha, beta = _of_gamma("random.gamma", alpha, beta, dtype)
    size = _joined(shape, alpha) if beta is None else _joined(shape, alpha, beta)
    return _gamma("random.gamma", fresh_key(seed), size, alpha, beta)


def stateless_gamma(
    shape: ShapeLike,
    seed: TensorLike,
    alpha: TensorLike,
    beta: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Samples of the gamma distribution that depend on `seed` ([2] integers) and the parameters alone: as `gamma`, but of the
    shape `shape`, to which alpha and beta are broadcast.

    Args:
      shape: The shape of the result.
      seed: Integer tensor [2].
      alpha: The shape parameter, above 0; gradients flow to it.
      beta: The inverse of the scale, 1 by default; gradients flow to it.
      dtype: A float dtype.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): parameters that do not broadcast to the shape, or the seed is not two integers.
    Source: Marsaglia and Tsang, A simple method for generating gamma variables, 2000; the derivative: Figurnov, Mohamed and
      Mnih, Implicit reparameterization gradients, 2018.
    """
    alpha, beta = _of_gamma("random.stateless_gamma", alpha, beta, dtype)
    return _gamma("random.stateless_gamma", lift_seed(seed), shape, alpha, beta)


@blaming
def poisson(
    shape: ShapeLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Samples of the Poisson distribution: [*shape, *shape of lam]. No gradient.

    Args:
      shape: The shape of the samples for each rate.
      lam: The rates, 0 or more; samples of an invalid rate are -1.
      dtype: A real dtype.
      seed: Selects a separate stream, which restarts with `set_seed`.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative; DTypeError (a TypeError): another dtype.
    Source: Hoermann, The transformed rejection method for generating Poisson random variables, 1993.
    """
    rate = cast(lift(lam), _WIDE)
    return counts_of("random.poisson", "poisson", fresh_key(seed), _joined(shape, rate), [rate], dtype)


def stateless_poisson(
    shape: ShapeLike,
    seed: TensorLike,
    lam: TensorLike,
    dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Samples of the Poisson distribution that depend on `seed` ([2] integers) and the rates alone: as `poisson`, but of the
    shape `shape`, to which lam is broadcast.

    Args:
      shape: The shape of the result.
      seed: Integer tensor [2].
      lam: The rates, 0 or more.
      dtype: A real dtype.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): rates that do not broadcast to the shape, or the seed is not two integers.
    Source: Hoermann, The transformed rejection method for generating Poisson random variables, 1993.
    """
    return counts_of(
        "random.stateless_poisson", "poisson", lift_seed(seed), shape, [cast(lift(lam), _WIDE)], dtype
    )


def stateless_binomial(
    shape: ShapeLike,
    seed: TensorLike,
    counts: TensorLike,
    probs: TensorLike,
    output_dtype: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Samples of the binomial distribution that depend on `seed` ([2] integers) and the parameters alone. No gradient.

    Args:
      shape: The shape of the result, to which counts and probs are broadcast.
      seed: Two integers.
      counts: Numbers of trials; without any, 0 or fewer, the sample is 0.
      probs: Probabilities; below 0 they count as 0, above 1 as 1. A NaN gives NaN, or -1 in an integer dtype.
      output_dtype: A real dtype.
    Returns: Tensor of shape `shape` and dtype `output_dtype`.
    Raises: InvalidArgumentError (a ValueError): parameters that do not broadcast to the shape, or the seed is not two integers.
    Source: Kachitvichyanukul and Schmeiser, Binomial random variate generation, 1988.
    """
    parameters = [cast(lift(counts), _WIDE), cast(lift(probs), _WIDE)]
    return counts_of(
        "random.stateless_binomial", "binomial", lift_seed(seed), shape, parameters, output_dtype
    )


def stateless_parameterized_truncated_normal(
    shape: ShapeLike,
    seed: TensorLike,
    means: TensorLike = 0.0,
    stddevs: TensorLike = 1.0,
    minvals: TensorLike = -2.0,
    maxvals: TensorLike = 2.0,
    name: str | None = None,
) -> Tensor:
    """Truncated normal samples that depend on `seed` ([2] integers) and the parameters alone; gradients flow to all parameters.

    Args:
      shape: The shape of the result, to which the parameters are broadcast.
      seed: Two integers.
      means, stddevs: Mean and standard deviation of the normal distribution before truncation.
      minvals, maxvals: The bounds.
    Returns: Float tensor of that shape.
    Raises: InvalidArgumentError (a ValueError): parameters that do not broadcast to the shape, or the seed is not two integers.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      normal numbers as of Box and Muller, A note on the generation of random normal deviates, 1958.
    """
    op = "random.stateless_parameterized_truncated_normal"
    mean = lift(means)
    given = [mean, *(lift_like(op, x, mean.dtype) for x in (stddevs, minvals, maxvals))]
    mean, deviation, low, high = (
        cast(x, _WIDE) for x in given
    )  # float32 has no probability of 14 deviations
    u = maximum(stateless_uniform(shape, seed, dtype=_WIDE), 2.0**-54)  # 0 would be an infinite bound
    a, b = (low - mean) / deviation, (high - mean) / deviation
    is_above = a + b > 0  # then sample the mirrored interval, where small probabilities keep all their digits
    left, right = where(is_above, -b, a), where(is_above, -a, b)
    below, upto = _probability(left), _probability(right)
    z = where(right < -_FAR, _in_tail(left, right, u), ndtri(below + (upto - below) * u))
    z = minimum(maximum(z, left), right)
    return cast(mean + deviation * where(is_above, -z, z), given[0].dtype)


def _probability(z: Tensor) -> Tensor:
    """The probability that a standard normal number is below z."""
    return 0.5 * erfc(z * -(2.0**-0.5))


_FAR = 30.0  # deviations from which on the series below has all its digits; float64 has no probability of 39


def _in_tail(left: Tensor, right: Tensor, u: Tensor) -> Tensor:
    """The number between the bounds, beyond -_FAR, below which a normal one is with the part u of their probability.

    The probability above x is e^(-x^2 / 2) m(x) / sqrt(2 pi), with m the ratio of Mills. What is left of it at x, compared with
    that at the near bound, gives x^2 but for log(m(x)), whose slope is so small that three rounds are enough.
    """
    near = maximum(-right, _FAR)
    beyond = minimum(maximum(-left, near), near + 40.0)  # what is further does not count
    start = _log_mills(near)
    least = exp(0.5 * (near - beyond) * (near + beyond) + _log_mills(beyond) - start)
    rest = log(least + (1.0 - least) * u)
    x = near
    for _ in range(3):
        x = sqrt(near * near - 2.0 * rest + 2.0 * (_log_mills(x) - start))
    return -x


def _log_mills(x: Tensor) -> Tensor:
    """The logarithm of (1 - P(x)) / p(x) of the normal distribution, for x from _FAR on: an asymptotic series."""
    square = 1.0 / (x * x)
    return log1p(square * (-1.0 + square * (3.0 + square * (-15.0 + square * 105.0)))) - log(x)


def split(seed: TensorLike, num: TensorLike = 2, alg: object = "auto_select") -> Tensor:
    """New seeds for the stateless functions from one: [num, 2], of the dtype of `seed`.

    Args:
      seed: Integer tensor [2].
      num: The number of seeds.
      alg: Accepted for compatibility.
    Returns: Integer tensor [num, 2].
    Raises: InvalidArgumentError (a ValueError): the seed is not two integers.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    check_algorithm("random.split", alg)
    key = lift_seed(seed)
    return stateless_uniform(stack([cast(lift(num), dtypes.int32), lift(2)]), key, None, None, key.dtype)


def fold_in(seed: TensorLike, data: TensorLike, alg: object = "auto_select") -> Tensor:
    """A seed derived from a seed and an integer, such as the number of a step: [2], of the dtype of `data`.

    Args:
      seed: Integer tensor [2].
      data: Integer scalar.
      alg: Accepted for compatibility.
    Returns: Integer tensor [2].
    Raises: InvalidArgumentError (a ValueError): the seed is not two integers.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    check_algorithm("random.fold_in", alg)
    number = lift(data)
    return stack([stateless_uniform([], lift_seed(seed), None, None, number.dtype), number])


def create_rng_state(seed: int, alg: object) -> np.ndarray:
    """The initial state of a generator with a given seed, for `Generator.from_state`.

    Args:
      seed: An int.
      alg: Accepted for compatibility.
    Returns: A NumPy array [2] of integers.
    Raises: InvalidArgumentError (a ValueError): the seed is not an integer.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    check_algorithm("random.create_rng_state", alg)
    try:
        number = int(seed)
    except (TypeError, ValueError, OverflowError) as cause:
        refuse(cause, "random.create_rng_state", "seed", seed, "an integer is needed")
    return philox.key_of_seed(number)


def stateless_shuffle(
    value: TensorLike, seed: TensorLike, alg: object = "auto_select", name: str | None = None
) -> Tensor:
    """`value` with its slices along axis 0 in an order that depends on `seed` alone; differentiable.

    Args:
      value: Tensor of any shape and dtype.
      seed: Two integers.
      alg: Accepted for compatibility; the algorithm is always Philox.
    Returns: Tensor of the same shape and dtype.
    Raises: InvalidArgumentError (a ValueError): `value` is a scalar, or the seed has another shape.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011.
    """
    check_algorithm("random.experimental.stateless_shuffle", alg)
    return shuffled(lift_seed(seed), value)
