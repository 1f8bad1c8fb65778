"""log, log2, log10, log1p, softplus and the inverse hyperbolic functions.

x = 2**k m with m in [sqrt(1/2), sqrt(2)); with f = m - 1 and s = f / (2 + f), log(1 + f) = 2 atanh(s), arranged as fdlibm does:
f - (f**2/2 - s (f**2/2 + R(s**2))), so that the exact f is added last.
"""

from __future__ import annotations

from graphad.compiler.cpu.vectormath import polynomials
from graphad.compiler.cpu.vectormath.exponential import exp_of_negative
from graphad.compiler.cpu.vectormath.text import (
    Format,
    Value,
    copysign,
    divide,
    fma,
    horner,
    select,
    sqrt,
    sum_error,
)

INFINITY = float("inf")
NAN = float("nan")
ROOT_HALF = {"f64": 0x3FE6A09E667F3BCD, "f32": 0x3F3504F3}  # bits of sqrt(1/2)
# ln(2) whose first part has zeros at its end: k times it is exact.
LN_2_SHORT = {
    "f64": (0.6931471805598903, 5.497923018708371e-14),
    "f32": (0.693145751953125, 1.428606765330187e-06),
}

INVERSE_LN_2 = {
    "f64": (1.4426950408889634, 2.0355273740931033e-17),
    "f32": (1.4426950216293335, 1.925963033500011e-08),
}
INVERSE_LN_10 = {
    "f64": (0.4342944819032518, 1.098319650216765e-17),
    "f32": (0.4342944920063019, -1.0103049952192578e-08),
}
LOG10_2_SHORT = {
    "f64": (0.30102999566383914, 1.42050232272661e-13),
    "f32": (0.301025390625, 4.605039066518657e-06),
}


def split(form: Format, x: Value, from_subnormal: bool = True) -> tuple[Value, Value]:
    """(k, m) with x = 2**k m; x must be positive and finite for the answer to mean anything."""
    lift = form.stored + 2
    offset = 2.0**form.stored + form.bias
    if from_subnormal:
        small = x < form.smallest_normal
        x = select(small, x * 2.0**lift, x)
        bias = select(small, offset + lift, offset, x)
    else:
        bias = x.lift(offset)
    root = ROOT_HALF[form.key]
    position = x.bits() + (form.one - root)
    k = ((position >> form.stored) | ((form.bias + form.stored) << form.stored)).real() - bias
    m = ((position & ((1 << form.stored) - 1)) + root).real()
    return k, m


def beyond(form: Format, x: Value, result: Value, pole: float) -> Value:
    """`result` for pole < x < inf; -inf at the pole, NaN below it, x itself for +inf and NaN."""
    edge = select(x < pole, NAN, select(x.equals(pole), -INFINITY, x))
    return select(x > pole, select(x < INFINITY, result, x), edge)


def log(form: Format, x: Value) -> Value:
    k, m = split(form, x)
    high, low = LN_2_SHORT[form.key]
    f = m - 1.0
    s = f / (f + 2.0)
    w = s * s
    half = f * f * 0.5
    rest = fma(s, fma(w, horner(w, polynomials.LOG[form.key]), half), k * low)
    return beyond(form, x, fma(k, high, f - (half - rest)), 0.0)


def _other_base(form: Format, x: Value, unit: tuple[float, float], inverse: tuple[float, float]) -> Value:
    """k * unit + log(m) * inverse, all three in two parts: exact powers of the base come out exact."""
    k, m = split(form, x)
    f = m - 1.0
    s = f / (f + 2.0)
    w = s * s
    half = f * f * 0.5
    below = half - s * fma(w, horner(w, polynomials.LOG[form.key]), half)
    natural = f - below
    natural_rest = (f - natural) - below
    product = natural * inverse[0]
    rest = fma(natural, inverse[0], -product) + fma(natural, inverse[1], natural_rest * inverse[0])
    whole = k * unit[0]
    total = whole + product
    rest = ((whole - total) + product) + fma(k, unit[1], rest)
    return beyond(form, x, total + rest, 0.0)


def log2(form: Format, x: Value) -> Value:
    return _other_base(form, x, (1.0, 0.0), INVERSE_LN_2[form.key])


def log10(form: Format, x: Value) -> Value:
    return _other_base(form, x, LOG10_2_SHORT[form.key], INVERSE_LN_10[form.key])


