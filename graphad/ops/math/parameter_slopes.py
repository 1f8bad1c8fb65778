"""Derivatives of the incomplete beta function by its parameters, and of the zeta function by its exponent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphad.core.annotations import Array, Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import define
from graphad.core.schema import Count, Positive
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.elementwise import Elementwise, elementwise
from graphad.ops.math.arithmetic import NEG
from graphad.ops.math.bessel import of_scipy
from graphad.ops.math.exponential import exp, log, log1p, xlogy
from graphad.ops.math.gamma import BERNOULLI, NOTHING, Polygamma, lgamma
from graphad.ops.rules import FLOATING, scalar_like, unbroadcast

_HIGHEST = 12

Slope = Callable[[int, int], Any]


def bell_of_two(m: int, n: int, slope: Slope, one: Any) -> Any:
    """d^m/da^m d^n/db^n f / f, where slope(i, j) is that of log f (complete Bell polynomials)."""
    known: dict[tuple[int, int], Any] = {(0, 0): one}

    def ratio(m: int, n: int) -> Any:
        if (m, n) not in known:
            by_a = int(m > 0)  # by which parameter the last derivative is
            rest = (m - 1, n) if by_a else (m, n - 1)
            known[m, n] = sum(
                math.comb(rest[0], i)
                * math.comb(rest[1], j)
                * ratio(rest[0] - i, rest[1] - j)
                * slope(i + by_a, j + 1 - by_a)
                for i in range(rest[0] + 1)
                for j in range(rest[1] + 1)
            )
        return known[m, n]

    return ratio(m, n)


def _slopes(log_x: Any, log_rest: Any, polygammas: Mapping[tuple[int, int], Any]) -> Slope:
    """The derivatives of a log(x) + b log(1 - x) - log B(a, b) by a and b; `polygammas` are those at a, b, a + b."""

    def slope(i: int, j: int) -> Any:
        of_sum = polygammas[i + j - 1, 2]
        if i and j:
            return of_sum
        y = of_sum - polygammas[i + j - 1, 0 if i else 1]
        return y + (log_x if i else log_rest) if i + j == 1 else y

    return slope


_DROP = 45.0  # how far the logarithm of the density falls over the part that counts
_ZONES = (-36.0, -12.0, 0.0, 12.0, 36.0)
_PANELS = 3  # of each zone
_NODES = 16


def _of_lower_tail(m: int, n: int, a: Array, b: Array, y: Array, special: Any) -> Array:
    """The derivative of I where y = log(x / (1 - x)) is below its mode log(a / b).

    As a function of y the density is a concave exponential, exp(a log x + b log(1 - x)) / B(a, b), which falls by `_DROP` over a
    part that is found by bisection; its scale is a 45th of that at least. Close to 0 there are singularities at pi i, further out
    e^y and e^-y are still seen, and beyond 36 the density is a plain exponential: zones that are cut into panels apart.
    """

    def logs(y: Array) -> tuple[Array, Array]:
        return -np.logaddexp(0.0, -y), -np.logaddexp(0.0, y)

    log_x, log_rest = logs(y)
    top = a * log_x + b * log_rest - special.betaln(a, b)

    def fallen(start: Array) -> Array:
        p, q = logs(start)
        found: Array = a * (p - log_x) + b * (q - log_rest)
        return found

    near, far = np.zeros_like(y), _DROP / a + np.abs(y) + 40.0
    for _ in range(50):
        middle = (near + far) / 2
        is_far = fallen(y - middle) < -_DROP
        near, far = np.where(is_far, near, middle), np.where(is_far, middle, far)
    start = y - far
    polygammas = {(k, which): special.psi(z) if k == 0 else special.polygamma(k, z)
                  for k in range(m + n) for which, z in enumerate((a, b, a + b))}  # fmt: skip
    total = np.zeros_like(y)
    edges = [start, *(np.clip(at, start, y) for at in _ZONES), y]
    nodes = list(zip(*np.polynomial.legendre.leggauss(_NODES), strict=True))
    for left, right in itertools.pairwise(edges):
        here = np.flatnonzero(right > left)
        if not here.size:
            continue
        p_top, q_top, of_a, of_b = log_x[here], log_rest[here], a[here], b[here]
        kept = {key: z[here] for key, z in polygammas.items()}
        half = (right[here] - left[here]) / (2 * _PANELS)
        for panel in range(_PANELS):
            center = left[here] + (2 * panel + 1) * half
            for node, weight in nodes:
                p, q = logs(center + node * half)
                density = np.exp(of_a * (p - p_top) + of_b * (q - q_top))
                slope = _slopes(p, q, kept)
                total[here] += weight * half * density * bell_of_two(m, n, slope, 1.0)
    return np.exp(top) * total  # type: ignore[no-any-return]


@define
class BetaincBy(Elementwise):
    """The m-th derivative in x of the n-th in y of betainc(x, y, z), m + n from 1 to 12: the density differentiated under the
    integral, which is taken over the nearer tail. 0 for z of 0 and 1; nan for z outside, and where x or y is not positive and
    finite.
    """

    name = "betainc_by"
    kinds = FLOATING
    m: Count
    n: Count

    def infer(self, a: TensorSpec, b: TensorSpec, x: TensorSpec) -> TensorSpec:  # type: ignore[override]
        if not 0 < self.m + self.n <= _HIGHEST:
            raise InvalidArgumentError(
                f"betainc: derivative {self.m} by a of derivative {self.n} by b; there are {_HIGHEST} together, and 1 at least."
            )
        return super().infer(a, b, x)

    def eval(self, a: Array, b: Array, x: Array) -> Array:  # type: ignore[override]
        special, dtype = library.special(), a.dtype
        shape = np.broadcast_shapes(a.shape, b.shape, x.shape)
        a, b, x = (np.broadcast_to(z.astype(np.float64), shape).ravel() for z in (a, b, x))
        found = np.full(x.shape, np.nan)
        valid = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x >= 0) & (x <= 1)
        inside = valid & (x > 0) & (x < 1)
        found[valid & ~inside] = 0.0
        with np.errstate(all="ignore"):
            y = np.log(x) - np.log1p(-x)
            lower = y <= np.log(a) - np.log(b)
            for part, sign in ((inside & lower, 1.0), (inside & ~lower, -1.0)):
                if part.any():
                    p, q, z = a[part], b[part], y[part]
                    found[part] = (
                        _of_lower_tail(self.m, self.n, p, q, z, special)
                        if sign > 0
                        else -_of_lower_tail(self.n, self.m, q, p, -z, special)
                    )
        return found.reshape(shape).astype(dtype)[()]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        a, b, x = ctx.inputs
        return (
            unbroadcast(ctx, 0, g * bind(BetaincBy(self.m + 1, self.n), a, b, x)) if ctx.needs(0) else None,
            unbroadcast(ctx, 1, g * bind(BetaincBy(self.m, self.n + 1), a, b, x)) if ctx.needs(1) else None,
            unbroadcast(ctx, 2, g * density_of_beta(a, b, x, self.m, self.n)) if ctx.needs(2) else None,
        )

    def lower(self, *xs: TensorSpec) -> None:
        return None


def density_of_beta(a: Tensor, b: Tensor, x: Tensor, m: int = 0, n: int = 0) -> Any:
    """The derivative of betainc in x, m times differentiated in a and n times in b."""
    one = scalar_like(1, x)
    density = exp(
        (b - one) * log1p(bind(NEG, x)) + xlogy(a - one, x) - (lgamma(a) + lgamma(b) - lgamma(a + b))
    )
    if not m + n:
        return density
    polygammas = {
        (k, which): bind(Polygamma(k), z) for k in range(m + n) for which, z in enumerate((a, b, a + b))
    }
    slope = _slopes(log(x), log1p(bind(NEG, x)), polygammas)
    return density * bell_of_two(m, n, slope, one)


def slopes_of_betainc(ctx: VjpContext, g: Tensor) -> Cotangents:
    a, b, x = ctx.inputs
    return (
        unbroadcast(ctx, 0, g * bind(BetaincBy(1, 0), a, b, x)) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, g * bind(BetaincBy(0, 1), a, b, x)) if ctx.needs(1) else None,
        unbroadcast(ctx, 2, g * density_of_beta(a, b, x)) if ctx.needs(2) else None,
    )


# B[2k] / (2k)!
_TERMS = tuple(b / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1))


def _zeta_by_x(n: int, s: Array, q: Array) -> Array:
    """The sum of (-log(q + k))^n (q + k)^-s: the first terms one by one, the rest by the formula of Euler and Maclaurin."""
    sign = (-1.0) ** n
    u, total = q, np.zeros_like(q)
    last = 10.0 + s
    while True:
        power = u**-s
        term = np.log(u) ** n * power
        low = (u < last) & ~((u > 2.0) & (np.abs(term) < NOTHING * np.abs(total)))
        if not low.any():
            break
        total = np.where(low, total + term, total)
        u = np.where(low, u + 1.0, u)
    log_u = np.log(u)
    # The integral of log(v)^n v^-s from u on, in parts.
    integral, part = np.zeros_like(q), u * power / (s - 1.0)
    for k in range(n + 1):
        integral = integral + part * log_u ** (n - k)
        part = part * (n - k) / (s - 1.0)
    total = total + integral + term / 2
    # Derivative r of log(u)^n u^-s is u^(-s - r) times a polynomial in log(u), lowest power first.
    coefficients = [np.zeros_like(q) for _ in range(n)] + [np.ones_like(q)]
    scale = power
    for r in range(1, 2 * len(_TERMS)):
        above = [*coefficients[1:], np.zeros_like(q)]
        coefficients = [above[k] * (k + 1) - (s + (r - 1)) * coefficients[k] for k in range(n + 1)]
        scale = scale / u
        if r % 2:
            value = np.zeros_like(q)
            for c in reversed(coefficients):
                value = value * log_u + c
            total = total - _TERMS[r // 2] * scale * value
    return sign * total  # type: ignore[no-any-return]


@define
class ZetaByX(Elementwise):
    """The n-th derivative in x of zeta(x, y), n from 1 to 12, for x above 1 and y above 0; nan for others. The derivative of the
    sum, term by term.
    """

    name = "zeta_by_x"
    kinds = FLOATING
    n: Positive

    def infer(self, x: TensorSpec, q: TensorSpec) -> TensorSpec:  # type: ignore[override]
        if self.n > _HIGHEST:
            raise InvalidArgumentError(f"zeta: derivative {self.n} by x; there are {_HIGHEST}.")
        return super().infer(x, q)

    def eval(self, x: Array, q: Array) -> Array:  # type: ignore[override]
        shape = np.broadcast_shapes(x.shape, q.shape)
        s, at = (np.broadcast_to(z.astype(np.float64), shape).ravel() for z in (x, q))
        valid = (s > 1) & (at > 0) & np.isfinite(s) & np.isfinite(at)
        found = np.full(s.shape, np.nan)
        with np.errstate(all="ignore"):
            found[valid] = _zeta_by_x(self.n, s[valid], at[valid])
        found[(s > 1) & (at == np.inf)] = 0.0
        return found.reshape(shape).astype(x.dtype)[()]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, q = ctx.inputs
        of_x = of_q = None
        if ctx.needs(0):
            of_x = unbroadcast(ctx, 0, g * bind(ZetaByX(self.n + 1), x, q))
        if ctx.needs(1):
            lower = bind(ZetaByX(self.n - 1) if self.n > 1 else Zeta(), *_next(x, q))
            slope = scalar_like(self.n, x) * lower + x * bind(self, *_next(x, q))
            of_q = unbroadcast(ctx, 1, bind(NEG, g * slope))
        return of_x, of_q

    def lower(self, *xs: TensorSpec) -> None:
        return None


def _next(x: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    return x + scalar_like(1, x), q


def _zeta_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, q = ctx.inputs
    return (
        unbroadcast(ctx, 0, g * bind(ZetaByX(1), x, q)) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(NEG, g * x * bind(Zeta(), *_next(x, q)))) if ctx.needs(1) else None,
    )


Zeta = elementwise(
    "zeta", of_scipy(lambda special: special.zeta, 2), vjp=_zeta_vjp, kinds=FLOATING,
    doc="The sum of (y + k)^-x over k from 0.",
)  # fmt: skip
