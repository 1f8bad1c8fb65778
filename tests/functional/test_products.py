"""`jvp`, `vjp` and `linearize`."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

import graphad as gd

RNG = np.random.default_rng(21)
X, V = RNG.normal(size=(2, 4))


def spread(x):
    return gd.sin(x[:, None] * x[None, :])


@pytest.fixture(params=["eager", "traced"])
def mode(request):
    return gd.function if request.param == "traced" else lambda f: f


def test_a_direction_forward_is_the_jacobian_times_it(mode):
    value, change = mode(lambda x, v: gd.jvp(spread, [x], [v]))(gd.constant(X), gd.constant(V))
    np.testing.assert_allclose(value, spread(gd.constant(X)))
    np.testing.assert_allclose(change, gd.jacrev(spread)(X).numpy() @ V, rtol=1e-10)


def test_a_cotangent_backward_is_it_times_the_jacobian(mode):
    bar = RNG.normal(size=(4, 4))

    def pulled(x, bar):
        value, pull = gd.vjp(spread, x)
        return value, pull(bar)

    value, (found,) = mode(pulled)(gd.constant(X), gd.constant(bar))
    np.testing.assert_allclose(value, spread(gd.constant(X)))
    np.testing.assert_allclose(found, np.tensordot(bar, gd.jacrev(spread)(X), 2), rtol=1e-10)


def test_a_linear_part_runs_the_function_once(mode):
    calls = []

    def f(x):
        calls.append(1)
        return spread(x)

    def pushed(x, v):
        value, push = gd.linearize(f, x)
        return value, push(v), push(2.0 * v)

    value, once, twice = mode(pushed)(gd.constant(X), gd.constant(V))
    assert len(calls) == 1
    expected = gd.jvp(spread, [X], [V])
    np.testing.assert_allclose(value, expected[0])
    np.testing.assert_allclose(once, expected[1], rtol=1e-12)
    np.testing.assert_allclose(twice, 2 * once.numpy(), rtol=1e-12)


def test_linear_parts_go_through_loops_and_calls():
    @gd.function
    def loop(x):
        y = x
        for _ in gd.range(4):
            y = gd.sin(y) * x
        return y

    _, push = gd.linearize(loop, gd.constant(X))
    np.testing.assert_allclose(push(V), gd.jvp(loop, [gd.constant(X)], [gd.constant(V)])[1], rtol=1e-12)


@pytest.mark.parametrize("shape", [[None, None], None])
def test_linear_parts_know_shapes_that_only_a_run_tells(shape):
    """No rule of a product reads it, and zeros of its shape are needed all the same."""

    @gd.function(input_signature=[gd.TensorSpec(shape, gd.float64)])
    def f(x):
        large = gd.constant(np.full(4000, 2.0))
        value, push = gd.linearize(lambda p: x * p + gd.reduce_mean(large), x)
        return push(x), value

    for x in (np.arange(6.0).reshape(2, 3), np.ones((1, 3)), np.zeros((0, 3))):
        change, value = f(x)
        np.testing.assert_array_equal(change, x * x)
        np.testing.assert_array_equal(value, x * x + 2.0)


def test_nests_go_in_and_out():
    def f(p, y):
        return [p["a"] * y, {"b": p["a"] ** 2}]

    value, change = gd.jvp(f, ({"a": 2.0}, 3.0), ({"a": 1.0}, 0.5))
    assert [float(value[0]), float(value[1]["b"])] == [6.0, 4.0]
    assert [float(change[0]), float(change[1]["b"])] == [4.0, 4.0]
    _, pull = gd.vjp(f, {"a": 2.0}, 3.0)
    a, y = pull([1.0, {"b": 10.0}])
    assert [float(a["a"]), float(y)] == [43.0, 2.0]
    _, push = gd.linearize(f, {"a": 2.0}, 3.0)
    assert float(push({"a": 1.0}, 0.5)[0]) == 4.0


def test_what_does_not_depend_on_the_argument_does_not_change():
    value, change = gd.jvp(lambda x: (x, gd.ones(2)), [1.0], [5.0])
    np.testing.assert_array_equal(change[1], np.zeros(2))
    _, push = gd.linearize(lambda x: gd.ones(2), 1.0)
    np.testing.assert_array_equal(push(1.0), np.zeros(2))
    _, pull = gd.vjp(lambda x: gd.ones(2), 1.0)
    assert float(pull(np.ones(2, np.float32))[0]) == 0.0


def test_auxiliary_results_are_handed_on():
    assert gd.jvp(lambda x: (x * x, "note"), [3.0], [1.0], has_aux=True)[2] == "note"
    value, push, aux = gd.linearize(lambda x: (x * x, "note"), 3.0, has_aux=True)
    assert (float(value), float(push(1.0)), aux) == (9.0, 6.0, "note")
    _, pull, aux = gd.vjp(lambda x: (x * x, "note"), 3.0, has_aux=True)
    assert aux == "note" and float(pull(1.0)[0]) == 6.0


def test_forward_and_reverse_nest_in_each_other():
    f = gd.grad(lambda x: gd.jvp(lambda y: y**3, [x], [1.0])[1])
    assert float(f(2.0)) == 12.0
    assert float(gd.jvp(lambda x: gd.vjp(lambda y: y**3, x)[1](1.0)[0], [2.0], [1.0])[1]) == 12.0
    assert float(gd.grad(lambda x: gd.linearize(lambda y: y**3, x)[1](1.0))(2.0)) == 12.0
    np.testing.assert_allclose(
        gd.jacfwd(lambda x: gd.jvp(gd.sin, [x], [x])[1])(X), np.diag(np.cos(X) - X * np.sin(X))
    )


def test_what_is_pulled_back_can_be_differentiated_by_the_cotangent():
    _, pull = gd.vjp(spread, gd.constant(X))
    whole = gd.jacrev(lambda bar: pull(bar)[0])(np.zeros((4, 4)))
    np.testing.assert_allclose(whole, np.moveaxis(gd.jacrev(spread)(X), -1, 0), rtol=1e-10)


def test_what_was_computed_goes_with_the_function():
    kept = []

    def f(x):
        y = gd.exp(x)
        kept.append(weakref.ref(y))
        return gd.reduce_sum(y * y)

    _, pull = gd.vjp(f, gd.constant(X))
    assert kept[0]() is not None
    del pull
    assert kept[0]() is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: gd.jvp(spread, X, V), "primals is a tuple or list"),
        (lambda: gd.jvp(spread, [X], V), "tangents is a tuple or list"),
        (lambda: gd.jvp(spread, [X], [V[:2]]), r"jvp: tangent 0 has shape \(2,\), its primal \(4,\)"),
        (lambda: gd.jvp(spread, [X], [V, V]), "another structure"),
        (lambda: gd.linearize(spread, X)[1](V[:2]), r"linearize: tangent 0 has shape"),
        (lambda: gd.vjp(spread, X)[1]([V, V]), "the cotangents have another structure"),
        (lambda: gd.vjp(spread, X)[1](np.ones(3)), "Incompatible shapes"),
    ],
)
def test_wrong_uses_say_what_is_allowed(make, words):
    with pytest.raises(gd.errors.InvalidArgumentError, match=words):
        make()


def test_writes_are_not_repeated():
    v = gd.Variable(0.0)

    @gd.function
    def f(x):
        v.assign_add(1.0)
        return x * v

    _, push = gd.linearize(f, 2.0)
    with pytest.raises(gd.errors.FailedPreconditionError, match="twice"):
        push(1.0)
    assert float(v) == 1.0
