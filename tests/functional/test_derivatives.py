"""`grad`, `value_and_grad`, `jacrev`, `jacfwd`, `hessian` and `hvp` against formulas and finite differences."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import graphad as gd

RNG = np.random.default_rng(20)
A, B = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 2))


class Pair(NamedTuple):
    first: Any
    second: Any


def smooth(x: Any) -> Any:
    """A scalar in which every entry of the argument meets every other."""
    return gd.reduce_sum(gd.tanh(x @ B) ** 2) + gd.reduce_prod(gd.cos(x[0]))


def several(x: Any) -> Any:
    return {"outer": gd.sin(x[:, None] * x[None, :]), "sum": gd.reduce_sum(x**3)}


def differences(f: Any, x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    columns = []
    for k in range(x.size):
        e = np.zeros(x.size)
        e[k] = step
        e = e.reshape(x.shape)
        columns.append((np.asarray(f(x + e)) - np.asarray(f(x - e))) / (2 * step))
    out = np.stack(columns, -1)
    return out.reshape(*out.shape[:-1], *x.shape)


MODES = {"eager": lambda f: f, "traced": gd.function, "compiled": lambda f: gd.function(f, jit_compile=True)}


@pytest.fixture(params=MODES, ids=str)
def mode(request):
    return MODES[request.param]


def test_a_gradient_is_that_of_differences(mode):
    found = mode(gd.grad(smooth))(gd.constant(A))
    np.testing.assert_allclose(found, differences(lambda x: smooth(gd.constant(x)), A), rtol=1e-6, atol=1e-8)


def test_value_and_gradient_come_from_one_evaluation(mode):
    calls = []

    def counted(x):
        calls.append(1)
        return smooth(x)

    value, slope = mode(gd.value_and_grad(counted))(gd.constant(A))
    assert len(calls) == 1
    np.testing.assert_allclose(value, smooth(gd.constant(A)))
    np.testing.assert_allclose(slope, gd.grad(smooth)(A))


@pytest.mark.parametrize("transform", [gd.jacrev, gd.jacfwd])
def test_a_jacobian_has_the_result_outside_and_the_argument_inside(transform, mode):
    x = A[0]
    found = mode(transform(several))(gd.constant(x))
    for key in ("outer", "sum"):
        expected = differences(lambda x, key=key: several(gd.constant(x))[key], x)
        np.testing.assert_allclose(found[key], expected, rtol=1e-6, atol=1e-8)
        assert found[key].dtype == gd.float64


@pytest.mark.parametrize("transform", [gd.jacrev, gd.jacfwd])
def test_a_jacobian_goes_through_loops(transform, mode):
    def powers(x):
        y = x
        for _ in gd.range(3):
            y = gd.sin(y) * x
        return y

    x = A[0]
    step = gd.function(powers)
    found = mode(transform(step))(gd.constant(x))
    np.testing.assert_allclose(found, differences(lambda x: step(gd.constant(x)), x), rtol=1e-6, atol=1e-8)


def test_a_hessian_is_the_jacobian_of_the_gradient(mode):
    found = mode(gd.hessian(smooth))(gd.constant(A))
    assert found.shape == (3, 4, 3, 4)
    np.testing.assert_allclose(found, differences(gd.grad(smooth), A), rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found, gd.jacfwd(gd.grad(smooth))(A), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found, gd.jacrev(gd.grad(smooth))(A), rtol=1e-10, atol=1e-12)


def test_a_hessian_over_several_arguments_is_a_nest_of_nests():
    found = gd.hessian(lambda a, b: gd.reduce_sum(a * b**2), argnums=(0, 1))(np.ones(2), np.full(2, 3.0))
    np.testing.assert_array_equal(found[0][0], np.zeros((2, 2)))
    np.testing.assert_array_equal(found[0][1], 6 * np.eye(2))
    np.testing.assert_array_equal(found[1][0], 6 * np.eye(2))
    np.testing.assert_array_equal(found[1][1], 2 * np.eye(2))


def test_a_product_with_the_hessian_is_the_hessian_times_the_vector(mode):
    v = RNG.normal(size=A.shape)
    found = mode(lambda x, v: gd.hvp(smooth, [x], [v]))(gd.constant(A), gd.constant(v))
    np.testing.assert_allclose(found, np.tensordot(gd.hessian(smooth)(A), v, 2), rtol=1e-9, atol=1e-12)


def test_a_product_with_the_hessian_of_several_arguments():
    a, b = gd.hvp(
        lambda a, b: gd.reduce_sum(a * b**2), (np.ones(2), np.full(2, 3.0)), (np.ones(2), np.ones(2))
    )
    np.testing.assert_array_equal(a, [6.0, 6.0])
    np.testing.assert_array_equal(b, [8.0, 8.0])


@pytest.mark.parametrize("order", range(1, 6))
def test_gradients_nest(order, mode):
    f: Any = lambda x: x**5 + gd.exp(2.0 * x)  # noqa: E731
    for _ in range(order):
        f = gd.grad(f)
    expected = np.prod(np.arange(6 - order, 6)) * 1.3 ** (5 - order) + 2.0**order * np.exp(2.6)
    np.testing.assert_allclose(mode(f)(gd.constant(1.3, gd.float64)), expected, rtol=1e-12)


def test_an_inner_derivative_is_not_confused_with_an_outer_one():
    inner = gd.grad(lambda x: x * gd.grad(lambda y: x + y)(1.0))  # the derivative of x is 1, not 2
    assert float(inner(1.0)) == 1.0


@pytest.mark.parametrize(
    ("argnums", "expected"), [(0, 5.0), (1, 3.0), (-1, 3.0), ((0, 1), (5.0, 3.0)), ([1, 0], (3.0, 5.0))]
)
def test_arguments_are_chosen(argnums, expected):
    found = gd.grad(lambda a, b: a * b, argnums)(3.0, 5.0)
    assert np.array_equal(np.asarray(found, float), expected)


def test_what_is_given_twice_is_two_arguments():
    x = gd.constant(3.0)
    assert [float(d) for d in gd.grad(lambda a, b: a * b**2, (0, 1))(x, x)] == [9.0, 18.0]
    v = gd.Variable(3.0)
    assert [float(d) for d in gd.grad(lambda a, b: a * b**2, (0, 1))(v, v)] == [9.0, 18.0]


def test_a_gradient_is_a_nest_like_its_argument():
    nest = {
        "w": [np.ones(2, np.float32), 2.0],
        "b": Pair(gd.constant(1.0), gd.Variable(2.0)),
        "unused": np.ones((2, 3)),
    }

    def loss(p):
        return gd.reduce_sum(p["w"][0]) * p["w"][1] + p["b"].first * p["b"].second ** 2

    found = gd.grad(loss)(nest)
    assert sorted(found) == ["b", "unused", "w"] and isinstance(found["b"], Pair)
    np.testing.assert_array_equal(found["w"][0], [2.0, 2.0])
    assert [float(found["w"][1]), float(found["b"].first), float(found["b"].second)] == [2.0, 4.0, 4.0]
    np.testing.assert_array_equal(found["unused"], np.zeros((2, 3)))
    assert found["unused"].dtype == gd.float64


@pytest.mark.parametrize("transform", [gd.grad, gd.value_and_grad, gd.jacrev, gd.jacfwd, gd.hessian])
def test_auxiliary_results_are_handed_on(transform):
    def f(x):
        return x**2, {"twice": 2.0 * x, "name": "aux"}

    found = transform(f, has_aux=True)(3.0)
    aux = found[0][1] if transform is gd.value_and_grad else found[1]
    assert float(aux["twice"]) == 6.0 and aux["name"] == "aux"
    with pytest.raises(gd.errors.InvalidArgumentError, match="has_aux=True the function returns a pair"):
        transform(lambda x: x**2, has_aux=True)(3.0)


def test_an_outer_tape_sees_through():
    x, w = gd.constant(2.0), gd.Variable(3.0)
    with gd.GradientTape() as tape:
        tape.watch(x)
        y = gd.grad(lambda x: w * x**3)(x)  # 3 w x^2
    assert [float(d) for d in tape.gradient(y, [x, w])] == [36.0, 12.0]


def test_keyword_arguments_are_passed_on():
    def scaled(x, *, by):
        return by * x**2

    assert float(gd.grad(scaled)(3.0, by=2.0)) == 12.0
    assert gd.grad(scaled).__name__ == "scaled"


def test_a_model_with_functional_parameters_is_trained():
    x = RNG.normal(size=(64, 3)).astype(np.float32)
    y = x @ np.array([[1.0], [-2.0], [0.5]], np.float32) + 0.3

    def loss(p):
        return gd.reduce_mean((gd.constant(x) @ p["w"] + p["b"] - y) ** 2)

    step = gd.function(gd.value_and_grad(loss))
    p = {"w": gd.zeros([3, 1]), "b": gd.zeros([])}
    for _ in range(200):
        value, slopes = step(p)
        p = gd.nest.map_structure(lambda a, g: a - 0.1 * g, p, slopes)
    assert float(value) < 1e-6
    np.testing.assert_allclose(p["w"][:, 0], [1.0, -2.0, 0.5], atol=1e-3)


def test_complex_arguments_have_gradients_as_a_tape_gives_them():
    z = gd.constant(1.0 + 2.0j)
    with gd.GradientTape() as tape:
        tape.watch(z)
        y = gd.math.real(z * z)
    assert complex(gd.grad(lambda z: gd.math.real(z * z))(z)) == complex(tape.gradient(y, z))


def test_sizes_may_be_unknown():
    spec = [gd.TensorSpec([None])]
    slope = gd.function(gd.grad(lambda x: gd.reduce_sum(x**3)), input_signature=spec)
    whole = gd.function(gd.jacrev(lambda x: x**3), input_signature=spec)
    for n in (0, 1, 3):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_allclose(slope(x), 3 * x**2)
        np.testing.assert_allclose(whole(x), np.diag(3 * x**2))


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: gd.grad(lambda x: x)(3), gd.errors.DTypeError, "grad: argument 0 has dtype int32"),
        (lambda: gd.grad(lambda x: x)(True), gd.errors.DTypeError, "bool"),
        (lambda: gd.grad(lambda x: x)([1.0, "a"]), gd.errors.ArgumentTypeError, "'a' of type str"),
        (lambda: gd.grad(lambda x: x)(np.ones(3)), gd.errors.InvalidArgumentError, r"shape \(3,\)"),
        (lambda: gd.grad(lambda x: (x, x))(1.0), gd.errors.InvalidArgumentError, "returned 2 tensors"),
        (lambda: gd.grad(lambda x: None)(1.0), gd.errors.ArgumentTypeError, "the function's result"),
        (lambda: gd.grad(lambda x: gd.cast(x, gd.int32))(1.0), gd.errors.DTypeError, "returned int32"),
        (lambda: gd.grad(lambda x: x, 1)(1.0), gd.errors.InvalidArgumentError, "asks for argument 1"),
        (lambda: gd.grad(lambda x: x, (0, 0))(1.0), gd.errors.InvalidArgumentError, "twice"),
        (lambda: gd.grad(lambda x: x, ())(1.0), gd.errors.InvalidArgumentError, "names no argument"),
        (lambda: gd.grad(lambda *, x: x)(x=1.0), gd.errors.InvalidArgumentError, "keyword arguments"),
        (lambda: gd.grad(3.0), gd.errors.ArgumentTypeError, "expected a function"),
    ],
)
def test_wrong_uses_say_what_is_allowed(make, error, words):
    with pytest.raises(error, match=words):
        make()


Z = np.array([1.0 + 2.0j, 0.5 - 1.0j])


def test_derivatives_of_a_holomorphic_function_are_those_of_its_formula(mode):
    def f(z: Any) -> Any:
        return gd.reduce_sum(gd.sin(z) * z**2)

    slope = np.cos(Z) * Z**2 + 2.0 * Z * np.sin(Z)
    curvature = -np.sin(Z) * Z**2 + 4.0 * Z * np.cos(Z) + 2.0 * np.sin(Z)
    z = gd.constant(Z)
    np.testing.assert_allclose(mode(gd.grad(f, holomorphic=True))(z), slope, rtol=1e-12)
    np.testing.assert_allclose(mode(gd.grad(f))(z), np.conj(slope), rtol=1e-12)
    np.testing.assert_allclose(mode(gd.hessian(f, holomorphic=True))(z), np.diag(curvature), rtol=1e-12)
    for jacobian in (gd.jacrev, gd.jacfwd):
        found = mode(jacobian(lambda z: gd.sin(z) * z[0], holomorphic=True))(z)
        expected = np.diag(np.cos(Z) * Z[0])
        expected[:, 0] += np.sin(Z)
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_integers_beside_floats_have_none_in_their_place(mode):
    def f(p: Any, scale: Any) -> Any:
        return scale * gd.reduce_sum(p["w"] * gd.cast(p["n"], gd.float32))

    p = {"w": gd.constant([1.0, 2.0]), "n": gd.constant([3, 4])}
    slopes, by_scale = mode(gd.grad(f, (0, 1), allow_int=True))(p, gd.constant(2.0))
    np.testing.assert_array_equal(slopes["w"], [6.0, 8.0])
    assert slopes["n"] is None
    np.testing.assert_array_equal(by_scale, 11.0)
    rows = mode(gd.jacrev(lambda n, x: x * gd.cast(n, x.dtype), (0, 1), allow_int=True))(
        p["n"], gd.constant([1.0, 2.0])
    )
    assert rows[0] is None
    np.testing.assert_array_equal(rows[1], [[3.0, 0.0], [0.0, 4.0]])


def test_what_is_not_complex_is_refused_as_holomorphic():
    with pytest.raises(TypeError, match="argument 0 has dtype float32; with holomorphic=True"):
        gd.grad(lambda x: x * x, holomorphic=True)(2.0)
    with pytest.raises(TypeError, match="returned float64; with holomorphic=True"):
        gd.grad(lambda z: gd.math.real(z * z), holomorphic=True)(gd.constant(1j))
    with pytest.raises(TypeError, match="int32, which has no derivatives"):
        gd.grad(lambda n: gd.cast(n, gd.float32) * 2.0)(3)


@pytest.mark.parametrize(
    "way", ["grad", "hessian", "jacrev", "jacfwd", "hvp", "jvp", "vjp", "linearize", "vmap", "checkpoint"]
)
def test_the_control_flow_of_the_function_is_converted_in_a_traced_one(way: str) -> None:
    def f(x: Any) -> Any:
        for _ in gd.range(2):
            if gd.reduce_sum(x) > 4.0:
                x = x * 0.5
            else:
                x = x * x
        return gd.reduce_sum(x)

    calls: dict[str, Any] = {
        "hvp": lambda x: gd.hvp(f, (x,), (x,)),
        "jvp": lambda x: gd.jvp(f, (x,), (x,))[1],
        "vjp": lambda x: gd.vjp(f, x)[1](1.0)[0],
        "linearize": lambda x: gd.linearize(f, x)[1](x),
        "vmap": gd.vmap(f),
    }
    call = calls.get(way) or getattr(gd, way)(f)
    x = gd.constant([[1.0, 2.0], [-1.0, 3.0]])
    np.testing.assert_allclose(gd.function(call)(x), call(x), rtol=1e-6)
