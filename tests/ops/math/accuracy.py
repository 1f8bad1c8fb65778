"""What holds of the digits of the special functions, in one table: `python -m tests.ops.math.accuracy` computes the numbers of
mpmath that the tests compare with, and writes the table into docs/accuracy.md.

A row is a function, a part of its domain, and by how many units in the last place it may be off there: units of the result, of
the larger of it and 1 where digits are lost close to zeros, or of what a sentence says. Results of all sizes count, the subnormal
ones too, whose unit is the smallest number.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import graphad as tf

DATA = Path(__file__).parent / "data" / "special_functions.json"
PAGE = Path(__file__).parents[3] / "docs" / "accuracy.md"
START, END = "<!-- special functions -->\n", "<!-- end -->\n"
POINTS = 60

m, s = tf.math, tf.math.special
Part = tuple[float, float]  # from, to; powers of 10 where `by_powers`


class Row(NamedTuple):
    """One claim. `exact` takes mpmath and its numbers; `weight` gives for arguments and result what the units are of."""

    name: str
    function: Callable[..., Any]
    exact: Callable[..., Any]
    domain: str
    parts: tuple[Part, ...]
    units: float
    of: str = "the result"
    by_powers: bool = False
    least: float = 0.0  # results below this are left out
    close_to: tuple[float, ...] = ()  # points at distances of all sizes from these are added


def _result(w: Any, *args: Any) -> Any:
    return np.abs(w)


WEIGHTS: dict[str, Callable[..., Any]] = {
    "the result": _result,
    "the larger of 1 and the result": lambda w, *args: np.maximum(np.abs(w), 1.0),
    "sqrt(2 / (pi x))": lambda w, x: np.sqrt(2 / (np.pi * np.abs(x))),
    "the result, times 1 + abs(log(result))": lambda w, *args: np.abs(w) * (1 + np.abs(np.log(np.abs(w)))),
    "the result, times 1 + a abs(log(x)) + x": lambda w, a, x: np.abs(w) * (1 + a * np.abs(np.log(x)) + x),
    "the result, times 1 + a abs(log(x)) + b abs(log(1 - x))": lambda w, a, b, x: (
        np.abs(w) * (1 + a * np.abs(np.log(x)) + b * np.abs(np.log1p(-x)))
    ),
    "the largest of 1 and abs(log(gamma)) of the elements and their sum": lambda w, a, b: np.maximum(
        1.0, np.abs(np.asarray(m.lgamma(tf.constant(np.stack([a, b, a + b]))))).max(0)
    ),
}
ONE = "the larger of 1 and the result"


def _gamma_log(mp: Any, x: Any) -> Any:
    if x < 0 and x == mp.nint(x):
        return mp.inf
    return mp.log(abs(mp.gamma(x))) if x < 100 else mp.loggamma(x)


def _scaled(kind: str, order: int) -> Callable[..., Any]:
    """exp(-|x|) I, exp(x) K."""
    return lambda mp, x: (
        mp.exp(-abs(x)) * mp.besseli(order, x) if kind == "i" else mp.exp(x) * mp.besselk(order, x)
    )


def _scaled_slope(kind: str, order: int) -> Callable[..., Any]:
    """Their derivatives for x above 0."""

    def exact(mp: Any, x: Any) -> Any:
        zero, one = _scaled(kind, 0)(mp, x), _scaled(kind, 1)(mp, x)
        if kind == "i":
            return one - zero if order == 0 else zero - one * (1 + 1 / x)
        return zero - one if order == 0 else one * (1 - 1 / x) - zero

    return exact


def _tail(mp: Any, x: Any) -> Any:
    """The y with erfc(y) = x, for small x: Newton's method for the logarithm."""
    y = mp.sqrt(-mp.log(x))
    for _ in range(12):
        z = mp.erfc(y)
        y += mp.log(z / x) * z * mp.exp(y * y) * mp.sqrt(mp.pi) / 2
    return y


