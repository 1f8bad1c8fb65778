"""Special functions by series, where the libraries lose digits or would loop over elements.

All take and return one-dimensional float64 arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.ops.choice import chosen
from graphad.ops.math import exactly

Array = Any

# zeta(k) - 1 for k = 2, 3, ..., up to where the terms (zeta(k) - 1) z^k / k are negligible for |z| <= 1/2.
_ZETA = (
    0.6449340668482264, 0.2020569031595943, 0.08232323371113819, 0.03692775514336993, 0.01734306198444914,
    0.008349277381922827, 0.00407735619794434, 0.0020083928260822143, 0.0009945751278180853, 0.0004941886041194645,
    0.0002460865533080483, 0.00012271334757848915, 6.124813505870483e-05, 3.058823630702049e-05, 1.528225940865187e-05,
    7.637197637899763e-06, 3.81729326499984e-06, 1.908212716553939e-06, 9.539620338727962e-07, 4.769329867878064e-07,
    2.38450502727733e-07, 1.1921992596531106e-07, 5.960818905125948e-08, 2.980350351465228e-08, 1.4901554828365043e-08,
    7.45071178983543e-09,
)  # fmt: skip
_BLOCK = 32768
_EULER = 0.5772156649015329
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
# log gamma(x) / ((x - 1) (x - 2)) for x from 3/4 to 3/2 in powers of x - 9/8, in the same way.
_AROUND_ONE = (
    0.5487833977237905, -0.21115323425817567, 0.11960320844256114, -0.07892681966470984, 0.05628216876892011,
    -0.041994855996659405, 0.0322638871556765, -0.025296548394587476, 0.020132841037217526, -0.016209004447210122,
    0.013170646269321629, -0.01078397242079351, 0.008885087778126808, -0.0073456062508756945, 0.006113084992861291,
    -0.005242564491966966, 0.004398498228612218, -0.002943163071289742, 0.0024773869429850857, -0.004489514044147073,
    0.0038153025303318926,
)  # fmt: skip
# For x from 7/2 to 10, in powers of 1 / x^2: within 4e-18, interpolated at Chebyshev nodes with 40 digits.
MIDDLE = (
    0.0833333333333308, -0.002777777776868524, 0.0007936506556022418, -0.0005952263481949457, 0.0008411240997614972,
    -0.0018952833048301527, 0.0058653899947506815, -0.020050767615540185, 0.056365518592377054, -0.08537066765352651,
)  # fmt: skip
HALF_LOG_TWO_PI = 0.9189385332046728
# The zero of Ei, in two parts.
EI_ZERO, EI_REST = 0.3725074107813666, 1.3140183414386028e-17
# B(2 n) / (2 n + 1)! for n from 1 on.
_DEBYE = tuple(
    b / math.factorial(2 * n + 1)
    for n, b in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798), 1
    )
)


def by_part(x: Array, parts: Sequence[tuple[Array, Callable[[Array], Array]]], otherwise: Any) -> Array:
    """Each element by the formula of the first part that contains it; `otherwise` if none does, NaN for NaN."""
    free = x == x
    out = np.full_like(x, otherwise)
    np.copyto(out, x, where=~free)
    for mask, formula in parts:
        mine = np.flatnonzero(free & mask)  # indexing by number is faster than by a mask
        if mine.size == x.size:
            return formula(x)
        if mine.size:
            out[mine] = formula(x[mine])
            free &= ~mask
    return out


def of_array(formula: Callable[[Array], Array], x: Array, special: str | None = None) -> Array:
    """A formula applied to any array, in its dtype, block by block, so that intermediate results stay in the cache.

    On a device its library's function is taken, if there is a `special` one.
    """
    there = arrays.special(special, x) if special is not None else None
    if there is not None:
        return there
    wide = arrays.of_dtype(x, np.float64).reshape(-1)
    y = arrays.empty(wide.size, x.dtype, x)
    block = _BLOCK if type(wide) is np.ndarray else max(wide.size, 1)
    for start in range(0, wide.size, block):
        y[start : start + block] = formula(wide[start : start + block])
    y = y.reshape(np.shape(x))
    return y if y.ndim else y[()]


def of_arrays(formula: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    """A formula of two arrays of one dtype, in that, block by block as in `of_array`."""
    if np.shape(x) != np.shape(y):
        x, y = np.broadcast_arrays(x, y)
    first, second = (arrays.of_dtype(z, np.float64).reshape(-1) for z in (x, y))
    out = arrays.empty(first.size, x.dtype, x)
    block = _BLOCK if type(first) is np.ndarray else max(first.size, 1)
    with np.errstate(all="ignore"):
        for start in range(0, first.size, block):
            out[start : start + block] = formula(first[start : start + block], second[start : start + block])
    out = out.reshape(np.shape(x))
    return out if out.ndim else out[()]


NEAR_TWO = (1 - _EULER, *((-1) ** k * value / k for k, value in enumerate(_ZETA, 2)))


def _near_two(x: Array) -> Array:
    """log gamma(x) for x from 3/2 to 5/2: relatively exact at its zero 2."""
    z = x - 2.0
    return z * arrays.polynomial(NEAR_TWO, z)


def _around_one(x: Array) -> Array:
    """For x from 3/4 to 3/2: relatively exact at the zero 1."""
    return (x - 1.0) * (x - 2.0) * arrays.polynomial(_AROUND_ONE, x - 1.125)


def _near_one(x: Array) -> Array:
    """For x from 1/2 to 3/4, and for x + 1 where x is below 1/2."""
    z = x - 1.0
    return z * arrays.polynomial(NEAR_TWO, z) - np.log1p(z)


def _below_half(x: Array) -> Array:
    return _near_one(x + 1.0) - np.log(x)


def _step_up(x: Array) -> Array:
    """From 5/2 to 7/2, by the recurrence."""
    before = x - 1.0
    return _near_two(before) + np.log(before)


def _middle(x: Array) -> Array:
    """From 7/2 to 10: Stirling's formula, with a polynomial in place of its series."""
    over = 1.0 / x
    return (
        (x - 0.5) * (np.log(x) - 1.0) - 0.5 + HALF_LOG_TWO_PI + over * arrays.polynomial(MIDDLE, over * over)
    )


