"""Special functions of eager arrays in float32, in float64 arithmetic: what is rounded once at the end has the bits of any other
way to some sixteen digits.

The formulas and their coefficients are those of `graphad.ops.math`, with every part computed and one chosen. Each holds for the
arguments that its row in `recipes.EAGER` names; others are left to NumPy's and SciPy's ways.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graphad.compiler.cpu.vectormath.exponential import exp
from graphad.compiler.cpu.vectormath.logarithm import log, log1p
from graphad.compiler.cpu.vectormath.text import Format, Value, fma, horner, select, sqrt
from graphad.ops.math import gamma, series, special

INFINITY = float("inf")
ORDERS = gamma.FEW  # derivatives of digamma


def erfinv(form: Format, x: Value) -> Value:
    """A polynomial in x^2 up to the root of 1/2, in the root of -log(1 - x^2) beyond."""
    size = abs(x)
    square = x * x
    near = x * horner(square, special.INVERSE)
    w = sqrt(-log(form, (1.0 - size) * (1.0 + size)))
    *parts, (_, middle, factors) = special.TAILS
    found = horner(w - middle, factors)
    for end, middle, factors in reversed(parts):
        found = select(w < end, horner(w - middle, factors), found)
    tail = select(size.equals(1.0), INFINITY, w * found)
    return select(square <= 0.5, near, select(x < 0.0, -tail, tail))


def lgamma(form: Format, x: Value) -> Value:
    """The series around 2 for numbers moved there by steps of the recurrence, Stirling's formula from 7/2 on."""
    above, high, low = x >= 2.5, x >= 1.5, x < 0.5
    z = x - select(above, 3.0, select(high, 2.0, select(low, 0.0, 1.0, x)))
    factor = select(above, x - 1.0, select(high, 1.0, select(low, fma(x, x, x), x)))
    is_far = x >= 3.5
    logarithm = log(form, select(is_far, x, factor))
    near = fma(z, horner(z, series.NEAR_TWO), select(above, logarithm, -logarithm))
    over = 1.0 / x
    rest = fma(over, horner(over * over, series.MIDDLE), series.HALF_LOG_TWO_PI - 0.5)
    return select(is_far, fma(x - 0.5, logarithm - 1.0, rest), near)


def digamma(form: Format, x: Value) -> Value:
    """Around the zero, one step up from below 1, and asymptotic from 9/4 on."""
    over = 1.0 / x
    square = over * over
    rest = horner(square, gamma.DIGAMMA_MIDDLE)
    rest = select(x >= 10.0, horner(square, gamma.ASYMPTOTIC), rest)
    far = log(form, x) - fma(over, 0.5, square * rest)
    low = x < 1.0
    y = select(low, x + 1.0, x)
    near = ((y - gamma.ROOT) - gamma.ROOT_REST) * horner(y - 1.625, gamma.AT_ROOT)
    return select(x >= 2.25, far, near - select(low, over, 0.0))


def derivative_of_digamma(n: int) -> Callable[[Format, Value], Value]:
    """The n-th: the first terms as one quotient, the rest by the asymptotic series."""

    def recipe(form: Format, x: Value) -> Value:
        steps = gamma.STEPS + n
        near = x < float(steps)
        over = 1.0 / select(near, x + float(steps), x)
        rest = horner(over * over, gamma.rest_factors(n)) + over * (math.factorial(n) / 2)
        top, bottom = x.lift(0.0), x.lift(1.0)
        for k in range(steps - 1, -1, -1):
            term = x + float(k)
            power = _power(term, n + 1)
            top, bottom = fma(top, power, bottom), bottom * power
        head = select(near, top / bottom, 0.0) * math.factorial(n)
        total = fma(rest, _power(over, n), head)
        return total if n % 2 else -total

    return recipe


def _power(x: Value, n: int) -> Value:
    y = x
    for _ in range(n - 1):
        y = y * x
    return y


def logaddexp(form: Format, x: Value, y: Value) -> Value:
    """The larger one and log1p(e^-d) of their distance d, which is 0 for equal infinities."""
    above = x > y
    large = select(above, x, select(x.equals(x), y, x))
    gap = select(x.equals(y), 0.0, select(above, y - x, x - y))
    return large + log1p(form, exp(form, gap))


__all__: Sequence[str] = ["derivative_of_digamma", "digamma", "erfinv", "lgamma", "logaddexp"]
