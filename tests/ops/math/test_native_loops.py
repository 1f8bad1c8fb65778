"""Error functions of many numbers by native loops: the digits of few numbers, whatever the layout, and without them SciPy's."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.core.errors import UnavailableError
from graphad.ops.math import native_loops, series, special

FUNCTIONS = {"erf": (tf.math.erf, special._erf), "erfc": (tf.math.erfc, special._erfc)}
MANY = 3 * native_loops.MANY


def spread(dtype):
    """Numbers from where both functions end to where they end, and what is special."""
    x = np.linspace(-7, 28, MANY)
    x[:8] = 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-310, 5e-324
    return x.astype(dtype)


def in_pieces(function, x):
    return np.concatenate([function(tf.constant(piece)).numpy() for piece in np.array_split(x, 100)])


@pytest.fixture(params=FUNCTIONS)
def name(request):
    return request.param


@pytest.fixture
def counted(monkeypatch):
    """How often the native loops were asked."""
    found, real = [], native_loops._loops()

    class Loops:
        @staticmethod
        def mapped(name, x):
            found.append(name)
            return real.mapped(name, x)

    monkeypatch.setattr(native_loops, "_loops", lambda: Loops)
    return found


@pytest.mark.parametrize("dtype", ["float16", tf.bfloat16.as_numpy_dtype, "float32"])
def test_many_numbers_have_the_bits_of_few(name, dtype, counted):
    pytest.importorskip("scipy.special")
    function, x = FUNCTIONS[name][0], spread(dtype)
    found = function(tf.constant(x)).numpy()
    asked = ["erfc_of_float32" if name == "erfc" and dtype == "float32" else name]
    assert counted == asked and found.dtype == dtype
    kind = f"u{found.dtype.itemsize}"
    few = in_pieces(function, x)
    assert counted == asked
    is_nan = np.isnan(few)
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    np.testing.assert_array_equal(found.view(kind)[~is_nan], few.view(kind)[~is_nan])


def test_float64_is_the_series_to_four_units(name, counted):
    function, formula = FUNCTIONS[name]
    x = spread("float64")
    found, exact = function(tf.constant(x)).numpy(), series.of_array(formula, x)
    assert counted == [name]
    np.testing.assert_allclose(found, exact, rtol=4 * np.finfo(np.float64).eps, atol=2e-323)
    assert np.signbit(found[1]) == np.signbit(exact[1])


def test_any_layout_and_shape(name, counted):
    function, x = FUNCTIONS[name][0], spread("float32").reshape(96, -1)[:, ::-1].T
    found = function(tf.constant(x)).numpy()
    assert len(counted) == 1 and found.shape == x.shape
    np.testing.assert_array_equal(found, function(tf.constant(np.ascontiguousarray(x))).numpy())


@pytest.mark.parametrize("error", [UnavailableError("no llvmlite"), ImportError("no llvmlite")])
def test_without_the_compiler_many_numbers_are_computed_as_few(name, error, monkeypatch):
    def refuse():
        raise error

    function, x = FUNCTIONS[name][0], spread("float64")
    monkeypatch.setattr(native_loops, "_loops", refuse)
    np.testing.assert_array_equal(function(tf.constant(x)).numpy(), in_pieces(function, x))


def test_gelu_and_its_gradient_agree_with_few_numbers():
    x = tf.constant(np.linspace(-6, 6, MANY).astype("float32"))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.nn.gelu(x)
    np.testing.assert_array_equal(y.numpy(), in_pieces(tf.nn.gelu, x.numpy()))
    slope = tape.gradient(y, x).numpy()
    step = 1e-4
    wide = x.numpy().astype("float64")
    up, down = (tf.nn.gelu(tf.constant(wide + d)).numpy() for d in (step, -step))
    np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=2e-6)
