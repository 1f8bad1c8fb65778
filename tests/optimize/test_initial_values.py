"""The solution of an initial value problem has the derivatives of a one-step method over the solver's steps."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad import optimize

integrate = pytest.importorskip("scipy.integrate")

METHODS = ["RK23", "RK45", "DOP853", "Radau", "BDF", "LSODA"]
TIGHT = {"rtol": 1e-7, "atol": 1e-9}
RATE = np.array(2.0)
# y' = -a y cos(t), y(0) = 1: y(1) = exp(-a sin(1))
VALUE = np.exp(-2.0 * np.sin(1.0))
SLOPE, CURVE = -np.sin(1.0) * VALUE, np.sin(1.0) ** 2 * VALUE


def decayed(a, method="RK45", **more):
    """The last state, and a function that reads the tensor `a` from outside."""
    return optimize.solve_ivp(
        lambda t, y: -a * y * gd.cos(t), (0.0, 1.0), np.ones(2), method, **{**TIGHT, **more}
    ).y[0, -1]


@pytest.mark.parametrize("method", METHODS)
def test_first_and_second_derivatives_are_those_of_the_exact_solution(method):
    with gd.GradientTape() as outer:
        a = gd.constant(RATE)
        outer.watch(a)
        with gd.GradientTape() as tape:
            tape.watch(a)
            y = decayed(a, method)
        first = tape.gradient(y, a)
    np.testing.assert_allclose(first, SLOPE, rtol=1e-5)
    np.testing.assert_allclose(outer.gradient(first, a), CURVE, rtol=1e-5)
    forward = gd.jvp(lambda a: decayed(a, method), (RATE,), (np.array(1.0),))[1]
    np.testing.assert_allclose(forward, first, rtol=1e-12)
    np.testing.assert_allclose(y, decayed(RATE, method), rtol=1e-14)  # a derivative changes no value


def test_derivatives_of_an_explicit_method_are_those_of_its_steps():
    # With fixed steps the solution is a smooth function, and differences of it are exact to many digits, however long the steps.
    def coarse(a):
        return decayed(a, first_step=0.25, max_step=0.25, rtol=10.0)

    differences = (coarse(RATE + 1e-5) - coarse(RATE - 1e-5)) / 2e-5
    np.testing.assert_allclose(gd.grad(coarse)(RATE), differences, rtol=1e-9)
    assert abs(differences / SLOPE - 1.0) > 1e-6


@pytest.mark.parametrize("method", ["RK45", "Radau"])
def test_functions_contain_solutions_and_have_their_derivatives(method):
    a, solved = gd.constant(RATE), lambda a: decayed(a, method)
    np.testing.assert_allclose(gd.function(solved)(a), VALUE, rtol=1e-6)
    np.testing.assert_allclose(gd.function(gd.grad(solved))(a), SLOPE, rtol=1e-6)
    np.testing.assert_allclose(gd.grad(gd.function(solved))(a), SLOPE, rtol=1e-6)
    np.testing.assert_allclose(gd.jvp(gd.function(solved), (a,), (gd.ones_like(a),))[1], SLOPE, rtol=1e-6)


def test_a_traced_solution_knows_its_shape_from_the_times():
    @gd.function
    def solved(a):
        found = optimize.solve_ivp(lambda t, y: -a * y, (0, 1), np.ones((2, 3)), t_eval=[0.5, 1.0])
        assert found.y.shape == (2, 3, 2) and found.t.shape == (2,)
        return found.t, found.y

    t, y = solved(gd.constant(RATE))
    np.testing.assert_allclose(y[0, 0], np.exp(-2.0 * t), rtol=1e-2)


def test_a_variable_that_is_assigned_in_a_function_counts_with_its_new_value():
    rate = gd.Variable(np.array(1.0))

    @gd.function
    def step(a):
        rate.assign(a)
        y = decayed(rate)
        rate.assign(0.0 * a)
        return y

    np.testing.assert_allclose(step(gd.constant(RATE)), VALUE, rtol=1e-6)


def test_variables_have_derivatives():
    rate = gd.Variable(RATE)
    for solved in (decayed, gd.function(decayed)):
        with gd.GradientTape() as tape:
            y = solved(rate)
        np.testing.assert_allclose(tape.gradient(y, rate), SLOPE, rtol=1e-6)


def swing(state, first, last, times, rate):
    found = optimize.solve_ivp(
        lambda t, y, rate: {"x": y["v"], "v": -rate * y["x"]},
        (first, last),
        state,
        "DOP853",
        times,
        (rate,),
        **TIGHT,
    )
    return found.y["x"]


def exact(t, rate, x=1.0, v=0.5):
    w = np.sqrt(rate)
    return x * np.cos(w * t) + v / w * np.sin(w * t)


def test_starts_arguments_and_times_have_derivatives():
    state = {"x": gd.constant(1.0, gd.float64), "v": gd.constant(0.5, gd.float64)}
    one, four = np.array(1.3), np.array(4.0)
    speed = (exact(1.3 + 1e-5, 4.0) - exact(1.3 - 1e-5, 4.0)) / 2e-5
    close = {"rtol": 1e-5, "atol": 1e-6}
    by_start = gd.grad(lambda s: swing(s, 0.0, 1.3, None, 4.0)[-1])(state)
    np.testing.assert_allclose(by_start["x"], np.cos(2.6), **close)
    np.testing.assert_allclose(by_start["v"], np.sin(2.6) / 2, **close)
    np.testing.assert_allclose(gd.grad(lambda t: swing(state, 0.0, t, None, 4.0)[-1])(one), speed, **close)
    np.testing.assert_allclose(
        gd.grad(lambda t: swing(state, t, 1.3, None, 4.0)[-1])(np.array(0.0)), -speed, **close
    )
    times = np.array([0.0, 0.4, 1.3])
    speeds = (exact(times + 1e-5, 4.0) - exact(times - 1e-5, 4.0)) / 2e-5
    got = gd.jacrev(lambda at: swing(state, 0.0, 1.5, at, 4.0))(times)
    np.testing.assert_allclose(got, np.diag(speeds), **close)
    by_rate = (exact(times, 4.0 + 1e-5) - exact(times, 4.0 - 1e-5)) / 2e-5
    np.testing.assert_allclose(gd.jacfwd(lambda k: swing(state, 0.0, 1.5, times, k))(four), by_rate, **close)


def test_time_may_run_backwards():
    state = {"x": np.array(1.0), "v": np.array(0.0)}
    got = gd.grad(lambda s: gd.reduce_sum(swing(s, 1.5, 0.0, [1.0, 0.25], 4.0)))(state)
    np.testing.assert_allclose(got["x"], np.cos(1.0) + np.cos(2.5), rtol=1e-5)


@pytest.mark.parametrize("method", ["Radau", "BDF"])
def test_stiff_problems_have_derivatives(method):
    # y' = -k (y - cos(t)): after a short time y is close to cos(t) + sin(t) / k.
    def last(k):
        return optimize.solve_ivp(
            lambda t, y: -k * (y - gd.cos(t)), (0.0, 2.0), np.zeros(1), method, rtol=1e-6, atol=1e-9
        ).y[0, -1]

    k = 1e4
    expected = ((1 - k**2) * np.sin(2.0) + 2 * k * np.cos(2.0)) / (k**2 + 1) ** 2
    np.testing.assert_allclose(gd.grad(last)(np.array(k)), expected, rtol=1e-3)


def test_the_dense_solution_and_no_times_at_all_are_taken():
    state = {"x": np.array(1.0), "v": np.array(0.5)}
    assert gd.grad(lambda s: gd.reduce_sum(swing(s, 0.0, 1.0, np.zeros(0), 4.0)))(state)["x"] == 0.0
    np.testing.assert_allclose(gd.grad(lambda a: decayed(a, dense_output=True))(RATE), SLOPE, rtol=1e-6)


def test_what_has_no_derivative_is_refused_with_a_cure():
    def fall(t, y):
        return y[0] - 0.5

    fall.terminal = True
    ended = lambda a: decayed(a, events=fall)  # noqa: E731
    for differentiated in (gd.grad(ended), lambda a: gd.jvp(ended, (a,), (a,))):
        with pytest.raises(gd.errors.MissingGradientError, match="by optimize"):
            differentiated(RATE)
    with pytest.raises(gd.errors.InvalidArgumentError, match="call it outside"):
        gd.function(ended)(gd.constant(RATE))
    with pytest.raises(gd.errors.InvalidArgumentError, match="the solver stopped"):
        gd.function(lambda a: optimize.solve_ivp(lambda t, y: y * y, (0.0, 2.0), a).y)(gd.constant([1.0]))
    with pytest.raises(gd.errors.InvalidArgumentError, match="cannot be part of vmap"):
        gd.vmap(decayed)(np.ones(2))
