"""The logarithm of the gamma function and its derivatives: lgamma, digamma, and the polygamma functions behind them.

Each derivative is the next function of the family, so every order is there. Arguments are moved up by the recurrence to where
the asymptotic series has converged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphad.core.annotations import Array, Cotangents, TensorLike, VjpContext
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.op import define
from graphad.core.schema import Count
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.choice import chosen
from graphad.ops.elementwise import Elementwise, elementwise, unary_function
from graphad.ops.math import series
from graphad.ops.math.arithmetic import MUL
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
_ASYMPTOTIC = tuple(b / (2 * k) for k, b in enumerate(BERNOULLI, 1))
_LOWEST = -1e4  # below this, moving up takes too many steps; the result is nan
NOTHING = 1e-18  # terms that are smaller parts of a sum do not change it
_LARGEST_FACTORIAL = 170  # in float64
_SMALLEST = 1e-300  # powers below this lose digits


def _lgamma(x: Array) -> Any:
    return series.of_array(series.lgamma, x)


def _digamma_far(x: np.ndarray) -> np.ndarray:
    """From 10 on, by the asymptotic series."""
    over = 1.0 / x
    square = over * over
    far: np.ndarray = np.log(x) - 0.5 * over - square * series.polynomial(_ASYMPTOTIC, square)
    return far


def _digamma_near(x: np.ndarray) -> np.ndarray:
    """From 0 to 10, by ten steps of the recurrence."""
    total = np.zeros_like(x)
    for k in range(9, -1, -1):
        total += 1.0 / (x + k)
    near: np.ndarray = _digamma_far(x + 10.0) - total
    return near


def _digamma_mirrored(x: np.ndarray) -> np.ndarray:
    rest = x - np.rint(x)
    mirrored: np.ndarray = _digamma(1.0 - x) - math.pi / np.tan(math.pi * rest)
    return chosen(rest == 0, np.nan, mirrored)


def _digamma(x: np.ndarray) -> np.ndarray:
    parts = [
        (x == np.inf, lambda x: x),
        (x >= 10.0, _digamma_far),
        (x > 0, _digamma_near),
        ((x < 0) & (x > -np.inf), _digamma_mirrored),
    ]
    found: np.ndarray = series.by_part(x, parts, np.nan)
    return found


def _derivative_of_digamma(n: int, x: np.ndarray) -> np.ndarray:
    """(-1) ** (n + 1) n! times the sum of (x + k) ** -s over k = 0, 1, ..., where s = n + 1 > 1."""
    s = float(n + 1)
    far = 10.0 + s
    x = chosen(x < _LOWEST, np.nan, x)
    # The terms are computed as multiples of the first one: it may underflow where n! makes up for it.
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
    power = first**-s
    plain = float(math.factorial(n)) * power if n <= _LARGEST_FACTORIAL else np.inf
    scale = chosen((power > _SMALLEST) & (plain < np.inf), plain, np.exp(math.lgamma(s) - s * np.log(first)))
    y = chosen(total == 0, 0.0, (-1.0 if n % 2 == 0 else 1.0) * scale * total)
    return chosen(np.isnan(x), x, y)


@define
class Polygamma(Elementwise):
    """The n-th derivative of digamma, digamma itself for n = 0; nan below -10000 where n > 0."""

    name = "polygamma"
    kinds = FLOATING
    n: Count

    def eval(self, x: Array) -> Array:  # type: ignore[override]
        if self.n == 0:
            return series.of_array(_digamma, x)  # type: ignore[no-any-return]
        return series.of_array(lambda x: _derivative_of_digamma(self.n, x), x)  # type: ignore[no-any-return]

    def vjp(self, ctx: VjpContext, g: Tensor) -> Cotangents:
        return (bind(MUL, g, bind(Polygamma(self.n + 1), ctx.inputs[0])),)

    def lower(self, *xs: TensorSpec) -> None:
        return None


def _lgamma_vjp(ctx: VjpContext, g: Tensor) -> Cotangents:
    return (bind(MUL, g, bind(DIGAMMA, ctx.inputs[0])),)


DIGAMMA = Polygamma(0)
Lgamma = elementwise("lgamma", _lgamma, vjp=_lgamma_vjp, kinds=FLOATING, doc="log |gamma(x)|.")

lgamma = unary_function(
    Lgamma,
    "The logarithm of |gamma(x)|; inf at 0, -1, -2, ..., elementwise, float dtypes. Within 4 units in the last place above 0; "
    "below, its error close to a zero is within 8 units of 1.",
    example=">>> math.lgamma([1.0, 5.0]).numpy()\narray([0.       , 3.1780539], dtype=float32)",
    source="NIST Digital Library of Mathematical Functions, 5.2.",
)


def digamma(x: TensorLike, name: str | None = None) -> Tensor:
    """The derivative of lgamma; nan at 0, -1, -2, ..., elementwise, float dtypes.

    Its error is within 8 units in the last place of the larger of 1 and the result: close to a zero only that is small.

    Args:
      x: Tensor of any shape, a float dtype.
    Returns: Tensor of the same shape and dtype.
    Raises: DTypeError (a TypeError): another dtype.
    Source: NIST Digital Library of Mathematical Functions, 5.2.
    """
    return bind(DIGAMMA, lift(x))
