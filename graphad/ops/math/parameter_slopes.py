"""Derivatives of the incomplete beta function by its parameters, and of the zeta function by its exponent."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, VjpContext
from graphad.core.bind import bind
from graphad.core.dtypes import float64, from_numpy
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import define
from graphad.core.schema import between, declare
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.elementwise import Elementwise, elementwise
from graphad.ops.math.arithmetic import MUL_ZERO, NEG
from graphad.ops.math.beta_density import BETA_DENSITY
from graphad.ops.math.by_scipy import of_scipy
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import log, log1p
from graphad.ops.math.gamma import BERNOULLI, NOTHING, Polygamma
from graphad.ops.math.native_loops import natively
from graphad.ops.rules import FLOATING, scalar_like, unbroadcast

_HIGHEST = 12
Order = int
OrderOfMixed = int
declare(between("Order", 1, _HIGHEST))
declare(between("OrderOfMixed", 0, _HIGHEST))

Slope = Callable[[int, int], Any]


def derivative(special: Any, k: int, x: Array) -> Any:
    """The k-th derivative of digamma, k > 0, by SciPy, or by its formula where the arrays are elsewhere."""
    if arrays.is_here(x):
        return special.polygamma(k, x)
    return (-1.0) ** (k + 1) * math.factorial(k) * special.zeta(k + 1.0, x)


def bell_of_two(m: int, n: int, slope: Slope, one: Any) -> Any:
    """d^m/da^m d^n/db^n f / f, where slope(i, j) is that of log f (complete Bell polynomials)."""
    known: dict[tuple[int, int], Any] = {(0, 0): one}

    def ratio(m: int, n: int) -> Any:
        if (m, n) not in known:
            by_a = int(m > 0)  # the parameter of the last derivative
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


def _slopes(
    log_x: Array | Tensor, log_rest: Array | Tensor, polygammas: Mapping[tuple[int, int], Any]
) -> Slope:
    """The derivatives of a log(x) + b log(1 - x) - log B(a, b) by a and b; `polygammas` are those at a, b, a + b."""

    def slope(i: int, j: int) -> Any:
        of_sum = polygammas[i + j - 1, 2]
        if i and j:
            return of_sum
        y = of_sum - polygammas[i + j - 1, 0 if i else 1]
        return y + (log_x if i else log_rest) if i + j == 1 else y

    return slope


_DROP = 45.0  # how far the logarithm of the density falls over the part that is integrated
_ZONES = (-36.0, -12.0, 0.0, 12.0, 36.0)
_PANELS = 3  # in each zone
_NODES = 16


def _of_lower_tail(m: int, n: int, a: Array, b: Array, y: Array, special: Any) -> Array:
    """The derivative of I where y = log(x / (1 - x)) is below its mode log(a / b).

    As a function of y the density is a concave exponential, exp(a log x + b log(1 - x)) / B(a, b), which falls by `_DROP` over
    a range that is found by bisection; its length scale is at least a 45th of that range. Close to 0 there are singularities at
    +-pi i, further out e^y and e^-y still matter, and beyond 36 the density is a plain exponential. So each of these zones has
    panels of its own.
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
    polygammas = {(k, which): special.psi(z) if k == 0 else derivative(special, k, z)
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


_MOST_B = 30.0  # the parameter of the far end; the terms grow where it is large
_NEARLY_ALL = 1e-3  # how much of the integral must be left, so that differences from its whole keep digits
_TERMS_AT_ONCE = 4  # between looks at what is left to be added
_BLOCK = 4096  # elements whose terms stay in the cache


def _by_series(by_a: bool, a: Array, b: Array, x: Array, digits: float, special: Any) -> Array:
    """The derivative of I by a, or by b, for x up to 1/2; NaN where nearly all of the integral lies below x.

    I is x^a (1 - x)^b Gamma(a + b) / (Gamma(a + 1) Gamma(b)) times the sum of the positive terms
    (a + b)_k / (a + 1)_k x^k, each of which is differentiated by its logarithm.
    """
    sums, slopes = np.empty_like(x), np.empty_like(x)
    order = np.argsort(x.astype(np.float32))  # terms of one block end together
    block = _BLOCK if type(x) is np.ndarray else max(x.size, 1)
    for start in range(0, x.size, block):
        mine = order[start : start + block]
        sums[mine], slopes[mine] = _terms_of_series(by_a, a[mine], b[mine], x[mine], digits)
    both, log_x, log_rest = a + b, np.log(x), np.log1p(-x)
    scale = np.exp(
        a * log_x + b * log_rest + special.gammaln(both) - special.gammaln(a + 1.0) - special.gammaln(b)
    )
    direct = special.psi(both) + (log_x - special.psi(a + 1.0) if by_a else log_rest - special.psi(b))
    found: Array = scale * (sums * direct + slopes)
    return np.where(scale * sums < 1.0 - _NEARLY_ALL, found, np.nan)


def _terms_of_series(by_a: bool, a: Array, b: Array, x: Array, digits: float) -> tuple[Array, Array]:
    """The sum of the terms and that of their derivatives, added up until no term is more than `digits` of the sum."""
    above, below = a + b, a + 1.0
    term, of_log = np.ones_like(x), np.zeros_like(x)
    total, slope = np.ones_like(x), np.zeros_like(x)
    step = np.empty_like(x)
    while True:
        for _ in range(_TERMS_AT_ONCE):
            np.divide(1.0, above, out=step)
            of_log += step
            if by_a:
                np.divide(1.0, below, out=step)
                of_log -= step
                step *= above
            else:
                np.divide(above, below, out=step)
            step *= x
            term *= step
            total += term
            np.multiply(term, of_log, out=step)
            slope += step
            above += 1.0
            below += 1.0
        # From where terms fall by a quarter or more each, what is left is less than a few times the last.
        np.abs(step, out=step)
        np.maximum(step, term, out=step)
        if (((step <= digits * total) & (x * above <= 0.75 * below)) | ~(total < np.inf)).all():
            return total, slope


@define
class BetaincBy(Elementwise):
    """The m-th derivative in x of the n-th in y of betainc(x, y, z), m + n from 1 to 12: the density is differentiated under
    the integral, which is taken over the nearer tail; for m + n = 1 mostly a series is differentiated term by term. 0 for z = 0
    and z = 1; nan for z outside [0, 1] and for x or y that is not positive and finite.
    """

    name = "betainc_by"
    kinds = FLOATING
    known_as = "betainc"
    words = {"m": "the derivative by a", "n": "the derivative by b"}
    m: OrderOfMixed
    n: OrderOfMixed

    def infer(self, a: TensorSpec, b: TensorSpec, x: TensorSpec) -> TensorSpec:  # type: ignore[override]
        if not 0 < self.m + self.n <= _HIGHEST:
            raise InvalidArgumentError(
                f"betainc: derivative {self.m} by a of derivative {self.n} by b; their sum must be 1 to {_HIGHEST}."
            )
        return super().infer(a, b, x)

    def eval(self, a: Array, b: Array, x: Array) -> Array:  # type: ignore[override]
        special, dtype = library.special(), a.dtype
        shape = np.broadcast_shapes(a.shape, b.shape, x.shape)
        a, b, x = (np.broadcast_to(z.astype(np.float64), shape).ravel() for z in (a, b, x))
        found = arrays.full(x.shape, np.nan, np.float64, x)
        valid = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b) & (x >= 0) & (x <= 1)
        inside = valid & (x > 0) & (x < 1)
        found[valid & ~inside] = 0.0
        with np.errstate(all="ignore"):
            if self.m + self.n == 1:
                digits = float(from_numpy(dtype).info.eps) / 32
                low = x <= 0.5
                for part in (inside & low & (b <= _MOST_B), inside & ~low & (a <= _MOST_B)):
                    mine = np.flatnonzero(part)
                    if mine.size:
                        p, q, z = a[mine], b[mine], x[mine]
                        found[mine] = (
                            _by_series(self.m == 1, p, q, z, digits, special)
                            if z[0] <= 0.5
                            else -_by_series(self.n == 1, q, p, 1.0 - z, digits, special)
                        )
            left = np.flatnonzero(inside & np.isnan(found))
            found[left] = self._by_quadrature(a[left], b[left], x[left], special)
        return found.reshape(shape).astype(dtype)[()]

    def _by_quadrature(self, a: Array, b: Array, x: Array, special: Any) -> Array:
        """Over the tail that ends on the same side of the mode."""
        found = np.empty_like(x)
        y = np.log(x) - np.log1p(-x)
        lower = y <= np.log(a) - np.log(b)
        for mine, is_lower in ((np.flatnonzero(lower), True), (np.flatnonzero(~lower), False)):
            if mine.size:
                p, q, z = a[mine], b[mine], y[mine]
                found[mine] = (
                    _of_lower_tail(self.m, self.n, p, q, z, special)
                    if is_lower
                    else -_of_lower_tail(self.n, self.m, q, p, -z, special)
                )
        return found

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        a, b, x = ctx.inputs
        return (
            unbroadcast(ctx, 0, bind(MUL_ZERO, g, bind(BetaincBy(self.m + 1, self.n), a, b, x)))
            if ctx.needs(0)
            else None,
            unbroadcast(ctx, 1, bind(MUL_ZERO, g, bind(BetaincBy(self.m, self.n + 1), a, b, x)))
            if ctx.needs(1)
            else None,
            unbroadcast(ctx, 2, bind(MUL_ZERO, g, density_of_beta(a, b, x, self.m, self.n)))
            if ctx.needs(2)
            else None,
        )

    def lower(self, *xs: TensorSpec) -> None:
        return None