def _erfinv(mp: Any, x: Any) -> Any:
    return mp.erfinv(x) if abs(x) < 1 else mp.nan


def _erfcinv(mp: Any, x: Any) -> Any:
    return _tail(mp, x) if x < 1e-3 else _erfinv(mp, 1 - x)


def _ndtri(mp: Any, x: Any) -> Any:
    return -mp.sqrt(2) * _erfcinv(mp, 2 * x)


def _growth(factor: Callable[[Any], Any], inverse: Callable[..., Any]) -> Callable[..., Any]:
    """factor * exp(inverse ** 2)."""
    return lambda mp, x: factor(mp) * mp.exp(inverse(mp, x) ** 2)


def _bell(sign: int) -> Callable[..., Any]:
    return lambda mp, x: sign * 2 / mp.sqrt(mp.pi) * mp.exp(-x * x)


def _mirrored(n: int) -> Callable[..., Any]:
    """Polygamma of order 1 and 2 below 0."""

    def exact(mp: Any, x: Any) -> Any:
        sine = mp.sinpi(x)
        if n == 1:
            return (mp.pi / sine) ** 2 - mp.polygamma(1, 1 - x)
        return mp.polygamma(2, 1 - x) - 2 * mp.pi**3 * mp.cospi(x) / sine**3

    return exact


def _below(mp: Any, x: Any) -> Any:
    """The float next to 1 - x."""
    return mp.mpf(float(1 - x))


def _dawsn(mp: Any, x: Any) -> Any:
    if x < 30:
        return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)
    term = total = 1 / (2 * x)
    for k in range(1, 60):
        term *= (2 * k - 1) / (2 * x * x)
        total += term
    return total


def _density(mp: Any, a: Any, z: Any) -> Any:
    """Of a gamma variable, z deviations from its mean."""
    x = mp.mpf(float(a) * (1.0 + float(z) * float(a) ** -0.5))
    return mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a))


def _bessel(kind: str, order: int) -> Callable[..., Any]:
    return lambda mp, x: getattr(mp, f"bessel{kind}")(order, x)


def _bessel_slope(kind: str, order: int) -> Callable[..., Any]:
    def exact(mp: Any, x: Any) -> Any:
        one = _bessel(kind, 1)(mp, x)
        return -one if order == 0 else _bessel(kind, 0)(mp, x) - one / x

    return exact


def _of_order(n: float) -> Callable[..., Any]:
    return lambda x: m.polygamma(tf.constant(n, x.dtype), x)


def _slope(function: Callable[..., Any], *by: int) -> Callable[..., Any]:
    """The derivative of a function by its arguments of these numbers, one after the other."""
    for i in by:
        function = _one_slope(function, i)
    return function


