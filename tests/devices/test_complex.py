"""Complex numbers in plans are kernels of their parts and products of cuBLAS: what NumPy gives, without a step in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.cuda import captures
from tests.devices.test_indexed import has_steps_in_python
from tests.devices.test_plans import plans_of, there

RNG = np.random.default_rng(4)


def numbers(*shape: int, seed: int = 0) -> Any:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


X, Y, ROW = numbers(3, 4), numbers(3, 4, seed=1), numbers(4, seed=2)
INF, NAN = np.inf, np.nan

CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "sums and products": (lambda x, y: x * y + x - y, [X, Y]),
    "broadcast": (lambda x, y: x * y - tf.reshape(x[:, 0], [3, 1]), [X, ROW]),
    "quotients": (lambda x, y: [x / y, 1.0 / x], [X, Y]),
    "signs and squares": (lambda x: [-x, tf.math.conj(x), tf.square(x)], [X]),
    "parts": (
        lambda x: [tf.math.real(x), tf.math.imag(x), tf.abs(x), tf.complex(tf.abs(x), tf.math.real(x))],
        [X],
    ),
    "exponentials": (lambda x: tf.exp(x), [X]),
    "comparisons": (
        lambda x, y: [tf.equal(x, y), tf.not_equal(x, y)],
        [X, np.where(RNG.random((3, 4)) > 0.5, X, Y)],
    ),
    "choices": (lambda x, y: tf.where(tf.abs(x) > tf.abs(y), x, y), [X, Y]),
    "sums of rows, of columns and of all": (
        lambda x: [tf.reduce_sum(x, 1), tf.reduce_sum(x, 0, keepdims=True), tf.reduce_sum(x)],
        [X],
    ),
    "means": (lambda x: tf.reduce_mean(x, 0), [X]),
    "products of matrices": (
        lambda x, y: [tf.matmul(x, y, transpose_b=True), tf.matmul(x, y, adjoint_a=True)],
        [X, Y],
    ),
    "stacks of products": (lambda x: x @ tf.linalg.adjoint(x), [numbers(2, 3, 4)]),
    "margins that are no zeros": (lambda x: tf.pad(x, [[1, 2], [0, 1]], constant_values=3.0 - 2.0j), [X]),
    "joined and cut": (lambda x, y: tf.concat([x[1:], y[:, ::-1]], 0) * 1j, [X, Y]),
    "nothing": (lambda x: [tf.reduce_sum(x, 0), x * x, tf.reduce_sum(x, 1)], [np.zeros((0, 3), complex)]),
    "one number": (lambda x: [x * x, tf.reduce_sum(x), 1.0 / x], [np.array(0.5 - 2j)]),
}


WIDE = [
    "quotients",
    "margins that are no zeros",
    "products of matrices",
    "sums of rows, of columns and of all",
]


@pytest.mark.parametrize(
    ("name", "dtype"), [*[(name, np.complex64) for name in CASES], *[(name, np.complex128) for name in WIDE]]
)
def test_plans_of_complex_numbers(name: str, dtype: Any) -> None:
    function, given = CASES[name]
    given = [x.astype(dtype) for x in given]

    @tf.function(jit_compile=True)
    def f(*xs: Any) -> Any:
        return function(*xs)

    want = f(*map(tf.constant, given))
    found = f(*map(there, given))
    assert not any(map(has_steps_in_python, plans_of(f.concrete_functions[0])))
    for y, z in zip(tf.nest.flatten(found), tf.nest.flatten(want), strict=True):
        assert y.location == "cuda:0" and y.dtype == z.dtype and y.shape == z.shape
        np.testing.assert_allclose(y, z, rtol=3e-6 if dtype is np.complex64 else 1e-13, atol=1e-6)


@pytest.mark.parametrize("name", ["quotients", "products of matrices", "parts"])
def test_gradients_of_complex_numbers(name: str) -> None:
    function, given = CASES[name]

    @tf.function(jit_compile=True)
    def f(*xs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            total = sum(tf.reduce_sum(tf.abs(y) ** 2) for y in tf.nest.flatten(function(*xs)))
        return tape.gradient(total, xs)

    found = f(*map(there, given))
    assert not any(map(has_steps_in_python, plans_of(f.concrete_functions[0])))
    for y, z in zip(found, f(*map(tf.constant, given)), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-11)


def test_sums_of_many_are_cut_into_parts_with_the_same_bits() -> None:
    x = numbers(2, 5_000).astype(np.complex64)
    f = tf.function(lambda x: [tf.reduce_sum(x, 1), tf.reduce_sum(x)], jit_compile=True)
    first, second = f(there(x)), f(there(x))
    for y, z, axis in zip(first, second, (1, None), strict=True):
        np.testing.assert_array_equal(y, z)
        np.testing.assert_allclose(y, np.sum(x.astype(complex), axis), rtol=1e-5)


def test_edges_of_quotients_and_exponentials_are_numpys() -> None:
    edges = [0.0, -2.0, INF, NAN, 1e300]
    x = np.array([complex(a, b) for a in edges for b in edges])
    a, b = (z.ravel() for z in np.meshgrid(x, x))
    divide = tf.function(lambda x, y: x / y, jit_compile=True)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(divide(there(a), there(b)), a / b)
        y = np.array(
            [complex(p, q) for p in (0.0, -3.0, 709.5, 710.0, -800.0, INF, -INF) for q in (0.0, 1.5, -2.0)]
        )
        want = np.exp(y)
    found = tf.function(tf.exp, jit_compile=True)(there(y)).numpy()
    np.testing.assert_allclose(found.real, want.real, rtol=1e-12)
    np.testing.assert_allclose(found.imag, want.imag, rtol=1e-12)
    y = np.array([88.9 + 1.57j, 89.5 - 1.569j])  # e^88.9 is no number of float32
    found = tf.function(tf.exp, jit_compile=True)(there(y.astype(np.complex64))).numpy()
    want = np.exp(y.astype(np.complex64).astype(complex))
    np.testing.assert_allclose(found.real, want.real, rtol=1e-5)
    assert np.isinf(found.imag).all()


def test_a_loop_of_complex_numbers_is_part_of_a_graph() -> None:
    @tf.function(jit_compile=True)
    def f(c: Any) -> Any:
        z = tf.zeros_like(c)
        for _ in tf.range(12):
            z = tf.where(tf.abs(z) < 2.0, z * z + c, z)
        return z

    c = (0.4 * X).astype(np.complex64)
    want = f(tf.constant(c))
    for _ in range(captures.SEEN + 1):
        np.testing.assert_allclose(f(there(c)), want, rtol=1e-4)
    assert not any(map(has_steps_in_python, plans_of(f.concrete_functions[0])))
