"""`vmap` against loops over the batch."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as gd

RNG = np.random.default_rng(22)
X, W = RNG.normal(size=(3, 4, 5)), RNG.normal(size=(5, 2))


def looped(f, x, axis, out_axis=0):
    rows = [np.asarray(f(gd.constant(row))) for row in np.moveaxis(x, axis, 0)]
    return np.moveaxis(np.stack(rows), 0, out_axis)


def mixed(x):
    return gd.tanh(x @ gd.transpose(x)) + gd.reduce_max(x)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("out_axis", [0, 1, -1])
def test_axes_are_moved(axis, out_axis, traced):
    f = gd.vmap(mixed, in_axes=axis, out_axes=out_axis)
    f = gd.function(f) if traced else f
    np.testing.assert_allclose(f(gd.constant(X)), looped(mixed, X, axis, out_axis), rtol=1e-12)


def test_arguments_have_axes_of_their_own():
    f = gd.vmap(lambda p, x, *, scale: scale * (p["w"] * x + p["b"]), in_axes=({"w": 0, "b": None}, 1))
    w, b, x, scale = RNG.normal(size=3), 2.0, RNG.normal(size=(4, 3)), np.arange(3.0)
    expected = np.stack([scale[k] * (w[k] * x[:, k] + b) for k in range(3)])
    np.testing.assert_allclose(f({"w": w, "b": b}, x, scale=scale), expected)


def test_what_is_not_batched_keeps_its_kind():
    seen = []

    def f(x, options):
        seen.append(options)
        return x + options["by"]

    gd.vmap(f, in_axes=(0, None))(np.ones(3), {"by": 2.0, "name": "text"})
    assert seen == [{"by": 2.0, "name": "text"}]


def test_results_have_axes_of_their_own():
    a, rest = gd.vmap(lambda x: (x * 2.0, {"b": x, "c": gd.ones(2)}), out_axes=(1, {"b": 0, "c": None}))(X[0])
    np.testing.assert_allclose(a, 2 * X[0].T)
    np.testing.assert_allclose(rest["b"], X[0])
    assert rest["c"].shape == (2,)


def test_the_number_of_entries_may_be_given():
    f = gd.vmap(lambda x: gd.reduce_sum(x) + gd.ones(2), in_axes=None, axis_size=3)
    np.testing.assert_array_equal(f(gd.ones([4])), np.full((3, 2), 5.0))
    np.testing.assert_array_equal(gd.function(f)(gd.ones([4])), np.full((3, 2), 5.0))
    np.testing.assert_array_equal(gd.vmap(lambda x: 2.0 * x, axis_size=2)(gd.ones([2])), [2.0, 2.0])
    with pytest.raises(ValueError, match=r"^vmap: batched arguments have \[2, 3\] entries .*axis_size"):
        gd.vmap(lambda x: x, axis_size=3)(gd.ones([2]))
    with pytest.raises(ValueError, match="or axis_size given"):
        gd.vmap(lambda x: x, in_axes=None)(gd.ones([2]))


def test_maps_nest():
    distances = gd.vmap(lambda a: gd.vmap(lambda b: gd.reduce_sum((a - b) ** 2))(gd.constant(X[1])))(X[0])
    expected = ((X[0][:, None] - X[1][None]) ** 2).sum(-1)
    np.testing.assert_allclose(distances, expected)
    outer = gd.vmap(gd.vmap(lambda a, b: a * b, in_axes=(0, None)), in_axes=(None, 0))(
        np.arange(3.0), np.arange(2.0)
    )
    np.testing.assert_array_equal(outer, np.outer(np.arange(2.0), np.arange(3.0)))


@pytest.mark.parametrize("traced", [False, True])
def test_gradients_of_single_examples(traced):
    def loss(w, x):
        return gd.reduce_sum(gd.tanh(x[None] @ w) ** 2)

    each = gd.vmap(gd.grad(loss), in_axes=(None, 0))
    each = gd.function(each) if traced else each
    found = each(gd.constant(W), gd.constant(X[0]))
    expected = np.stack([np.asarray(gd.grad(loss)(gd.constant(W), gd.constant(row))) for row in X[0]])
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_the_gradient_of_a_map_is_that_of_the_loop():
    found = gd.grad(lambda x: gd.reduce_sum(gd.vmap(mixed)(x) ** 2))(gd.constant(X))
    expected = gd.grad(lambda x: gd.add_n([gd.reduce_sum(mixed(x[k]) ** 2) for k in range(3)]))(
        gd.constant(X)
    )
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("traced", [False, True])
def test_rows_are_checked_as_rows(traced):
    f = gd.vmap(lambda row: row @ gd.constant(W))  # a stack of rows is a matrix, a row is none
    with pytest.raises(gd.errors.InvalidArgumentError, match=r"matmul: a has shape \(5,\)"):
        (gd.function(f) if traced else f)(X[0])


def test_jacobians_are_maps_of_products():
    x = gd.constant(X[0, 0])
    columns = gd.vmap(lambda v: gd.jvp(gd.sin, [x], [v])[1], out_axes=1)(np.eye(5))
    np.testing.assert_allclose(columns, gd.jacfwd(gd.sin)(x))
    _, pull = gd.vjp(gd.sin, x)
    (rows,) = gd.vmap(pull)(np.eye(5))
    np.testing.assert_allclose(rows, gd.jacrev(gd.sin)(x))


def test_sizes_may_be_unknown():
    f = gd.function(
        gd.vmap(gd.grad(lambda x: gd.reduce_sum(x**2))), input_signature=[gd.TensorSpec([None, 2])]
    )
    for n in (0, 1, 3):
        np.testing.assert_array_equal(f(np.ones((n, 2), np.float32)), np.full((n, 2), 2.0))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gd.vmap(mixed, in_axes=(0, 0))(X), "called with 1 positional"),
        (lambda: gd.vmap(mixed, in_axes=None)(X), "batches nothing"),
        (lambda: gd.vmap(mixed, in_axes=3)(X), "axis 3 of a tensor of shape"),
        (lambda: gd.vmap(mixed)(1.0), "axis 0 of a tensor of shape"),
        (lambda: gd.vmap(lambda a, b: a)(np.ones(3), np.ones(2)), r"\[3, 2\] entries"),
        (lambda: gd.vmap(lambda a: a, out_axes=None)(np.ones(3)), "depends on batched arguments"),
        (lambda: gd.vmap(lambda a: a, out_axes=2)(np.ones(3)), "axis 2 of a result"),
        (lambda: gd.vmap(lambda a: a, out_axes=(0, 0))(np.ones(3)), "out_axes holds"),
        (lambda: gd.vmap(lambda a: a, in_axes=({"x": 0},))({"y": np.ones(3)}), "in_axes holds"),
    ],
)
def test_wrong_uses_say_what_is_allowed(make, words):
    with pytest.raises(gd.errors.InvalidArgumentError, match=words):
        make()
