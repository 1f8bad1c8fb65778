"""Bessel functions of order 0 and 1 from 25 on, by modulus and phase: relatively exact close to their zeros too.

They are sqrt(2 / (pi x)) m(x) sin(x - k pi / 4 + p(x)), where k says which function and which half period, and m and p are
series in 1 / x. Those follow from Hankel's expansion, in which the function is P cos(t) - Q sin(t): m^2 = P^2 + Q^2 and
p = atan(Q / P). x - k pi / 4 is small close to a zero, and is computed with pi in three parts, so that what is left has all its
digits. Beyond 2^22 the products with k would not be exact, and Hankel's expansion itself is taken.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.ops.math import series

Array = Any

_TERMS = 12
# pi / 4 in parts of 29 bits, the last one rounded
_QUARTER = 0.7853981629014015, 4.960467887143993e-10, 1.1258708870781088e-18
_LARGEST = 2.0**22


def _products(a: Sequence[Fraction], b: Sequence[Fraction]) -> list[Fraction]:
    """The coefficients of the product of two power series."""
    return [sum((a[i] * b[k - i] for i in range(k + 1)), Fraction(0)) for k in range(_TERMS)]


def _hankel(order: int) -> tuple[list[Fraction], list[Fraction]]:
    """The coefficients of P in 1 / x^2 and of x Q in 1 / x^2 in the expansion of Bessel functions for large arguments."""
    terms = [Fraction(1)]
    for k in range(1, 2 * _TERMS):
        terms.append(terms[-1] * (4 * order**2 - (2 * k - 1) ** 2) / (8 * k))
    signed = [(-1) ** (k // 2) * term for k, term in enumerate(terms)]
    return signed[::2], signed[1::2]


@functools.cache
def _floats(order: int) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
    """P, x Q, the modulus m and x times the phase p, each in powers of 1 / x^2."""
    even, odd = _hankel(order)
    inverse = [Fraction(1)]
    for k in range(1, _TERMS):
        inverse.append(-sum((even[i] * inverse[k - i] for i in range(1, k + 1)), Fraction(0)))
    ratio = _products(odd, inverse)  # x Q / P
    square = _products(ratio, ratio)
    phase, power = [Fraction(0)] * _TERMS, ratio
    for j in range(_TERMS):  # the series of the arc tangent
        for k in range(_TERMS - j):
            phase[k + j] += (-1) ** j * power[k] / (2 * j + 1)
        power = _products(power, square)
    odd_squared = _products(odd, odd)
    both = [a + (odd_squared[k - 1] if k else 0) for k, a in enumerate(_products(even, even))]
    modulus = [Fraction(1)]
    for k in range(1, _TERMS):  # the square root
        modulus.append((both[k] - sum((modulus[i] * modulus[k - i] for i in range(1, k)), Fraction(0))) / 2)
    return tuple(tuple(map(float, part)) for part in (even, odd, modulus, phase))  # type: ignore[return-value]


def _far(order: int, first_kind: bool, x: Array) -> Array:
    """J or Y of numbers from 25 on."""
    parts = [
        (x <= _LARGEST, lambda x: _by_phase(order, first_kind, x)),
        (x == x, lambda x: _by_hankel(order, first_kind, x)),
    ]
    return series.by_part(x, parts, np.nan)


def _by_phase(order: int, first_kind: bool, x: Array) -> Array:
    modulus, phase = _floats(order)[2:]
    # The zeros are close to k pi / 4 for these k and 4 more, 8 more, ...
    first = (3 if first_kind else 1) + 2 * order
    half = np.rint((x / (math.pi / 4) - first) / 4)
    k = 4 * half + first
    high, middle, low = _QUARTER
    rest = ((x - k * high) - k * middle) - k * low
    over = 1.0 / x
    square = over * over
    rest += over * arrays.polynomial(phase, square)
    size = np.sqrt(2.0 / math.pi * over) * arrays.polynomial(modulus, square) * np.sin(rest)
    is_odd = half - 2 * np.floor(half / 2)
    return (2 * is_odd - 1 if first_kind else 1 - 2 * is_odd) * size


def _by_hankel(order: int, first_kind: bool, x: Array) -> Array:
    """By sines and cosines of x, into which those of the phase x - pi / 4 are expanded (DLMF 10.17)."""
    over = 1.0 / (x * x)
    even, odd = (arrays.polynomial(factors, over) for factors in _floats(order)[:2])
    odd = odd / x
    sine, cosine = np.sin(x), np.cos(x)
    plus, minus = sine + cosine, sine - cosine
    first, second = (plus, minus) if order == 0 else (minus, -plus)
    size = math.sqrt(1.0 / math.pi) / np.sqrt(x)  # pi x may leave the range
    return size * (even * first - odd * second if first_kind else even * second + odd * first)


def bessel_j0_far(x: Array) -> Array:
    """J0 for |x| from 25 on."""
    return _far(0, True, np.abs(x))


def bessel_j1_far(x: Array) -> Array:
    """J1 for |x| from 25 on."""
    return np.copysign(1.0, x) * _far(1, True, np.abs(x))


def bessel_y0_far(x: Array) -> Array:
    """Y0 for x from 25 on."""
    return _far(0, False, x)


def bessel_y1_far(x: Array) -> Array:
    """Y1 for x from 25 on."""
    return _far(1, False, x)
