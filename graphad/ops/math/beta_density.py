"""The density of the beta distribution, the derivative of the incomplete beta function in x, with the digits of its factors.

As the exponential of a sum of logarithms it would lose the digits of the largest of them. So the gamma functions of small
parameters are divided, and for large ones Stirling's formula is taken apart by hand: with s = a + b, u = x s / a - 1,
v = (1 - x) s / b - 1 and the remainders r of Stirling's series,

    x^a (1 - x)^b / B(a, b) = sqrt(a b / (2 pi s)) exp(a (log(1 + u) - u) + b (log(1 + v) - v) + r(s) - r(a) - r(b)),

in which the large linear terms have cancelled: a u + b v = 0. Where b alone is large, gamma(s) / gamma(b) is
s^a exp((b - 1/2) log(1 + a / b) - a + r(s) - r(b)).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.elementwise import elementwise
from graphad.ops.math import exactly, series
from graphad.ops.math.arithmetic import ADD, DIV, MUL, MUL_ZERO, NEG, SUB
from graphad.ops.math.exponential import LOG, Log1p
from graphad.ops.math.gamma import DIGAMMA
from graphad.ops.rules import FLOATING, scalar_like, unbroadcast

Array = Any

_LARGE = 10.0  # from here on Stirling's series has all digits


def _remainder(x: Array) -> Array:
    over = 1.0 / x
    return over * arrays.polynomial(series.STIRLING, over * over)


def _of_small(a: Array, b: Array, x: Array) -> Array:
    """For a and b below 10."""
    gamma = library.special().gamma
    other = 1.0 - x
    lost = np.where(other == 0, 0.0, ((1.0 - other) - x) / other)  # relative to what 1 - x was rounded to
    powers = x ** (a - 1.0) * (other ** (b - 1.0) * np.exp((b - 1.0) * lost))
    s, more = exactly.total(a, b)
    return powers * (gamma(s) / gamma(a) / gamma(b) * (1.0 + more * np.log(s)))


def _log1pmx(u: Array, one_more: Array) -> Array:
    """log(1 + u) - u, where 1 + u is given too, since far below 0 the sum would be left with few digits."""
    low = u < -0.5
    return np.where(low, np.log(one_more) - u, series.log1pmx(np.where(low, 0.0, u)))


def _of_large(a: Array, b: Array, x: Array) -> Array:
    """For a and b from 10 on."""
    s, more = exactly.total(a, b)
    product, rest = exactly.product(x, s)
    # x s - a, the negative of (1 - x) s - b, where large numbers cancel.
    away = (product - a) + (rest + x * more)
    exponent = a * _log1pmx(away / a, x * s / a) + b * _log1pmx(-away / b, (1.0 - x) * s / b)
    exponent += _remainder(s) - _remainder(a) - _remainder(b)
    return np.sqrt(a / s * b / (2.0 * math.pi)) * np.exp(exponent) / x / (1.0 - x)


def _of_one_large(a: Array, b: Array, x: Array) -> Array:
    """For one of them below 10, the other from 10 on."""
    turned = a > b
    small, large = np.minimum(a, b), np.maximum(a, b)
    z, log_rest = np.where(turned, 1.0 - x, x), np.where(turned, np.log(x), np.log1p(-x))
    s = small + large
    exponent = (large - 1.0) * log_rest + ((large - 0.5) * np.log1p(small / large) - small)
    exponent += _remainder(s) - _remainder(large)
    return z ** (small - 1.0) * s**small * np.exp(exponent) / library.special().gamma(small)


def _density(a: Array, b: Array, x: Array) -> Any:
    dtype = x.dtype
    a, b, x = np.broadcast_arrays(*[arrays.of_dtype(z, np.float64) for z in (a, b, x)])
    shape = x.shape
    a, b, x = a.reshape(-1), b.reshape(-1), x.reshape(-1)
    y = np.full(x.size, np.nan)
    with np.errstate(all="ignore"):
        is_inside = (a > 0) & (b > 0) & (a + b < 1e300) & (x >= 0) & (x <= 1)
        is_small, is_large = np.maximum(a, b) < _LARGE, np.minimum(a, b) >= _LARGE
        is_end = (x == 0) | (x == 1)
        for mask, formula in (
            (is_small, _of_small),
            (is_large & ~is_end, _of_large),
            (is_large & is_end, lambda a, b, x: np.zeros_like(x)),
            (~is_small & ~is_large, _of_one_large),
        ):
            mine = np.flatnonzero(is_inside & mask)
            if mine.size:
                y[mine] = formula(a[mine], b[mine], x[mine])
    y = y.reshape(shape).astype(dtype, copy=False)
    return y if y.ndim else y[()]


def _density_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    a, b, x = ctx.inputs
    one = scalar_like(1, x)
    found: list[Any] = [None, None, None]
    for i, parameter in enumerate((a, b)):
        if ctx.needs(i):
            of_sum = bind(SUB, bind(DIGAMMA, bind(ADD, a, b)), bind(DIGAMMA, parameter))
            found[i] = bind(ADD, of_sum, bind(Log1p(), bind(NEG, x)) if i else bind(LOG, x))
    if ctx.needs(2):
        left, right = bind(DIV, bind(SUB, a, one), x), bind(DIV, bind(SUB, b, one), bind(SUB, one, x))
        found[2] = bind(SUB, left, right)
    return tuple(
        [
            None
            if slope is None
            else unbroadcast(ctx, i, bind(MUL_ZERO, g, bind(MUL, ctx.outputs[0], slope)))
            for i, slope in enumerate(found)
        ]
    )


BetaDensity = elementwise(
    "beta_density",
    _density,
    vjp=_density_vjp,
    kinds=FLOATING,
    keeps=(True, True),
    doc="x^(a - 1) (1 - x)^(b - 1) / B(a, b), the density of the beta distribution, for inputs a, b, x; nan for a or b not above "
    "0 and x outside 0 to 1.",
)
BETA_DENSITY = BetaDensity()
