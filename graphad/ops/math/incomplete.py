"""Incomplete gamma and beta functions, the zeta and polygamma functions, inverses of the error functions, through SciPy."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import float64
from graphad.core.op import define
from graphad.core.schema import between, declare
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops import library
from graphad.ops.elementwise import Elementwise, binary_function, elementwise, unary_function
from graphad.ops.math import series
from graphad.ops.math.arithmetic import MUL_ZERO, NEG
from graphad.ops.math.by_scipy import of_scipy
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import logical_and
from graphad.ops.math.exponential import exp, log, xlogy
from graphad.ops.math.gamma import FEW, Polygamma, derivative_of_digamma, lgamma
from graphad.ops.math.gamma_tails import derivative_in_tail, is_upper_tail
from graphad.ops.math.native_loops import is_positive, natively
from graphad.ops.math.parameter_slopes import Zeta, derivative, slopes_of_betainc
from graphad.ops.math.power import sqrt
from graphad.ops.math.select import minimum, where
from graphad.ops.math.special import slope_of_inverse
from graphad.ops.rules import FLOATING, scalar_like, unbroadcast

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from graphad.devices.array import DeviceArray


def _smaller_tail(x: Tensor, whole: float) -> Tensor:
    """The smaller of x and `whole` - x."""
    return minimum(x, scalar_like(whole, x) - x)


def _erfcinv_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs[0], ctx.outputs[0]
    return (bind(MUL_ZERO, g, slope_of_inverse(y, _smaller_tail(x, 2.0), -math.sqrt(math.pi) / 2)),)


def _ndtri_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    x, y = ctx.inputs[0], ctx.outputs[0]
    tail = _smaller_tail(x, 1.0)
    slope = slope_of_inverse(scalar_like(math.sqrt(0.5), y) * y, tail + tail, math.sqrt(2 * math.pi))
    return (bind(MUL_ZERO, g, slope),)


def _erfcinv_of(special: ModuleType) -> Callable[..., Any]:
    def formula(x: Array) -> Any:
        y = special.erfcinv(x)
        small = arrays.as_array((x > 0) & (x < np.finfo(np.float64).tiny))
        # Half of such a number loses a digit; three steps of Newton's method for the logarithm.
        if small.any():
            y, least = arrays.copy(y).astype(np.float64), arrays.of_dtype(x, np.float64)[small]
            z = np.minimum(y[small], 27.2)
            for _ in range(3):
                scaled = special.erfcx(z)
                z = z + (np.log(scaled) - z * z - np.log(least)) * scaled * (math.sqrt(math.pi) / 2)
            y[small] = z
        return y if np.ndim(y) else y[()]

    return formula


Erfcinv = elementwise(
    "erfcinv", natively(of_scipy(_erfcinv_of), "erfcinv"), vjp=_erfcinv_vjp, kinds=FLOATING, keeps=(True, True),
    doc="The y with erfc(y) = x.",
)  # fmt: skip
Ndtri = elementwise(
    "ndtri", natively(of_scipy(lambda special: special.ndtri), "ndtri"), vjp=_ndtri_vjp, kinds=FLOATING, keeps=(True, True),
    doc="The quantile of the standard normal distribution at probability x.",
)  # fmt: skip
erfcinv = unary_function(
    Erfcinv,
    "The y with erfc(y) = x; inf at 0, -inf at 2, nan beyond, elementwise, float dtypes. Value and gradient are within 8 units "
    "in the last place.",
    source="NIST Digital Library of Mathematical Functions, 7.17.",
)
ndtri = unary_function(
    Ndtri,
    "The quantile of the standard normal distribution at probability x; nan outside 0 to 1, elementwise, float dtypes. "
    "Value and gradient are within 8 units in the last place.",
    source="NIST Digital Library of Mathematical Functions, 7.17.",
)


Log1pmx = elementwise(
    "log1pmx",
    lambda x: series.of_array(series.log1pmx, x),
    vjp=lambda ctx, g: (bind(NEG, g * ctx.inputs[0] / (scalar_like(1, g) + ctx.inputs[0])),),
    kinds=FLOATING,
    doc="log(1 + x) - x, within a few units in the last place.",
)
_FROM = 10.0  # a, for which the terms of Stirling's series are enough


def density_of_gamma(a: Tensor, x: Tensor) -> Tensor:
    """The derivative of igamma in x, in float64: its logarithm is a difference of large numbers.

    From a = 10 on that is computed from (x - a) / a, where the large numbers have been cancelled by hand.
    """
    dtype = x.dtype
    a, x = cast(a, float64), cast(x, float64)
    one, start, zero = scalar_like(1, a), scalar_like(_FROM, a), scalar_like(0, a)
    near = logical_and(a >= start, logical_and(x > zero, x < scalar_like(1e300, a)))
    b, y = where(near, one, a), where(near, one, x)
    plain = exp(xlogy(b - one, y) - y - lgamma(b))
    b, y = where(near, a, start), where(near, x, start)
    mu, over = (y - b) / b, one / b
    is_low = mu < scalar_like(-0.5, a)  # there 1 + mu is x / a rounded
    lower = where(is_low, y, b) * over
    logs = where(is_low, log(lower) - (lower - one), bind(Log1pmx(), where(is_low, zero, mu)))
    square, rest = over * over, scalar_like(series.STIRLING[-1], a)
    for factor in series.STIRLING[-2::-1]:
        rest = rest * square + scalar_like(factor, a)
    far = exp(b * logs - rest * over) * sqrt(b * scalar_like(0.5 / math.pi, a)) / y
    return cast(where(near, far, plain), dtype)


def _igamma_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    a, x = ctx.inputs
    return (
        unbroadcast(ctx, 0, bind(MUL_ZERO, g, bind(_BY_A, a, x))) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, bind(MUL_ZERO, g, density_of_gamma(a, x))) if ctx.needs(1) else None,
    )


def _igammac_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return _igamma_vjp(ctx, bind(NEG, g))


OrderByA = int
declare(between("OrderByA", 1, 20))  # each term of the sum takes the square of it in steps


def _bell(slopes: list[Any], one: Tensor | float | int) -> Any:
    """f^(n) / f, given the n derivatives `slopes` of log f (complete Bell polynomials)."""
    ratios = [one]
    for n in range(len(slopes)):
        ratios.append(sum(math.comb(n, k) * ratios[n - k] * slopes[k] for k in range(n + 1)))
    return ratios[-1]


_LARGE = 1e4  # a; beyond it the number of terms of the series grows as the square root of a
_WIDTH = 12.0  # standard deviations beyond which the gamma density of a large a is negligible
_NODES = 160
_BLOCK = 4096  # elements whose sums stay in the cache


def _by_large_a(n: int, a: Array, x: Array, special: ModuleType) -> Array:
    """The n-th derivative in a of the integral of the density up to x, by a quadrature whose nodes do not depend on a.

    With t = a (1 + e) and e = u / sqrt(a) the density of u is exp(-a (e - log(1 + e)) - 1/12a + ...) / (1 + e) / sqrt(2 pi);
    its n-th derivative follows from those of its logarithm: log t - psi(a), -psi'(a), ...
    """
    root = np.sqrt(a)
    end = np.clip((x - a) / root, -_WIDTH, _WIDTH)
    constant = 1 / (2 * a) + (1 / a) ** 2 / 12 - (1 / a) ** 4 / 120  # log(a) - psi(a)
    further = [-derivative(special, k, a) for k in range(1, n)]
    total = np.zeros_like(a)
    half = (end + _WIDTH) / 2
    for node, weight in zip(*np.polynomial.legendre.leggauss(_NODES), strict=True):
        u = half * (node + 1) - _WIDTH
        e = u / root
        power = np.zeros_like(e)
        for k in range(24, 1, -1):
            power = power * -e + 1 / k
        density = np.exp(-u * u * power - 1 / (12 * a)) / (1 + e)
        total += weight * density * _bell([np.log1p(e) + constant, *further], 1.0)
    found: Array = total * half / math.sqrt(2 * math.pi)
    return found


@define
class IgammaByA(Elementwise):
    """The n-th derivative of igamma(x, y) in x, n from 1 to 20; for n = 1 the absolute error is at most 1e-13, relative to the
    result where y > x + 4 sqrt(x) + 4. The series x^a e^-x (1 / Gamma(a + 1) + x / Gamma(a + 2) + ...) is differentiated term by
    term; for a from 10000 on, and above that y, the gamma density is differentiated and integrated.
    """

    name = "igamma_by_a"
    kinds = FLOATING
    known_as = "igamma"
    words = {"n": "the derivative by a"}
    n: OrderByA

    def eval(self, a: Array, x: Array) -> Array:  # type: ignore[override]
        special, dtype = library.special(), a.dtype
        a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
        with np.errstate(all="ignore"):
            log_x = np.log(x)
            term = np.exp(a * log_x - x - special.gammaln(a + 1))
            slopes = [log_x - special.psi(a + 1), *(-derivative(special, k, a + 1) for k in range(1, self.n))]
            inside = (x > 0) & (a > 0) & np.isfinite(x) & np.isfinite(a)
            is_tail = inside & is_upper_tail(a, x)
            # So far above the mean the density is 0, and the derivative is.
            gone = is_tail & (x - a > 60 * np.sqrt(x) + 900)
            is_large = (a >= _LARGE) & np.isfinite(a)
            active = inside & ~is_tail & ~is_large
            last = np.maximum(x - a, 0) + 12 * np.sqrt(np.maximum(x, 1)) + 40
            y = arrays.zeros(x.shape, np.float64, x)
            into, parts = y.reshape(-1), [np.ravel(part) for part in (a, x, term, last, *slopes)]
            mine = np.flatnonzero(active)
            mine = mine[np.argsort(parts[3][mine].astype(np.float32))]  # sums of one block end together
            block = _BLOCK if type(into) is np.ndarray else max(mine.size, 1)
            for start in range(0, mine.size, block):
                here = mine[start : start + block]
                into[here] = self._sum(*[part[here] for part in parts])
            if is_tail.any():
                mine = np.flatnonzero(is_tail & ~gone)
                p, q = parts[0][mine], parts[1][mine]
                further = [-derivative(special, k, p) for k in range(1, self.n)]
                into[mine] = derivative_in_tail(p, q, special.psi(p), further, _bell, special)
                is_large = is_large & ~is_tail
            if is_large.any():
                y = arrays.copy(y)
                y[is_large] = _by_large_a(self.n, a[is_large], x[is_large], special)
            y = np.where((a > 0) & (x >= 0), y, np.nan).astype(dtype)
        return y if y.ndim else y[()]

    def _sum(self, a: Array, x: Array, term: Array, last: Array, *slopes: Array) -> Array:
        """The sum of the terms' derivatives up to number `last`, for a few elements, whose terms and slopes it overwrites.

        Where each term is at most half of the one before, and changes nothing, nothing that follows does.
        """
        y, at, least = np.zeros_like(x), a.copy(), last.min()
        factors = [(-1) ** j * math.factorial(j) for j in range(self.n)]
        for k in range(int(last.max()) + 1):
            added = term * slopes[0] if self.n == 1 else term * _bell(list(slopes), 1.0)
            if k > least:
                added[k > last] = 0.0
            y += added
            if k % 8 == 7 and ((np.abs(added) <= 1e-18 * np.abs(y)) & (2 * x <= at) | (k > last)).all():
                break
            at += 1.0
            step = 1.0 / at
            term *= x * step
            power = step
            for j, factor in enumerate(factors):
                slope = slopes[j]
                slope -= factor * power if j else power
                power = power * step
        return y

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        a, x = ctx.inputs
        of_a = of_x = None
        if ctx.needs(0):
            of_a = unbroadcast(ctx, 0, g * bind(IgammaByA(self.n + 1), a, x))
        if ctx.needs(1):
            slopes = [
                log(x) - bind(Polygamma(0), a),
                *(bind(NEG, bind(Polygamma(k), a)) for k in range(1, self.n)),
            ]
            of_x = unbroadcast(ctx, 1, g * density_of_gamma(a, x) * _bell(slopes, scalar_like(1, x)))
        return of_a, of_x

    def lower(self, *xs: TensorSpec) -> None:
        return None


Igamma = elementwise(
    "igamma", of_scipy(lambda special: special.gammainc, 2), vjp=_igamma_vjp, kinds=FLOATING,
    doc="The integral of t^(x - 1) e^-t from 0 to y, divided by gamma(x).",
)  # fmt: skip
Igammac = elementwise(
    "igammac", of_scipy(lambda special: special.gammaincc, 2), vjp=_igammac_vjp, kinds=FLOATING,
    doc="1 - igamma(x, y).",
)  # fmt: skip
_BY_A = IgammaByA(1)

igamma = binary_function(
    Igamma,
    "The integral of t ** (a - 1) * exp(-t) from 0 to x, divided by gamma(a); nan for negative numbers, elementwise, float "
    "dtypes. For a and x up to 100 the error is within 8 units in the last place of 1. Relative to a result far below 1 it is "
    "within 16 (1 + a abs(log(x)) + x) units for a and x up to 1000. The derivative in x is within 32 units close to a, "
    "elsewhere within 16 (1 + abs(log(result))); the error of that in a is at most 1e-13, "
    "for x above a + 4 sqrt(a) + 4 and a up to 1000 relative to the result.",
    arguments=("a", "x"),
    source="NIST Digital Library of Mathematical Functions, 8.2.",
)
igammac = binary_function(
    Igammac,
    "1 - igamma(a, x), elementwise, float dtypes. For a and x up to 100 the error is within 8 units in the last place of 1. "
    "Relative to a result far below 1 it is within 16 (1 + a abs(log(x)) + x) units for a and x up to 300.",
    arguments=("a", "x"),
    source="NIST Digital Library of Mathematical Functions, 8.2.",
)


Betainc = elementwise(
    "betainc", of_scipy(lambda special: special.betainc, 3, in_float64=True), vjp=slopes_of_betainc, kinds=FLOATING,
    doc="The integral of t^(x - 1) (1 - t)^(y - 1) from 0 to z, divided by the beta function of x and y.",
)  # fmt: skip


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """The integral of t ** (a - 1) * (1 - t) ** (b - 1) from 0 to x, divided by the beta function of a and b, for x from 0 to
    1.

    For a and b up to 20 the error is within 16 units in the last place of 1. Relative to the result it is within 16 (1 + a
    abs(log(x)) + b abs(log(1 - x))) units for a and b up to 1000, that of the derivative in x within 128 (1 + abs(log(result)))
    for a and b up to 20. Derivatives by a and b exist up to a total order of 12; they
    are within 1e-12 of the larger of 1 and the result for a and b from 0.01 to 1000.

    Args:
      a, b, x: Float tensors of one dtype that broadcast together.
    Returns: Tensor of the broadcast shape and the same dtype.
    Raises: DTypeError (a TypeError): another dtype or dtypes that differ; InvalidArgumentError (a ValueError): shapes that do
      not broadcast.
    Source: NIST Digital Library of Mathematical Functions, 8.17.
    """
    a, b = lift_pair("betainc", a, b)
    return bind(Betainc(), a, b, lift(x, a.dtype) if not isinstance(x, Tensor) else x)


zeta = binary_function(
    Zeta,
    "The sum of (q + k) ** -x over k = 0, 1, ...; nan for x below 1, elementwise, float dtypes. Derivatives by x exist up to "
    "order 12, for q above 0. Within 8 units in the last place for x and q up to 20.",
    arguments=("x", "q"),
    source="NIST Digital Library of Mathematical Functions, 25.11.",
)


def _polygamma_of(special: ModuleType) -> Callable[..., Any]:
    def formula(n: Any, x: DeviceArray | Array) -> Any:
        n, x = np.broadcast_arrays(arrays.of_dtype(n, np.float64), arrays.of_dtype(x, np.float64))
        with np.errstate(all="ignore"):
            factor, rest = special.gamma(n + 1.0), special.zeta(n + 1.0, x)
            far = np.where(n % 2 == 0, -1.0, 1.0) * factor * rest
            is_order = (n >= 0) & (n == np.floor(n))
            y = np.where(n == 0, special.psi(x), far)
            # Where a factor has left the range, the result may be in it; SciPy has no negative numbers beyond some.
            left = (np.abs(rest) < _LEAST) | (x < _LOW) | ~(np.abs(far) < np.inf)
            left &= is_order & (n > 0) & (x != 0) & (n <= _HIGHEST_ORDER) & (np.abs(x) < np.inf)
            if left.any():
                y = arrays.copy(y).reshape(y.shape or (1,))
                for order in np.unique(n[left]).tolist():
                    at = left & (n == order)
                    y[at.reshape(y.shape)] = derivative_of_digamma(int(order), x[at])
                y = y.reshape(x.shape)
            return np.where(is_order, y, np.nan)[()]

    return formula


_LEAST, _LOW, _HIGHEST_ORDER = 1e-290, -1e4, 1000


def _polygamma_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    n, x = ctx.inputs
    if not ctx.needs(1):
        return None, None
    return None, unbroadcast(ctx, 1, bind(MUL_ZERO, g, polygamma(n + scalar_like(1, n), x)))


_POLYGAMMA = of_scipy(_polygamma_of, 2)


def _polygamma_of_few(n: int, x: Array) -> Any:
    """For a small n, which needs no masks where x is not close to the ends of its range, as a float32 above 0 is not."""
    special = library.special()
    if not n or x.dtype.char != "f" or not x.size or not np.minimum.reduce(x, None) > 1e-6:
        return _POLYGAMMA(x.dtype.type(n), x)
    factor = math.factorial(n) if n % 2 else -math.factorial(n)
    with np.errstate(all="ignore"):
        found = special.zeta(n + 1.0, x.astype(np.float64)) * factor
    return found.astype(np.float32)


def _polygamma_at(x: Array, y: Array) -> Any:
    """Of many numbers in float32 and one order, which is a small one, by a native loop."""
    if np.ndim(x) == 0 and float(x) in range(FEW + 1):
        n = int(x)
        return natively(lambda y: _polygamma_of_few(n, y), f"polygamma_{n}" if n else "digamma", is_positive)(
            y
        )
    return _POLYGAMMA(x, y)


PolygammaAt = elementwise(
    "polygamma_at", _polygamma_at, vjp=_polygamma_vjp, kinds=FLOATING,
    doc="The x-th derivative of digamma at y, for integral x >= 0; nan for others. No derivative in x.",
)  # fmt: skip
polygamma = binary_function(
    PolygammaAt,
    "The a-th derivative of digamma at x, for integral a >= 0; nan for others, elementwise, float dtypes. There is no derivative "
    "in a.",
    "polygamma",
    arguments=("a", "x"),
    source="NIST Digital Library of Mathematical Functions, 5.15.",
)


def _nextafter_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (
        unbroadcast(ctx, 0, g) if ctx.needs(0) else None,
        unbroadcast(ctx, 1, g * scalar_like(0, g)) if ctx.needs(1) else None,
    )


def _nextafter(x: Array, y: Array) -> Any:
    return np.nextafter(x, y)


Nextafter = elementwise(
    "nextafter", natively(_nextafter, "nextafter", is_light=True, operands=2), vjp=_nextafter_vjp, kinds=FLOATING,
    keeps=(False, False),
    doc="The next representable number after x in the direction of y.",
)  # fmt: skip
nextafter = binary_function(
    Nextafter,
    "The next representable number after x1 in the direction of x2, elementwise, float dtypes.",
    arguments=("x1", "x2"),
)
