"""What solvers give has the derivative of the exact solution, also by what a function reads from outside, or refuses it."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad import optimize

scipy_optimize = pytest.importorskip("scipy.optimize")

ONE = np.array(1.0)


def _slope(f, a, step=1e-4):
    return (np.asarray(f(a + step)) - np.asarray(f(a - step))) / (2 * step)


def _root(a):
    return optimize.root(lambda x: x * x - a, ONE)


def _fixed_point(a):
    return optimize.fixed_point(lambda x: 0.5 * (x + a / x), ONE)


def _minimum(a):
    return optimize.minimize(lambda x: (x - a) ** 2 + x**4, ONE, tol=1e-12).x


def _minimum_of_argument(a):
    return optimize.minimize(lambda x, p: (x - p["a"]) ** 2 + x**4, ONE, ({"a": a},), tol=1e-12).x


def _least(a):
    return optimize.least_squares(
        lambda x: gd.stack([x - a, x * x - 1.5]), ONE, xtol=1e-15, ftol=1e-15, gtol=1e-15
    ).x


SOLVERS = [_root, _fixed_point, _minimum, _minimum_of_argument, _least]


@pytest.mark.parametrize("solved", SOLVERS)
def test_what_a_function_reads_has_first_and_second_derivatives(solved):
    a = np.array(2.0)
    expected = _slope(solved, a)
    np.testing.assert_allclose(gd.grad(solved)(a), expected, rtol=1e-5)
    np.testing.assert_allclose(gd.jvp(solved, (a,), (np.array(1.0),))[1], expected, rtol=1e-5)
    np.testing.assert_allclose(gd.grad(gd.grad(solved))(a), _slope(gd.grad(solved), a), rtol=1e-4)


@pytest.mark.parametrize("solved", SOLVERS)
def test_variables_that_a_function_reads_have_derivatives(solved):
    a = gd.Variable(np.array(2.0))
    with gd.GradientTape() as tape:
        x = solved(a)
    np.testing.assert_allclose(tape.gradient(x, a), _slope(solved, np.array(2.0)), rtol=1e-5)


@pytest.mark.parametrize("solved", [_root, _fixed_point])
@pytest.mark.parametrize("around", [gd.function, lambda f: f], ids=["traced", "eager"])
def test_roots_that_read_tensors_are_part_of_functions_and_batches(solved, around):
    a = np.array([1.0, 2.0, 4.0])
    np.testing.assert_allclose(around(gd.vmap(solved))(gd.constant(a)), np.sqrt(a), rtol=1e-9)
    np.testing.assert_allclose(around(gd.vmap(gd.grad(solved)))(gd.constant(a)), 0.5 / np.sqrt(a), rtol=1e-9)
    np.testing.assert_allclose(around(gd.grad(solved))(gd.constant(4.0, gd.float64)), 0.25, rtol=1e-9)
    np.testing.assert_allclose(gd.grad(around(solved))(gd.constant(4.0, gd.float64)), 0.25, rtol=1e-9)


def test_the_value_of_a_minimum_has_derivatives():
    def least(a):
        return optimize.minimize(lambda x: (x - a) ** 2 + x**4, ONE, tol=1e-12).fun

    np.testing.assert_allclose(gd.grad(least)(np.array(2.0)), _slope(least, np.array(2.0)), rtol=1e-6)
    second = gd.grad(gd.grad(least))(np.array(2.0))
    np.testing.assert_allclose(second, _slope(gd.grad(least), np.array(2.0)), rtol=1e-6)
    assert isinstance(least(np.array(2.0)), float)


@pytest.mark.parametrize("loss", ["linear", "soft_l1", "huber", "cauchy", "arctan"])
def test_every_loss_of_least_squares_has_derivatives(loss):
    def fitted(a):
        return optimize.least_squares(
            lambda x: gd.stack([x * a - 1.0, x - a * a, gd.sin(x) + 0.3]), np.array(0.5), loss=loss, f_scale=0.3,
            xtol=1e-15, ftol=1e-15, gtol=1e-15,
        )  # fmt: skip

    a = np.array(0.9)
    np.testing.assert_allclose(gd.grad(lambda a: fitted(a).x)(a), _slope(lambda a: fitted(a).x, a), rtol=1e-4)
    np.testing.assert_allclose(
        gd.grad(lambda a: fitted(a).cost)(a), _slope(lambda a: fitted(a).cost, a), rtol=1e-4
    )


@pytest.mark.parametrize("method", ["L-BFGS-B", "SLSQP", "TNC", "trust-constr"])
@pytest.mark.parametrize("kind", ["pairs", "Bounds"])
def test_entries_at_a_bound_stay_there(method, kind):
    pairs = [(0.0, 1.0), (None, 5.0), (2.5, 2.75)]
    bounds = pairs if kind == "pairs" else scipy_optimize.Bounds([0.0, -np.inf, 2.5], [1.0, 5.0, 2.75])

    def solved(a):
        start = np.array([0.5, 0.5, 2.6])
        return optimize.minimize(
            lambda x: gd.reduce_sum((x - a) ** 2) + x[0] * x[1], start, method=method, bounds=bounds
        ).x

    np.testing.assert_allclose(
        gd.jacrev(solved)(np.array([4.0, 4.0, 0.0])), np.diag([0.0, 1.0, 0.0]), atol=1e-12
    )
    least = optimize.least_squares
    held = gd.jacrev(lambda a: least(lambda x: x - a, np.full(2, 0.5), bounds=(0.0, [1.0, 9.0])).x)
    np.testing.assert_allclose(held(np.array([2.0, 3.0])), np.diag([0.0, 1.0]), atol=1e-12)


def test_the_start_has_no_influence():
    def solved(start):
        return optimize.minimize(lambda x: gd.reduce_sum((x - 2.0) ** 2), start).x

    np.testing.assert_array_equal(gd.jacrev(solved)(np.ones(2)), np.zeros((2, 2)))


def test_derivatives_that_are_not_known_are_refused_with_a_cure():
    a = np.array([2.0, 3.0])
    equal = {"type": "eq", "fun": lambda x: gd.reduce_sum(x) - 1.0}
    cases = {
        "optimize.root": lambda a: (
            optimize.minimize(lambda x: gd.reduce_sum((x - a) ** 2), np.zeros(2), constraints=equal).x
        ),
        "bounds or options are tensors": lambda a: (
            optimize.minimize(
                lambda x: gd.reduce_sum((x - 9.0) ** 2), np.zeros(2), bounds=[(0.0, a[0]), (0.0, a[1])]
            ).x
        ),
        "`loss` is a function": lambda a: (
            optimize.least_squares(
                lambda x: x - a, np.zeros(2), loss=lambda z: np.stack([z, 1.0 + 0.0 * z, 0.0 * z])
            ).x
        ),
    }
    for words, solved in cases.items():
        total = lambda a, solved=solved: gd.reduce_sum(solved(a))  # noqa: E731
        for differentiated in (gd.grad(total), lambda a, f=total: gd.jvp(f, (a,), (a,))):
            with pytest.raises(gd.errors.MissingGradientError, match=words):
                differentiated(a)
        constant = gd.grad(lambda a, f=total: gd.stop_gradient(f(a)) * a[0])
        np.testing.assert_allclose(constant(a)[0], total(a), rtol=1e-6)


def test_solvers_leave_nothing_on_tapes():
    a = gd.Variable(np.array(2.0))
    with gd.GradientTape() as tape:
        before = 3.0 * a
        found = optimize.minimize(lambda x: (x - a) ** 2, ONE)
        optimize.solve_ivp(lambda t, y: -a * y, (0.0, 1.0), ONE)
        y = before * found.x
    np.testing.assert_allclose(tape.gradient(y, a), 12.0, rtol=1e-6)


def test_a_solver_in_a_loop_is_no_retraced_function(caplog):
    for k in range(8):
        optimize.minimize(lambda x: (x - k) ** 2, ONE, method="Nelder-Mead")  # noqa: B023
    assert not caplog.records


def test_what_nothing_determines_has_no_derivative():
    a = gd.constant(2.0, gd.float64)
    solvers = {
        "minimum": lambda: optimize.minimize(lambda x, a: (x[0] - a) ** 2 + 0.0 * x[1], np.zeros(2), (a,)).x,
        "root": lambda: optimize.root(lambda x, a: x**3 - a + 2.0, np.zeros(()), (a,)),
    }
    for solve in solvers.values():
        with gd.GradientTape() as tape:
            tape.watch(a)
            y = gd.reduce_sum(solve())
        with pytest.raises(ValueError, match=r"Jacobian of the equations at the solution .* is singular"):
            tape.gradient(y, a)


def test_a_start_without_elements_is_refused():
    with pytest.raises(ValueError, match="minimize: the starting point has no elements"):
        optimize.minimize(lambda x: gd.reduce_sum(x**2), np.zeros(0))


def _stopped(a):
    """Two steps on the way to the minimum."""
    start = np.array([-1.2, 1.0])
    return optimize.minimize(
        lambda x: 100.0 * (x[1] - x[0] ** 2) ** 2 + (a - x[0]) ** 2,
        start,
        method="BFGS",
        options={"maxiter": 2},
    )


def _stopped_squares(a):
    return optimize.least_squares(
        lambda x: gd.stack([10.0 * (x[1] - x[0] ** 2), a - x[0]]), np.array([-1.2, 1.0]), max_nfev=2
    )


@pytest.mark.parametrize("solved", [_stopped, _stopped_squares])
def test_a_point_far_from_the_minimum_has_no_derivative(solved):
    """Its value is there, under a tape too."""
    a = gd.constant(1.0, gd.float64)
    with gd.GradientTape() as tape:
        tape.watch(a)
        found = solved(a)
    assert not found.success
    with pytest.raises(
        gd.errors.MissingGradientError, match=r"without success .*Newton's step .* iterations"
    ):
        tape.gradient(found.x, a)
    with pytest.raises(gd.errors.MissingGradientError, match="wrong point"):
        gd.jacfwd(lambda a: solved(a).x)(a)


def test_a_solver_that_only_misses_its_tolerance_gives_derivatives():
    def solved(a):
        found = optimize.minimize(
            lambda x: gd.reduce_sum((x - a) ** 4 + (x - a) ** 2) + 1e9,
            np.array([3.0, 4.0]),
            method="BFGS",
            tol=1e-14,
        )
        assert not found.success
        return found.x

    np.testing.assert_allclose(gd.jacrev(solved)(np.array([1.0, 2.0])), np.eye(2), rtol=1e-3)
