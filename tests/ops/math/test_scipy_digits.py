"""Functions that SciPy computes, in units of the last place of what mpmath computes with forty digits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.ops.math import bessel
from graphad.ops.math.incomplete import IgammaByA

special = tf.math.special


def _lgamma(x: Any) -> Any:
    return mpmath.log(abs(mpmath.gamma(x)))


def _dawsn(x: Any) -> Any:
    return mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x)


# Name, function, mpmath's formula, the domain, and the units in the last place that hold there. For functions with zeros in the
# domain the unit is that of 1.
ROWS: list[tuple[str, Any, Callable[..., Any], float, float, float, bool]] = [
    ("bessel_i0", special.bessel_i0, lambda x: mpmath.besseli(0, x), -700.0, 700.0, 4, False),
    (
        "bessel_i0e",
        special.bessel_i0e,
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(0, x),
        -1e3,
        1e3,
        4,
        False,
    ),
    ("bessel_i1", special.bessel_i1, lambda x: mpmath.besseli(1, x), -700.0, 700.0, 4, False),
    (
        "bessel_i1e",
        special.bessel_i1e,
        lambda x: mpmath.exp(-abs(x)) * mpmath.besseli(1, x),
        -1e3,
        1e3,
        4,
        False,
    ),
    ("bessel_k0", special.bessel_k0, lambda x: mpmath.besselk(0, x), 1e-6, 600.0, 4, False),
    ("bessel_k0e", special.bessel_k0e, lambda x: mpmath.exp(x) * mpmath.besselk(0, x), 1e-6, 1e3, 4, False),
    ("bessel_k1", special.bessel_k1, lambda x: mpmath.besselk(1, x), 1e-6, 600.0, 4, False),
    ("bessel_k1e", special.bessel_k1e, lambda x: mpmath.exp(x) * mpmath.besselk(1, x), 1e-6, 1e3, 4, False),
    ("bessel_j0", special.bessel_j0, lambda x: mpmath.besselj(0, x), -100.0, 100.0, 4, True),
    ("bessel_j1", special.bessel_j1, lambda x: mpmath.besselj(1, x), -100.0, 100.0, 4, True),
    ("bessel_y0", special.bessel_y0, lambda x: mpmath.bessely(0, x), 0.1, 100.0, 4, True),
    ("bessel_y1", special.bessel_y1, lambda x: mpmath.bessely(1, x), 0.5, 100.0, 4, True),
    ("gamma", bessel.gamma, mpmath.gamma, 0.01, 171.0, 8, False),
    ("erfcx", bessel.erfcx, lambda x: mpmath.exp(x * x) * mpmath.erfc(x), -5.0, 100.0, 16, False),
    (
        "dawsn",
        special.dawsn,
        lambda x: mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(-x * x) * mpmath.erfi(x),
        -9.0,
        9.0,
        4,
        False,
    ),
    ("expint", special.expint, mpmath.ei, 0.3, 0.45, 4, False),
    ("expint far", special.expint, mpmath.ei, 1.0, 600.0, 16, False),
    ("expint below", special.expint, mpmath.ei, -600.0, -1e-6, 16, False),
    ("fresnel_cos", special.fresnel_cos, mpmath.fresnelc, -20.0, 20.0, 8, False),
    ("fresnel_sin", special.fresnel_sin, mpmath.fresnels, -20.0, 20.0, 8, False),
    ("fresnel_cos far", special.fresnel_cos, mpmath.fresnelc, 20.0, 1e6, 4, False),
    ("fresnel_sin far", special.fresnel_sin, mpmath.fresnels, 20.0, 1e6, 4, False),
    ("dawsn small", special.dawsn, _dawsn, -0.6, 0.6, 4, False),
    ("spence", special.spence, lambda x: mpmath.polylog(2, 1 - x), 1e-3, 3.0, 4, False),
    ("spence far", special.spence, lambda x: mpmath.polylog(2, 1 - x), 2.0, 1e6, 4, False),
    ("spence at 1", special.spence, lambda x: mpmath.polylog(2, 1 - x), 1 - 1e-6, 1 + 1e-6, 4, False),
    ("lgamma", tf.math.lgamma, _lgamma, 1e-6, 3.0, 4, False),
    ("lgamma middle", tf.math.lgamma, _lgamma, 2.0, 40.0, 4, False),
    ("lgamma far", tf.math.lgamma, _lgamma, 10.0, 1e8, 4, False),
    ("lgamma below", tf.math.lgamma, _lgamma, -30.0, -1e-3, 8, True),
    ("digamma", tf.math.digamma, mpmath.digamma, 1e-3, 1e3, 8, True),
    ("digamma below", tf.math.digamma, mpmath.digamma, -1e3, -1e-3, 8, True),
    ("ndtri", tf.math.ndtri, lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1), 1e-8, 0.49, 8, False),
    ("erfcinv", tf.math.erfcinv, lambda p: mpmath.erfinv(1 - p), 1e-8, 0.95, 8, False),
]


@pytest.mark.parametrize(
    ("function", "formula", "low", "high", "units", "has_zeros"),
    [r[1:] for r in ROWS],
    ids=[r[0] for r in ROWS],
)
def test_digits_are_those_of_mpmath(
    function: Any, formula: Callable[..., Any], low: float, high: float, units: float, has_zeros: bool
) -> None:
    x = np.random.default_rng(0).uniform(low, high, 120)
    found = np.asarray(function(tf.constant(x)))
    with mpmath.workdps(40):
        wanted = [formula(mpmath.mpf(float(n))) for n in x]
        off = [float(abs(mpmath.mpf(float(y)) - mpmath.re(w))) for y, w in zip(found, wanted, strict=True)]
        unit = [np.spacing(max(abs(float(mpmath.re(w))), 1.0 if has_zeros else 0.0)) for w in wanted]
    worst = float(np.max(np.array(off) / np.array(unit)))
    assert worst <= units, f"{worst:.1f} units in the last place"


def test_incomplete_gamma_has_its_derivative_in_a_everywhere() -> None:
    a, x = np.meshgrid([0.1, 1.0, 7.5, 80.0, 1500.0], [0.0, 0.02, 1.0, 8.0, 75.0, 1450.0, 1e5])
    t = tf.constant(a)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = tf.math.igamma(t, x)
    found = np.asarray(tape.gradient(y, t))
    with mpmath.workdps(30):
        h = mpmath.mpf(10) ** -10
        for i in np.ndindex(a.shape):
            p, q = mpmath.mpf(float(a[i])), mpmath.mpf(float(x[i]))
            ends = [mpmath.gammainc(p + s, 0, q, regularized=True) if q else mpmath.mpf(0) for s in (h, -h)]
            assert abs(found[i] - float((ends[0] - ends[1]) / (2 * h))) < 1e-12, (a[i], x[i])


def test_functions_of_scipy_at_the_ends_of_their_domains() -> None:
    inf = float("inf")
    for function, x, y in (
        (special.bessel_k0, 0.0, inf), (special.bessel_y1, 0.0, -inf), (special.expint, 0.0, -inf),
        (special.spence, 0.0, np.pi**2 / 6),
        (tf.math.ndtri, 0.0, -inf), (tf.math.erfcinv, 2.0, -inf), (special.bessel_i1, 0.0, 0.0),
    ):  # fmt: skip
        assert float(function(tf.constant(x, tf.float64))) == pytest.approx(y)
    for function, x in ((special.bessel_k1, -1.0), (tf.math.ndtri, 2.0), (special.spence, -1.0)):
        assert np.isnan(float(function(tf.constant(x))))
    for a, x in ((-1.0, 2.0), (2.0, -1.0)):
        assert np.isnan(float(tf.math.igamma(a, x)))
    assert np.isnan(float(tf.math.polygamma(0.5, 2.0))) and np.isnan(float(tf.math.zeta(0.5, 2.0)))
    assert tf.math.igamma(tf.constant(1.0, tf.bfloat16), tf.constant(2.0, tf.bfloat16)).dtype == tf.bfloat16
    x = tf.constant(0.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = special.bessel_i1(x) + special.bessel_j1(x)
    assert float(tape.gradient(y, x)) == 1.0


@pytest.mark.parametrize("a", [2e4, 1e12])
def test_incomplete_gamma_has_its_derivatives_in_a_where_a_series_would_take_for_ever(a: float) -> None:
    """Of the integral of the density with 30 digits, by a contour around a."""
    x = a + np.array([-3.0, 0.1, 2.0]) * np.sqrt(a)
    count = 16
    with mpmath.workdps(30):
        root, center = mpmath.sqrt(a), mpmath.mpf(a)
        turns = [mpmath.expjpi(mpmath.mpf(2 * k) / count) for k in range(count)]
        points = [center + root / 8 * turn for turn in turns]
        values = []
        for end in x:
            grid = mpmath.linspace(-13, (mpmath.mpf(float(end)) - center) / root, 4)
            values.append([mpmath.quad(_density(point, center, root), grid) for point in points])
        for n in (1, 2, 3):
            found = bind(IgammaByA(n), tf.constant(np.full(3, a)), tf.constant(x)).numpy()
            for got, row in zip(found, values, strict=True):
                total = sum(value * turn**-n for value, turn in zip(row, turns, strict=True))
                want = float(mpmath.factorial(n) * (total / count).real / (root / 8) ** n)
                assert abs(got - want) <= 1e-12 * a ** (-n / 2), (a, n)


def _density(s: Any, center: Any, root: Any) -> Callable[[Any], Any]:
    constant = mpmath.loggamma(s)

    def density(u: Any) -> Any:
        t = center + u * root
        return mpmath.exp((s - 1) * mpmath.log(t) - t - constant) * root

    return density


@pytest.mark.parametrize("name", ["j0", "j1", "y0", "y1"])
def test_oscillating_functions_keep_their_digits_close_to_zeros_far_out(name: str) -> None:
    function = getattr(special, f"bessel_{name}")
    exact = {"j": mpmath.besselj, "y": mpmath.bessely}[name[0]]
    rng = np.random.default_rng(5)
    with mpmath.workdps(40):
        for low, high in ((25, 60), (60, 1e4), (1e5, 4e6)):
            x = rng.uniform(low, high, 150)
            for at, found in zip(x.tolist(), function(tf.constant(x)).numpy().tolist(), strict=True):
                wanted = exact(int(name[1]), mpmath.mpf(at))
                unit = np.spacing(max(abs(float(wanted)), 1e-3 * np.sqrt(2 / (np.pi * at))))
                assert abs(found - wanted) < 8 * unit, at


def test_betainc_in_float32_is_the_result_in_float64_rounded_once() -> None:
    rng = np.random.default_rng(4)
    a, b, x = (rng.uniform(*ends, 2000).astype(np.float32) for ends in ((0.01, 50), (0.01, 50), (0, 1)))
    wide = tf.math.betainc(*[tf.constant(v, tf.float64) for v in (a, b, x)])
    narrow = tf.math.betainc(*[tf.constant(v) for v in (a, b, x)])
    assert narrow.dtype == tf.float32
    np.testing.assert_array_equal(narrow.numpy(), wide.numpy().astype(np.float32))
