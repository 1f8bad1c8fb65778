"""The error function and its relatives, in vectorised NumPy.

Near 0, erf(x) = x * P(x ** 2); further out, erfc(x) = exp(-x ** 2) / x * Q(t) with t = (x - C) / (x + C). P and Q are
Chebyshev expansions computed with 60 digits; x ** 2 is split in two so that its rounding does not spoil the exponential.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphad.core.annotations import Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.tensor import Tensor
from graphad.ops.elementwise import elementwise, unary_function
from graphad.ops.math import series
from graphad.ops.math.arithmetic import MUL, NEG, SQUARE
from graphad.ops.math.exponential import EXP
from graphad.ops.rules import FLOATING, scalar_like

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
# Q as a Chebyshev expansion over 1/2 <= x <= 28; beyond 28 erfc is 0.
_FAR = (
    0.48863291291256256,
    0.11387144277534043,
    -0.05028544904408141,
    0.013875641093652262,
    -0.0025136103622821495,
    0.00024987445206749604,
    3.72846364694214e-06,
    -4.391739307641142e-06,
    2.387713274835541e-07,
    7.652975053984201e-08,
    -7.365769675478684e-09,
    -1.7075767916801798e-09,
    1.750848218411315e-10,
    4.8343553174085556e-11,
    -3.271720261041187e-12,
    -1.5495988169081694e-12,
    1.1272347407950868e-14,
    4.9492398602885814e-14,
    3.475393933095897e-15,
    -1.364575914609755e-15,
    -2.5238911344677193e-16,
    2.231855942550233e-17,
)
_BORDER, _END, _CENTRE = 0.5, 28.0, 2.5
_T_LOW, _T_HIGH = (_BORDER - _CENTRE) / (_BORDER + _CENTRE), (_END - _CENTRE) / (_END + _CENTRE)


def _near(x: np.ndarray) -> np.ndarray:
    """erf(x) for |x| <= 1."""
    z = x * x
    y = np.full_like(z, _NEAR[-1])
    for factor in _NEAR[-2::-1]:
        y *= z
        y += factor
    near: np.ndarray = y * x
    return near


def _far(x: np.ndarray) -> np.ndarray:
    """erfc(x) for 1/2 <= x <= 28."""
    t = (x - _CENTRE) / (x + _CENTRE)
    u = (2.0 * t - (_T_LOW + _T_HIGH)) / (_T_HIGH - _T_LOW)
    twice = 2.0 * u
    last = np.full_like(u, _FAR[-1])
    before = np.zeros_like(u)
    for factor in _FAR[-2:0:-1]:
        last, before = twice * last - before + factor, last
    q = u * last - before + _FAR[0]
    head = x.astype(np.float32).astype(np.float64)
    far: np.ndarray = np.exp(-head * head) * np.exp((head - x) * (head + x)) / x * q
    return far


def _erf(wide: Any) -> Any:
    size = np.abs(wide)
    y = np.sign(wide)
    y[np.isnan(wide)] = np.nan
    near = size <= 1.0
    y[near] = _near(wide[near])
    far = ~near & (size < 6.0)
    y[far] *= 1.0 - _far(size[far])
    return y


def _erfc(wide: Any) -> Any:
    size = np.abs(wide)
    y = 1.0 - np.sign(wide)
    y[np.isnan(wide)] = np.nan
    near = size < _BORDER
    y[near] = 1.0 - _near(wide[near])
    far = ~near & (size < _END)
    tail = _far(size[far])
    y[far] = np.where(wide[far] > 0, tail, 2.0 - tail)
    return y


def _erfinv(wide: Any) -> Any:
    size = np.abs(wide)
    x = np.full_like(wide, np.nan)
    x[size == 1.0] = np.inf
    inside = size < 1.0
    p = size[inside]
    # A start good to three digits (Winitzki), then Halley steps: on erf below 1/2, on erfc above, where 1 - p is exact.
    half = 0.5 * np.log1p(-p * p)
    mix = 2.0 / (math.pi * 0.147) + half
    x0 = np.sqrt(np.sqrt(mix * mix - 2.0 * half / 0.147) - mix)
    for _ in range(3):
        off = np.where(p < 0.5, _erf(x0) - p, (1.0 - p) - _erfc(x0))
        step = off * (0.5 * math.sqrt(math.pi)) * np.exp(x0 * x0)
        x0 = x0 - step / (1.0 + x0 * step)
    x[inside] = x0
    return np.copysign(x, wide)


def _bell(x: Any, factor: float) -> Tensor:
    """factor * exp(-x ** 2)."""
    return bind(MUL, scalar_like(factor, x), bind(EXP, bind(NEG, bind(SQUARE, x))))


def _erf_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(MUL, g, _bell(ctx.inputs[0], 2.0 / math.sqrt(math.pi))),)


def _erfc_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(MUL, g, _bell(ctx.inputs[0], -2.0 / math.sqrt(math.pi))),)


def _erfinv_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    y = ctx.outputs[0]
    slope = bind(MUL, scalar_like(math.sqrt(math.pi) / 2.0, y), bind(EXP, bind(SQUARE, y)))
    return (bind(MUL, g, slope),)


Erf = elementwise(
    "erf",
    lambda x: series.of_array(_erf, x),
    vjp=_erf_vjp,
    kinds=FLOATING,
    scalar="erf",
    doc="2 / sqrt(pi) times the integral of e^(-t^2) from 0 to x.",
)
Erfc = elementwise(
    "erfc",
    lambda x: series.of_array(_erfc, x),
    vjp=_erfc_vjp,
    kinds=FLOATING,
    scalar="erfc",
    doc="1 - erf(x), accurate for large x.",
)
Erfinv = elementwise(
    "erfinv",
    lambda x: series.of_array(_erfinv, x),
    vjp=_erfinv_vjp,
    kinds=FLOATING,
    keeps=(False, True),
    doc="The y with erf(y) = x.",
)
ERF, ERFC, ERFINV = Erf(), Erfc(), Erfinv()

erf = unary_function(
    Erf,
    "The error function 2 / sqrt(pi) * integral of exp(-t ** 2) from 0 to x, elementwise, float dtypes.",
    example=">>> math.erf([0.0, 1.0]).numpy()\narray([0.       , 0.8427008], dtype=float32)",
)
erfc = unary_function(Erfc, "1 - erf(x), accurate for large x, elementwise, float dtypes.")
erfinv = unary_function(
    Erfinv, "The x with erf(x) = y; inf at 1, -inf at -1, nan beyond, elementwise, float dtypes."
)
