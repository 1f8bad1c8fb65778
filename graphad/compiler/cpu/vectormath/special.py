"""Special functions of eager arrays in float32, in float64 arithmetic: what is rounded once at the end has the bits of any other
way to some sixteen digits.

The formulas and most of their coefficients are those of `graphad.ops.math`, with every part computed and one chosen. Some hold
for part of the arguments alone; the op says for which (`ops/math/native_loops.py`), and computes others in its own way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from graphad.compiler.cpu.vectormath import special_polynomials as polynomials
from graphad.compiler.cpu.vectormath.error_function import CENTRE
from graphad.compiler.cpu.vectormath.exponential import exp, power_of_two, reduce, tail
from graphad.compiler.cpu.vectormath.logarithm import log, log1p
from graphad.compiler.cpu.vectormath.power import magnitude_f64
from graphad.compiler.cpu.vectormath.text import (
    Format,
    Value,
    at_most,
    copysign,
    fma,
    horner,
    rint,
    select,
    sqrt,
)
from graphad.compiler.cpu.vectormath.trigonometric import finish_cos, finish_sin
from graphad.compiler.cpu.vectormath.trigonometric import reduce as reduce_angle
from graphad.ops.math import bessel_modified, gamma, series, special

INFINITY = float("inf")
EULER = 0.5772156649015329
ZETA_STEPS = 9
ORDERS = gamma.FEW  # derivatives of digamma


def _inverse(form: Format, y: Value, distance: Value, further: bool) -> Value:
    """erfinv(y), given 1 - y^2: a polynomial in y^2 up to the root of 1/2, beyond in the root w of -log(1 - y^2),
    for w up to 4.1, or `further`, up to 10.4."""
    square = y * y
    near = y * horner(square, special.INVERSE)
    w = sqrt(-log(form, distance))
    last = (INFINITY, 3.125, polynomials.INVERSE_MIDDLE), (INFINITY, 8.25, polynomials.INVERSE_FAR)
    *parts, (_, middle, factors) = (*special.TAILS, last[1]) if further else (special.TAILS[0], last[0])
    found = horner(w - middle, factors)
    for end, middle, factors in reversed(parts):
        found = select(w < end, horner(w - middle, factors), found)
    tail = select(w.equals(INFINITY), INFINITY, w * found)
    return select(square <= 0.5, near, select(y < 0.0, -tail, tail))


def erfinv(form: Format, x: Value) -> Value:
    return _inverse(form, x, (1.0 - x) * (1.0 + x), False)


def erfcinv(form: Format, x: Value) -> Value:
    """1 - x and 2 - x are exact but next to 0, where they round to 1 and 2."""
    return _inverse(form, -(x - 1.0), x * (2.0 - x), True)


def ndtri(form: Format, x: Value) -> Value:
    return _inverse(form, x * 2.0 - 1.0, x * (1.0 - x) * 4.0, True) * 1.4142135623730951


def erfc(form: Format, x: Value) -> Value:
    """As in `error_function`, for float32: its square is exact, and single floats have all its digits."""
    size = at_most(abs(x), 10.2)
    reduced = reduce(form, -(size * size))
    grown = (1.0 + (reduced.r + tail(form, reduced))) * power_of_two(form, reduced.shifted)
    below, shifted = fma(size, 2.0, 1.0), size + CENTRE
    inverse = 1.0 / (below * shifted)
    varying = horner((size - CENTRE) * below * inverse, polynomials.ERFC)
    far = grown * varying * (shifted * inverse)
    return select(x < 0.0, 2.0 - far, far)


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


def modified(order: int, scaled: bool) -> Callable[[Format, Value], Value]:
    """I0 or I1, `scaled` by exp(-|x|) or not, for |x| up to 700."""

    def recipe(form: Format, x: Value) -> Value:
        size = abs(x)
        half = size * 0.5
        near = horner(half * half, bessel_modified.NEAR[order])
        near = near * half if order else near
        over = 1.0 / size
        others = horner(over - 1 / 32, bessel_modified.FAR[order]) * sqrt(over)
        others = select(size <= 16.0, horner(size - 12.0, bessel_modified.UPPER[order]), others)
        others = select(size <= 8.0, horner(size - 6.0, bessel_modified.MIDDLE[order]), others)
        is_near = size <= 4.0
        grown = exp(form, -size if scaled else size)
        if scaled:
            found = select(is_near, near * grown, others)
        else:
            found = select(is_near, near, select(size.equals(INFINITY), INFINITY, others * grown))
        return copysign(found, x) if order else found

    return recipe


def second(order: int, scaled: bool) -> Callable[[Format, Value], Value]:
    """K0 or K1, `scaled` by exp(x) or not, above 0."""

    def recipe(form: Format, x: Value) -> Value:
        half, over = x * 0.5, 1.0 / x
        square = half * half
        bend = log(form, half)
        if order:
            first = half * horner(square, bessel_modified.NEAR[1])
            near = over + fma(bend, first, x * horner(square, polynomials.K1_NEAR))
            middle = horner(x - 1.5, polynomials.K1_SECOND)
        else:
            first = horner(square, bessel_modified.NEAR[0])
            near = fma(-EULER - bend, first, horner(square, bessel_modified.HARMONIC))
            middle = horner(x - 1.5, bessel_modified.SECOND)
        far = select(
            x <= 8.0,
            horner(over - 5 / 16, polynomials.K_MIDDLE[order]),
            horner(over - 1 / 16, polynomials.K_FAR[order]),
        )
        others = select(x <= 2.0, middle, far * sqrt(over))
        grown = exp(form, x if scaled else -x)
        is_near = x <= 1.0
        return select(is_near, near * grown, others) if scaled else select(is_near, near, others * grown)

    return recipe


def dawsn(form: Format, x: Value) -> Value:
    size = abs(x)
    over = 1.0 / size
    found = over * horner(over * over - 0.02, polynomials.DAWSON_FAR)
    found = select(size < 5.0, horner(size - 3.625, polynomials.DAWSON_UPPER), found)
    found = select(size < 2.25, horner(size - 1.625, polynomials.DAWSON_MIDDLE), found)
    found = select(size < 1.0, size * horner(size * size, polynomials.DAWSON_NEAR), found)
    return copysign(found, x)


def expint(form: Format, x: Value) -> Value:
    """Ei(x) for x from 0 to 100."""
    over = 1.0 / x
    found = horner(over - 1 / 32, polynomials.EI_FAR)
    for start, factors in zip((8.0, 4.0, 2.0), reversed(polynomials.EI_PARTS), strict=True):
        found = select(x < 2 * start, horner(x - 1.5 * start, factors), found)
    found = found * (exp(form, x) * over)
    near = fma(x, horner(x - 1.0, polynomials.EI_NEAR), EULER + log(form, x))
    zero = ((x - series.EI_ZERO) - series.EI_REST) * horner(x - 0.375, polynomials.EI_ZERO)
    is_close = (x > 0.25) & (x < 0.5)
    return select(x < 2.0, select(is_close, zero, near), found)


def fresnel_angle(square: Value) -> Value:
    """pi / 2 times an exact square, up to whole turns."""
    return (square - rint(square * 0.25) * 4.0) * (math.pi / 2)


def fresnel(is_sine: bool) -> Callable[[Format, Value], Value]:
    """Fresnel's integrals S or C, whose angle is reduced without an error: the square of a float32 is exact."""

    def recipe(form: Format, x: Value) -> Value:
        size = abs(x)
        square = size * size
        fourth = square * square
        near = horner(fourth, polynomials.FRESNEL_NEAR[0 if is_sine else 1]) * size
        near = near * square if is_sine else near
        over = 1.0 / size
        z = over * over
        is_middle = fourth < 81.0
        f, g = (
            select(is_middle, horner(z - 0.25, middle), horner(z, far))
            for middle, far in zip(polynomials.FRESNEL_MIDDLE, polynomials.FRESNEL_FAR, strict=True)
        )
        f, g = f * over * (1 / math.pi), g * z * over * (1 / math.pi**2)
        angle = fresnel_angle(square)
        reduced_angle = reduce_angle(form, angle)
        sine, cosine = (finish(form, angle, *reduced_angle) for finish in (finish_sin, finish_cos))
        away = fma(f, cosine, g * sine) if is_sine else fma(g, cosine, -(f * sine))
        found = select(fourth <= 8.0, near, 0.5 - select(size.equals(INFINITY), 0.0, away))
        return select(x < 0.0, -found, found)

    return recipe


def zeta(form: Format, x: Value, q: Value) -> Value:
    """Hurwitz' zeta function for x above 1 and q above 0, by the formula of Euler and Maclaurin."""
    total = x.lift(0.0)
    for k in range(ZETA_STEPS):
        total = total + magnitude_f64(q + float(k), -x)
    far = q + float(ZETA_STEPS)
    over = 1.0 / far
    square, rest, factor = over * over, x.lift(0.0), x * over
    for k, b in enumerate(gamma.BERNOULLI, 1):
        rest = fma(factor, b / math.factorial(2 * k), rest)
        factor = factor * ((x + float(2 * k - 1)) * (x + float(2 * k))) * square
    return fma(magnitude_f64(far, -x), (far / (x - 1.0) + 0.5) + rest, total)
