"""Initial values of weights: functions of (shape, dtype).

Glorot and He scales after Glorot & Bengio (2010) and He et al. (2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops.array.create import ones as ones_of
from graphad.ops.array.create import zeros as zeros_of
from graphad.ops.random import normal, truncated_normal, uniform

_LEFT = 0.8796256610342398  # the deviation of a standard normal distribution cut off at -2 and 2
Initializer = Callable[[Sequence[int], DType], Tensor]


def fans(shape: Sequence[int]) -> tuple[float, float]:
    """How many inputs and outputs a unit of a weight of this shape has; leading axes are a receptive field."""
    if len(shape) < 2:
        size = float(shape[0]) if shape else 1.0
        return size, size
    field = math.prod(shape[:-2])
    return float(shape[-2] * field), float(shape[-1] * field)


def zeros(shape: Sequence[int], dtype: DType) -> Tensor:
    return zeros_of(shape, dtype)


def ones(shape: Sequence[int], dtype: DType) -> Tensor:
    return ones_of(shape, dtype)


def glorot_uniform(shape: Sequence[int], dtype: DType) -> Tensor:
    limit = math.sqrt(6.0 / max(1.0, sum(fans(shape))))
    return uniform(shape, -limit, limit, dtype)


def glorot_normal(shape: Sequence[int], dtype: DType) -> Tensor:
    return _truncated(shape, math.sqrt(2.0 / max(1.0, sum(fans(shape)))), dtype)


def he_uniform(shape: Sequence[int], dtype: DType) -> Tensor:
    limit = math.sqrt(6.0 / max(1.0, fans(shape)[0]))
    return uniform(shape, -limit, limit, dtype)


def he_normal(shape: Sequence[int], dtype: DType) -> Tensor:
    return _truncated(shape, math.sqrt(2.0 / max(1.0, fans(shape)[0])), dtype)


def _truncated(shape: Sequence[int], deviation: float, dtype: DType) -> Tensor:
    """Normal numbers without those beyond two deviations, wider so that `deviation` is that of what is left."""
    return truncated_normal(shape, 0.0, deviation / _LEFT, dtype)


def random_normal(shape: Sequence[int], dtype: DType) -> Tensor:
    return normal(shape, 0.0, 0.05, dtype)


def random_uniform(shape: Sequence[int], dtype: DType) -> Tensor:
    return uniform(shape, -0.05, 0.05, dtype)


_BY_NAME: dict[str, Initializer] = {
    f.__name__: f
    for f in (
        zeros,
        ones,
        glorot_uniform,
        glorot_normal,
        he_uniform,
        he_normal,
        random_normal,
        random_uniform,
    )
}


def get(identifier: Any) -> Initializer:
    """The initializer that a name or a callable stands for. Raises: InvalidArgumentError: no such name."""
    if callable(identifier):
        return lambda shape, dtype: (
            identifier(shape, dtype=dtype) if _takes_dtype(identifier) else identifier(shape)
        )
    found = _BY_NAME.get(str(identifier).lower())
    if found is None:
        raise InvalidArgumentError(
            f"initializer: there is none called {identifier!r}; there are {', '.join(_BY_NAME)}."
        )
    return found


def _takes_dtype(function: Any) -> bool:
    code = getattr(function, "__code__", None)
    return code is None or "dtype" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
