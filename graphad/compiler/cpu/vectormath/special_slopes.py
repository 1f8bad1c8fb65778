"""Derivatives of special functions of eager arrays in float32, in float64 arithmetic and rounded once, as in `special`: they are
differences of the functions themselves, and where these would lose digits the series of the difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from graphad.compiler.cpu.vectormath.exponential import exp
from graphad.compiler.cpu.vectormath.logarithm import log
from graphad.compiler.cpu.vectormath.power import magnitude_f64
from graphad.compiler.cpu.vectormath.special import ZETA_STEPS, dawsn, fresnel_angle, modified, second
from graphad.compiler.cpu.vectormath.text import Format, Value, copysign, horner, select, sqrt
from graphad.compiler.cpu.vectormath.trigonometric import finish_cos, finish_sin
from graphad.compiler.cpu.vectormath.trigonometric import reduce as reduce_angle
from graphad.ops.math import bessel_modified, gamma, series


def _far(order: int, sign: float, over: Value) -> Value:
    size, factors = bessel_modified.far_slope(order, sign)
    return over * sqrt(over) * horner(over, factors) * -size


def modified_slope(order: int, scaled: bool) -> Callable[[Format, Value], Value]:
    """The derivative of I1, or of I0 or I1 `scaled` by exp(-|x|)."""

    def recipe(form: Format, x: Value) -> Value:
        size = abs(x)
        half = size * 0.5
        first, other = modified(order, scaled)(form, x), modified(1 - order, scaled)(form, x)
        sign = select(x.equals(0.0), 0.0, copysign(x.lift(1.0), x))
        if order:
            over = horner(half * half, bessel_modified.NEAR[1]) * 0.5
            over = over * exp(form, -size) if scaled else over
            found = select(size <= 4.0, over, first / x)
            if not scaled:
                return select(abs(first).equals(math.inf), abs(first), other - found)
            found = other - sign * first - found
        else:
            found = other - sign * first
        far = _far(order, -1.0, 1.0 / size)
        return select(size >= bessel_modified.FAR_SLOPE, far if order else far * sign, found)

    return recipe


def second_slope(order: int, scaled: bool) -> Callable[[Format, Value], Value]:
    """The derivative of K1, or of K0 or K1 `scaled` by exp(x), above 0."""

    def recipe(form: Format, x: Value) -> Value:
        first, other, over = second(order, scaled)(form, x), second(1 - order, scaled)(form, x), 1.0 / x
        if not scaled:
            return -other - first / x
        found = first * (1.0 - over) - other if order else first - other
        return select(x >= bessel_modified.FAR_SLOPE, _far(order, 1.0, over), found)

    return recipe


def dawsn_slope(form: Format, x: Value) -> Value:
    """1 - 2 x y, and for large x the series of the same."""
    over = 1.0 / x
    square = over * over
    far = -(horner(square, series.DAWSON_SLOPE) * square)
    return select(abs(x) >= series.FAR_DAWSON, far, 1.0 - x * 2.0 * dawsn(form, x))


def expint_slope(form: Format, x: Value) -> Value:
    return exp(form, x) / x


def fresnel_slope(is_sine: bool) -> Callable[[Format, Value], Value]:
    """The sine or cosine of pi x^2 / 2, whose angle is reduced without an error."""

    def recipe(form: Format, x: Value) -> Value:
        angle = fresnel_angle(x * x)
        finish = finish_sin if is_sine else finish_cos
        return finish(form, angle, *reduce_angle(form, angle))

    return recipe


def zeta_by_x(form: Format, x: Value, q: Value) -> Value:
    """The derivative of `special.zeta` by x, term by term."""
    total = x.lift(0.0)
    for k in range(ZETA_STEPS):
        term = q + float(k)
        total = total + log(form, term) * magnitude_f64(term, -x)
    far = q + float(ZETA_STEPS)
    over, bend = 1.0 / far, log(form, far)
    square, rest, slope = over * over, x.lift(0.0), x.lift(0.0)
    factor, by_x = x * over, over
    for k, b in enumerate(gamma.BERNOULLI, 1):
        rest = rest + factor * (b / math.factorial(2 * k))
        slope = slope + by_x * (b / math.factorial(2 * k))
        step, other = x + float(2 * k - 1), x + float(2 * k)
        by_x = (by_x * (step * other) + factor * (step + other)) * square
        factor = factor * (step * other) * square
    above = 1.0 / (x - 1.0)
    integral = far * above * (bend + above)
    return -(total + magnitude_f64(far, -x) * (integral + bend * (rest + 0.5) - slope))
