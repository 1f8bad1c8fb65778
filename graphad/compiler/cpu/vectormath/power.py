"""pow, cbrt and hypot.

float64: log|x| as a sum of two floats good to about 2**-65 relative, times y with its product error, into exp.
float32: the same path in plain float64, where single floats are long enough.
"""

from __future__ import annotations

from graphad.compiler.cpu.vectormath import polynomials
from graphad.compiler.cpu.vectormath.exponential import LIMITS, LN_2, LOG2_E, power_of_two, scale
from graphad.compiler.cpu.vectormath.exponential import reduce as reduce_exponent
from graphad.compiler.cpu.vectormath.logarithm import LN_2_SHORT, split
from graphad.compiler.cpu.vectormath.text import (
    F64,
    Format,
    Value,
    at_least,
    at_most,
    copysign,
    fma,
    horner,
    rint,
    select,
    sqrt,
)

INFINITY = float("inf")
NAN = float("nan")
TWO_THIRDS = (0.6666666666666666, 3.700743415417188e-17)


def _long_log(x: Value) -> tuple[Value, Value]:
    """log(x), x positive and finite, as high + low."""
    form = F64
    k, m = split(form, x)
    high_ln2, low_ln2 = LN_2_SHORT[form.key]
    f = m - 1.0
    below = f + 2.0
    below_rest = f - (below - 2.0)
    inverse = 1.0 / below
    s = f * inverse
    s_rest = fma(-s, below_rest, fma(-s, below, f)) * inverse
    w = s * s
    w_rest = fma(s, s, -w) + 2.0 * s * s_rest
    # cubic = s * w * 2/3 as a sum of two floats
    cube = s * w
    cube_rest = fma(s, w, -cube) + fma(s, w_rest, s_rest * w)
    cubic = cube * TWO_THIRDS[0]
    cubic_rest = fma(cube, TWO_THIRDS[0], -cubic) + fma(cube, TWO_THIRDS[1], cube_rest * TWO_THIRDS[0])
    rest = fma(cube * w, horner(w, polynomials.LOG_TAIL["f64"]), cubic_rest)
    twice = s + s
    head = twice + cubic
    head_rest = ((twice - head) + cubic) + (rest + 2.0 * s_rest)
    whole = k * high_ln2
    total = whole + head
    total_rest = ((whole - total) + head) + fma(k, low_ln2, head_rest)
    high = total + total_rest
    return high, (total - high) + total_rest


def magnitude_f64(size: Value, y: Value) -> Value:
    """size**y for positive finite size and finite y."""
    high, low = _long_log(size)
    product = y * high
    rest = fma(y, low, fma(y, high, -product))
    top, bottom, _ = LIMITS["f64"]
    held = at_least(at_most(product, top), bottom)
    reduced = reduce_exponent(F64, held)
    r_rest = reduced.rest + select(held.equals(product), rest, 0.0)
    above_one = fma(reduced.r * reduced.r, horner(reduced.r, polynomials.EXP["f64"]), reduced.r)
    grown = 1.0 + above_one
    return scale(F64, grown + fma(grown, r_rest, (1.0 - grown) + above_one), reduced)


def _wide_log(x: Value) -> Value:
    """log of a positive float64, good to about 2**-43."""
    k, m = split(F64, x)
    f = m - 1.0
    s = f / (f + 2.0)
    w = s * s
    return fma(k, LN_2["f64"][0], fma(s * w, horner(w, polynomials.LOG["wide"]), s + s))


def _wide_exp(x: Value) -> Value:
    """e**x in float64 for |x| < 700, good to about 2**-37."""
    shifted = fma(x, LOG2_E, F64.rounder)
    r = fma(shifted - F64.rounder, -LN_2["f64"][0], x)
    return fma(r * r, horner(r, polynomials.EXP["wide"]), 1.0 + r) * power_of_two(F64, shifted)


def _magnitude_f32(size: Value, y: Value) -> Value:
    """As for float64, but float64 has the digits to spare; the result is rounded to float32 last."""
    return _wide_exp(at_least(at_most(y.widen() * _wide_log(size.widen()), 89.0), -105.0)).narrow()


def cbrt(form: Format, x: Value) -> Value:
    """e**(log|x| / 3), and for float64 one step of Newton's with an exact residual."""
    size = abs(x)
    wide = size if form.key == "f64" else size.widen()
    lifted = select(wide < 2.0**-900, wide * 2.0**180, wide)
    y = _wide_exp(_wide_log(lifted) * (1.0 / 3.0))
    if form.key == "f64":
        square = y * y
        residual = fma(square, y, -lifted) + fma(y, y, -square) * y
        y = y - residual / (3.0 * square)
        y = select(size < 2.0**-900, y * 2.0**-60, y)
    else:
        y = y.narrow()
    return copysign(select((size > 0.0) & (size < INFINITY), y, size), x)


def hypot(form: Format, x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2) with the squares' errors; an infinity wins over NaN, as C99 has it."""
    a, b = abs(x), abs(y)
    if form.key == "f32":
        p, q = a.widen(), b.widen()
        value = sqrt(fma(p, p, q * q)).narrow()
    else:
        large, small = select(a > b, a, b), select(a > b, b, a)
        huge, tiny = large > 2.0**510, large < 2.0**-450
        factor = select(huge, 2.0**-600, select(tiny, 2.0**600, 1.0, x))
        back = select(huge, 2.0**600, select(tiny, 2.0**-600, 1.0, x))
        p, q = large * factor, small * factor
        square = p * p
        total = fma(q, q, square)
        rest = fma(q, q, square - total) + fma(p, p, -square)
        root = sqrt(total)
        value = (root + select(total > 0.0, (fma(-root, root, total) + rest) / (root + root), 0.0)) * back
    value = select(a.differs(a) | b.differs(b), x + y, value)
    return select(a.equals(INFINITY) | b.equals(INFINITY), INFINITY, value)


def pow(form: Format, x: Value, y: Value) -> Value:
    """C99's special values: pow(x, 0) and pow(1, y) are 1 even for NaN; a negative base needs an integer exponent."""
    size = abs(x)
    ordinary = (magnitude_f64 if form.key == "f64" else _magnitude_f32)(size, y)
    growing = y > 0.0
    endless = abs(y).equals(INFINITY)
    # where log(size) or y is infinite the result is 0 or infinity, and infinity when y pulls away from 1
    explodes = (growing & (size > 1.0)) | ((y < 0.0) & (size < 1.0))
    extreme = select(explodes, INFINITY, select(size.equals(1.0), 1.0, 0.0, x), x)
    value = select(endless | size.equals(0.0) | size.equals(INFINITY), extreme, ordinary)
    integer = rint(y).equals(y)
    half = y * 0.5  # an infinity is its own half, hence even
    odd = integer & rint(half).differs(half)
    signed = x.bits() < 0
    value = select(signed & odd, -value, value)
    no_real = (x < 0.0) & (x > -INFINITY) & y.differs(rint(y))
    value = select(no_real, NAN, value)
    value = select(x.differs(x) | y.differs(y), x + y, value)
    return select(x.equals(1.0) | y.equals(0.0), 1.0, value)