def _one_slope(function: Callable[..., Any], i: int) -> Callable[..., Any]:
    def slope(*args: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(args[i])
            y = function(*args)
        return tape.gradient(y, args[i])

    return slope


def _close_to_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """The derivative at 1 - x."""
    return lambda x: _slope(function, 0)(1.0 - x)


def _beta_slope(*by: int) -> Callable[..., Any]:
    def exact(mp: Any, a: Any, b: Any, x: Any) -> Any:
        return mp.diff(lambda a, b: mp.betainc(a, b, 0, x, regularized=True), (a, b), by)

    return exact


def _zeta_slope(n: int) -> Callable[..., Any]:
    def exact(mp: Any, x: Any, q: Any) -> Any:
        with mp.workdps(120):  # its error is absolute
            return mp.zeta(x, q, n)

    return exact


_ZEROS_OF_BESSEL = {
    ("j", 0): (2.404825557695773, 11.791534439014281, 24.352471530749302),
    ("j", 1): (3.8317059702075125, 13.323691936314223, 22.760084380592772),
    ("y", 0): (0.8935769662791675, 3.957678419314858, 22.782028047291558),
    ("y", 1): (2.197141326031017, 5.429681040794135, 24.33194257135691),
}

ROWS = (
    Row("erf", m.erf, lambda mp, x: mp.erf(x), "all", ((-7, 7),), 4),
    Row("erf", m.erf, lambda mp, x: mp.erf(x), "close to 0", ((-300, 0),), 4, by_powers=True),
    Row("erfc", m.erfc, lambda mp, x: mp.erfc(x), "up to 26.5", ((-7, 26.5),), 4),
    *[
        Row(f"derivative of {name}", _slope(function, 0), _bell(sign), "all", ((-26, 26), (-2, 2), (26, 27.2)), 4)
        for name, function, sign in (("erf", m.erf, 1), ("erfc", m.erfc, -1))
    ],
    Row("erfinv", m.erfinv, lambda mp, x: mp.erfinv(x), "all", ((-1, 1),), 4),
    Row("erfinv", m.erfinv, lambda mp, x: mp.erfinv(x), "close to 0", ((-300, -1),), 4, by_powers=True),
    Row("erfcinv", m.erfcinv, _tail, "close to 0", ((-322, -8),), 4, by_powers=True),
    Row("erfcinv", m.erfcinv, lambda mp, x: mp.erfinv(1 - x), "from 1e-8", ((1e-8, 1.999),), 8),
    Row("ndtri", m.ndtri, lambda mp, x: -mp.sqrt(2) * _tail(mp, 2 * x), "close to 0", ((-307, -8),), 4, by_powers=True),
    Row("erfcinv", m.erfcinv, _tail, "below the normal numbers", ((-323, -308),), 8, by_powers=True),
    Row("ndtri", m.ndtri, _ndtri, "below the normal numbers", ((-323, -308),), 8, by_powers=True),
    *[
        Row(f"derivative of {name}", _slope(function, 0), exact, words, part, units, "the result", powers, close_to=close_to)
        for name, function, exact, units, rows in (
            ("erfinv", m.erfinv, _growth(lambda mp: mp.sqrt(mp.pi) / 2, _erfinv), 4, (
                ("all", ((-1, 1), (0.9, 1)), False, (1, -1)), ("close to 0", ((-322, -1),), True, ()),
            )),
            ("erfcinv", m.erfcinv, _growth(lambda mp: -mp.sqrt(mp.pi) / 2, _erfcinv), 8, (
                ("all", ((0, 2), (1.9, 2)), False, (1, 2)), ("close to 0", ((-309.9, -1), (-309.9, -300)), True, ()),
            )),
            ("ndtri", m.ndtri, _growth(lambda mp: mp.sqrt(2 * mp.pi), lambda mp, x: _erfcinv(mp, 2 * x)), 8, (
                ("all", ((0, 1), (0.9, 1)), False, (0.5, 1)), ("close to 0", ((-309.8, -1), (-309.8, -300)), True, ()),
            )),
        )
        for words, part, powers, close_to in rows
    ],
    Row("derivative of spence", _slope(s.spence, 0), lambda mp, x: mp.log(x) / (1 - x) if x != 1 else mp.mpf(-1), "up to 10",
        ((0, 10),), 4, close_to=(1,)),
    Row("derivative of spence", _slope(s.spence, 0), lambda mp, x: mp.log(x) / (1 - x), "by powers", ((-322, 308),), 4,
        by_powers=True),
    *[
        Row(f"derivative of {name}", _close_to_one(getattr(m, name)), exact, "close to 1", ((-15, -1),), 4,
            by_powers=True)
        for name, exact in (
            ("asin", lambda mp, x: 1 / mp.sqrt(1 - _below(mp, x) ** 2)),
            ("acos", lambda mp, x: -1 / mp.sqrt(1 - _below(mp, x) ** 2)),
            ("atanh", lambda mp, x: 1 / (1 - _below(mp, x) ** 2)),
        )
    ],
    Row("ndtri", m.ndtri, lambda mp, x: mp.sqrt(2) * mp.erfinv(2 * x - 1), "from 1e-8", ((1e-8, 0.999),), 8),
    Row("lgamma", m.lgamma, _gamma_log, "above 0", ((0, 12),), 4),
    Row("lgamma", m.lgamma, _gamma_log, "above 0, by powers", ((-300, 300),), 4, by_powers=True),
    Row("lgamma", m.lgamma, _gamma_log, "below 0", ((-4, -2), (-30, 0), (-120, 0)), 8,
        close_to=(-2.4570247382208006, -2.7476826467274127, -3.14358088834998, -3.955294284858598, -5.008218168322593, -12,
                  -17, -25)),
    Row("digamma", m.digamma, lambda mp, x: mp.digamma(x), "above 0", ((0, 12), (0, 3), (0, 1000)), 4,
        close_to=(1.4616321449683622,)),
    Row("digamma", m.digamma, lambda mp, x: mp.digamma(x), "above 0, by powers", ((-308, 308),), 4, by_powers=True),
    Row("derivative of lgamma", _slope(m.lgamma, 0), lambda mp, x: mp.digamma(x), "above 0", ((0, 12), (0, 3), (0, 1000)), 4,
        close_to=(1.4616321449683622,)),
    Row("digamma", m.digamma, lambda mp, x: mp.digamma(x), "down to -32", ((-32, 0), (-4, 0)), 8,
        close_to=(-0.5040830082644554, -1.5734984731623904, -2.6107208684441447, -7.687788325031626, -31.765982812458248, -4)),
    Row("digamma", m.digamma, lambda mp, x: mp.digamma(x), "below -32", ((-1000, -32),), 8, ONE),
    Row("polygamma", _of_order(1.0), lambda mp, x: mp.polygamma(1, x), "order 1", ((0.01, 100),), 4),
    Row("polygamma", _of_order(2.0), lambda mp, x: mp.polygamma(2, x), "order 2", ((0.01, 100),), 4),
    Row("polygamma", _of_order(1.0), lambda mp, x: mp.polygamma(1, x), "order 1, by powers", ((-150, 300),), 8, by_powers=True),
    Row("polygamma", _of_order(1.0), _mirrored(1), "order 1, below 0", ((-1e6, 0), (-20, 0)), 16),
    Row("polygamma", _of_order(2.0), _mirrored(2), "order 2, below 0", ((-1e6, 0), (-20, 0)), 32, ONE),
    Row("polygamma", _of_order(20.0), lambda mp, x: mp.polygamma(20, x), "order 20, by powers", ((-10, 14),), 32, by_powers=True),
    Row("polygamma", _of_order(100.0), lambda mp, x: mp.polygamma(100, x), "order 100, by powers", ((-1, 4),), 16,
        by_powers=True),
    Row("derivative of digamma", _slope(m.digamma, 0), lambda mp, x: mp.polygamma(1, x), "by powers", ((-150, 300),), 8,
        by_powers=True),
    Row("derivative of digamma", _slope(m.digamma, 0), _mirrored(1), "below 0", ((-1e6, 0), (-20, 0)), 16),
    Row("polygamma", _of_order(5.0), lambda mp, x: mp.polygamma(5, x), "order 5", ((0.01, 100),), 8),
    Row("zeta", m.zeta, lambda mp, x, q: mp.zeta(x, q), "up to 20", ((1.01, 20), (0.1, 20)), 8),
    Row("igamma", m.igamma, lambda mp, a, x: mp.gammainc(a, 0, x, regularized=True), "up to 100",
        ((0.1, 100), (0, 150)), 8, ONE),
    Row("igamma", m.igamma, lambda mp, a, x: mp.gammainc(a, 0, x, regularized=True), "up to 1000, by powers, results from 1e-300",
        ((-1, 3), (-5, 3)), 16, "the result, times 1 + a abs(log(x)) + x", True, 1e-300),
    Row("igammac", m.igammac, lambda mp, a, x: mp.gammainc(a, x, mp.inf, regularized=True), "up to 100",
        ((0.1, 100), (0, 150)), 8, ONE),
    Row("igammac", m.igammac, lambda mp, a, x: mp.gammainc(a, x, mp.inf, regularized=True), "up to 300, by powers",
        ((-1, 2.5), (-5, 2.5)), 16, "the result, times 1 + a abs(log(x)) + x", True),
    Row("derivative of igamma", lambda a, z: _slope(m.igamma, 1)(a, a * (1.0 + z * a**-0.5)), _density,
        "by x, a up to 1e8, x within 4 deviations of it", ((1.3, 8), (-4, 0.6)), 32, by_powers=True),
    Row("derivative of igamma", _slope(m.igamma, 1), lambda mp, a, x: mp.exp((a - 1) * mp.log(x) - x - mp.loggamma(a)),
        "by x, up to 1000, by powers, results from 1e-300", ((-2, 3), (-5, 3)), 16, "the result, times 1 + abs(log(result))",
        True, 1e-300),
    Row("derivative of betainc", _slope(m.betainc, 2),
        lambda mp, a, b, x: mp.exp((a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x)) / mp.beta(a, b), "by x, up to 20",
        ((0.1, 20), (0.1, 20), (0, 1)), 8, "the result, times 1 + abs(log(result))"),
    Row("betainc", m.betainc, lambda mp, a, b, x: mp.betainc(a, b, 0, x, regularized=True), "up to 20",
        ((0.1, 20), (0.1, 20), (0, 1)), 16, ONE),
    Row("betainc", m.betainc, lambda mp, a, b, x: mp.betainc(a, b, 0, x, regularized=True), "up to 1000, by powers",
        ((-3, 3), (-3, 3), (-10, -0.01)), 16, "the result, times 1 + a abs(log(x)) + b abs(log(1 - x))", True),
    *[
        Row("derivative of betainc", _slope(m.betainc, *by), _beta_slope(by.count(0), by.count(1)), f"by {words}, up to 20",
            ((0.1, 20), (0.1, 20), (0, 1)), 128, ONE)
        for by, words in (((0,), "a"), ((1,), "b"), ((0, 0), "a twice"), ((0, 1), "a and b"), ((1, 1), "b twice"))
    ],
    *[
        Row("derivative of zeta", _slope(m.zeta, *[0] * n), _zeta_slope(n), f"by x{words}, up to 20", ((1.01, 20), (0.1, 20)), 8,
            "the larger of 1 and the result")
        for n, words in ((1, ""), (2, " twice"))
    ],
    Row("lbeta", lambda a, b: m.lbeta(tf.stack([a, b], -1)),
        lambda mp, a, b: mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b), "two elements, by powers", ((-3, 8), (-3, 8)),
        8, "the largest of 1 and abs(log(gamma)) of the elements and their sum", True),
    Row("bessel_i0", s.bessel_i0, _bessel("i", 0), "up to 700", ((-700, 700),), 4),
    Row("bessel_i1", s.bessel_i1, _bessel("i", 1), "up to 700", ((-700, 700), (5, 8)), 4),
    Row("bessel_i0e", s.bessel_i0e, _scaled("i", 0), "up to 1000", ((-1000, 1000), (-10, 10)), 4),
    Row("bessel_i1e", s.bessel_i1e, _scaled("i", 1), "up to 1000", ((-1000, 1000), (5, 8)), 4),
    *[
        Row(f"bessel_{kind}{order}e", getattr(s, f"bessel_{kind}{order}e"), _scaled(kind, order), "by powers", ((-300, 15),),
            4, by_powers=True)
        for kind in "ik" for order in (0, 1)
    ],
    *[
        Row(f"bessel_i{order}", getattr(s, f"bessel_i{order}"), _bessel("i", order), "up to the end of the range",
            ((700, 713.9),), 4)
        for order in (0, 1)
    ],
    *[
        Row(f"derivative of bessel_{kind}{order}e", _slope(getattr(s, f"bessel_{kind}{order}e"), 0), _scaled_slope(kind, order),
            words, part, units, of, by_powers=by_powers)
        for kind in "ik" for order in (0, 1)
        for words, part, units, of, by_powers in (
            ("from 1 to 64", ((1, 64),), 8, ONE, False),
            ("from 64 on, by powers", ((1.8063, 15),), 8, "the result", True),
        )
        if kind == "i" or by_powers  # the others take mpmath long
    ],
    Row("bessel_k0", s.bessel_k0, _bessel("k", 0), "up to 600", ((1e-6, 600), (1e-6, 2)), 4),
    Row("bessel_k1", s.bessel_k1, _bessel("k", 1), "up to 600", ((1e-6, 600),), 8),
    Row("bessel_k0e", s.bessel_k0e, _scaled("k", 0), "up to 1000", ((1e-6, 1000),), 4),
    Row("bessel_k1e", s.bessel_k1e, _scaled("k", 1), "up to 1000", ((1e-6, 1000),), 4),
    *[
        Row(f"bessel_{kind}{order}", getattr(s, f"bessel_{kind}{order}"), _bessel(kind, order), *rest)
        for kind in "jy"
        for order in (0, 1)
        for rest in (
            ("up to 25", ((1e-3, 25), (1e-3, 25)), 32, "the result", False, 0.0, _ZEROS_OF_BESSEL[kind, order]),
            ("from 25 on", ((1.4, 15),), 4, "sqrt(2 / (pi x))", True),
        )
    ],
    *[
        Row(f"derivative of bessel_{kind}{order}", _slope(getattr(s, f"bessel_{kind}{order}"), 0), _bessel_slope(kind, order),
            "up to 25", ((1e-3, 25), (1e-3, 25)), *rest)
        for kind in "jy"
        for order, rest in (
            (0, (32, "the result", False, 0.0, _ZEROS_OF_BESSEL[kind, 1])), (1, (16, ONE, False, 0.0, ())),
        )
    ],
    Row("derivative of sinc", _slope(m.sinc, 0), lambda mp, x: (mp.cospi(x) - mp.sincpi(x)) / x, "all", ((-20, 20), (-1e3, 1e3)),
        8, ONE),
    Row("dawsn", s.dawsn, lambda mp, x: mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x), "all", ((-30, 30),), 4),
    Row("dawsn", s.dawsn, _dawsn, "by powers", ((-300, 15),), 4, by_powers=True),
    Row("derivative of dawsn", _slope(s.dawsn, 0), lambda mp, x: 1 - 2 * x * _dawsn(mp, x), "up to 12", ((-12, 12),), 4, ONE),
    Row("derivative of dawsn", _slope(s.dawsn, 0), lambda mp, x: 1 - 2 * x * _dawsn(mp, x), "from 12 on, by powers",
        ((1.08, 15),), 4, by_powers=True),
    Row("derivative of expint", _slope(s.expint, 0), lambda mp, x: mp.exp(x) / x, "all", ((-750, 716), (-751, -690)), 4),
    Row("derivative of expint", _slope(s.expint, 0), lambda mp, x: mp.exp(x) / x, "above 0, by powers", ((-307, 2.8),), 4,
        by_powers=True),
    Row("derivative of fresnel_cos", _slope(s.fresnel_cos, 0), lambda mp, x: mp.cospi(x * x / 2), "by powers", ((-20, 12),), 4,
        ONE, True),
    Row("derivative of fresnel_sin", _slope(s.fresnel_sin, 0), lambda mp, x: mp.sinpi(x * x / 2), "by powers", ((-20, 12),), 4,
        ONE, True),
    Row("expint", s.expint, lambda mp, x: mp.ei(x), "all", ((-600, 600), ), 16),
    Row("expint", s.expint, lambda mp, x: mp.ei(x), "above 0, by powers", ((-10, 2.5),), 16, by_powers=True),
    Row("fresnel_cos", s.fresnel_cos, lambda mp, x: mp.fresnelc(x), "up to 1e6", ((-20, 20), (1, 6)), 8),
    Row("fresnel_sin", s.fresnel_sin, lambda mp, x: mp.fresnels(x), "up to 1e6", ((-20, 20), (1, 6)), 8),
    Row("spence", s.spence, lambda mp, x: mp.polylog(2, 1 - x), "above 0", ((1e-3, 10),), 4),
    Row("spence", s.spence, lambda mp, x: mp.polylog(2, 1 - x), "above 0, by powers", ((-10, 10),), 4, by_powers=True),
    Row("sinc", m.sinc, lambda mp, x: mp.sincpi(x), "all", ((-1e3, 1e3),), 4),
)  # fmt: skip


