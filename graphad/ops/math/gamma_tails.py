"""Derivatives of the incomplete gamma functions by their parameter in the upper tail, with the digits of a small result."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array
from graphad.ops.math import series

_DROP = 45.0  # how far the logarithm of the density falls over the part that is integrated
_PANELS = 8
_NODES = 20
_FROM = 10.0  # a, for which the terms of Stirling's series are enough


def is_upper_tail(a: Array, x: Array) -> Array:
    """Where igamma is so close to 1 that its derivative is far below the terms of its series."""
    return x > a + 4.0 * np.sqrt(a) + 4.0  # type: ignore[no-any-return]


def log_density(a: Array, x: Array, special: Any) -> Array:
    """log(x^(a - 1) e^-x / gamma(a)) for positive numbers; from a = 10 on without differences of large numbers."""
    found = (a - 1.0) * np.log(x) - x - special.gammaln(a)
    near = a >= _FROM
    b, y = a[near], x[near]
    over = 1.0 / b
    rest = over * arrays.polynomial(series.STIRLING, over * over)
    found[near] = b * series.log1pmx((y - b) * over) - rest + 0.5 * np.log(b / (2.0 * math.pi)) - np.log(y)
    return found  # type: ignore[no-any-return]


def derivative_in_tail(
    a: Array, x: Array, digamma: Array, further: list[Array], bell: Callable[..., Any], special: Any
) -> Array:
    """The derivative of igamma in a for x in the upper tail, one-dimensional arrays.

    What lies above x is differentiated under the integral, in which log(t) - psi(a) has one sign; the logarithm of the density
    is concave from x on or falls at least as e^-t does.

    Args:
      digamma, further: psi(a), and minus its derivatives, as many as the order of the derivative less one.
      bell: From the derivatives of the logarithm of the density by a, and 1, its derivative divided by it.
    """
    low, high = np.zeros_like(a), np.maximum(a, 1.0) + 4.0 * _DROP + x
    for _ in range(60):  # where the density has fallen
        middle = 0.5 * (low + high)
        is_far = middle - (a - 1.0) * np.log1p(middle / x) > _DROP
        low, high = np.where(is_far, low, middle), np.where(is_far, middle, high)
    log_x, total = np.log(x) - digamma, np.zeros_like(a)
    nodes, weights = np.polynomial.legendre.leggauss(_NODES)
    for panel in range(_PANELS):  # they grow, since 0 is the closer to the first
        start, end = (panel / _PANELS) ** 2, ((panel + 1) / _PANELS) ** 2
        for node, weight in zip(nodes, weights, strict=True):
            at = high * (0.5 * (start + end) + 0.5 * (end - start) * node)
            logs = np.log1p(at / x)
            density = np.exp((a - 1.0) * logs - at)
            total += (0.5 * (end - start) * weight) * high * density * bell([log_x + logs, *further], 1.0)
    return -np.exp(log_density(a, x, special)) * total  # type: ignore[no-any-return]
