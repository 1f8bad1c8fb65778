"""Samples of the gamma distribution, which have a derivative by its parameter, at a fixed probability of the sample (implicit
reparameterisation, Figurnov et al., 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import Array, Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.dims import Size
from graphad.core.op import define
from graphad.core.schema import Given
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.elementwise import elementwise
from graphad.ops.math.arithmetic import NEG
from graphad.ops.math.exponential import log
from graphad.ops.math.gamma import DIGAMMA
from graphad.ops.math.incomplete import IgammaByA, density_of_gamma
from graphad.ops.random.samples import Sample, drawn
from graphad.ops.rules import FLOATING, scalar_like, unbroadcast


@define
class DrawGamma(Sample):
    """Samples of the gamma distribution with shape parameter alpha and scale 1, of the dtype of alpha; NaN for alpha below 0. The
    key is two integers; see `Draw`. NumPy's `Generator.standard_gamma` draws them from the words of the key.
    """

    name = "draw_gamma"
    keeps = ((1,), True)
    parameters = 1
    shape: Given[tuple[Size, ...]]

    def infer(self, key: TensorSpec, alpha: TensorSpec) -> TensorSpec:
        return self.checked(key, (alpha,), alpha.dtype)

    def eval(self, key: Array, alpha: Array) -> Array:
        return drawn("gamma", key, self.shape, (alpha,), alpha.dtype)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        alpha, y = ctx.inputs[1], ctx.outputs[0]
        return None, unbroadcast(ctx, 1, g * bind(GammaSlope(), alpha, y))


# -- the derivative of a sample --------------------------------------------------------------------------------------------


def _slope(alpha: Array, y: Array) -> Array:
    """-(dP / d alpha) / p for P(alpha, y) with the density p, term by term of
    P / p = y / alpha * sum of y**k / ((alpha + 1) ... (alpha + k)).
    """
    dtype = alpha.dtype
    psi = library.special().psi
    a, x = np.broadcast_arrays(np.asarray(alpha, np.float64), np.asarray(y, np.float64))
    fits = (x > 0) & (a > 0) & np.isfinite(x) & np.isfinite(a)
    a, x = np.where(fits, a, 1.0), np.where(fits, x, 1.0)
    part = np.log(x) - psi(a + 1)
    term, total, k = np.ones_like(x), np.zeros_like(x), 0
    last = np.maximum(x - a, 0) + 12 * np.sqrt(np.maximum(x, 1)) + 40
    far = last > _TERMS
    last = np.where(far, -1, last)
    while (running := k <= last).any():
        total = np.where(running, total + term * part, total)
        k += 1
        term = term * (x / (a + k))
        part = part - 1 / (a + k)
    found = -x / a * total
    if far.any():
        found = np.where(far, _slope_far(np.where(far, a, _TERMS), np.where(far, x, _TERMS)), found)
    slope = np.where(fits, found, np.where((y == 0) & (alpha > 0), 0.0, np.nan)).astype(dtype)
    return slope if slope.ndim else slope[()]


_TERMS = 5000  # of the series; beyond, expansions are accurate to the last digits near alpha, to some digits in the upper tail


def _slope_far(a: Array, x: Array) -> Any:
    """`_slope` for large y: near alpha by the Cornish-Fisher expansion of quantiles of the gamma distribution (Abramowitz and
    Stegun 26.4.14 in powers of 1 / sqrt(alpha)), in the upper tail by 1 - P = p / (1 - (alpha - 1) / y).
    """
    root = np.sqrt(a)
    z = (x - a) / root
    # The expansion is y = a + root z + (z**2 - 1) / 3 + (z**3 - 7 z) / (36 root) - (3 z**4 + 7 z**2 - 16) / (810 a).
    for _ in range(4):
        near = np.clip(z, -30, 30)
        bent = (
            (near**2 - 1) / 3
            + (near**3 - 7 * near) / (36 * root)
            - (3 * near**4 + 7 * near**2 - 16) / (810 * a)
        )
        z = (x - a - bent) / root
    z, is_near = np.clip(z, -30, 30), (np.abs(z) <= 30) & (a > _TERMS)
    expanded = (
        1 + z / (2 * root) - (z**3 - 7 * z) / (72 * root**3) + (3 * z**4 + 7 * z**2 - 16) / (810 * a * a)
    )
    gap = np.where(is_near, 1, 1 - (a - 1) / x)
    tail = (np.log(x) - library.special().psi(a)) / gap + 1 / (x * gap * gap)
    return np.where(is_near, expanded, tail)


def _slope_vjp(ctx: VjpContext, g: Tensor) -> Sequence[Any]:
    a, x = ctx.inputs
    s, one = ctx.outputs[0], scalar_like(1, x)
    steep = log(x) - bind(DIGAMMA, a)  # the derivative of log p by alpha
    of_a = of_x = None
    if ctx.needs(0):
        curve = bind(IgammaByA(2), a, x) / density_of_gamma(a, x)
        of_a = unbroadcast(ctx, 0, bind(NEG, g) * (curve + s * steep))
    if ctx.needs(1):
        of_x = unbroadcast(ctx, 1, bind(NEG, g) * (steep + s * ((a - one) / x - one)))
    return of_a, of_x


GammaSlope = elementwise(
    "gamma_slope",
    _slope,
    vjp=_slope_vjp,
    kinds=FLOATING,
    keeps=(True, True),
    doc="The derivative by x of the quantile y, at a fixed probability, of the gamma distribution with parameter x.",
)
