"""The modified Bessel functions I0 and I1, and exp(-|x|) times them: polynomials on four parts of the half line.

Up to 4 the power series, whose terms have one sign, in t = (x / 2)^2; beyond, the rounding of t would count as many times as the
function grows with it, and polynomials in x, or in 1 / x, approximate exp(-x) I(x), which hardly varies. All were interpolated
at Chebyshev nodes with 50 digits, to within 1e-17 of the function.

K0 up to 2 likewise: up to 1 the sum of its series, whose two parts are positive there, then a polynomial for exp(x) K0(x).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.ops.math import series

Array = Any

# By order: I0(x) and I1(x) / (x / 2) in powers of (x / 2)^2.
NEAR = (
    (
        1.0, 1.0, 0.25000000000000006, 0.027777777777777395, 0.0017361111111122037, 6.944444444258913e-05,
        1.9290123476996684e-06, 3.936759741811355e-08, 6.151194669999251e-10, 7.593807605057801e-12, 7.599826323274557e-14,
        6.190956072618868e-16, 5.080956161440804e-18,
    ),
    (
        1.0, 0.5, 0.08333333333333334, 0.006944444444444417, 0.0003472222222222996, 1.1574074073942683e-05,
        2.7557319238297283e-07, 4.920949757063851e-09, 6.834657788020171e-11, 7.593880665800959e-13, 6.907779147666128e-15,
        5.169663803304589e-17, 3.866143248475768e-19,
    ),
)  # fmt: skip
# exp(-x) I(x) from 4 to 8 in powers of x - 6.
MIDDLE = (
    (
        0.16665743263981658, -0.014605973331310692, 0.0019350183889352592, -0.00028784985822927076, 4.5529884383424116e-05,
        -7.491363274664436e-06, 1.2610939953880555e-06, -2.13464902181304e-07, 3.5704194106991957e-08,
        -5.811800524811865e-09,
        9.101115601875643e-10, -1.3606054350634784e-10, 1.9330732680155865e-11, -2.6048384839399103e-12,
        3.3315486939834676e-13,
        -4.033388922053461e-14, 4.5371667129260004e-15, -4.976807558881607e-16, 6.353016920176484e-17,
        -6.203873761559848e-18,
    ),
    (
        0.1520514593085059, -0.01073593655344029, 0.001071468814247352, -0.00010573032069365283, 8.073068010799097e-06,
        7.520068842022516e-08, -2.3316032183502817e-07, 7.216867074064032e-08, -1.6602007892487552e-08,
        3.289291628606952e-09,
        -5.865565384139545e-10, 9.592425879203214e-11, -1.4531203368934318e-11, 2.052753321326969e-12,
        -2.7210791113233314e-13,
        3.385963430507585e-14, -3.887343064784577e-15, 4.340442586640917e-16, -5.64656837956559e-17, 5.573978810125867e-18,
    ),
)  # fmt: skip
# The same from 8 to 16 in powers of x - 12.
UPPER = (
    (
        0.11642622121344044, -0.0049619219232594665, 0.0003175761195019143, -2.261378394891227e-05, 1.6933048774756854e-06,
        -1.3064024430068865e-07, 1.0286365322640512e-08, -8.224267356937124e-10, 6.658312787573045e-11,
        -5.4500891149418175e-12,
        4.507026412562733e-13, -3.764257586409247e-14, 3.1747598283460068e-15, -2.70030917941843e-16, 2.3042811637906283e-17,
        -1.9833569412075325e-18, 1.7737492249837644e-19, -1.5144301212926002e-20, 9.764413992732862e-22,
        -8.426802270795302e-23,
        1.5174453139535548e-23, -1.1914242596694011e-24,
    ),
    (
        0.11146429929018098, -0.004326769684255615, 0.00024973476765519564, -1.5840564439126766e-05, 1.0401036559312418e-06,
        -6.892205219234178e-08, 4.529378208414458e-09, -2.897618282927948e-10, 1.7532310216879702e-11, -9.43020363521231e-13,
        3.663822073791448e-14, 4.452678541117955e-16, -3.36236183335589e-16, 5.383618113814875e-17, -6.6519648182972025e-18,
        7.456408864544554e-19, -8.3208794295774e-20, 8.158049139175872e-21, -5.27338123773111e-22, 5.136344473181841e-23,
        -1.112732759905719e-23, 9.115427579572635e-25,
    ),
)  # fmt: skip
# sqrt(x) exp(-x) I(x) from 16 on in powers of 1 / x - 1 / 32.
FAR = (
    (
        0.40052897918718267, 0.05171249281224818, 0.031083533790742083, 0.03586438621140711, 0.06319051473414157,
        0.15333707957348058, 0.48378881367957804, 1.9153032231237688, 9.31745049442685, 54.60402355116267, 351.4563449951851,
        3017.2810223591764, 57016.62431577585, 642171.596599958,
    ),
    (
        0.394220213406121, -0.15265274530923523, -0.05096139881081228, -0.04937623965876543, -0.07986853554696761,
        -0.18416870310540212, -0.5616271854103081, -2.169845955546575, -10.361779970487657, -59.85731380631445,
        -381.4639848466445, -3232.007706085447, -60411.46975216886, -679667.1646793217,
    ),
)  # fmt: skip
_ENDS = 4.0, 8.0, 16.0
_OVERFLOWS = 700.0  # from about here on exp(x), before I(x) does


FAR_SLOPE = (
    64.0  # from here on the derivatives of the scaled functions are series; differences would lose digits
)


def far_slope(order: int, sign: float) -> tuple[float, list[float]]:
    """Of the derivative of exp(-x) I(x), with sign -1, or exp(x) K(x), with sign 1: the size and the factors, low order first.

    The derivative is -size x^(-3/2) times the sum of the factors times powers of 1 / x.
    """
    factors, a = [], 1.0
    for k in range(10):
        factors.append((k + 0.5) * a)
        a *= sign * (4.0 * order * order - (2 * k + 1) ** 2) / (8.0 * (k + 1))
    return math.sqrt(0.5 / math.pi) if sign < 0 else math.sqrt(0.5 * math.pi), factors


def modified(order: int, scaled: bool) -> Callable[[Array], Array]:
    """The formula of I0 or I1, `scaled` by exp(-|x|) or not, of an array of any float dtype."""

    def near(size: Array) -> Array:
        half = 0.5 * size
        y = arrays.polynomial(NEAR[order], half * half)
        y = half * y if order else y
        return y * np.exp(-size) if scaled else y

    def of_scaled(y: Array, size: Array) -> Array:
        if scaled:
            return y
        is_large = size > _OVERFLOWS
        if not is_large.any():
            return y * np.exp(size)
        root = np.exp(np.where(is_large, 0.5, 1.0) * size)
        return y * root * np.where(is_large, root, 1.0)

    def middle(size: Array) -> Array:
        return of_scaled(arrays.polynomial(MIDDLE[order], size - 6.0), size)

    def upper(size: Array) -> Array:
        return of_scaled(arrays.polynomial(UPPER[order], size - 12.0), size)

    def far(size: Array) -> Array:
        return of_scaled(arrays.polynomial(FAR[order], 1.0 / size - 1 / 32) / np.sqrt(size), size)

    def formula(x: Array) -> Array:
        size = np.abs(x)
        first, second, third = _ENDS
        parts = [
            (size <= first, near),
            (size <= second, middle),
            (size <= third, upper),
            (size < np.inf, far),
        ]
        y = series.by_part(size, parts, 0.0 if scaled else np.inf)
        return np.copysign(y, x) if order else y

    def function(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return series.of_array(formula, x)

    return function


# exp(x) K0(x) from 1 to 2 in powers of x - 1.5.
SECOND = (
    0.9582100532948965, -0.2849558202576565, 0.12943280425986003, -0.06622242802813785, 0.03595355673902997,
    -0.02024570743852747, 0.01168975743403036, -0.006874895482308255, 0.004100761313286651, -0.0024736471781226467,
    0.0015058443337328095, -0.0009236858239009966, 0.0005703157790948895, -0.00035402621813946495,
    0.00022022798949307155, -0.0001379241395376127, 8.949895802290394e-05, -5.6469905602211904e-05,
    2.7382227206025973e-05, -1.731975102841511e-05, 2.5047637894418445e-05, -1.599193778994649e-05,
)  # fmt: skip
# K0(x) is -(log(x / 2) + gamma) I0(x) and the sum of (1 + 1 / 2 + ... + 1 / k) / k!^2 (x / 2)^(2 k).
_LOG_PART = 0.11593151565841245  # log(2) - gamma
HARMONIC = tuple(sum(1.0 / j for j in range(1, k + 1)) / math.factorial(k) ** 2 for k in range(12))


def second(scaled: bool) -> Callable[[Array], Array]:
    """The formula of K0 for x from 0 to 2, `scaled` by exp(x) or not."""

    def near(x: Array) -> Array:
        half = 0.5 * x
        square = half * half
        y = (_LOG_PART - np.log(x)) * arrays.polynomial(NEAR[0], square) + arrays.polynomial(HARMONIC, square)
        return y * np.exp(x) if scaled else y

    def far(x: Array) -> Array:
        y = arrays.polynomial(SECOND, x - 1.5)
        return y if scaled else y * np.exp(-x)

    def formula(x: Array) -> Array:
        return series.by_part(x, [(x <= 1.0, near), (x > 1.0, far)], np.nan)

    return formula
