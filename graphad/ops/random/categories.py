"""Draws of classes by the Gumbel-max method: Gumbel noise is added to the log-probabilities, and the largest sum wins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import as_dtype, float32, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.join import stack
from graphad.ops.array.shape import shape
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import log
from graphad.ops.math.position import argmax
from graphad.ops.random.variates import stateless_uniform, uniform

if TYPE_CHECKING:
    import numpy as np

    from graphad.core.dtypes import DType

_SMALLEST = 2.0**-24  # the spacing of float32 draws in [0, 1); keeps the argument of log above 0


@blaming
def categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    dtype: DTypeLike | None = None,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Classes drawn with the probabilities softmax(logits): [batch, classes] gives [batch, num_samples].

    Args:
      logits: Real tensor [batch, classes]: the logarithms of unnormalised probabilities.
      num_samples: The number of draws for each row.
      dtype: int64 by default, or int32.
      seed: As for `uniform`.
    Returns: Integer tensor [batch, num_samples].
    Raises: InvalidArgumentError (a ValueError): the logits are not a matrix.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      classes by Gumbel's noise: Maddison, Tarlow and Minka, A* sampling, 2014.
    """
    logits = _rows("categorical", logits)
    return _drawn(logits, uniform(_sizes(logits, num_samples), seed=seed), dtype)


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = int64,
    name: str | None = None,
) -> Tensor:
    """As `categorical`, but the draws depend on `seed` ([2] integers) and the logits alone.

    Args:
      logits: Float tensor [batch, classes].
      num_samples: The number of draws for each row.
      seed: Integer tensor [2].
      dtype: int64 or int32.
    Returns: Integer tensor [batch, num_samples].
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit; DTypeError (a TypeError): another dtype.
    Source: The bits are those of Philox: Salmon, Moraes, Dror and Shaw, Parallel random numbers: as easy as 1, 2, 3, 2011;
      classes by Gumbel's noise: Maddison, Tarlow and Minka, A* sampling, 2014.
    """
    logits = _rows("stateless_categorical", logits)
    return _drawn(logits, stateless_uniform(_sizes(logits, num_samples), seed), dtype)


def _rows(op: str, logits: TensorLike) -> Tensor:
    logits = lift(logits)
    if logits.ndim not in (None, 2):
        raise InvalidArgumentError(f"{op}: logits has shape {logits.shape}; [batch, classes] is needed.")
    return logits if logits.dtype == float32 else cast(logits, float32)


def _sizes(logits: TensorLike, num_samples: TensorLike) -> Tensor:
    sizes = shape(logits)
    return stack([sizes[0], cast(num_samples, sizes.dtype), sizes[1]])


def _drawn(logits: Tensor, u: Tensor, dtype: DType | np.dtype[Any] | str | type | None) -> Tensor:
    noise = -log(-log(u + _SMALLEST * 0.5))
    return argmax(logits[:, None] + noise, axis=-1, output_type=int64 if dtype is None else as_dtype(dtype))
