"""Random numbers as NumPy's older functions give them, float64; `graphad.random.set_seed` and `seed` make them repeat."""

from __future__ import annotations

from typing import Any

from graphad.core.dtypes import float64
from graphad.core.tensor import Tensor
from graphad.ops.math import cast
from graphad.ops.random import normal, set_seed
from graphad.ops.random import uniform as drawn_between


def seed(s: float) -> None:
    """Begin anew with this seed."""
    set_seed(s)


def rand(*size: int) -> Tensor:
    """Numbers from 0 to below 1; the sizes are arguments."""
    return drawn_between(size, dtype=float64)


def random(size: Any = None) -> Tensor:
    """Numbers from 0 to below 1."""
    return drawn_between(_sizes(size), dtype=float64)


def uniform(low: float = 0.0, high: float = 1.0, size: Any = None) -> Tensor:
    """Numbers from `low` to below `high`."""
    return drawn_between(_sizes(size), low, high, float64)


def randn(*size: int) -> Tensor:
    """Normally distributed numbers of mean 0 and deviation 1; the sizes are arguments."""
    return normal(size, dtype=float64)


def standard_normal(size: Any = None) -> Tensor:
    """Normally distributed numbers of mean 0 and deviation 1."""
    return normal(_sizes(size), dtype=float64)


def randint(low: int, high: int | None = None, size: Any = None, dtype: Any = "int64") -> Tensor:
    """Integers from `low` to below `high`, or from 0 to below `low`."""
    first, last = (0, low) if high is None else (low, high)
    return cast(drawn_between(_sizes(size), first, last, "int64"), dtype)


def _sizes(size: Any) -> Any:
    return () if size is None else size