def _far(x: Array) -> Array:
    """Stirling's series."""
    over = 1.0 / x
    return (
        (x - 0.5) * (np.log(x) - 1.0)
        - 0.5
        + HALF_LOG_TWO_PI
        + over * arrays.polynomial(STIRLING, over * over)
    )


def _positive(x: Array) -> Array:
    return by_part(
        x,
        [
            (x == np.inf, lambda x: x),
            (x >= 10, _far),
            (x >= 3.5, _middle),
            (x > 2.5, _step_up),
            (x >= 1.5, _near_two),
            (x >= 0.75, _around_one),
            (x >= 0.5, _near_one),
            (x > 0, _below_half),
        ],
        np.inf,
    )


# The distances from -2, -3, ..., -17 of the zeros of log |gamma(x)| below and above, in two parts; above -2 there is none.
_ZEROS = (
    (0.45702473822080064, -1.843554041574456e-17), (1.0, 0.0), (0.14358088834998006, -3.862806401714152e-18),
    (0.2523173532725874, -2.04688991691325e-17), (0.03936183974053688, -3.2731379225891636e-18),
    (0.04470571514140207, 8.223977942582053e-19), (0.008218168322593521, 5.582665915956405e-19),
    (0.008455359439952277, 8.231751957350036e-19), (0.0013852944531550972, 2.6295731811446077e-20),
    (0.0013925199191243706, -7.090441230646531e-20), (0.00019833340732475162, -1.1820573401560963e-20),
    (0.0001984921093623021, 6.263909978492175e-21), (2.48002706819597e-05, -1.0083974251164085e-21),
    (2.4802904179335845e-05, 3.15397713595963e-22), (2.7557148226503463e-06, 5.624459871432079e-23),
    (2.7557490225318057e-06, -6.500300408654724e-23), (2.755730136466002e-07, 2.4472526783403563e-23),
    (2.7557337083353163e-07, 1.4502658434955713e-23), (2.5052106852407546e-08, -1.2924868620853802e-24),
    (2.5052109918476226e-08, -6.807394864189793e-25), (2.087675687777539e-09, 4.849684877236172e-26),
    (2.087675709796081e-09, -8.658839215884982e-26), (1.6059043830108875e-10, -7.046449983196074e-27),
    (1.6059043843534355e-10, 6.465141936497467e-27), (1.147074559737784e-11, -4.194056116105366e-28),
    (1.147074559808161e-11, -7.830340218001236e-28), (7.647163731803788e-13, -4.886154187641447e-29),
    (7.647163731835846e-13, -3.8035184915187745e-29), (4.779477332386745e-14, 1.811833433216651e-30),
    (4.779477332388026e-14, -9.319923331229129e-31), (2.811457254345498e-15, 2.2878206410005478e-32),
    (2.8114572543455435e-15, -8.713180440266469e-32),
)  # fmt: skip
_ALL_ZEROS = (*_ZEROS, *((1 / math.factorial(n), 0.0) for n in range(18, 27) for _ in range(2)))
_LOWEST_ZERO = -26.5
_BELOW_TWO, _ABOVE_THREE = (
    (-2.4570247382208006, -3.7075610815513266e-17),
    (-2.7476826467274127, 9.055340329338315e-17),
)
# log |gamma(x)| divided by its distances from these two of the zeros, for x from -2.755 to -2.445, in powers of x + 2.6015625;
# interpolated at Chebyshev nodes with 45 digits.
_BETWEEN = (
    5.595591564938017, -4.236109331537609, 13.039272871561566, -19.488150530054906, 50.19231776375946, -95.18898026874975,
    228.88808385931625, -483.64059720468344, 1137.3524927598737, -2535.796702168938, 5941.421214623658, -13634.07840492589,
    32043.585617633806, -74790.18617642888, 176981.80567148444, -417114.23593297455, 973000.3592616054, -2334419.8546102215,
    6353711.04060599, -14532566.574602466, 13220858.017027816, -43250269.17920924, 448291536.63936895, -993238191.6949496,
)  # fmt: skip


