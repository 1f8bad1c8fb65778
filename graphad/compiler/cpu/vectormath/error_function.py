"""erf and erfc.

Below 1 erf is a polynomial; above, erf = 1 - e**q with q a polynomial for log(erfc), whose errors shrink with erfc itself.
erfc keeps its relative accuracy down to the smallest subnormal: exp(-x**2) with the square in two parts, times a slowly varying
polynomial, divided by 1 + 2 x (the arrangement of Shepherd and Laframboise), all products carried as sums of two floats.
"""

from __future__ import annotations

from graphad.compiler.cpu.vectormath import polynomials
from graphad.compiler.cpu.vectormath.exponential import power_of_two, reduce, scale, tail
from graphad.compiler.cpu.vectormath.text import (
    Format,
    Value,
    at_least,
    at_most,
    copysign,
    fma,
    horner,
    select,
)

SATURATED = {"f64": 5.95, "f32": 3.95}  # erf rounds to 1 from here
VANISHED = {"f64": 27.3, "f32": 10.1}  # erfc underflows to 0 from here
CENTRE = 2.5


def erf(form: Format, x: Value) -> Value:
    size = abs(x)
    z = x * x
    small = fma(size, horner(z, polynomials.ERF[form.key]), size)
    inside = at_least(at_most(size, SATURATED[form.key]), 1.0)
    reduced = reduce(form, horner(inside - 2.0, polynomials.LOG_ERFC[form.key]))
    grown = 1.0 + (reduced.r + tail(form, reduced))
    large = fma(-grown, power_of_two(form, reduced.shifted), 1.0)
    return copysign(select(size >= 1.0, large, small), x)


def erfc(form: Format, x: Value) -> Value:
    size = at_most(abs(x), VANISHED[form.key])
    z = x * x
    near = 1.0 - fma(x, horner(z, polynomials.ERF[form.key]), x)

    # exp(-size**2) = 2**k (e_high + e_low)
    square = size * size
    square_rest = fma(size, size, -square)
    reduced = reduce(form, -square)
    above_one = reduced.r + (tail(form, reduced) + reduced.rest)
    e_high = 1.0 + above_one
    e_low = fma(-square_rest, e_high, (1.0 - e_high) + above_one)

    # w_high + w_low = 1 / (1 + 2 size), from one division that also serves the polynomial's variable
    below = fma(size, 2.0, 1.0)
    below_rest = fma(size, 2.0, 1.0 - below)
    shifted = size + CENTRE
    inverse = 1.0 / (below * shifted)
    w_high = shifted * inverse
    w_low = w_high * fma(-w_high, below_rest, fma(-w_high, below, 1.0))
    one_over = below * inverse
    centred = size - CENTRE
    t = centred * one_over
    t = fma(fma(-t, shifted, centred), one_over, t)

    first, second, *others = (polynomials.ERFC if form.key == "f64" else polynomials.ERFC_SHORT)[form.key]
    varying = fma(t, horner(t, others), second)
    p_high = first + varying
    p_low = (first - p_high) + varying

    q_high = p_high * w_high
    q_low = fma(p_high, w_low, fma(p_low, w_high, fma(p_high, w_high, -q_high)))
    high = e_high * q_high
    low = fma(e_high, q_low, fma(e_low, q_high, fma(e_high, q_high, -high)))
    far = scale(form, high + low, reduced)
    return select(abs(x) < 0.5, near, select(x < 0.0, 2.0 - far, far))
