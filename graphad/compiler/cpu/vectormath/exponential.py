"""exp and what is made of it: exp2, expm1, sigmoid, tanh, sinh, cosh.

x = k ln(2) + r with |r| <= ln(2)/2; e**r is a polynomial and 2**k is written straight into exponent bits.
k is rounded by adding a big constant, never by a conversion to an integer, which would be undefined for NaN.
"""

from __future__ import annotations

from graphad.compiler.cpu.vectormath import polynomials
from graphad.compiler.cpu.vectormath.text import (
    Format,
    Value,
    at_least,
    at_most,
    copysign,
    fma,
    horner,
    select,
    sum_error,
)
from graphad.kernels.record import Record

LOG2_E = 1.4426950408889634
LN_2 = {
    "f64": (0.6931471805599453, 2.3190468138462996e-17),
    "f32": (0.6931471824645996, -1.9046542121259336e-09),
}
# Beyond these the result is the limit: (exp overflows, exp underflows, expm1 is -1).
LIMITS = {"f64": (710.0, -746.0, -40.0), "f32": (89.0, -104.0, -20.0)}


class Reduced(Record):
    """x = k ln(2) + r + rest; `shifted` carries k in its low bits."""

    shifted: Value
    k: Value
    r: Value
    rest: Value


def reduce(form: Format, x: Value) -> Reduced:
    """The first step of the reduction is exact: x and k ln(2) have a common unit in the last place."""
    high, low = LN_2[form.key]
    shifted = fma(x, LOG2_E, form.rounder)
    k = shifted - form.rounder
    exact = fma(k, -high, x)
    r = fma(k, -low, exact)
    return Reduced(shifted, k, r, fma(k, -low, exact - r))


def power_of_two(form: Format, shifted: Value) -> Value:
    """2**k, for -bias < k <= bias."""
    return ((shifted.bits() << form.stored) + form.one).real()


def scale(form: Format, value: Value, reduced: Reduced) -> Value:
    """value * 2**k in two steps, so that overflow and subnormal results come out right, rounded once."""
    half = fma(reduced.k, 0.5, form.rounder)
    first = ((half.bits() << form.stored) + form.one).real()
    second = (((reduced.shifted.bits() - half.bits()) << form.stored) + form.one).real()
    return value * first * second


def tail(form: Format, reduced: Reduced) -> Value:
    """e**r - 1 - r."""
    return reduced.r * reduced.r * horner(reduced.r, polynomials.EXP[form.key])


def exp(form: Format, x: Value) -> Value:
    high, low, _ = LIMITS[form.key]
    reduced = reduce(form, at_least(at_most(x, high), low))
    return scale(
        form,
        1.0 + fma(reduced.r * reduced.r, horner(reduced.r, polynomials.EXP[form.key]), reduced.r),
        reduced,
    )


def exp2(form: Format, x: Value) -> Value:
    """Here k is x rounded, and the product (x - k) ln(2) is carried as a sum of two floats."""
    high, low = LN_2[form.key]
    held = at_least(at_most(x, form.bias + 2.0), -(form.bias + form.stored + 4.0))
    shifted = held + form.rounder
    k = shifted - form.rounder
    part = held - k
    r = part * high
    rest = fma(part, low, fma(part, high, -r))
    above_one = fma(r * r, horner(r, polynomials.EXP[form.key]), rest) + r
    return scale(form, 1.0 + above_one, Reduced(shifted, k, r, rest))


def exp_of_negative(form: Format, x: Value) -> tuple[Value, Value]:
    """e**x for x <= 0 and what its rounding left out (to first order, before scaling underflows)."""
    reduced = reduce(form, at_least(x, LIMITS[form.key][1]))
    above_one = fma(
        reduced.r * reduced.r, horner(reduced.r, polynomials.EXP[form.key]), reduced.r + reduced.rest
    )
    value = 1.0 + above_one
    return scale(form, value, reduced), scale(form, (1.0 - value) + above_one, reduced)


def expm1(form: Format, x: Value) -> Value:
    """2**k (e**r - 1) + (2**k - 1), at half scale because 2**1024 is not a float; tiny x, -0 among them, is its own answer."""
    high, _, low = LIMITS[form.key]
    reduced = reduce(form, at_least(at_most(x, high), low))
    half = ((reduced.shifted.bits() << form.stored) + (form.one - (1 << form.stored))).real()
    leading = fma(half, reduced.r, half - 0.5)
    total = fma(half, tail(form, reduced) + reduced.rest, leading)
    return select(abs(x) < 2.0 ** -(form.stored + 2), x, total + total)


