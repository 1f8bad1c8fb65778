"""One matrix with a stack of right-hand sides: native code with the bits of eager code, in which all share one factorisation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.compiler.plan.test_measured import in_python

_rng = np.random.default_rng(4)
A = _rng.normal(size=(6, 6)) + 4 * np.eye(6)
SOLVERS: dict[str, Callable[..., Any]] = {
    "solve": tf.linalg.solve,
    "adjoint": lambda a, b: tf.linalg.solve(a, b, adjoint=True),
    "lower": tf.linalg.triangular_solve,
    "upper": lambda a, b: tf.linalg.triangular_solve(a, b, lower=False, adjoint=True),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SOLVERS)
def test_values_and_gradients(name: str, dtype: Any) -> None:
    f = SOLVERS[name]

    def slopes(a: Any, b: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch((a, b))
            y = tf.reduce_sum(tf.sin(f(a, b)))
        return tape.gradient(y, (a, b))

    compiled, derived = tf.function(f, jit_compile=True), tf.function(slopes, jit_compile=True)
    for lead in ((5,), (2, 3), (1,), (0,), (2, 0)):
        for k in (1, 2):
            a, b = (tf.constant(x.astype(dtype)) for x in (A, _rng.normal(size=(*lead, 6, k))))
            np.testing.assert_array_equal(compiled(a, b).numpy(), f(a, b).numpy())
            for found, want in zip(derived(a, b), slopes(a, b), strict=True):
                np.testing.assert_allclose(found.numpy(), want.numpy(), 1e-4, 1e-5)
            if 0 not in lead:
                assert not in_python(compiled, a, b)
    a, b = tf.constant(np.zeros((6, 6), dtype)), tf.constant(np.ones((5, 6, 2), dtype))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        compiled(a, b)


def test_as_many_right_hand_sides_as_the_run_finds() -> None:
    f = tf.function(lambda a, b, m: tf.linalg.solve(a, tf.boolean_mask(b, m)) * 2, jit_compile=True)
    b = _rng.normal(size=(9, 6, 2))
    for count in (4, 0, 9, 1):
        m = np.arange(9) < count
        found = f(*map(tf.constant, (A, b, m))).numpy()
        np.testing.assert_allclose(found, 2 * np.linalg.solve(A[None], b[m]), 1e-9)
    assert not in_python(f, *map(tf.constant, (A, b, m)))


@pytest.mark.parametrize("adjoint", [False, True])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_systems(dtype: Any, adjoint: bool) -> None:
    def f(a: Any, b: Any) -> Any:
        return tf.linalg.solve(a, b, adjoint=adjoint)

    def slopes(a: Any, b: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch((a, b))
            x = f(a, b)
            y = tf.reduce_sum(tf.math.real(x * tf.math.conj(x)))
        return tape.gradient(y, (a, b))

    compiled, derived = tf.function(f, jit_compile=True), tf.function(slopes, jit_compile=True)
    for lead, own in (((5,), (5,)), ((), ()), ((4,), ()), ((2, 3), (2, 3)), ((0,), (0,)), ((3,), (1,))):
        for n, k in ((6, 2), (1, 1), (40, 3), (2, 0)):
            a = _rng.normal(size=(*own, n, n)) + 1j * _rng.normal(size=(*own, n, n)) + 4 * np.eye(n)
            b = _rng.normal(size=(*lead, n, k)) + 1j * _rng.normal(size=(*lead, n, k))
            given = tf.constant(a.astype(dtype)), tf.constant(b.astype(dtype))
            np.testing.assert_array_equal(compiled(*given).numpy(), f(*given).numpy())
            for found, want in zip(derived(*given), slopes(*given), strict=True):
                np.testing.assert_allclose(found.numpy(), want.numpy(), 1e-3, 1e-4)
            if 0 not in (*lead, k) and own != (1,):
                assert not in_python(compiled, *given)
    singular = tf.constant(np.ones((2, 3, 3), dtype)), tf.constant(np.ones((2, 3, 1), dtype))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        compiled(*singular)
    poor = np.ones((2, 3, 3), dtype) * np.nan
    with np.errstate(all="ignore"):
        want = f(tf.constant(poor), singular[1]).numpy()
    np.testing.assert_array_equal(compiled(tf.constant(poor), singular[1]).numpy(), want)
