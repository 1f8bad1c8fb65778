"""SciPy's solvers on functions of tensors, and solutions that can be differentiated."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad import optimize

scipy_optimize = pytest.importorskip("scipy.optimize")

RNG = np.random.default_rng(5)
A = RNG.normal(size=(3, 3)) * 0.2


def rosenbrock(x):
    return gd.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


@pytest.mark.parametrize(
    "method",
    [
        None, "CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "Newton-CG", "trust-ncg", "trust-krylov", "trust-exact", "dogleg",
        "trust-constr", "Nelder-Mead", "Powell", "COBYLA",
    ],
)  # fmt: skip
def test_every_method_gets_what_it_takes(method):
    x0 = np.array([0.9, 1.1, 0.95]) if method == "dogleg" else np.array([0.5, 0.5, 0.5])
    options = {"maxiter": 4000} if method in ("Nelder-Mead", "COBYLA", "trust-constr") else None
    found = optimize.minimize(rosenbrock, x0, method=method, tol=1e-9, options=options)
    np.testing.assert_allclose(found.x, np.ones(3), atol=0.1 if method == "COBYLA" else 1e-3)


def test_a_minimum_is_a_nest_of_the_dtypes_of_the_start():
    def loss(p, shift):
        return gd.reduce_sum((p["a"] - shift) ** 2) + gd.cast(p["b"] ** 2, gd.float32)

    calls = []

    def counted(p, shift):
        calls.append(1)
        return loss(p, shift)

    start = {"a": np.zeros((2, 2), np.float32), "b": gd.Variable(3.0, dtype=gd.float64)}
    found = optimize.minimize(counted, start, (2.0,))
    np.testing.assert_allclose(found.x["a"], np.full((2, 2), 2.0), atol=1e-5)
    assert found.x["a"].dtype == gd.float32 and found.x["b"].dtype == gd.float64
    assert len(calls) == 1 and found.nfev > 1


def test_bounds_and_constraints():
    def f(x):
        return (x[0] - 2.0) ** 2 + (x[1] - 1.0) ** 2

    found = optimize.minimize(f, np.zeros(2), bounds=[(0, 1), (0, 0.5)])
    np.testing.assert_allclose(found.x, [1.0, 0.5], atol=1e-6)
    equal = {"type": "eq", "fun": lambda x: gd.reduce_sum(x**2) - 1.0}
    found = optimize.minimize(f, np.array([0.5, 0.5]), constraints=equal, tol=1e-12)
    np.testing.assert_allclose(found.x, np.array([2.0, 1.0]) / np.sqrt(5), atol=1e-6)
    below = {"type": "ineq", "fun": lambda x, most: most - x[0], "args": (0.25,)}
    found = optimize.minimize(f, np.zeros(2), constraints=[below], tol=1e-12)
    np.testing.assert_allclose(found.x, [0.25, 1.0], atol=1e-6)


def test_least_squares_fit_a_curve():
    t = np.linspace(0, 4, 40)
    data = 2.5 * np.exp(-1.3 * t) + 0.5

    def residuals(p, t):
        return p["scale"] * gd.exp(-p["rate"] * t) + p["offset"] - data

    start = {"scale": np.float64(1.0), "rate": np.float64(1.0), "offset": np.float64(0.0)}
    for method in ("trf", "dogbox", "lm"):
        found = optimize.least_squares(residuals, start, (gd.constant(t),), method=method)
        assert found.success and found.njev < 30
        got = [float(found.x[key]) for key in ("scale", "rate", "offset")]
        np.testing.assert_allclose(got, [2.5, 1.3, 0.5], rtol=1e-6)


@pytest.mark.parametrize("method", ["RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_an_initial_value_problem(method):
    def slope(t, y, rate):
        return {"x": y["v"], "v": -rate * y["x"]}

    times = np.linspace(0, 2, 5)
    found = optimize.solve_ivp(
        slope,
        (0, 2),
        {"x": np.array([1.0, 2.0]), "v": np.zeros(2)},
        method,
        times,
        (4.0,),
        rtol=1e-8,
        atol=1e-10,
    )
    np.testing.assert_allclose(found.y["x"], np.outer([1.0, 2.0], np.cos(2 * times)), atol=1e-5)
    np.testing.assert_allclose(found.y["v"], np.outer([1.0, 2.0], -2 * np.sin(2 * times)), atol=1e-5)


def equations(x, a, b):
    return x + gd.linalg.matvec(gd.constant(A), gd.tanh(x)) * a - b


@pytest.fixture(params=["eager", "traced"])
def mode(request):
    return gd.function if request.param == "traced" else lambda f: f


@pytest.mark.parametrize("solver", ["root", "fixed_point"])
def test_a_solution_has_the_gradients_of_the_exact_one(solver, mode):
    def solution(a, b):
        if solver == "root":
            return optimize.root(equations, np.zeros(3), (a, b), tol=1e-13)
        return optimize.fixed_point(lambda x, a, b: x - equations(x, a, b), np.zeros(3), (a, b), tol=1e-14)

    a, b = gd.constant(0.7, gd.float64), gd.constant(RNG.normal(size=3))
    x = mode(solution)(a, b)
    np.testing.assert_allclose(equations(x, a, b), np.zeros(3), atol=1e-10)

    def loss(a, b):
        return gd.reduce_sum(solution(a, b) ** 3)

    slopes = mode(gd.grad(loss, (0, 1)))(a, b)
    step = 1e-5
    by_a = (loss(a + step, b) - loss(a - step, b)) / (2 * step)
    np.testing.assert_allclose(slopes[0], by_a, rtol=1e-7)
    for k in range(3):
        e = step * np.eye(3)[k]
        np.testing.assert_allclose(slopes[1][k], (loss(a, b + e) - loss(a, b - e)) / (2 * step), rtol=1e-7)
    second = mode(gd.grad(gd.grad(loss)))(a, b)
    slope = gd.grad(loss)
    np.testing.assert_allclose(second, (slope(a + step, b) - slope(a - step, b)) / (2 * step), rtol=1e-6)


def test_variables_that_the_equations_read_have_gradients():
    a = gd.Variable(2.0)
    with gd.GradientTape() as tape:
        x = optimize.root(lambda x: x * x - a, 1.0)
    np.testing.assert_allclose(x, np.sqrt(2.0), rtol=1e-6)
    np.testing.assert_allclose(tape.gradient(x, a), 0.5 / np.sqrt(2.0), rtol=1e-6)


def test_nests_and_integers_among_the_arguments():
    def f(x, p):
        return {"u": x["u"] * p["scale"] - 3.0, "v": x["v"] - x["u"] * gd.cast(p["n"], gd.float32)}

    start = {"u": 0.0, "v": 0.0}
    found = optimize.root(f, start, ({"scale": 2.0, "n": 4},))
    assert [round(float(found[key]), 5) for key in "uv"] == [1.5, 6.0]
    with gd.GradientTape() as tape:
        scale = gd.constant(2.0)
        tape.watch(scale)
        v = optimize.root(f, start, ({"scale": scale, "n": 4},))["v"]
    np.testing.assert_allclose(tape.gradient(v, scale), -3.0, rtol=1e-5)


def test_no_solution_is_an_error_with_the_numbers():
    with pytest.raises(gd.errors.InvalidArgumentError, match=r"found no root.*largest residual"):
        optimize.root(lambda x: x * x + 1.0, 0.5)
    with pytest.raises(gd.errors.InvalidArgumentError, match="did not settle"):
        optimize.fixed_point(lambda x: 2.0 * x + 1.0, 1.0, max_iterations=50)
    with pytest.raises(gd.errors.InvalidArgumentError, match="did not settle"):
        gd.function(lambda a: optimize.fixed_point(lambda x, a: a * x + 1.0, 1.0, (a,), max_iterations=50))(
            2.0
        )


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: optimize.minimize(rosenbrock, 3), TypeError, "dtype int32; give it as float"),
        (lambda: optimize.minimize(lambda x: x, np.ones(2)), ValueError, "only a scalar has a gradient"),
        (lambda: optimize.minimize("f", 1.0), TypeError, "expected a function"),
        (
            lambda: gd.function(lambda x: optimize.minimize(rosenbrock, x).fun)(np.ones(2)),
            ValueError,
            "traced function",
        ),
        (lambda: optimize.root(lambda x: x[:1], np.ones(2)), ValueError, "gives 1 numbers for 2 unknowns"),
        (lambda: optimize.root(lambda x, a: x, 1.0, ("text",)), TypeError, "an argument is or holds 'text'"),
    ],
)
def test_wrong_uses_say_what_is_allowed(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_what_is_missing_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(gd.errors.UnavailableError, match=r"pip install graphad\[scipy\]"):
        optimize.minimize(rosenbrock, np.ones(2))


def test_solvers_refuse_complex_results_and_methods_that_are_none():
    def turned(x):
        return gd.complex(x, x)

    for solve in (
        lambda: optimize.minimize(turned, 1.0),
        lambda: optimize.least_squares(turned, 1.0),
        lambda: optimize.root(turned, 1.0),
        lambda: optimize.solve_ivp(lambda t, y: turned(y), (0.0, 1.0), 1.0),
    ):
        with pytest.raises(TypeError, match="complex64; solvers work with real numbers"):
            solve()
    with pytest.raises(TypeError, match="method is 3; give the name of one of SciPy's"):
        optimize.minimize(lambda x: x * x, 1.0, method=3)


def test_a_root_whose_steps_overflow_says_so():
    with pytest.raises(
        gd.errors.InvalidArgumentError, match="'linearmixing' found no root: its steps left the range"
    ):
        optimize.root(
            lambda x: gd.sinh(x) + 5.0 * x - 1.0, gd.constant([3.0, 2.0], "float64"), method="linearmixing"
        )


def test_an_infinite_residual_is_no_root():
    """SciPy's 'hybr' takes the start for the result where the residual and its Jacobian are infinite, and calls it success."""
    with pytest.raises(gd.errors.InvalidArgumentError, match="'hybr' stopped where f is not finite"):
        optimize.root(lambda x: gd.exp(1e3 * x), gd.constant([1.0], "float64"))


def test_a_complex_starting_point_is_refused_in_its_own_words():
    with pytest.raises(TypeError, match="complex128; give it in real and imaginary parts"):
        optimize.root(lambda x: x, gd.constant([1.0j], "complex128"))
