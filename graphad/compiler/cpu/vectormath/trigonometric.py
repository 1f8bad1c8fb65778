"""sin, cos, tan and their inverses.

Reduction: r = x - k pi/2 with pi/2 in three parts and fused steps.  x and k times the first part are multiples of one
common unit, so the first difference is exact for every |x| up to 2**47; the second product is split into value and
error, which leaves r as a sum of two floats, good to far below one unit even where x is nearly a multiple of pi/2.
float32 arguments are reduced in float64.  Larger arguments go to `large_angles`; infinities give NaN as everywhere.
"""

from __future__ import annotations

from graphad.compiler.cpu.vectormath import large_angles, polynomials
from graphad.compiler.cpu.vectormath.text import (
    F64,
    Format,
    Value,
    at_most,
    copysign,
    divide,
    fma,
    horner,
    select,
    sqrt,
)

TWO_OVER_PI = 0.6366197723675814
HALF_PI_PARTS = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)
HALF_PI = {
    "f64": (1.5707963267948966, 6.123233995736766e-17),
    "f32": (1.5707963705062866, -4.371138828673793e-08),
}
TAN_EIGHTH_PI = 0.41421356237309503


def reduce(form: Format, x: Value) -> tuple[Value, Value, Value]:
    """(r, rest, quadrant): x = k pi/2 + r + rest, and k modulo 4 in the low two bits of an integer as wide as x."""
    wide = x if form.key == "f64" else x.widen()
    shifted = fma(wide, TWO_OVER_PI, F64.rounder)
    k = shifted - F64.rounder
    first, second, third = HALF_PI_PARTS
    exact = fma(k, -first, wide)
    if form.key == "f32":
        r = fma(k, -second, exact)
        return r.narrow(), (r - r.narrow().widen()).narrow(), shifted.bits().shorten()
    product = k * second
    r = exact - product
    product_error = fma(k, second, -product)
    rest = fma(k, -third, ((exact - r) - product) - product_error)
    return r, rest, shifted.bits()


def _sine(form: Format, r: Value, rest: Value) -> tuple[Value, Value]:
    """(large, small) terms of sin(r + rest)."""
    z = r * r
    return r, fma(r * z, horner(z, polynomials.SIN[form.key]), fma(z * -0.5, rest, rest))


def _cosine(form: Format, r: Value, rest: Value) -> tuple[Value, Value]:
    """(large, small) terms of cos(r + rest)."""
    z = r * r
    half = z * 0.5
    high = 1.0 - half
    return high, fma(z * z, horner(z, polynomials.COS[form.key]), fma(-r, rest, (1.0 - high) - half))


def _turn(form: Format, value: Value, quadrant: Value) -> Value:
    """`value` with its sign flipped when bit 1 of the quadrant is set."""
    top = form.stored + (8 if form.key == "f32" else 11)
    return (value.bits() ^ ((quadrant & 2) << (top - 1))).real()


def _either(odd: Value, yes: tuple[Value, Value], no: tuple[Value, Value]) -> tuple[Value, Value]:
    return select(odd, yes[0], no[0]), select(odd, yes[1], no[1])


def sin(form: Format, x: Value) -> Value:
    return large_angles.everywhere("sin", form, x, reduce, finish_sin)


def cos(form: Format, x: Value) -> Value:
    return large_angles.everywhere("cos", form, x, reduce, finish_cos)


def tan(form: Format, x: Value) -> Value:
    return large_angles.everywhere("tan", form, x, reduce, _finish_tan)


def finish_sin(form: Format, x: Value, r: Value, rest: Value, quadrant: Value) -> Value:
    large, small = _either((quadrant & 1).differs(0), _cosine(form, r, rest), _sine(form, r, rest))
    return select(x.equals(0.0), x, _turn(form, large + small, quadrant))


def finish_cos(form: Format, x: Value, r: Value, rest: Value, quadrant: Value) -> Value:
    large, small = _either((quadrant & 1).differs(0), _sine(form, r, rest), _cosine(form, r, rest))
    return _turn(form, large + small, quadrant + (quadrant & 1))


def _finish_tan(form: Format, x: Value, r: Value, rest: Value, quadrant: Value) -> Value:
    """sin / cos, or -cos / sin in odd quadrants, with both kept as sums of two floats."""
    sine, cosine = _sine(form, r, rest), _cosine(form, r, rest)
    odd = (quadrant & 1).differs(0)
    top, top_rest = _renormalise(*_either(odd, cosine, sine))
    bottom, bottom_rest = _renormalise(*_either(odd, sine, cosine))
    quotient, missing = divide(top, top_rest, bottom, bottom_rest)
    value = quotient + missing
    return select(x.equals(0.0), x, select(odd, -value, value))