def points(row: Row) -> list[np.ndarray]:
    """The arguments of a row; several parts of the domain of one argument, or one part of each."""
    rng = np.random.default_rng(sum(map(ord, row.name + row.domain)))
    arity = row.exact.__code__.co_argcount - 1
    found = [rng.uniform(low, high, POINTS) for low, high in row.parts]
    if row.by_powers:
        found = [10**x for x in found]
    for z in row.close_to:
        found.append(z * (1 + rng.choice([-1.0, 1.0], POINTS) * 10 ** rng.uniform(-16, -1, POINTS)))
    return found if arity == len(found) else [np.concatenate(found)]


def key(row: Row) -> str:
    return f"{row.name}, {row.domain}"


def computed() -> dict[str, Any]:
    """By row the arguments, and mpmath's results in two floats each."""
    import mpmath

    found = {}
    with mpmath.workdps(50):
        for row in ROWS:
            args = points(row)
            exact = [
                mpmath.re(row.exact(mpmath, *[mpmath.mpf(float(x)) for x in point])) for point in zip(*args)
            ]
            high = [float(w) for w in exact]
            low = [float(w - mpmath.mpf(h)) if np.isfinite(h) else 0.0 for w, h in zip(exact, high)]
            found[key(row)] = {"arguments": [x.tolist() for x in args], "high": high, "low": low}
    return found