def density_of_beta(a: Tensor, b: Tensor, x: Tensor, m: int = 0, n: int = 0) -> Tensor:
    """The derivative of betainc in x, differentiated m times in a and n times in b."""
    dtype = x.dtype
    if not m + n:
        return bind(BETA_DENSITY, a, b, x)
    a, b, x = cast(a, float64), cast(b, float64), cast(x, float64)
    density, one = bind(BETA_DENSITY, a, b, x), scalar_like(1, x)
    polygammas = {
        (k, which): bind(Polygamma(k), z) for k in range(m + n) for which, z in enumerate((a, b, a + b))
    }
    slope = _slopes(log(x), log1p(bind(NEG, x)), polygammas)
    return cast(density * bell_of_two(m, n, slope, one), dtype)


def slopes_of_betainc(ctx: VjpContext, g: Tensor) -> Cotangents:
    a, b, x = ctx.inputs
    return (
        unbroadcast(ctx, 0, bind(MUL_ZERO, g, bind(BetaincBy(1, 0), a, b, x))) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(MUL_ZERO, g, bind(BetaincBy(0, 1), a, b, x))) if ctx.needs(1) else None,
        unbroadcast(ctx, 2, bind(MUL_ZERO, g, density_of_beta(a, b, x))) if ctx.needs(2) else None,
    )