def _between_zeros(x: Array) -> Array:
    """log |gamma(x)| for x from -2.755 to -2.445: small all over, so that the sums below would cancel."""
    first, second = ((x - z) - rest for z, rest in (_BELOW_TWO, _ABOVE_THREE))
    return first * second * arrays.polynomial(_BETWEEN, x + 2.6015625)


def _close_to_zero(x: Array, whole: Array) -> Array:
    """log |gamma(x)| for x from -26.5 to -2, as a sum whose terms are 0 at the closest zero.

    With z = x + n, the n factors of the recurrence and log gamma(1 + z) it is -log |z| - log(1 - z) - ... - log(n - z) +
    log gamma(1 + z). From that the same is subtracted term by term for the place of the zero.
    """
    n, z = -whole, x - whole
    first, rest = np.array(_ALL_ZEROS)[(2 * n).astype(np.intp) - 4 + (z > 0)].T
    away, sign = (np.abs(z) - first) - rest, np.sign(z)
    step, zero = sign * away, sign * first
    power = quotient = np.full_like(x, NEAR_TWO[-1])
    for factor in NEAR_TWO[-2::-1]:  # of the polynomial for log gamma(2 + z), divided by the step
        power = power * z + factor
        quotient = quotient * zero + power
    lost = step / (1.0 + zero)  # what the product of the factors' ratios differs from 1
    for k in range(1, int(n.max()) + 1):
        ratio = np.where(k <= n, -step / (k - zero), 0.0)
        lost += ratio + lost * ratio
    total = step * quotient - np.log1p(lost)
    ratio = np.abs(z) / first
    return np.asarray(total - np.where(ratio < 0.5, np.log(ratio), np.log1p(away / first)))


def _mirrored(x: Array) -> Array:
    whole = np.rint(x)
    sine = np.abs(np.sin(math.pi * (x - whole)))
    with np.errstate(all="ignore"):
        other = _positive(1.0 - x)
        y = math.log(math.pi) - np.log(sine) - other
        tiny = np.flatnonzero(np.abs(x) < 1e-300)  # pi times a number of few bits has no more of them
        y[tiny] = -np.log(-x[tiny])
    close = np.flatnonzero((np.abs(y) < 0.5 * other) & (x < -2.0) & (x > _LOWEST_ZERO) & (x != whole))
    if close.size:
        y[close] = _close_to_zero(x[close], whole[close])
    return chosen(x == whole, np.inf, y)


def lgamma(x: Array) -> Array:
    """log |gamma(x)|, inf at 0, -1, -2, ... and at both infinities."""
    y = by_part(
        x,
        [(x > 0, _positive), ((x > -2.755) & (x < -2.445), _between_zeros), (x > -np.inf, _mirrored)],
        np.inf,
    )
    return y + 0.0  # at 1 it is 0, not -0


_ODD = tuple(1.0 / (2 * k + 3) for k in range(18))


def _log1pmx_near(x: Array) -> Array:
    """By log(1 + x) = 2 r + 2 r^3 / 3 + 2 r^5 / 5 + ... for r = x / (2 + x), of which 2 r - x = -r x."""
    r = x / (2.0 + x)
    square = r * r
    return r * (2.0 * square * arrays.polynomial(_ODD, square) - x)


def log1pmx(x: Array) -> Array:
    """log(1 + x) - x."""
    with np.errstate(all="ignore"):
        return by_part(x, [(np.abs(x) < 0.5, _log1pmx_near), (x >= -1.0, lambda x: np.log1p(x) - x)], np.nan)


