"""Special functions and their derivatives have their limits at infinities and poles, and keep their digits close to them."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.core.bind import bind
from graphad.ops.math.gamma import Polygamma
from graphad.ops.math.incomplete import IgammaByA
from graphad.ops.math.parameter_slopes import ZetaByX

pytest.importorskip("scipy.special")
m, s = tf.math, tf.math.special
INF = np.inf


def _slope(f, x):
    x = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return np.asarray(y), np.asarray(tape.gradient(y, x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("f", "x", "value", "slope"),
    [
        (s.bessel_i0, [INF, -INF], [INF, INF], [INF, -INF]),
        (s.bessel_i1, [INF, -INF], [INF, -INF], None),
        (s.bessel_i0e, [INF, -INF], [0, 0], [0, 0]),
        (s.bessel_i1e, [INF, -INF], [0, 0], [0, 0]),
        (s.bessel_j0, [INF, -INF], [0, 0], [0, 0]),
        (s.bessel_j1, [INF, -INF], [0, 0], [0, 0]),
        (s.bessel_y0, [0.0, INF], [-INF, 0], [INF, 0]),
        (s.bessel_y1, [INF], [0], [0]),
        (s.bessel_k0e, [0.0, INF], [INF, 0], [-INF, 0]),
        (s.bessel_k1e, [0.0, INF], [INF, 0], [-INF, 0]),
        (s.dawsn, [INF, -INF, 0.0], [0, 0, 0], [0, 0, 1]),
        (s.expint, [INF, -INF], [INF, 0], [INF, 0]),
        (m.digamma, [INF], [INF], [0]),
    ],
)
def test_limits(f, x, value, slope, dtype):
    got = _slope(f, np.array(x, dtype))
    np.testing.assert_array_equal(got[0], np.array(value, dtype))
    if slope is not None:
        np.testing.assert_array_equal(got[1], np.array(slope, dtype))


def test_second_derivatives_at_the_ends_are_no_nan():
    for f in (s.dawsn, s.bessel_i0e, s.bessel_k0e):
        second = tf.grad(tf.grad(lambda x, f=f: tf.reduce_sum(f(x))))
        assert (
            float(
                tf.grad(lambda x, f=f: tf.reduce_sum(tf.grad(lambda z: tf.reduce_sum(f(z)))(x)))(
                    np.array([INF])
                )[0]
            )
            == 0.0
        )
        x, step = np.array(80.0), 1e-3  # beyond the border to the series
        first = tf.grad(lambda x, f=f: f(x))
        np.testing.assert_allclose(second(x), (first(x + step) - first(x - step)) / (2 * step), rtol=1e-6)


def test_all_derivatives_of_expint_are_infinite_at_infinity():
    slope = lambda x: tf.grad(lambda z: tf.reduce_sum(s.expint(z)))(x)  # noqa: E731
    second = lambda x: tf.grad(lambda z: tf.reduce_sum(slope(z)))(x)  # noqa: E731
    for derivative in (slope, second, tf.grad(lambda x: tf.reduce_sum(second(x)))):
        np.testing.assert_array_equal(derivative(tf.constant([INF], "float64")), [INF])


def test_second_derivatives_of_expint_hold_up_to_the_end_of_the_range():
    """e^x / x - e^x / x^2: steps to it overflowed from 473 on."""
    for dtype, far in (("float64", [480.0, 600.0, 700.0]), ("float32", [62.0, 80.0, 88.0])):
        slope = lambda x: tf.grad(lambda z: tf.reduce_sum(s.expint(z)))(x)  # noqa: E731
        second = tf.grad(lambda x, slope=slope: tf.reduce_sum(slope(x)))
        want = np.exp(np.array(far)) * (1.0 / np.array(far) - 1.0 / np.array(far) ** 2)
        for call in (second, tf.function(second)):
            np.testing.assert_allclose(
                call(tf.constant(far, dtype)), want, rtol=1e-12 if dtype == "float64" else 1e-5
            )


def test_polygamma_leaves_the_range_with_its_result_alone():
    # mpmath's
    got = m.polygamma(
        tf.constant([100.0, 100.0], tf.float64), tf.constant([7978.542374178614, 0.5], tf.float64)
    )
    np.testing.assert_allclose(got, [-6.0306887720342259399e-235, -2.3661006604908971562e188], rtol=1e-13)
    assert np.isfinite(m.polygamma(100.0, tf.constant(62.69615, tf.float32)))
    _, slope = _slope(m.digamma, np.array([1.2118269425884958e257, -20000.25]))
    np.testing.assert_allclose(slope, [8.2520033583670983614e-258, 2 * np.pi**2], rtol=1e-4)


def test_an_erfcinv_of_a_subnormal_keeps_its_digits():
    np.testing.assert_allclose(
        m.erfcinv(tf.constant([9.89689e-318], tf.float64)), [26.94555562881100512], rtol=1e-15
    )


def test_slopes_of_incomplete_gamma_and_beta_functions_of_float32_do_not_cancel():
    a, x = np.float32([90350.4921875, 71002.6640625]), np.float32([89376.234375, 72267.9453125])
    with tf.GradientTape() as tape:
        z = tf.constant(x)
        tape.watch(z)
        y = m.igamma(tf.constant(a), z)
    np.testing.assert_allclose(tape.gradient(y, z), [6.758909873e-6, 2.132365196e-8], rtol=2e-7)  # mpmath's
    with tf.GradientTape() as tape:
        z = tf.constant(np.float32(0.41446536779403687))
        tape.watch(z)
        y = m.betainc(np.float32(2803.0087890625), np.float32(2975.856689453125), z)
    np.testing.assert_allclose(tape.gradient(y, z), 2.347458321e-24, rtol=2e-7)


@pytest.mark.parametrize("jit", [None, True])
def test_slopes_of_fresnel_integrals_know_large_angles(jit):
    x = tf.constant([169800.587832009, 1455.422601845326, 2.0**60], tf.float64)
    f = tf.function(lambda x: tf.grad(lambda x: tf.reduce_sum(s.fresnel_cos(x)))(x), jit_compile=jit)
    g = tf.function(lambda x: tf.grad(lambda x: tf.reduce_sum(s.fresnel_sin(x)))(x), jit_compile=jit)
    np.testing.assert_allclose(f(x)[0], 0.98869722735129627612, rtol=1e-12)
    np.testing.assert_allclose(g(x)[1], -0.99691267563138500509, rtol=1e-12)
    assert (float(f(x)[2]), float(g(x)[2])) == (1.0, 0.0)


def test_gelu_keeps_its_tail():
    x = tf.constant([-9.09537351642322, 3.0], tf.float64)
    np.testing.assert_allclose(tf.nn.gelu(x), [-4.2867361018414714867e-19, 2.9959503059051097164], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slopes_at_infinity_are_limits(dtype):
    _, slope = _slope(s.bessel_i1, np.array([np.inf, -np.inf, 95.0 if dtype is np.float32 else 720.0], dtype))
    np.testing.assert_array_equal(slope, [np.inf, np.inf, np.inf])
    _, slope = _slope(s.spence, np.array([np.inf, 1.0], dtype))
    np.testing.assert_array_equal(slope, [0.0, -1.0])


def test_a_file_cannot_ask_for_a_derivative_of_digamma_that_takes_forever():
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="digamma: the derivative is 1000000, which is not from 0 to 1000",
    ):
        bind(Polygamma(1_000_000), tf.constant(-0.5))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_slopes_of_inverses_at_the_ends_of_their_domains(dtype):
    for f, ends, outside in ((m.erfinv, (-1, 1), 1.5), (m.erfcinv, (0, 2), -0.5), (m.ndtri, (0, 1), 1.5)):
        _, slope = _slope(f, np.array([*ends, outside], dtype))
        np.testing.assert_array_equal(np.abs(slope), [INF, INF, np.nan])


@pytest.mark.parametrize(("dtype", "bound"), [(np.float16, 1), (np.float32, 4)])
@pytest.mark.parametrize("jit", [None, True])
def test_slopes_of_erf_keep_their_digits_in_narrow_dtypes(dtype, bound, jit):
    x = np.linspace(-9.0, 9.0, 4001).astype(dtype)
    for f, sign in ((m.erf, 2), (m.erfc, -2)):
        slope = tf.function(lambda x, f=f: _of_sum(f, x), jit_compile=jit)(tf.constant(x))
        exact = sign / np.sqrt(np.pi) * np.exp(-(x.astype(np.float64) ** 2))
        off = np.abs(slope.numpy().astype(np.float64) - exact)
        assert (off / np.spacing(np.abs(exact).astype(dtype)).astype(np.float64)).max() <= bound
        ends = np.array([INF, -INF, np.finfo(dtype).max], dtype)
        np.testing.assert_array_equal(_of_sum(f, tf.constant(ends)), [0, 0, 0])


def _of_sum(f, x):
    return tf.grad(lambda x: tf.reduce_sum(f(x)))(x)


@pytest.mark.parametrize("f", [m.erfinv, m.erfcinv, m.ndtri])
def test_slopes_of_inverses_keep_their_digits_in_float32(f):
    x = np.float32([1e-30, 1e-9, 0.01, 0.7, 0.9])
    _, slope = _slope(f, x)
    _, wide = _slope(f, x.astype(np.float64))
    np.testing.assert_allclose(slope, wide, rtol=4 * 2.0**-23)


def test_erfcinv_of_the_smallest_numbers():
    np.testing.assert_allclose(  # mpmath's
        m.erfcinv(tf.constant([5e-324, 3.4343e-320], tf.float64)),
        [27.213293210812948815, 27.050373069751066937],
        rtol=1e-15,
    )


_VANISHING = {
    "bessel_i1": (s.bessel_i1, lambda x: 0.375 * x),
    "bessel_j1": (s.bessel_j1, lambda x: -0.375 * x),
    "bessel_i1e": (s.bessel_i1e, lambda x: -np.sign(x) * (1.0 - 1.875 * np.abs(x))),
    "spence": (lambda x: s.spence(1.0 + x), lambda x: 0.5 - x * 2.0 / 3.0),
}


@pytest.mark.parametrize("name", list(_VANISHING))
def test_second_derivatives_keep_their_digits_where_a_quotient_of_two_zeros_stands_in_the_first(
    name,
):
    function, expected = _VANISHING[name]
    x = np.array([-1e-7, 2.5e-8, 3e-9])
    with tf.GradientTape() as outer:
        at = tf.constant(x)
        outer.watch(at)
        with tf.GradientTape() as inner:
            inner.watch(at)
            y = function(at)
        first = inner.gradient(y, at)
    np.testing.assert_allclose(outer.gradient(first, at).numpy(), expected(x), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize(
    "name",
    "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 "
    "dawsn expint fresnel_cos fresnel_sin spence".split(),
)  # fmt: skip
def test_derivatives_of_narrow_floats_are_those_of_float64_rounded_once(name, dtype):
    """Where the derivative is a difference too, which is close to 0 for some of the points."""
    f = getattr(s, name)
    x = np.concatenate(
        [np.linspace(0.2, 12.0, 400), [0.9241389, 1.5019752, 1.8411838, 1.5451347, 5.33144]]
    ).astype(dtype)

    def both(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            slope = inner.gradient(y, x)
        return slope, outer.gradient(slope, x)

    for call in (both, tf.function(both, jit_compile=True)):
        exact = both(tf.constant(x.astype(np.float64)))
        for found, wide in zip(call(tf.constant(x)), exact, strict=True):
            assert found.dtype == dtype
            with np.errstate(over="ignore"):
                rounded = wide.numpy().astype(dtype)
            np.testing.assert_allclose(found.numpy(), rounded, rtol=np.finfo(dtype).eps, atol=1e-30)


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_derivatives_of_erf_vanish_at_the_ends_of_the_range(name, dtype, jit):
    x = tf.constant(
        [np.inf, -np.inf, 6e4, -6e4] if dtype == "float16" else [np.inf, -np.inf, 3e38, 1e30], dtype
    )

    def further(x):
        found = getattr(tf.math, name)
        for _ in range(3):
            found = tf.grad(lambda z, f=found: tf.reduce_sum(f(z)))
        return found(x)

    np.testing.assert_array_equal(
        np.abs(tf.function(further, jit_compile=True)(x) if jit else further(x)), 0.0
    )


@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("bessel_j1", lambda x: x / 2),
        ("bessel_y1", lambda x: (-2 / np.pi) / x),
        ("bessel_k1", lambda x: 1 / x),
        ("bessel_k1e", lambda x: 1 / x + 1),
    ],
)
def test_bessel_functions_of_order_1_next_to_0_are_their_first_term(name, first):
    x = np.concatenate([10.0 ** np.linspace(-323.2, -12, 500), [5e-324, 3.67774228689669e-309]])
    with np.errstate(over="ignore"):
        want = first(x)
    found = getattr(tf.math.special, name)(tf.constant(x)).numpy()
    np.testing.assert_array_max_ulp(found, want, 4)


def test_derivatives_of_zeta_by_its_exponent_hold_for_large_ones():
    mpmath = pytest.importorskip("mpmath")
    s = np.array([60.0, 80.0, 100.0, 120.0, 150.0, 200.0, 300.0])
    for n in (1, 2, 3):
        for q in (0.5, 1.0, 1.5, 3.0, 7.5):
            with mpmath.workdps(30):
                found = bind(ZetaByX(n), tf.constant(s), tf.fill([len(s)], tf.constant(q, "float64"))).numpy()
                for one, exponent in zip(found, s, strict=True):
                    terms = [mpmath.log(q + k) ** n * mpmath.mpf(q + k) ** -exponent for k in range(400)]
                    np.testing.assert_allclose(one, float((-1) ** n * mpmath.fsum(terms)), rtol=2e-15)
    # the terms vanish, and the number of them does not grow with the exponent
    ends = bind(
        ZetaByX(1),
        tf.constant([1e6, 1e30, 1e30, 1e300], "float64"),
        tf.constant([3.0, 2.0, 1e30, 1e-3], "float64"),
    ).numpy()
    np.testing.assert_array_equal(ends, [0.0, 0.0, 0.0, np.inf])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_derivatives_of_acosh_are_infinite_at_1(dtype):
    def derivatives(x):
        found = []

        def of_order(n):
            if not n:
                return tf.acosh(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = of_order(n - 1)
            found.append(tape.gradient(y, x))
            return found[-1]

        of_order(4)
        return found

    x = tf.constant([1.0, np.inf, 1e30, 0.5, 3.0], dtype)
    for ways in (derivatives, tf.function(derivatives)):
        first, second, third, fourth = (y.numpy() for y in ways(x))
        np.testing.assert_allclose(first, np.array([INF, 0, 1e-30, np.nan, 8**-0.5], dtype), rtol=1e-6)
        np.testing.assert_allclose(
            second, np.array([-INF, 0, 0, np.nan, -3 * 8**-1.5], dtype), rtol=1e-6, atol=1e-59
        )
        np.testing.assert_allclose(
            third, np.array([INF, 0, 0, np.nan, 19 * 8**-2.5], dtype), rtol=1e-6, atol=1e-59
        )
        np.testing.assert_allclose(fourth[:4], np.array([-INF, 0, 0, np.nan], dtype), atol=1e-59)
    masked = tf.grad(lambda x: tf.reduce_sum(tf.where(x > 1.0, tf.acosh(x), 0.0)))
    np.testing.assert_array_equal(masked(x)[:1], [0.0])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_derivatives_of_igamma_by_its_parameter_keep_their_digits_in_the_upper_tail(dtype):
    mpmath = pytest.importorskip("mpmath")
    a = np.array([0.25, 1.0, 1.0, 3.5, 12.0, 100.0, 100.0, 1000.0], dtype)
    x = np.array([8.0, 20.0, 80.0, 30.0, 60.0, 160.0, 190.0, 1300.0], dtype)
    lower, further = (
        bind(IgammaByA(1), tf.constant(a), tf.constant(x)),
        bind(IgammaByA(2), tf.constant(a), tf.constant(x)),
    )
    with tf.GradientTape() as tape:
        given = tf.constant(a)
        tape.watch(given)
        upper = m.igammac(given, tf.constant(x))
    slope = tape.gradient(upper, given).numpy()
    np.testing.assert_array_equal(slope, -lower.numpy())
    with mpmath.workdps(40):
        for k, (one, at) in enumerate(zip(a.tolist(), x.tolist(), strict=True)):
            tail = lambda z, at=at: mpmath.gammainc(z, at, regularized=True)  # noqa: E731
            for n, found in ((1, lower), (2, further)):
                want = float(-mpmath.diff(tail, one, n, h=mpmath.mpf(10) ** -10))
                np.testing.assert_allclose(
                    found.numpy()[k], want, rtol=2e-13 if dtype == "float64" else 1e-7, atol=1e-44
                )
    far = bind(IgammaByA(1), tf.constant([1.0, 1e5, 2.0], dtype), tf.constant([2000.0, 1e9, np.inf], dtype))
    np.testing.assert_array_equal(far, [0.0, 0.0, 0.0])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_derivatives_of_betainc_by_its_parameters_are_of_narrow_floats_too(dtype):
    a, b, x = (tf.cast([number], dtype) for number in (0.75, 1.5, 0.25))
    slopes = tf.grad(lambda *xs: tf.reduce_sum(m.betainc(*xs)), argnums=(0, 1))
    wanted = slopes(*[tf.cast(z, "float64") for z in (a, b, x)])
    for found, want in zip(slopes(a, b, x), wanted, strict=True):
        np.testing.assert_array_equal(found, tf.cast(want, dtype))


def _second(f, x):
    x = tf.constant(x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = inner.gradient(y, x)
    return np.asarray(slope), np.asarray(outer.gradient(slope, x))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_all_derivatives_of_expint_overflow_alike(dtype):
    slope, second = _second(s.expint, np.array([721.0, 1211.0, 1e30, INF], dtype))
    np.testing.assert_array_equal(slope, [INF] * 4)
    np.testing.assert_array_equal(second, [INF] * 4)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fresnel_integrals_of_large_numbers_have_second_derivatives(dtype):
    """The square of a float from 2^54 on is a whole number of turns, so that cos(pi x^2 / 2) is 1, and pi x times it the second
    derivative."""
    x = np.array([2.0**54, -(2.0**80), 3e37, 2.0**53 - 1.0][: 4 if dtype == np.float64 else 3], dtype)
    slope, second = _second(s.fresnel_sin, x)
    np.testing.assert_array_equal(slope[:3], [0, 0, 0])
    np.testing.assert_allclose(second[:3], np.pi * x[:3].astype(np.float64), rtol=np.finfo(dtype).eps)
    slope, second = _second(s.fresnel_cos, x)
    np.testing.assert_array_equal(slope[:3], [1, 1, 1])
    np.testing.assert_array_equal(second[:3], [0, 0, 0])
    if dtype == np.float64:  # an odd number, whose square is 1 modulo 8
        np.testing.assert_allclose(second[3], -np.pi * x[3])
        np.testing.assert_allclose(_second(s.fresnel_sin, np.array([1.79e308])), [[0], [INF]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_slope_of_sinc_holds_to_the_end_of_the_range(dtype):
    x = np.array([0.9, -0.9], dtype) * np.finfo(dtype).max
    _, slope = _slope(m.sinc, x)
    np.testing.assert_allclose(slope, 1 / x, rtol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"])
def test_oscillating_bessel_functions_hold_to_the_end_of_the_range(name):
    """There they are sqrt(2 / (pi x)) times sines and cosines of x less a phase."""
    x = np.array([1e307, 1.7e308])
    order, first = int(name[-1]), name[-2] == "j"
    plus, minus = np.sin(x) + np.cos(x), np.sin(x) - np.cos(x)  # sqrt(2) times cosine and sine of x - pi / 4
    if order:
        plus, minus = minus, -plus
    wanted = (plus if first else minus) / (np.sqrt(np.pi) * np.sqrt(x))
    np.testing.assert_allclose(getattr(s, name)(tf.constant(x)), wanted, rtol=1e-14)
