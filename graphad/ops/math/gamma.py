"""The logarithm of the gamma function and its derivatives: lgamma, digamma, and the polygamma functions behind them.

Each derivative is the next function of the family, so every order exists. The recurrence raises small arguments to where the
asymptotic series converges.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import Array, Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.op import define
from graphad.core.schema import between, declare
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.choice import chosen
from graphad.ops.elementwise import Elementwise, elementwise, unary_function
from graphad.ops.math import digamma_zeros, series
from graphad.ops.math.arithmetic import MUL_ZERO
from graphad.ops.math.compiled_loops import by_loop
from graphad.ops.math.native_loops import is_positive, natively
from graphad.ops.rules import FLOATING

# Bernoulli numbers B2, B4, ...
BERNOULLI = (
    1 / 6,
    -1 / 30,
    1 / 42,
    -1 / 30,
    5 / 66,
    -691 / 2730,
    7 / 6,
    -3617 / 510,
    43867 / 798,
    -174611 / 330,
)
ASYMPTOTIC = tuple(b / (2 * k) for k, b in enumerate(BERNOULLI, 1))
_LOWEST = -1e4  # below this the recurrence takes too many steps
OrderOfDigamma = int
declare(between("OrderOfDigamma", 0, 1000))  # for numbers below 0 each takes as many steps
_HIGHEST_MIRRORED = 50  # derivative; beyond, the result is nan there
NOTHING = 1e-18  # terms below this fraction of a sum do not change it
_LARGEST_FACTORIAL = 170  # in float64


# SciPy's log |gamma| is exact relative to 1 alone near its zeros, which are 1, 2 and many below 0. In float32 that does not show
# at 1 and 2, whose neighbours are far away, nor for results of this size; in float64 it does between these two numbers.
_LOST_IN_FLOAT64 = 0.45, 2.15
_CLOSE_IN_FLOAT32 = 1e-3
_LOWEST_IN_FLOAT32 = -1e4
_SMALLEST = float(np.finfo(np.float64).tiny)
_lgamma_narrow = by_loop(
    series.lgamma, "gammaln", lambda x: x >= _LOWEST_IN_FLOAT32, _CLOSE_IN_FLOAT32, on_device="gammaln"
)
_lgamma_wide = by_loop(
    series.lgamma,
    "gammaln",
    lambda x: (x >= _LOST_IN_FLOAT64[1]) | ((x >= _SMALLEST) & (x <= _LOST_IN_FLOAT64[0])),
    on_device="gammaln",
)


def _lgamma(x: Array) -> Any:
    return (_lgamma_wide if x.dtype.itemsize == 8 else _lgamma_narrow)(x)


def _digamma_far(x: np.ndarray) -> np.ndarray:
    """digamma from 10 on, by the asymptotic series."""
    over = 1.0 / x
    square = over * over
    far: np.ndarray = np.log(x) - 0.5 * over - square * arrays.polynomial(ASYMPTOTIC, square)
    return far


def _digamma_near(x: np.ndarray) -> np.ndarray:
    """digamma from 0 to 1, by a step of the recurrence."""
    near: np.ndarray = _digamma_at_root(x + 1.0) - 1.0 / x
    return near


# (log(x) - 1 / (2 x) - digamma(x)) x^2 for x from 9/4 to 10, in powers of 1 / x^2: interpolated at Chebyshev nodes, with 45
# digits.
DIGAMMA_MIDDLE = (
    0.08333333333329576, -0.008333333321160586, 0.003968252305598621, -0.004166538511116093, 0.0075694389286375405,
    -0.020877991985714352, 0.07801320041708383, -0.34239058799349364, 1.5065896962869334, -5.802275800575162,
    17.584748951728017, -37.98393289691351, 51.13119589845937, -31.94989312661091,
)  # fmt: skip


def _digamma_middle(x: np.ndarray) -> np.ndarray:
    """digamma from 9/4 to 10."""
    over = 1.0 / x
    square = over * over
    middle: np.ndarray = np.log(x) - (0.5 * over + square * arrays.polynomial(DIGAMMA_MIDDLE, square))
    return middle


# Its positive root in two parts, and digamma(x) / (x - root) for x from 1 to 9/4 in powers of x - 13/8, in the same way.
ROOT, ROOT_REST = 1.4616321449683622, 9.549995429965697e-17
AT_ROOT = (
    0.9015925158282158, -0.36977496445741087, 0.19272012460147286, -0.10919698588596748, 0.06426251743231616,
    -0.03855782679525716, 0.023380439996888304, -0.014262521376097959, 0.008730866220535469, -0.00535572993251267,
    0.0032894516583597097, -0.002021868579040295, 0.0012431154680376197, -0.0007646497287535113, 0.00047164794077068705,
    -0.0002901952887359625, 0.00017359803964975777, -0.00010682239594076982, 7.902558711980326e-05, -4.863008623643609e-05,
    7.3611159419839125e-06, -4.529776886885757e-06, 2.4793450060683865e-05, -1.525747682606752e-05,
)  # fmt: skip


def _digamma_at_root(x: np.ndarray) -> np.ndarray:
    """digamma from 1 to 9/4: relatively exact at its positive root."""
    near: np.ndarray = ((x - ROOT) - ROOT_REST) * arrays.polynomial(AT_ROOT, x - 1.625)
    return near


def _digamma_mirrored(x: np.ndarray) -> np.ndarray:
    rest = x - np.rint(x)
    mirrored: np.ndarray = _digamma(1.0 - x) - math.pi / np.tan(math.pi * rest)
    digamma_zeros.at_zeros(x, mirrored, derivative_of_digamma)
    return chosen(rest == 0, np.nan, mirrored)


def _digamma(x: np.ndarray) -> np.ndarray:
    parts = [
        (x == np.inf, lambda x: x),
        (x >= 10.0, _digamma_far),
        (x >= 2.25, _digamma_middle),
        (x >= 1.0, _digamma_at_root),
        (x > 0, _digamma_near),
        ((x < 0) & (x > -np.inf), _digamma_mirrored),
    ]
    found: np.ndarray = series.by_part(x, parts, np.nan)
    return found


_DIGAMMA = natively(by_loop(_digamma, "psi", is_positive), "digamma", is_positive)
FEW = 4  # derivatives whose powers neither overflow nor underflow within the bounds
_BOUNDS = 1e-30, 1e30
STEPS = 12


def derivative_of_digamma(n: int, x: np.ndarray) -> np.ndarray:
    """(-1) ** (n + 1) n! times the sum of (x + k) ** -s over k = 0, 1, ..., where s = n + 1 > 1."""
    if n > FEW:
        return _of_any_order(n, x)
    low, high = _BOUNDS
    far = STEPS + n
    parts = [
        ((x >= low) & (x < far), lambda x: _of_few(n, x, far)),
        ((x >= far) & (x <= high), lambda x: _of_few(n, x, 0)),
        (x == x, lambda x: _of_any_order(n, x)),
    ]
    found: np.ndarray = series.by_part(x, parts, np.nan)
    return found


def _polygamma(n: int) -> Callable[[Array], Array]:
    """The n-th derivative of digamma of an array of any float dtype."""

    def formula(x: Array) -> Array:
        return series.of_array(lambda x: derivative_of_digamma(n, x), x)  # type: ignore[no-any-return]

    return natively(formula, f"polygamma_{n}", is_positive) if n <= FEW else formula


def rest_factors(n: int) -> list[float]:
    """The asymptotic series of the n-th derivative of digamma, but for the sign and n! / (2 x), in powers of 1 / x^2."""
    factors = [b * math.prod(range(2 * k + 1, 2 * k + n)) for k, b in enumerate(BERNOULLI, 1)]
    return [math.factorial(n - 1), *factors]


def _of_few(n: int, x: np.ndarray, steps: int) -> np.ndarray:
    """The first terms one by one, the rest, from x + steps on, by the asymptotic series; the smallest are added first."""
    over = 1.0 / (x + steps)
    square = over * over
    total: np.ndarray = arrays.polynomial(rest_factors(n), square)
    total += math.factorial(n) / 2 * over
    for _ in range(n):
        total *= over
    total *= 1 / math.factorial(n)
    term, power = np.empty_like(x), np.empty_like(x)
    for k in range(steps - 1, -1, -1):
        np.add(x, k, out=term)
        np.multiply(term, term, out=power)
        for _ in range(n - 1):
            power *= term
        total += np.divide(1.0, power, out=power)
    total *= math.factorial(n) if n % 2 else -math.factorial(n)
    return total


def _of_any_order(n: int, x: np.ndarray) -> np.ndarray:
    """For all x. The recurrence is followed as far as each element needs."""
    s = float(n + 1)
    far = 10.0 + s
    below = (x < _LOWEST) & (x > -np.inf)
    if n <= _HIGHEST_MIRRORED and np.any(below):
        y = derivative_of_digamma(n, chosen(below, 1.0, x))
        y[below] = _mirrored(n, x[below])
        return y
    x = chosen(x < _LOWEST, np.nan, x)
    # The terms are computed as multiples of the first one, which may underflow although its product with n! does not.
    first = chosen((x > 0) & (x < np.inf), x, 1.0)
    total = np.zeros_like(x)
    term = (first / x) ** s
    while np.any(low := (x < far) & ~((x > 0) & (np.abs(term) < NOTHING * np.abs(total)))):
        total = chosen(low, total + term, total)
        x = chosen(low, x + 1.0, x)
        term = chosen(low, (first / x) ** s, term)
    series, part = x / (s - 1) + 0.5, s / x
    for k, b in enumerate(BERNOULLI, 1):
        series = series + b / math.factorial(2 * k) * part
        part = part * ((s + 2 * k - 1) / x) * ((s + 2 * k) / x)
    total = chosen((x >= far) & (term > 0), total + term * series, total)
    # n! first ** -s times the sum, each as a number near 1 and a power of 2, so that only the result leaves the range.
    part, exponent = np.frexp(first)
    low = part < math.sqrt(0.5)
    part, exponent = chosen(low, 2.0 * part, part), exponent - low
    if n <= _LARGEST_FACTORIAL:
        size, by = math.frexp(float(math.factorial(n)))
        head, more = np.frexp(size * part**-s * np.frexp(total)[0])
        y = _scaled(head, more + by + np.frexp(total)[1] - int(s) * exponent.astype(np.int64))
    else:
        y = np.exp(math.lgamma(s) - s * np.log(first)) * total
    y = chosen(total == 0, 0.0, (-1.0 if n % 2 == 0 else 1.0) * y)
    return chosen(np.isnan(x), x, y)


def _scaled(x: np.ndarray, exponent: np.ndarray) -> np.ndarray:
    """x times a power of 2 that C's int may not hold."""
    scaled: np.ndarray = np.ldexp(x, np.clip(exponent, -3000, 3000).astype(np.int32))
    return scaled


