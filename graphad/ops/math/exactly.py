"""Sums and products with what they were rounded by: pairs of numbers whose sum is the exact result, rounded once at the end."""

from __future__ import annotations

from typing import Any

Array = Any

_SPLIT = 2.0**27 + 1.0


def halves(x: Array) -> tuple[Array, Array]:
    """Two float64 numbers of at most 26 bits whose sum is x, below 2^996."""
    part = _SPLIT * x
    high = part - (part - x)
    return high, x - high


def product(x: Array, y: Array) -> tuple[Array, Array]:
    """x y rounded, and what it was rounded by (Dekker)."""
    (x_high, x_low), (y_high, y_low) = halves(x), halves(y)
    rounded = x * y
    return rounded, ((x_high * y_high - rounded) + x_high * y_low + x_low * y_high) + x_low * y_low


def total(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b rounded, and what it was rounded by, whichever of the two is larger (Knuth)."""
    rounded = a + b
    other = rounded - a
    return rounded, (a - (rounded - other)) + (b - other)