def sigmoid(form: Format, x: Value) -> Value:
    """With e = exp(-|x|): 1 / (1 + e), or e / (1 + e) for x < 0.

    One step of correction takes out the roundings of sum and quotient; 1 / (1 + e) is at hand for it, being the
    quotient or one minus the quotient.
    """
    e = exp(form, -abs(x))
    total = 1.0 + e
    negative = x < 0.0
    top = select(negative, e, 1.0)
    quotient = top / total
    missing = fma(-quotient, total, top) - quotient * ((1.0 - total) + e)
    return fma(missing, select(negative, 1.0 - quotient, quotient), quotient)


def tanh(form: Format, x: Value) -> Value:
    return _tanh_short(form, x) if form.key == "f32" else _tanh_long(form, x)


def _tanh_short(form: Format, x: Value) -> Value:
    """A polynomial up to 0.625 (where Cephes changes, too), 1 - 2 / (e**2x + 1) above."""
    size = abs(x)
    z = x * x
    small = fma(size * z, horner(z, polynomials.TANH[form.key]), size)
    reduced = reduce(form, at_most(size + size, 20.0))
    grown = 1.0 + fma(reduced.r * reduced.r, horner(reduced.r, polynomials.EXP[form.key]), reduced.r)
    large = 1.0 - 2.0 / fma(grown, power_of_two(form, reduced.shifted), 1.0)
    return copysign(select(size < 0.625, small, large), x)


def _tanh_long(form: Format, x: Value) -> Value:
    """E / (E + 2) with E = e**2|x| - 1, sums carried as two floats each.

    1 / (E + 2), which the correction needs, is half of one minus the quotient.
    """
    size = abs(x)
    reduced = reduce(form, at_most(size + size, 40.0))
    power = power_of_two(form, reduced.shifted)
    base = power - 1.0
    stretched = power * reduced.r
    rough = base + stretched
    low = fma(power, tail(form, reduced) + reduced.rest, stretched - (rough - base))
    high = rough + low
    low = low - (high - rough)
    below = high + 2.0
    below_low = sum_error(high, 2.0, below) + low
    quotient = high / below
    missing = fma(-quotient, below_low, low)
    return copysign(fma(missing, fma(quotient, -0.5, 0.5), quotient), x)


def _hyperbolic(form: Format, x: Value) -> tuple[Value, Value, Value, Value, Value]:
    """For |x| = k ln(2) + r: 2**k / 2 and 2**-k / 2 held finite, sinh(r), cosh(r) - 1, the power of two left out of the first."""
    size = at_most(abs(x), LIMITS[form.key][0] + 2.0)
    reduced = reduce(form, size)
    r = reduced.r
    z = r * r
    cosh_r = z * horner(z, polynomials.COSH[form.key])
    sinh_r = r + fma(r * z, horner(z, polynomials.SINH[form.key]), fma(reduced.rest, cosh_r, reduced.rest))
    held = at_most(reduced.k, form.bias - 23)
    shifted = held + form.rounder
    up = ((shifted.bits() << form.stored) + (form.one - (1 << form.stored))).real()
    down = ((form.one - (1 << form.stored)) - (shifted.bits() << form.stored)).real()
    left = ((((reduced.k - held) + form.rounder).bits() << form.stored) + form.one).real()
    return up, down, sinh_r, cosh_r, left


def sinh(form: Format, x: Value) -> Value:
    """sinh(a + r) = sinh a cosh r + cosh a sinh r: no division, and full relative accuracy near 0, where a is 0."""
    up, down, sinh_r, cosh_r, left = _hyperbolic(form, x)
    sinh_a = up - down
    rest = (up - sinh_a) - down
    return copysign((sinh_a + fma(up + down, sinh_r, fma(sinh_a, cosh_r, rest))) * left, x)


def cosh(form: Format, x: Value) -> Value:
    up, down, sinh_r, cosh_r, left = _hyperbolic(form, x)
    cosh_a = up + down
    rest = (up - cosh_a) + down
    return (cosh_a + fma(up - down, sinh_r, fma(cosh_a, cosh_r, rest))) * left
