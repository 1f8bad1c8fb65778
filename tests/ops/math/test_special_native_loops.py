"""Special functions of many float32 numbers by native loops: the bits of few numbers, whatever the layout, and without the
compiler the usual way's.
"""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.compiler.cpu.vectormath.recipes import EAGER
from graphad.core.errors import UnavailableError
from graphad.ops import native_steps
from graphad.ops.math import native_loops

SIZE = 3 * native_loops.MANY
m, special = tf.math, tf.math.special
ODD = (
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    2.0,
    1e-45,
    -1e-45,
    3.4e38,
    -3.4e38,
    1e-38,
    0.5,
    -2.5,
    88.5,
    0.25,
    0.3725,
)


def of_order(n):
    return lambda x: m.polygamma(np.float32(n), x)


def slope_of(function, k=0):
    """Its derivative by operand k."""

    def slope(*xs):
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = function(*xs)
        return tape.gradient(y, xs[k])

    return slope


# By the name of the loop: the function, and where its arguments are drawn from, besides what is odd.
ROWS = {
    "erfinv": (m.erfinv, (-1, 1)),
    "erfcinv": (m.erfcinv, (0, 2)),
    "ndtri": (m.ndtri, (0, 1)),
    "erfc_of_float32": (m.erfc, (-7, 12)),
    "gelu": (tf.nn.gelu, (-9, 9)),
    "lgamma": (m.lgamma, (-3, 30)),
    "digamma": (m.digamma, (-3, 30)),
    **{f"polygamma_{n}": (of_order(n), (-1, 30)) for n in range(1, 5)},
    **{f"bessel_i{k}": (getattr(m, f"bessel_i{k}"), (-30, 30)) for k in ("0", "1", "0e", "1e")},
    **{f"bessel_k{k}": (getattr(special, f"bessel_k{k}"), (-1, 30)) for k in ("0", "1", "0e", "1e")},
    "dawsn": (special.dawsn, (-12, 12)),
    "expint": (special.expint, (-3, 95)),
    "fresnel_sin": (special.fresnel_sin, (-12, 12)),
    "fresnel_cos": (special.fresnel_cos, (-12, 12)),
    **{f"bessel_i{k}_slope": (slope_of(getattr(m, f"bessel_i{k}")), (-99, 99)) for k in ("1", "0e", "1e")},
    **{
        f"bessel_k{k}_slope": (slope_of(getattr(special, f"bessel_k{k}")), (-1, 99))
        for k in ("1", "0e", "1e")
    },
    "dawsn_slope": (slope_of(special.dawsn), (-19, 19)),
    "expint_slope": (slope_of(special.expint), (-3, 95)),
    "fresnel_sin_slope": (slope_of(special.fresnel_sin), (-12, 12)),
    "fresnel_cos_slope": (slope_of(special.fresnel_cos), (-12, 12)),
    "zeta": (m.zeta, (0.5, 12)),
    "zeta_by_x": (slope_of(m.zeta), (0.5, 12)),
    "logaddexp": (m.logaddexp, (-9, 9)),
    "hypotenuse": (m.hypot, (-9, 9)),
    "nextafter": (m.nextafter, (-9, 9)),
    "copysign": (m.copysign, (-9, 9)),
    "heaviside": (gnp.heaviside, (-9, 9)),
    "floor_divide": (gnp.floor_divide, (-9, 9)),
    "truncated": (tf.truncatemod, (-9, 9)),
    "floored": (m.floormod, (-9, 9)),
}


@pytest.fixture(params=ROWS)
def name(request):
    return request.param


@pytest.fixture
def counted(monkeypatch):
    """Which loops were asked."""
    found, real = [], native_loops._loops()

    class Loops:
        @staticmethod
        def mapped(name, *xs):
            found.append(name)
            return real.mapped(name, *xs)

    monkeypatch.setattr(native_loops, "_loops", lambda: Loops)
    monkeypatch.setattr(native_steps, "_left", 0)
    return found


def arguments(name, dtype="float32"):
    low, high = ROWS[name][1]
    rng = np.random.default_rng(7)
    xs = rng.uniform(low, high, (EAGER[name][0], SIZE)).astype(dtype)
    with np.errstate(over="ignore"):
        odd = np.array(ODD).astype(dtype)
    if len(xs) == 1:
        xs[0, : len(ODD)] = odd
    else:
        pairs = np.stack(np.meshgrid(odd, odd)).reshape(2, -1)
        xs[:, : pairs.shape[1]] = pairs
    return list(xs)


def in_pieces(function, *xs):
    parts = zip(*[np.array_split(x, 100) for x in xs], strict=True)
    return np.concatenate([function(*[tf.constant(x) for x in part]).numpy() for part in parts])


def same_bits(found, wanted):
    is_nan = np.isnan(wanted)
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    np.testing.assert_array_equal(found.view("int32")[~is_nan], wanted.view("int32")[~is_nan])


def test_every_loop_has_a_row():
    assert set(ROWS) == set(EAGER)


def test_many_numbers_have_the_bits_of_few(name, counted):
    pytest.importorskip("scipy.special")
    function, xs = ROWS[name][0], arguments(name)
    found = function(*[tf.constant(x) for x in xs]).numpy()
    assert name in counted and found.dtype == np.float32
    counted.clear()
    few = in_pieces(function, *xs)
    assert not counted
    same_bits(found, few)


def test_other_dtypes_are_computed_as_before(name, counted):
    pytest.importorskip("scipy.special")
    function, xs = ROWS[name][0], arguments(name, "float64")
    function(*[tf.constant(x) for x in xs])
    assert name not in counted


def test_any_layout_and_shape(name, counted):
    function = ROWS[name][0]
    xs = [x.reshape(96, -1)[:, ::-1].T for x in arguments(name)]
    found = function(*[tf.constant(x) for x in xs]).numpy()
    assert name in counted and found.shape == xs[0].shape
    wanted = function(*[tf.constant(np.ascontiguousarray(x)) for x in xs]).numpy()
    same_bits(np.ascontiguousarray(found), np.ascontiguousarray(wanted))


@pytest.mark.parametrize("name", [name for name, row in EAGER.items() if row[0] == 2])
def test_one_number_meets_many(name, counted):
    function, (x, _) = ROWS[name][0], arguments(name)
    found = function(tf.constant(x), tf.constant(np.float32(2.5))).numpy()
    same_bits(found, function(tf.constant(x), tf.constant(np.full_like(x, 2.5))).numpy())


@pytest.mark.parametrize("error", [UnavailableError("no llvmlite"), ImportError("no llvmlite")])
def test_without_the_compiler_many_numbers_are_computed_as_few(name, error, monkeypatch):
    def refuse():
        raise error

    pytest.importorskip("scipy.special")
    function, xs = ROWS[name][0], arguments(name)
    monkeypatch.setattr(native_loops, "_loops", refuse)
    monkeypatch.setattr(native_steps, "_left", 0)
    same_bits(function(*[tf.constant(x) for x in xs]).numpy(), in_pieces(function, *xs))


def test_light_functions_wait_for_many_numbers(counted, monkeypatch):
    monkeypatch.setattr(native_steps, "_left", 4 * SIZE)
    monkeypatch.setattr(native_steps, "_RUNTIME", "not loaded")
    x = tf.constant(arguments("copysign")[0])
    for _ in range(4):
        m.copysign(x, x)
        assert not counted
    m.copysign(x, x)
    assert counted == ["copysign"]
