"""The bridge takes SciPy's steps: results, counts and messages are those of SciPy with derivatives written by hand."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad import optimize

so = pytest.importorskip("scipy.optimize")
si = pytest.importorskip("scipy.integrate")

START = np.array([0.5, 0.4, 0.6])
SLOPES = {
    "CG", "BFGS", "Newton-CG", "L-BFGS-B", "TNC", "SLSQP", "trust-constr", "dogleg", "trust-ncg", "trust-krylov", "trust-exact"
}  # fmt: skip
PRODUCTS = {"Newton-CG", "trust-constr", "trust-ncg", "trust-krylov"}


def valley(x):
    return gd.reduce_sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2)


def _by_hand(method):
    given = {"jac": so.rosen_der} if method in SLOPES else {}
    if method in PRODUCTS:
        given["hessp"] = so.rosen_hess_prod
    return {**given, "hess": so.rosen_hess} if method in ("dogleg", "trust-exact") else given


@pytest.mark.parametrize("method", [*sorted(SLOPES), "Nelder-Mead", "Powell", "COBYLA", "COBYQA"])
def test_minimize(method):
    start = np.array([0.9, 1.1, 0.95]) if method == "dogleg" else START
    theirs = so.minimize(so.rosen, start, method=method, **_by_hand(method))
    ours = optimize.minimize(valley, start, method=method)
    # What differs in the last bits of a step may differ in the number of steps of TNC's line search.
    np.testing.assert_allclose(ours.x, theirs.x, rtol=0.0, atol=2e-3 if method == "TNC" else 1e-9)
    assert abs(ours.nfev - theirs.nfev) <= (6 if method == "TNC" else 0)
    assert ours.message == theirs.message and ours.success == theirs.success


@pytest.mark.parametrize("method", ["SLSQP", "trust-constr", "COBYLA", "COBYQA"])
def test_constraints_and_bounds(method):
    def problem(module, norm, f, **more):
        within = so.NonlinearConstraint(norm, -np.inf, 1.5)
        plane = so.LinearConstraint(np.ones((1, 3)), -1, 2.0)
        return module.minimize(
            f, START, method=method, constraints=[within, plane], bounds=so.Bounds(-1, 0.9), **more
        )

    slope = {"jac": so.rosen_der} if method in SLOPES else {}
    theirs = problem(so, lambda x: np.sum(x**2), so.rosen, **slope)
    ours = problem(optimize, lambda x: gd.reduce_sum(x**2), valley)
    np.testing.assert_allclose(ours.x, theirs.x, atol=2e-5)


@pytest.mark.parametrize(
    "method", ["hybr", "lm", "broyden1", "broyden2", "anderson", "diagbroyden", "krylov", "df-sane"]
)
def test_root(method):
    theirs = so.root(
        lambda x: np.array([x[0] ** 3 - x[1] - 1, x[1] ** 2 + x[0] - 3.0]), [1.2, 1.1], method=method,
        jac=(lambda x: np.array([[3 * x[0] ** 2, -1], [1, 2 * x[1]]])) if method in ("hybr", "lm") else None,
    )  # fmt: skip
    ours = optimize.root(
        lambda x: gd.stack([x[0] ** 3 - x[1] - 1, x[1] ** 2 + x[0] - 3.0]),
        np.array([1.2, 1.1]),
        method=method,
    )
    np.testing.assert_allclose(ours, theirs.x, atol=1e-10)


@pytest.mark.parametrize("method", ["trf", "dogbox", "lm"])
@pytest.mark.parametrize("loss", ["linear", "huber"])
def test_least_squares(method, loss):
    if method == "lm" and loss != "linear":
        pytest.skip("SciPy's 'lm' knows the linear loss alone")
    t = np.linspace(0, 2, 9)
    data = 2.0 * np.exp(-1.5 * t) + 0.1 * np.cos(40 * t)
    theirs = so.least_squares(
        lambda p: p[0] * np.exp(-p[1] * t) - data, [1.0, 1.0], method=method, loss=loss,
        jac=lambda p: np.stack([np.exp(-p[1] * t), -p[0] * t * np.exp(-p[1] * t)], -1),
    )  # fmt: skip
    ours = optimize.least_squares(
        lambda p: p[0] * gd.exp(-p[1] * t) - data, np.ones(2), method=method, loss=loss
    )
    np.testing.assert_allclose(ours.x, theirs.x, rtol=1e-9)
    assert (ours.nfev, ours.njev, ours.message) == (theirs.nfev, theirs.njev, theirs.message)
    np.testing.assert_allclose(ours.cost, theirs.cost, rtol=1e-12)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"])
def test_solve_ivp(method):
    jacobian = {"jac": lambda t, y: np.array([[0, 1], [-6 * y[0] * y[1] - 1, 3 * (1 - y[0] ** 2)]])}
    theirs = si.solve_ivp(
        lambda t, y: np.array([y[1], 3 * (1 - y[0] ** 2) * y[1] - y[0]]), (0, 3), [2.0, 0.0], method,
        **(jacobian if method in ("Radau", "BDF", "LSODA") else {}),
    )  # fmt: skip
    ours = optimize.solve_ivp(
        lambda t, y: gd.stack([y[1], 3 * (1 - y[0] ** 2) * y[1] - y[0]]), (0, 3), np.array([2.0, 0.0]), method
    )
    np.testing.assert_allclose(ours.y, theirs.y, rtol=1e-9, atol=1e-12)
    assert (ours.nfev, ours.njev, ours.nlu, ours.message) == (
        theirs.nfev,
        theirs.njev,
        theirs.nlu,
        theirs.message,
    )


def test_classes_of_solvers_events_and_functions_as_methods():
    def fall(t, y):
        return y[0]

    fall.terminal = True
    ours = optimize.solve_ivp(
        lambda t, y: gd.stack([y[1], -9.81 + 0.0 * y[0]]),
        (0, 3),
        np.array([1.0, 0.0]),
        si.Radau,
        events=fall,
        dense_output=True,
    )
    np.testing.assert_allclose(ours.t_events[0], np.sqrt(2 / 9.81), rtol=1e-3)
    assert ours.status == 1 and ours.sol(0.1).shape == (2,)

    def newton(fun, x, args=(), jac=None, hessp=None, **rest):
        return so.OptimizeResult(x=x - jac(x) / hessp(x, np.ones(1)), fun=fun(x), success=True)

    np.testing.assert_allclose(
        optimize.minimize(lambda x: gd.reduce_sum((x - 3.0) ** 2), np.ones(1), method=newton).x, [3.0]
    )


def test_callbacks_get_what_scipy_gives_them():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 4:
            raise StopIteration

    found = optimize.minimize(valley, START, callback=callback)
    assert len(seen) == 4 and found.nit == 4 and seen == sorted(seen, reverse=True)


def test_wrong_arguments_are_named():
    for words, call in {
        "t_span is 3": lambda: optimize.solve_ivp(lambda t, y: y, 3, START),
        "first and the last time": lambda: optimize.solve_ivp(lambda t, y: y, (0.0,), START),
        "needs 'type' and 'fun'": lambda: optimize.minimize(valley, START, constraints={"type": "eq"}),
        "method is None": lambda: optimize.root(lambda x: x, START, method=None),
        "Unknown solver nope": lambda: optimize.minimize(valley, START, method="nope"),
    }.items():
        with pytest.raises((gd.errors.GraphadError, ValueError), match=words):
            call()