def _dilogarithm(x: Array) -> Array:
    """spence for x from 1/2 to 2, by the series in log(x)."""
    u = -np.log1p(x - 1.0)
    square = u * u
    return u * (1.0 - u * 0.25 + square * arrays.polynomial(_DEBYE, square))


_SIXTH = math.pi**2 / 6


def _low(x: Array) -> Array:
    return _SIXTH - np.log(x) * np.log1p(-x) - _dilogarithm(1.0 - x)


def _high(x: Array) -> Array:
    size, over = np.log(x), 1.0 / x
    return _dilogarithm(1.0 - over) - size * np.log1p(-over) - _SIXTH - 0.5 * size * size


def spence(x: Array) -> Array:
    """The integral of log(t) / (1 - t) from 1 to x, NaN below 0."""
    with np.errstate(all="ignore"):
        parts = [
            (x == 0, lambda x: np.full_like(x, _SIXTH)),
            (x == np.inf, lambda x: -x),
            (x > 2, _high),
            (x >= 0.5, _dilogarithm),
            (x > 0, _low),
        ]
        return by_part(x, parts, np.nan)


def _expint_near_zero(x: Array) -> Array:
    """Ei(x) for x from 1/4 to 1/2: log(x / z) plus the sum of (x^k - z^k) / (k k!) for its zero z, with x - z factored out."""
    away = (x - EI_ZERO) - EI_REST
    quotient, power, total, factorial = np.ones_like(x), EI_ZERO, np.zeros_like(x), 1.0
    for k in range(1, 16):
        factorial *= k
        total += quotient / (k * factorial)
        quotient = quotient * x + power
        power *= EI_ZERO
    return np.log1p(away / EI_ZERO) + away * total


_FACTORIALS = tuple(float(math.factorial(k)) for k in range(41))


def expint(x: Array) -> Array:
    """Ei(x) for x from 1/4 to 1/2, and from 40 on by the asymptotic series."""
    return by_part(x, [(x < 1, _expint_near_zero), (x >= 40, _expint_far)], np.nan)


def _expint_far(x: Array) -> Array:
    x = np.minimum(x, 1e4)  # it overflows from 717 on, and infinity would become NaN
    half = np.exp(0.5 * x)  # e^x overflows before e^x / x does
    return np.asarray(half * (half / x * arrays.polynomial(_FACTORIALS, 1.0 / x)))


_DAWSON = tuple((-2.0) ** k / math.prod(range(1, 2 * k + 2, 2)) for k in range(14))


def dawsn_near_zero(x: Array) -> Array:
    """Dawson's integral for |x| up to 1/2, by its series."""
    return x * arrays.polynomial(_DAWSON, x * x)


_DAWSON_FAR = tuple(math.prod(range(1, 2 * k, 2)) / 2.0 ** (k + 1) for k in range(16))


# The derivative for |x| from 12 on, - x^-2 times a sum of powers of x^-2.
FAR_DAWSON = 12.0
DAWSON_SLOPE = tuple(2.0 * factor for factor in _DAWSON_FAR[1:14])


def dawsn_far(x: Array) -> Array:
    """The same for |x| from 10 on, by the asymptotic series."""
    return arrays.polynomial(_DAWSON_FAR, 1.0 / (x * x)) / x


def dawsn(x: Array) -> Array:
    """The same for |x| below 1/2 and from 10 on."""
    return by_part(x, [(np.abs(x) < 1, dawsn_near_zero), (np.abs(x) >= 10, dawsn_far)], np.nan)


def fresnel_far(x: Array) -> tuple[Array, Array]:
    """Fresnel's integrals of sine and cosine for |x| from 8 on, by the asymptotic series, x^2 reduced without an error."""
    size = np.minimum(np.abs(x), 2.0**100)
    square, rest = exactly.product(size, size)
    angle = math.pi / 2 * (np.fmod(square, 4.0) + np.fmod(rest, 4.0))
    z = 1.0 / (math.pi * square) ** 2
    f = arrays.polynomial((1.0, -3.0, 105.0, -10395.0, 2027025.0, -654729075.0), z) / (math.pi * size)
    g = arrays.polynomial((1.0, -15.0, 945.0, -135135.0, 34459425.0, -13749310575.0), z) / (
        math.pi**2 * square * size
    )
    sine, cosine = np.sin(angle), np.cos(angle)
    return np.copysign(0.5 - f * cosine - g * sine, x), np.copysign(0.5 + f * sine - g * cosine, x)