# B[2k] / (2k)!
_TERMS = tuple(b / math.factorial(2 * k) for k, b in enumerate(BERNOULLI, 1))


def _zeta_by_x(n: int, s: Array, q: Array) -> Array:
    """The sum of (-log(q + k))^n (q + k)^-s: the first terms one by one, the rest by the Euler-Maclaurin formula."""
    sign = (-1.0) ** n
    u, total = q, np.zeros_like(q)
    last = 10.0 + s
    while True:
        power = u**-s
        term = np.log(u) ** n * power
        low = (u < last) & ~((u > 2.0) & ((np.abs(term) < NOTHING * np.abs(total)) | (power == 0)))
        if not low.any():
            break
        total = np.where(low, total + term, total)
        u = np.where(low, u + 1.0, u)
    log_u = np.log(u)
    # The integral of log(v)^n v^-s from u to infinity, by parts.
    integral, part = np.zeros_like(q), u * power / (s - 1.0)
    for k in range(n + 1):
        integral = integral + part * log_u ** (n - k)
        part = part * (n - k) / (s - 1.0)
    rest = integral + term / 2
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
            rest = rest - _TERMS[r // 2] * scale * value
    # Below `last` the rest is nothing, and its series, which has no digits there, may be larger.
    return sign * (total + np.where((u < last) | (power == 0), 0.0, rest))


def _of_any_order(n: int, x: Array, q: Array) -> Array:
    shape = np.broadcast_shapes(x.shape, q.shape)
    s, at = (np.broadcast_to(z.astype(np.float64), shape).ravel() for z in (x, q))
    valid = (s > 1) & (at > 0) & np.isfinite(s) & np.isfinite(at)
    found = arrays.full(s.shape, np.nan, np.float64, s)
    with np.errstate(all="ignore"):
        found[valid] = _zeta_by_x(n, s[valid], at[valid])
    found[(s > 1) & (at == np.inf)] = 0.0
    return found.reshape(shape).astype(x.dtype)[()]


def _is_usual(x: Array, q: Array) -> Array:
    return (x > 1) & (x <= 100) & (q > 0) & (q < 1e30)


_once = natively(lambda x, q: _of_any_order(1, x, q), "zeta_by_x", _is_usual, operands=2)


@define
class ZetaByX(Elementwise):
    """The n-th derivative in x of zeta(x, y), n from 1 to 12, for x above 1 and y above 0; nan for others. The sum is
    differentiated term by term.
    """

    name = "zeta_by_x"
    kinds = FLOATING
    known_as = "zeta"
    words = {"n": "the derivative by x"}
    n: Order

    def eval(self, x: Array, q: Array) -> Array:  # type: ignore[override]
        return _once(x, q) if self.n == 1 else _of_any_order(self.n, x, q)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        x, q = ctx.inputs
        of_x = of_q = None
        if ctx.needs(0):
            of_x = unbroadcast(ctx, 0, bind(MUL_ZERO, g, bind(ZetaByX(self.n + 1), x, q)))
        if ctx.needs(1):
            lower = bind(ZetaByX(self.n - 1) if self.n > 1 else Zeta(), *_next(x, q))
            slope = scalar_like(self.n, x) * lower + x * bind(self, *_next(x, q))
            of_q = unbroadcast(ctx, 1, bind(NEG, bind(MUL_ZERO, g, slope)))
        return of_x, of_q

    def lower(self, *xs: TensorSpec) -> None:
        return None


def _next(x: Tensor, q: Tensor) -> tuple[Tensor, Tensor]:
    return x + scalar_like(1, x), q


def _zeta_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, q = ctx.inputs
    return (
        unbroadcast(ctx, 0, bind(MUL_ZERO, g, bind(ZetaByX(1), x, q))) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(NEG, bind(MUL_ZERO, g, x * bind(Zeta(), *_next(x, q)))))
        if ctx.needs(1)
        else None,
    )


Zeta = elementwise(
    "zeta", natively(of_scipy(lambda special: special.zeta, 2), "zeta", _is_usual, operands=2), vjp=_zeta_vjp, kinds=FLOATING,
    doc="The sum of (y + k)^-x over k = 0, 1, ...",
)  # fmt: skip