def log_of_sum(form: Format, x: Value, x_rest: Value | float, doubled: Value | None = None) -> Value:
    """log(1 + x + x_rest) for x > -1, plus ln(2) where `doubled` holds.

    With u = 1 + x rounded this is log(u) plus what the rounding lost divided by u, for which a power of two times a
    crude 1 / m suffices.  Where u needs no power of two, f is x itself and nothing is lost.
    """
    high, low = LN_2_SHORT[form.key]
    u = 1.0 + x
    above = x > 1.0
    lost = select(above, 1.0, x) - (u - select(above, x, 1.0))
    k, m = split(form, u, from_subnormal=False)
    whole = k.equals(0.0)
    f = select(whole, x, m - 1.0)
    s = f / (f + 2.0)
    w = s * s
    half = f * f * 0.5
    inverse = (form.one - ((k + form.rounder).bits() << form.stored)).real() * horner(
        f, (1.0, -0.97, 0.8, -0.5)
    )
    lost = select(whole, x_rest, lost + x_rest)
    correction = select(x < 2.0 ** (form.stored + 8), lost * inverse, 0.0)
    if doubled is not None:
        k = select(doubled, k + 1.0, k)
    rest = fma(s, fma(w, horner(w, polynomials.LOG[form.key]), half), fma(k, low, correction))
    return fma(k, high, f - (half - rest))


def log1p(form: Format, x: Value) -> Value:
    tiny = abs(x) < 2.0 ** -(form.stored + 2)
    return select(tiny, x, beyond(form, x, log_of_sum(form, x, 0.0), -1.0))


def atanh(form: Format, x: Value) -> Value:
    """log1p(2 |x| / (1 - |x|)) / 2, the quotient as a sum of two floats."""
    size = abs(x)
    below = 1.0 - size
    quotient, rest = divide(size, x.lift(0.0), below, (1.0 - below) - size)
    inside = log_of_sum(form, quotient * 2.0, rest * 2.0) * 0.5
    edge = select(size.equals(1.0), INFINITY, select(size > 1.0, NAN, x))
    result = select(size < 1.0, select(size < 2.0 ** -(form.stored // 2 + 2), size, inside), edge)
    return copysign(result, x)


def _root(p: Value, p_rest: Value) -> tuple[Value, Value]:
    """sqrt(p + p_rest) as a sum of two floats; p is positive or zero."""
    root = sqrt(p)
    return root, select(p > 0.0, (fma(-root, root, p) + p_rest) / (root + root), 0.0)


def asinh(form: Format, x: Value) -> Value:
    """log1p(a + a**2 / (1 + sqrt(1 + a**2))) for a = |x|; log(2 a) where the square would overflow."""
    size = abs(x)
    large = size > 2.0 ** (form.stored + 4)
    a = select(large, 1.0, size)
    square = a * a
    square_rest = fma(a, a, -square)
    more = square + 1.0
    root, root_rest = _root(more, sum_error(square, 1.0, more) + square_rest)
    below = root + 1.0
    ratio, ratio_rest = divide(square, square_rest, below, (1.0 - (below - root)) + root_rest)
    total = a + ratio
    rest = ((a - total) + ratio) + ratio_rest
    result = log_of_sum(form, select(large, size, total), select(large, 0.0, rest), large)
    result = select(size < INFINITY, result, size)
    return copysign(select(size < 2.0 ** -(form.stored // 2 + 2), size, result), x)


def acosh(form: Format, x: Value) -> Value:
    """log1p(t + sqrt(t (t + 2))) for t = x - 1."""
    large = x > 2.0 ** (form.stored + 4)
    held = select(large, 2.0, x)
    t = held - 1.0
    t_rest = sum_error(held, -1.0, t)
    more = t + 2.0
    more_rest = sum_error(t, 2.0, more) + t_rest
    product = t * more
    root, root_rest = _root(product, fma(t, more, -product) + fma(t, more_rest, t_rest * more))
    total = t + root
    rest = sum_error(t, root, total) + (root_rest + t_rest)
    result = log_of_sum(form, select(large, x, total), select(large, 0.0, rest), large)
    return select(x >= 1.0, select(x < INFINITY, result, x), select(x < 1.0, NAN, x))


def softplus(form: Format, x: Value) -> Value:
    """max(x, 0) + log(1 + e) with e = exp(-|x|) in (0, 1]: no exponent to split off."""
    e, e_rest = exp_of_negative(form, -abs(x))
    s = e / (e + 2.0)
    w = s * s
    half = e * e * 0.5
    slope = fma(s, -1.5, 1.0)  # near 1 / (1 + e), good to 5 %
    rest = fma(s, fma(w, horner(w, polynomials.LOG_UNIT[form.key]), half), e_rest * slope)
    base = select(x < 0.0, 0.0, x)
    return base + (e - (half - rest))
