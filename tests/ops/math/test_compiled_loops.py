"""Special functions by SciPy's loops: the same digits as by our series, which compute what a loop has no digits for."""

import numpy as np
import pytest

import graphad as tf
from graphad.ops import library
from graphad.ops.math import gamma, series, special
from graphad.ops.math.compiled_loops import by_loop

pytest.importorskip("scipy.special")

# Each function, its series in float64, and parts of its domain.
ROWS = {
    "lgamma": (
        tf.math.lgamma,
        series.lgamma,
        [(0, 5), (0.999, 1.001), (1.999, 2.001), (5, 1e3), (-10, 0), (-200, 0)],
    ),
    "digamma": (tf.math.digamma, gamma._digamma, [(0, 5), (1.461, 1.462), (5, 1e3), (-10, 0)]),
    "erf": (tf.math.erf, special._erf, [(-1, 1), (-6, 6)]),
    "erfc": (tf.math.erfc, special._erfc, [(-1, 1), (-6, 6), (5, 10)]),
    "erfinv": (tf.math.erfinv, special._erfinv, [(-1, 1), (0.99, 1), (-1e-3, 1e-3)]),
}
EDGES = np.array(
    [
        0.0,
        -0.0,
        np.inf,
        -np.inf,
        np.nan,
        1.0,
        2.0,
        -1.0,
        -2.0,
        1e-40,
        -1e-40,
        1e-310,
        -2.4570247382208006,
        -171.5,
        0.5,
    ]
)


@pytest.mark.parametrize("name", ROWS)
def test_float32_is_the_series_in_float64_rounded_once(name) -> None:
    function, formula, parts = ROWS[name]
    rng = np.random.default_rng(3)
    for low, high in parts:
        x = rng.uniform(low, high, 20_000).astype(np.float32)
        with np.errstate(all="ignore"):
            exact = series.of_array(formula, x.astype(np.float64))
            off = np.abs(function(tf.constant(x)).numpy() - exact) / np.spacing(
                np.abs(exact.astype(np.float32))
            )
        assert np.nanmax(off) < 0.501, (low, high)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("name", ROWS)
def test_edges_and_shapes_are_those_of_the_series(name, dtype) -> None:
    function, formula, _ = ROWS[name]
    with np.errstate(all="ignore"):
        x = EDGES.astype(dtype)
        exact = series.of_array(formula, x.astype(np.float64)).astype(dtype)
    found = function(tf.constant(x)).numpy()
    assert found.dtype == dtype
    np.testing.assert_allclose(found, exact, rtol=8 * np.finfo(dtype).eps)
    nonzero = exact != 0
    np.testing.assert_array_equal(
        np.signbit(found[nonzero & ~np.isnan(exact)]), np.signbit(exact[nonzero & ~np.isnan(exact)])
    )
    np.testing.assert_array_equal(function(tf.constant(x.reshape(3, 5).T)).numpy(), found.reshape(3, 5).T)
    assert function(tf.constant(x[-1])).numpy() == found[-1]
    assert function(tf.constant(x[:0])).shape == (0,)


@pytest.mark.parametrize("name", ROWS)
def test_without_scipy_the_series_compute_all(name, monkeypatch) -> None:
    function, formula, parts = ROWS[name]
    monkeypatch.setattr(library, "special_if_there", lambda: None)
    x = np.linspace(*parts[0], 50)[1:-1]
    np.testing.assert_array_equal(function(tf.constant(x)).numpy(), formula(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_zeros_of_lgamma_are_positive_without_scipy_too(dtype, monkeypatch) -> None:
    zeros = tf.constant([1.0, 2.0], dtype)
    with_it = tf.math.lgamma(zeros).numpy()
    monkeypatch.setattr(library, "special_if_there", lambda: None)
    for found in (with_it, tf.math.lgamma(zeros).numpy()):
        assert found.tolist() == [0, 0] and not np.signbit(found).any()


def _refused(x):
    raise AssertionError("the series was asked for numbers that the loop has digits for")


def test_the_series_is_asked_only_for_what_the_loop_has_no_digits_for() -> None:
    asked = []

    def formula(x):
        asked.extend(x.tolist())
        return np.zeros_like(x)

    everywhere = by_loop(_refused, "erf")
    assert everywhere(np.float32(0.5)) == pytest.approx(0.5204999)
    partly = by_loop(formula, "gammaln", lambda x: x > -5, 1e-3)
    found = partly(np.array([-9.0, -2.5, -2.4570247, 1.0, 4.0, np.nan]))
    np.testing.assert_allclose(found, [0.0, -0.0562437, 0.0, 0.0, np.log(6.0), 0.0], atol=1e-6)
    np.testing.assert_array_equal(asked, [-9.0, -2.4570247, np.nan])