def _mirrored(n: int, x: np.ndarray) -> np.ndarray:
    """For x far below 0, by the n-th derivative of the cotangent, a polynomial of it whose terms have one sign."""
    rest = x - np.rint(x)
    factors = [0.0, 1.0]
    for _ in range(n):
        slope = [k * c for k, c in enumerate(factors)][1:]
        factors = [-(a + b) for a, b in zip([*slope, 0.0, 0.0], [0.0, 0.0, *slope], strict=True)]
    with np.errstate(all="ignore"):
        turned = -(math.pi ** (n + 1)) * arrays.polynomial(factors, 1.0 / np.tan(math.pi * rest))
        found = turned + (-1.0) ** n * derivative_of_digamma(n, 1.0 - x)
    return chosen(rest == 0, np.inf if n % 2 else np.nan, found)


@define
class Polygamma(Elementwise):
    """The n-th derivative of digamma, digamma itself for n = 0, for n up to 1000; nan below -10000 where n > 50."""

    name = "polygamma"
    kinds = FLOATING
    known_as = "digamma"
    words = {"n": "the derivative"}
    n: OrderOfDigamma

    def eval(self, x: Array) -> Array:  # type: ignore[override]
        return _polygamma(self.n)(x) if self.n else _DIGAMMA(x)

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(MUL_ZERO, g, bind(Polygamma(self.n + 1), ctx.inputs[0])),)

    def lower(self, *xs: TensorSpec) -> None:
        return None


def _lgamma_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(MUL_ZERO, g, bind(DIGAMMA, ctx.inputs[0])),)


DIGAMMA = Polygamma(0)
Lgamma = elementwise(
    "lgamma", natively(_lgamma, "lgamma", is_positive), vjp=_lgamma_vjp, kinds=FLOATING, doc="log |gamma(x)|."
)

lgamma = unary_function(
    Lgamma,
    "The logarithm of |gamma(x)|; inf at 0, -1, -2, ..., elementwise, float dtypes. Within 4 units in the last place above 0, "
    "within 8 below.",
    example=">>> math.lgamma([1.0, 5.0]).numpy()\narray([0.       , 3.1780539], dtype=float32)",
    source="NIST Digital Library of Mathematical Functions, 5.2.",
)


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of lgamma; nan at 0, -1, -2, ..., elementwise, float dtypes.

    Within 4 units in the last place above 0. Below, the error is within 8 units in the last place of the larger of 1 and the
    result; relative to a result close to a zero it may be large.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: NIST Digital Library of Mathematical Functions, 5.2.
    """
    return bind(DIGAMMA, lift(x))