def _renormalise(large: Value, small: Value) -> tuple[Value, Value]:
    """The rounded sum and what its rounding left out."""
    total = large + small
    return total, (large - total) + small


def _arc(form: Format, t: Value) -> Value:
    """(atan(t) - t) for |t| <= tan(pi/8)."""
    z = t * t
    return t * z * horner(z, polynomials.ATAN[form.key])


def atan(form: Format, x: Value) -> Value:
    """Around 0, pi/4 and pi/2: t is x, (x - 1) / (x + 1) or -1 / x, by one division."""
    high, low = HALF_PI[form.key]
    size = at_most(abs(x), 2.0 ** (form.stored + 8))
    middle, far = size > TAN_EIGHTH_PI, size > 1.0 / TAN_EIGHTH_PI
    difference, total = size - 1.0, size + 1.0
    top = select(far, -1.0, select(middle, difference, size))
    bottom = select(far, size, select(middle, total, 1.0))
    between = select(far, 0.0, select(middle, 1.0, 0.0, x), x)
    t, t_rest = divide(top, between * (size - (difference + 1.0)), bottom, between * (size - (total - 1.0)))
    turns = select(far, 1.0, between * 0.5)
    return copysign(fma(turns, high, t + (_arc(form, t) + fma(turns, low, t_rest))), x)


def atan2(form: Format, y: Value, x: Value) -> Value:
    """The angle of b / a with a >= b, by the same single division, then folded back by octant."""
    high, low = HALF_PI[form.key]
    infinity = float("inf")
    width, height = abs(x), abs(y)
    steep = height > width
    a, b = select(steep, height, width), select(steep, width, height)
    endless = a.equals(infinity)
    b = select(endless, select(b.equals(infinity), 1.0, 0.0, x), b)
    a = select(endless, 1.0, select(a.equals(0.0), 1.0, a))
    shrink = select(
        a > 2.0 ** (form.bias - 4), 2.0**-8, select(a < form.smallest_normal * 2.0**8, 2.0**60, 1.0, x), x
    )
    a, b = a * shrink, b * shrink
    middle = b > a * TAN_EIGHTH_PI
    difference, total = b - a, b + a
    top, top_rest = select(middle, difference, b), select(middle, b - (difference + a), 0.0)
    bottom, bottom_rest = select(middle, total, a), select(middle, b - (total - a), 0.0)
    t, t_rest = divide(top, top_rest, bottom, bottom_rest)
    left = x.bits() < 0
    # angle = base + side * atan(t): side is -1 when exactly one of the two reflections applies
    minus = select(steep, select(left, 1.0, -1.0, x), select(left, -1.0, 1.0, x))
    quarter = select(middle, minus * 0.5, 0.0)
    turns = quarter + select(steep, 1.0, select(left, 2.0, 0.0, x))
    angle = fma(turns, high, minus * (t + (_arc(form, t) + t_rest)) + turns * low)
    either_nan = width.differs(width) | height.differs(height)
    return select(either_nan, x + y, copysign(angle, y))


def _root_part(form: Format, x: Value) -> tuple[Value, Value, Value]:
    """For asin and acos: |x| > 1/2, then s, which is |x| or sqrt((1 - |x|) / 2), and asin(s) - s."""
    size = abs(x)
    large = size > 0.5
    z = select(large, fma(size, -0.5, 0.5), x * x)
    s = select(large, sqrt(z), size)
    return large, s, s * z * horner(z, polynomials.ASIN[form.key])


def asin(form: Format, x: Value) -> Value:
    """pi/2 - 2 asin(sqrt((1 - |x|) / 2)) above one half, the rounding of the first difference added back."""
    high, low = HALF_PI[form.key]
    large, s, excess = _root_part(form, x)
    base = fma(s, -2.0, high)
    far = base + (fma(excess, -2.0, low) + fma(s, -2.0, high - base))
    return copysign(select(large, far, s + excess), x)


def acos(form: Format, x: Value) -> Value:
    """2 asin(sqrt((1 - x) / 2)) above one half, pi minus it below minus one half, pi/2 - asin(x) between."""
    high, low = HALF_PI[form.key]
    large, s, excess = _root_part(form, x)
    negative = x < 0.0
    signed, signed_excess = select(negative, -s, s), select(negative, -excess, excess)
    middle = high - (signed - (low - signed_excess))
    near_one = (s + excess) * 2.0
    near_minus_one = 2.0 * (high - (s - (low - excess)))
    return select(large, select(negative, near_minus_one, near_one), middle)