def worst(row: Row, stored: Any) -> float:
    """The largest error at the stored points in the row's units. Where no float comes close or the function is not real, nothing
    is compared."""
    args = [np.array(x) for x in stored["arguments"]]
    high, low = np.array(stored["high"]), np.array(stored["low"])
    y = np.asarray(row.function(*[tf.constant(x) for x in args]))
    counts = np.isfinite(high) & (np.abs(high) >= row.least)
    assert counts.any() and not np.isnan(y[counts]).any()
    with np.errstate(invalid="ignore"):
        error = np.abs((y[counts] - high[counts]) - low[counts])
    weight = WEIGHTS[row.of](high[counts], *[x[counts] for x in args])
    return float((error / np.spacing(weight)).max())


def table() -> str:
    """The part of the page between its marks."""
    lines = [f"| `{row.name}` | {row.domain} | {row.units:g} | {row.of} |" for row in ROWS]
    return (
        "\n| function | where | units in the last place | of |\n|---|---|---|---|\n"
        + "\n".join(lines)
        + "\n\n"
    )


def main() -> None:
    DATA.parent.mkdir(exist_ok=True)
    stored = computed()
    DATA.write_text(json.dumps(stored), encoding="utf-8")
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(START)
    PAGE.write_text(f"{head}{START}{table()}{END}{rest.split(END)[1]}", encoding="utf-8")
    for row in ROWS:
        found = worst(row, stored[key(row)])
        print(f"{key(row):40} {found:8.2f} of {row.units:g}{'  TOO MUCH' if found > row.units else ''}")


if __name__ == "__main__":
    main()
