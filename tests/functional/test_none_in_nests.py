"""None within a nest is no tensor and stays where it is, in every transform and solver."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd
from graphad import optimize

X = gd.constant([1.0, 2.0], gd.float64)


@pytest.fixture(params=["eager", "traced"])
def mode(request):
    return gd.function if request.param == "traced" else lambda f: f


def test_an_argument_that_is_none_has_a_derivative_that_is_none(mode):
    slopes = mode(lambda x: gd.grad(lambda x, mask: gd.reduce_sum(x**2), argnums=(0, 1))(x, None))(X)
    np.testing.assert_allclose(slopes[0], [2.0, 4.0])
    assert slopes[1] is None


def test_a_checkpoint_gives_none_where_the_function_does(mode):
    f = gd.checkpoint(lambda p: {"square": p["a"] ** 2, "none": None, "also": (None, p["a"])})
    value = mode(f)({"a": X, "none": None})
    assert value["none"] is None and value["also"][0] is None
    total = lambda p: gd.reduce_sum(f(p)["square"]) + gd.reduce_sum(f(p)["also"][1])  # noqa: E731
    np.testing.assert_allclose(mode(gd.grad(total))({"a": X})["a"], [3.0, 5.0])
    np.testing.assert_allclose(mode(lambda x: gd.vmap(f)({"a": x})["square"])(X), [1.0, 4.0])


def test_rows_of_none_are_none(mode):
    f = gd.vmap(lambda x, y: (x * 2.0, {"k": y, "l": x}), in_axes=(0, 0), out_axes=(0, {"k": 0, "l": 0}))
    twice, rest = mode(lambda x: f(x, None))(X)
    np.testing.assert_allclose(twice, [2.0, 4.0])
    assert rest["k"] is None


@pytest.mark.parametrize("given", [(None, X), (X, X), (None, None)], ids=["moved", "more", "less"])
def test_tangents_and_cotangents_hold_none_where_the_values_do(given):
    f = lambda x, none: (x**2, none)  # noqa: E731
    with pytest.raises(gd.errors.InvalidArgumentError, match="hold"):
        gd.jvp(f, (X, None), given)
    with pytest.raises(gd.errors.InvalidArgumentError, match="hold"):
        gd.vjp(f, X, None)[1](given)


def test_solvers_leave_none_in_place_and_take_numbers_as_they_are():
    pytest.importorskip("scipy")
    start = {"x": np.ones(2), "none": None}
    by_root = optimize.root(lambda p, a, none, k: {"x": p["x"] ** 2 * k - a}, start, (X, None, 2))
    settled = optimize.fixed_point(
        lambda p, a: {"x": gd.cos(p["x"]) * 0.5 + 0.0 * a, "none": None}, start, (3,)
    )
    minimum = optimize.minimize(lambda p, a: gd.reduce_sum((p["x"] - a) ** 2), start, (X,)).x
    np.testing.assert_allclose(by_root["x"], np.sqrt([0.5, 1.0]))
    np.testing.assert_allclose(2 * settled["x"], np.cos(settled["x"]))
    np.testing.assert_allclose(minimum["x"], X, rtol=1e-6)
    assert by_root["none"] is None and settled["none"] is None and minimum["none"] is None


@pytest.mark.parametrize("start", [lambda a: np.ones(()), lambda a: a], ids=["function", "start"])
def test_a_steered_solver_in_rows_says_what_to_do(start):
    pytest.importorskip("scipy")
    with pytest.raises(gd.errors.InvalidArgumentError, match=r"cannot be part of vmap.*optimize\.root"):
        gd.vmap(lambda a: optimize.minimize(lambda p: (p - a) ** 2, start(a)).x)(X)
