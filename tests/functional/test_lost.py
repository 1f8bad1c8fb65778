"""A derivative that ends at an array of NumPy is an error, not zeros."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd

X = gd.constant([0.3, 0.7])


def by_numpy(x):
    return gd.reduce_sum(np.asarray(x) * 2.0)


WAYS = {
    "grad": lambda f: gd.grad(f)(X),
    "value_and_grad": lambda f: gd.value_and_grad(f)(X),
    "jacrev": lambda f: gd.jacrev(f)(X),
    "jacfwd": lambda f: gd.jacfwd(f)(X),
    "hessian": lambda f: gd.hessian(f)(X),
    "vjp": lambda f: gd.vjp(f, X),
    "jvp": lambda f: gd.jvp(f, (X,), (X,)),
    "linearize": lambda f: gd.linearize(f, X),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_derivative_that_ends_at_an_array_is_an_error_with_the_users_line(way):
    with pytest.raises(TypeError, match=rf"^{way}: the derivative is lost: .*test_lost\.py:\d+ in by_numpy"):
        WAYS[way](by_numpy)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("leave", [lambda x: x.numpy(), np.array, lambda x: np.asarray(x * 2.0)])
def test_every_way_out_counts(way, leave):
    with pytest.raises(TypeError, match="the derivative is lost"):
        WAYS[way](lambda x: gd.reduce_sum(leave(x)))


@pytest.mark.parametrize("way", WAYS)
def test_what_depends_on_nothing_has_zeros(way):
    WAYS[way](lambda x: gd.constant(1.0))
    WAYS[way](lambda x: (np.asarray(gd.stop_gradient(x)), gd.constant(1.0))[1])
    WAYS[way](lambda x: (x.numpy(), float(x[0]), np.allclose(x, x), gd.reduce_sum(x**2))[-1])
    WAYS[way](lambda x: (np.testing.assert_array_equal(x, x), gd.reduce_sum(x**2))[-1])


@pytest.mark.parametrize("way", WAYS)
def test_what_may_be_lost_is_warned_of(way):
    with pytest.warns(
        UserWarning, match=r" by float\(\) at .*test_lost\.py"
    ):  # a number of Python decides and prints too
        WAYS[way](lambda x: gd.constant(float(x[0])))
    with pytest.warns(
        UserWarning, match=r"left by NumPy at .*test_lost\.py.* this part of the derivative is missing"
    ):
        WAYS[way](lambda x: gd.reduce_sum(x * x * np.asarray(x)))


def test_one_lost_argument_of_two_is_an_error():
    with pytest.raises(TypeError, match="the derivative is lost"):
        gd.grad(lambda a, b: gd.reduce_sum(np.asarray(a)) * b, argnums=(0, 1))(X, 2.0)
    np.testing.assert_array_equal(
        gd.grad(lambda a, b: gd.reduce_sum(np.asarray(a)) * b, argnums=1)(X, 2.0), 1.0
    )


def test_a_library_between_is_not_the_users_line():
    stats = pytest.importorskip("scipy.stats")

    def score(x):
        return gd.reduce_sum(stats.zscore(x))

    with pytest.raises(TypeError, match=r"left by scipy.stats.zscore at \S*test_lost\.py:\d+ in score"):
        gd.grad(score)(X)


def refused():
    """Functions of SciPy and NumPy that take arrays, in Python, by the name that a message says."""
    integrate, interpolate, linalg, ndimage, optimize, signal, sparse, special, stats = (
        pytest.importorskip(f"scipy.{name}")
        for name in "integrate interpolate linalg ndimage optimize signal sparse special stats".split()
    )
    distance = pytest.importorskip("scipy.spatial.distance")
    rotation = pytest.importorskip("scipy.spatial.transform").Rotation
    spline = interpolate.CubicSpline([0.0, 1.0, 2.0], [1.0, 0.0, 1.0])
    return {
        "scipy.signal.lfilter": lambda x: signal.lfilter([1.0], [1.0, -0.5], x),
        "scipy.linalg.expm": lambda x: linalg.expm(gd.linalg.diag(x)),
        "scipy.linalg.circulant": linalg.circulant,
        "scipy.linalg.cholesky": lambda x: linalg.cholesky(gd.linalg.diag(x)),
        "scipy.linalg.qr": lambda x: linalg.qr(gd.linalg.diag(x))[1],
        "scipy.linalg.solve_triangular": lambda x: linalg.solve_triangular(np.eye(2), x),
        "scipy.linalg.solve_sylvester": lambda x: linalg.solve_sylvester(
            np.eye(2), gd.linalg.diag(x), np.ones((2, 2))
        ),
        "scipy.linalg.pinv": lambda x: linalg.pinv(gd.linalg.diag(x)),
        "scipy.optimize.rosen": optimize.rosen,
        "scipy.sparse": lambda x: sparse.eye_array(2) @ x,
        "scipy.spatial.distance.cdist": lambda x: distance.cdist(x[None], np.ones((1, 2))),
        "scipy.integrate.simpson": integrate.simpson,
        "scipy.integrate.quad": lambda x: integrate.quad(lambda t: x[0] * t, 0.0, 1.0)[0],
        "scipy.interpolate.CubicSpline": spline,
        "scipy.ndimage.gaussian_filter": lambda x: ndimage.gaussian_filter(x, 1.0),
        "scipy.special.softmax": special.softmax,
        "scipy.special.jv": lambda x: special.jv(0.5, x),
        "scipy.stats.norm_gen.pdf": stats.norm.pdf,
        "scipy.spatial.transform.Rotation.from_rotvec": lambda x: rotation.from_rotvec(
            gd.stack([x[0], x[1], 0.0])
        ).as_matrix(),
        "np.polynomial.Polynomial": lambda x: np.polynomial.Polynomial(x)(2.0),
        "np.vectorize": np.vectorize(lambda x: 2.0 * x),
    }


def test_functions_of_arrays_are_refused_by_name_where_a_derivative_would_end():
    for name, f in refused().items():
        with pytest.raises(TypeError, match=f"^{name}: .*stop_gradient"), gd.GradientTape() as tape:
            tape.watch(X)
            f(X)
        with pytest.raises(TypeError, match=f"^{name}: "):
            gd.jvp(f, (X,), (X,))
        np.testing.assert_allclose(f(X), f(X.numpy()), rtol=1e-6)  # nothing follows it
        with gd.GradientTape():
            np.testing.assert_allclose(f(X), f(X.numpy()), rtol=1e-6)
    with pytest.raises(TypeError, match=r"\(there is tf\.linalg\.expm\)"), gd.GradientTape() as tape:
        tape.watch(X)
        refused()["scipy.linalg.expm"](X)


def test_functions_of_arrays_have_the_derivative_that_a_custom_gradient_gives():
    for f in (*refused().values(), lambda x: np.apply_along_axis(np.sum, 0, x), np.asarray):

        @gd.custom_gradient
        def ruled(x, f=f):
            return gd.reduce_sum(gd.constant(f(2.0 * x), gd.float32)), lambda bar: bar * 3.0 * gd.ones_like(x)

        with gd.GradientTape() as tape:
            tape.watch(X)
            y = ruled(X)
        np.testing.assert_array_equal(tape.gradient(y, X), [3.0, 3.0])
        np.testing.assert_array_equal(gd.grad(ruled)(X), [3.0, 3.0])


def test_a_tape_looks_on_where_functions_look_at_values():
    optimize, stats = pytest.importorskip("scipy.optimize"), pytest.importorskip("scipy.stats")
    with gd.GradientTape() as tape:
        tape.watch(X)
        y = gd.reduce_sum(X * X)
        optimize.linear_sum_assignment(gd.linalg.diag(X))
        stats.pearsonr(X, [0.0, 1.0])
        np.testing.assert_array_equal(np.random.default_rng(0).normal(X).shape, (2,))
        float(y), y.numpy(), np.asarray(y)
    np.testing.assert_allclose(tape.gradient(y, X), 2.0 * X)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_gradient_that_a_library_lost_is_none_with_a_warning(persistent):
    stats = pytest.importorskip("scipy.stats")
    v = gd.Variable(2.0)
    with gd.GradientTape(persistent) as tape:
        tape.watch(X)
        y = v * gd.reduce_sum(gd.constant(stats.zscore(X)))
    with pytest.warns(
        UserWarning, match=r"^GradientTape.gradient: .* by scipy.stats.zscore at \S*test_lost\.py"
    ):
        assert tape.gradient(y, [v, X])[1] is None


def test_a_jacobian_that_is_lost_has_a_warning():
    with gd.GradientTape() as tape:
        tape.watch(X)
        y = gd.constant(np.asarray(X) * 2.0)
    with pytest.warns(UserWarning, match=r"^GradientTape.jacobian: .* by NumPy at \S*test_lost\.py"):
        assert tape.jacobian(y, X) is None


def test_what_was_looked_at_is_no_reason_where_the_target_is_followed():
    v, w = gd.Variable(2.0), gd.Variable(3.0)
    with gd.GradientTape() as tape:
        y = v * v
        float(w), w.numpy()
    assert tape.gradient(y, [v, w])[1] is None
