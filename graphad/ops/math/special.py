"""The error function and its relatives, in vectorised NumPy.

Near 0, erf(x) = x * P(x ** 2); further out, erfc(x) = exp(-x ** 2) / x * Q(t) with t = (x - C) / (x + C). For erfc, x ** 2 is
split in two so that its rounding error does not spoil the exponential; erf = 1 - erfc needs fewer digits and has another Q. The
inverse is x * R(x ** 2) up to the root of 1/2 and w * S(w) beyond, with w ** 2 = -log((1 - x) (1 + x)) (Giles, 2010,
"Approximating the erfinv function"). The polynomials were interpolated at Chebyshev nodes with 40 digits.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.dtypes import float32, float64
from graphad.core.tensor import Tensor
from graphad.ops.array.passing import STOP_GRADIENT
from graphad.ops.directly import directly
from graphad.ops.elementwise import elementwise, unary_function
from graphad.ops.math import series
from graphad.ops.math.arithmetic import ABS, ADD, MUL, MUL_ZERO, NEG, SQUARE, SUB, scaled
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import GREATER
from graphad.ops.math.compiled_loops import by_loop
from graphad.ops.math.exponential import EXP
from graphad.ops.math.native_loops import natively
from graphad.ops.math.select import SELECT
from graphad.ops.rules import FLOATING, scalar_like, unbroadcast

# P in powers of x ** 2, for |x| <= 1.
_NEAR = (
    1.1283791670955126,
    -0.37612638903183754,
    0.1128379167095512,
    -0.026866170645129854,
    0.005223977625423455,
    -0.0008548327021945428,
    0.00012055332903350668,
    -1.4925647581008593e-05,
    1.6462045711013026e-06,
    -1.6364645854816389e-07,
    1.479243542696247e-08,
    -1.2164764337224506e-09,
    8.709755232851789e-11,
    -4.2320376764874594e-12,
)
# Q in powers of t, for 1/2 <= x <= 28; beyond 28 erfc is 0.
_FAR = (
    0.527015910152859,
    0.1246899854332845,
    -0.1753688663955255,
    0.141331485701028,
    -0.07144479755708437,
    0.018377297217081114,
    0.001787129391196899,
    -0.0026289968917065335,
    0.00013174270556207804,
    0.00038050071859451,
    -2.7148314043715706e-05,
    -6.606816848224357e-05,
    -6.450413382416779e-07,
    1.2497803802024141e-05,
    2.215233844148741e-06,
    -2.143919661116763e-06,
    -9.950390972426062e-07,
    2.1751150618059828e-07,
    3.1032877996506097e-07,
    3.2151542104752097e-08,
    -7.708272860115231e-08,
    -1.616612645909065e-08,
    1.3775303538564115e-08,
)
# The same for 1 <= x <= 6, where a relative error of 2.5e-17 does not show in erf.
_OUTER = (
    0.527015910152859,
    0.12468998543328423,
    -0.17536886639554203,
    0.1413314857010966,
    -0.07144479755512506,
    0.018377297212110812,
    0.0017871293022620055,
    -0.002628996734220242,
    0.00013174469848134936,
    0.00038049814427942126,
    -2.717273439388324e-05,
    -6.604509753555257e-05,
    -4.773988333657205e-07,
    1.2385598397118761e-05,
    1.6012629966167895e-06,
    -1.8767045457903313e-06,
)
# x erfcx(x) in powers of x ** -2, for 5 <= x <= 28.
_FARTHEST = (
    0.5641895835477561, -0.2820947917735439, 0.4231421874453606, -1.057855397442517, 3.702480032143191, -16.659449524782886,
    91.4871551768818, -586.9272312530488, 4110.57683642532, -27593.333780528876, 143473.16107689627, -396974.19172908034,
)  # fmt: skip
# R in powers of x ** 2, up to 1/2.
INVERSE = (
    0.886226925452758,
    0.23201366653465216,
    0.12755617530628352,
    0.08655212916205461,
    0.06495962261539562,
    0.051731099805807174,
    0.042841256522136203,
    0.036386426669997224,
    0.03270833982291105,
    0.01816103160156283,
    0.09742658630436496,
    -0.391023981896082,
    1.863905087637617,
    -6.399862048683748,
    17.420338222988875,
    -36.356349848536766,
    57.53975437766186,
    -66.67284961279766,
    53.61755617331023,
    -26.809823643139225,
    6.368771473846641,
)
# (upper end of w, centre, S in powers of the distance from the centre).
TAILS = (
    (
        2.25,
        1.5,
        (
            0.9076902048067953,
            0.02532725980671609,
            0.003635648755334789,
            -0.003382218178705777,
            -0.0002539850724550105,
            0.0004503574216944945,
            0.00010202375942234247,
            -8.064674432961754e-05,
            -3.257362868626303e-05,
            1.4196290956222161e-05,
            9.514680898306827e-06,
            -2.0375773500186775e-06,
            -2.6290588300272214e-06,
            1.2364747433721935e-07,
            6.817723601758991e-07,
            5.539757322700771e-08,
            -1.6059689526301594e-07,
            -1.9760454407679765e-08,
            2.708828167391603e-08,
        ),
    ),
    (
        4.0,
        3.125,
        (
            0.9466352827875665,
            0.01842725955656606,
            -0.004087288020006381,
            0.00037693421884139677,
            0.00019906826915397474,
            -0.00013821514671240903,
            4.4970082710662915e-05,
            -3.577530838412943e-06,
            -5.127500829630593e-06,
            3.2229343065636553e-06,
            -7.613749142696305e-07,
            -1.749734915100314e-07,
            2.1677572815185046e-07,
            -7.571575874386785e-08,
            -1.3114357073418862e-09,
            1.496075123202056e-08,
            -6.12881727501287e-09,
            -6.306220990742167e-10,
            8.258747279845392e-10,
        ),
    ),
    (
        6.1,
        5.0,
        (
            0.9699812802749813,
            0.008063836983864833,
            -0.0016405115764583159,
            0.00028509727781019124,
            -4.1822653180146486e-05,
            4.432185237111827e-06,
            1.3000240753212115e-08,
            -1.943028492852981e-07,
            7.770244391559465e-08,
            -2.3047421560733e-08,
            5.962910503014007e-09,
            -1.3959909474098598e-09,
            2.8852895785514177e-10,
            -4.54222417044579e-11,
            1.1748965981614477e-12,
            3.2537191296458024e-12,
            -2.105301440826816e-12,
            8.497199323673542e-13,
            -1.6073959456690543e-13,
        ),
    ),
)
_BORDER, _END, _CENTRE = 0.5, 28.0, 2.5
_SHORT_END = 16.0  # beyond it exp(-x ** 2) is 0 in float32


def _near(x: np.ndarray) -> np.ndarray:
    """erf(x) for |x| <= 1."""
    near: np.ndarray = arrays.polynomial(_NEAR, x * x) * x
    return near


def _far(x: np.ndarray) -> np.ndarray:
    """erfc(x) for 1/2 <= x <= 28."""
    q = arrays.polynomial(_FAR, (x - _CENTRE) / (x + _CENTRE))
    head = x.astype(np.float32).astype(np.float64)
    far: np.ndarray = np.exp(-head * head) * np.exp((head - x) * (head + x)) / x * q
    return far


def _outer(x: np.ndarray) -> np.ndarray:
    """erf(x) for 1 <= x <= 6."""
    outer: np.ndarray = 1.0 - np.exp(-x * x) / x * arrays.polynomial(_OUTER, (x - _CENTRE) / (x + _CENTRE))
    return outer


def _erf(wide: Array) -> Any:
    size = np.abs(wide)
    return np.copysign(series.by_part(size, [(size <= 1.0, _near), (size < 6.0, _outer)], 1.0), wide)


def _erfc(wide: Array) -> Any:
    parts: list[tuple[Any, Any]] = [
        ((wide >= -1.0) & (wide < _BORDER), lambda x: 1.0 - _near(x)),
        ((wide > 0) & (wide < _END), _far),
        (wide > 0, np.zeros_like),
        (wide > -6.0, lambda x: 1.0 + _outer(-x)),
    ]
    return series.by_part(wide, parts, 2.0)


def _inverse(p: np.ndarray) -> np.ndarray:
    """erfinv(p) for p up to the root of 1/2."""
    inverse: np.ndarray = p * arrays.polynomial(INVERSE, p * p)
    return inverse


def _tail(p: np.ndarray) -> np.ndarray:
    """erfinv(p) for p from the root of 1/2 to 1."""
    w = np.sqrt(-np.log((1.0 - p) * (1.0 + p)))
    parts = [
        (w < end, lambda w, middle=middle, factors=factors: w * arrays.polynomial(factors, w - middle))
        for end, middle, factors in TAILS
    ]
    found: np.ndarray = series.by_part(w, parts, np.inf)
    return found


def _erfinv(wide: Array) -> Any:
    size = np.abs(wide)
    with np.errstate(all="ignore"):
        found = series.by_part(size, [(size * size <= 0.5, _inverse), (size <= 1.0, _tail)], np.nan)
    return np.copysign(found, wide)


def _bell(x: Tensor, factor: float) -> Tensor:
    """factor * exp(-x ** 2).

    The error of a rounded square is multiplied by x ** 2. So a float64 is split into a float32, whose square is exact, and the
    rest; of the square of a float32 what its rounding left out is known in float64, and the exponential of that, close to 1, by
    two terms. Both are constants: the derivative by x of what is left is that of -x ** 2. Squares of two bytes are exact in four.
    """
    if x.dtype is float64:
        bound = scalar_like(_END + 1.0, x)  # beyond it the result is 0
        near = bind(SELECT, bind(GREATER, bind(ABS, x), bound), bound, x)  # of either sign, and NaN stays
        head = bind(STOP_GRADIENT, cast(cast(near, float32), float64))
        rest = bind(MUL, bind(SUB, head, near), bind(ADD, head, near))
        return bind(
            MUL, scalar_like(factor, x), bind(MUL, bind(EXP, bind(NEG, bind(SQUARE, head))), bind(EXP, rest))
        )
    found = directly(_bell_of_array, x, factor=factor)
    if found is not None:
        return found
    wide = cast(x, float32)
    bound = scalar_like(_SHORT_END, wide)
    wide = bind(SELECT, bind(GREATER, bind(ABS, wide), bound), bound, wide)
    square = bind(SQUARE, wide)
    y = bind(EXP, bind(NEG, square))
    if x.dtype is float32:
        exact = bind(SQUARE, cast(bind(STOP_GRADIENT, wide), float64))
        lost = cast(bind(SUB, exact, cast(bind(STOP_GRADIENT, square), float64)), float32)
        y = bind(SUB, y, bind(MUL, y, lost))
    return cast(bind(MUL, scalar_like(factor, wide), y), x.dtype)


def _bell_of_array(x: Array, factor: float) -> Array | None:
    """The same steps for an array of float32 whose squares are not so large that `_bell` bounds them."""
    if type(x) is not np.ndarray or x.dtype != np.float32 or not x.size:
        return None
    square = x * x
    if not np.maximum.reduce(square, None) < 1e18:
        return None
    y: np.ndarray = np.negative(square)
    np.exp(y, y)
    exact = x.astype(np.float64)
    exact *= exact
    exact -= square
    lost = exact.astype(np.float32)
    lost *= y
    y -= lost
    y *= np.float32(factor)
    return y


def _erf_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (scaled(ctx, g, _bell(ctx.inputs[0], 2.0 / math.sqrt(math.pi))),)


def _erfc_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (scaled(ctx, g, _bell(ctx.inputs[0], -2.0 / math.sqrt(math.pi))),)


def _scaled_tail(x: np.ndarray) -> np.ndarray:
    """erfcx(x) for 1/2 <= x <= 28."""
    tail: np.ndarray = arrays.polynomial(_FAR, (x - _CENTRE) / (x + _CENTRE)) / x
    return tail


def _farthest_tail(x: np.ndarray) -> np.ndarray:
    """The same from 5 on, with half the error."""
    tail: np.ndarray = arrays.polynomial(_FARTHEST, 1.0 / (x * x)) / x
    return tail


def _growth(x: Array, tail: Array) -> Any:
    """e^(x^2), from 3/4 on as erfcx(|x|) / tail."""
    size = np.minimum(np.abs(x), _END)
    y = np.exp(size * size)
    mine = np.flatnonzero(size >= 0.75)
    if mine.size:
        far = size[mine]
        y[mine] = (
            series.by_part(far, [(far < 5.0, _scaled_tail), (far >= 5.0, _farthest_tail)], 0.0) / tail[mine]
        )
    return y


def _growth_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs[0], ctx.outputs[0]
    return unbroadcast(ctx, 0, bind(MUL_ZERO, g, bind(MUL, scalar_like(2.0, x), bind(MUL, x, y)))), None


def slope_of_inverse(x: Tensor, tail: Tensor, factor: float) -> Tensor:
    """factor * exp(x ** 2), where x is an inverse of the error function.

    The error of the rounded x would be multiplied by 2 x ** 2. So erfcx(|x|), which is exp(x ** 2) erfc(|x|) and varies as 1 / x,
    is divided by `tail`, the erfc(|x|) that x has been computed from.
    """
    return bind(MUL, scalar_like(factor, x), bind(GROWTH, x, bind(STOP_GRADIENT, tail)))


def _erfinv_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs[0], ctx.outputs[0]
    tail = bind(SUB, scalar_like(1.0, x), bind(ABS, x))
    return (bind(MUL_ZERO, g, slope_of_inverse(y, tail, math.sqrt(math.pi) / 2.0)),)


Erf = elementwise(
    "erf",
    by_loop(_erf, "erf", on_device="erf", in_native_loops=True),
    vjp=_erf_vjp,
    kinds=FLOATING,
    scalar="erf",
    doc="2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.",
)
Erfc = elementwise(
    "erfc",
    natively(
        by_loop(
            _erfc,
            "erfc",
            lambda x: (x < 0.0) | (x.dtype.itemsize < 8),
            on_device="erfc",
            in_native_loops=True,
        ),
        "erfc_of_float32",
    ),
    vjp=_erfc_vjp,
    kinds=FLOATING,
    scalar="erfc",
    doc="1 - erf(x), accurate for large x.",
)
Erfinv = elementwise(
    "erfinv",
    natively(by_loop(_erfinv, "erfinv", lambda x: x != 0, in_float64=True, on_device="erfinv"), "erfinv"),
    vjp=_erfinv_vjp,
    kinds=FLOATING,
    keeps=(True, True),
    doc="The y with erf(y) = x.",
)
Growth = elementwise(
    "exp_square",
    lambda x, y: series.of_arrays(_growth, x, y),
    vjp=_growth_vjp,
    kinds=FLOATING,
    keeps=((True, False), True),
    doc="e^(x^2), where y is erfc(|x|) with more digits than x has: for |x| from 3/4 on e^(z^2) erfc(z) / y, where z is the "
    "smaller of |x| and 28. No derivative in y.",
)
ERF, ERFC, GROWTH = Erf(), Erfc(), Growth()

erf = unary_function(
    Erf,
    "The error function 2 / sqrt(pi) * integral of exp(-t ** 2) from 0 to x, elementwise, float dtypes.",
    example=">>> math.erf([0.0, 1.0]).numpy()\narray([0.       , 0.8427008], dtype=float32)",
    source="NIST Digital Library of Mathematical Functions, 7.2.",
)
erfc = unary_function(
    Erfc,
    "1 - erf(x), accurate for large x, elementwise, float dtypes.",
    source="NIST Digital Library of Mathematical Functions, 7.2.",
)
erfinv = unary_function(
    Erfinv,
    "The x with erf(x) = y; inf at 1, -inf at -1, nan beyond, elementwise, float dtypes.",
    source="NIST Digital Library of Mathematical Functions, 7.17.",
)
