"""Factorisations are steps of a plan's native call, with the bits and the errors of the eager op on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln

import graphad as tf
from tests.devices import fake_driver
from tests.devices.test_plans import close, plans_of, there


@pytest.fixture(autouse=True)
def fresh() -> None:
    fake_driver.factorisations.clear()


def positive(n: int, dtype: Any = np.float32) -> Any:
    x = np.random.default_rng(n).normal(size=(n, n))
    return (x @ x.T + n * np.eye(n)).astype(dtype)


def has_steps_in_python(f: Any, *given: Any) -> bool:
    (bound,) = plans_of(f.get_concrete_function(*given))
    return any(unit.kind == "host" for unit in bound.partition.units)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [1, 2, 7])
def test_a_plan_factors_with_the_bits_of_the_eager_op(n: int, dtype: Any) -> None:
    f = tf.function(lambda x: tf.linalg.cholesky(x + 0.0) * 1.0, jit_compile=True)
    given = there(positive(n, dtype))
    for _ in range(4):
        assert f(given).numpy().tobytes() == tf.linalg.cholesky(given).numpy().tobytes()
    assert fake_driver.factorisations == [(n, np.dtype(dtype).name)] * 4
    assert not has_steps_in_python(f, given)


def test_views_unknown_sizes_and_no_elements() -> None:
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    def f(x: Any) -> Any:
        return tf.linalg.cholesky(tf.transpose(x)[:, :]) + 1.0

    for n in (3, 5, 0, 1):
        x = positive(n, np.float64)
        found = f(there(x))
        want = np.linalg.cholesky(x) + 1.0
        np.testing.assert_allclose(found.numpy(), want, rtol=1e-12)
    assert [n for n, _ in fake_driver.factorisations] == [3, 5, 1]


def test_a_matrix_without_a_factor_is_the_op_s_error_and_nan_its_result() -> None:
    f = tf.function(lambda x: tf.linalg.cholesky(x) * 2.0, jit_compile=True)
    close(f(there(positive(3))), np.linalg.cholesky(positive(3)) * 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cholesky: .*positive\s+definite"):
        f(there(-positive(3)))
    broken = positive(3)
    broken[1, 1] = np.nan
    assert np.isnan(f(there(broken)).numpy()[1:, 1]).all()
    close(f(there(positive(3))), np.linalg.cholesky(positive(3)) * 2)


def test_nothing_is_assigned_where_there_is_no_factor() -> None:
    with tf.device("cuda"):
        total = tf.Variable(tf.zeros([3, 3]))

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        y = tf.linalg.cholesky(x)
        total.assign_add(y)
        return tf.reduce_sum(y)

    f(there(positive(3)))
    before = total.numpy()
    assert fake_driver.factorisations
    with pytest.raises(tf.errors.InvalidArgumentError, match="cholesky"):
        f(there(-positive(3)))
    assert (total.numpy() == before).all()


def test_what_has_no_routine_stays_a_step_between_calls() -> None:
    stack = np.stack([positive(3), positive(3) * 2])
    f = tf.function(lambda x: tf.linalg.cholesky(x) * 2.0, jit_compile=True)
    close(f(there(stack)), np.linalg.cholesky(stack) * 2)
    wide = positive(3, np.complex128)
    np.testing.assert_allclose(f(there(wide)).numpy(), np.linalg.cholesky(wide) * 2)
    assert not fake_driver.factorisations


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("is_adjoint", [False, True])
def test_a_plan_solves_with_the_bits_of_the_eager_op(is_adjoint: bool, dtype: Any) -> None:
    numbers = np.random.default_rng(4)

    def solve(a: Any, b: Any) -> Any:
        return tf.linalg.solve(a + 0.0, tf.transpose(b), adjoint=is_adjoint) * 1.0

    f = tf.function(solve, jit_compile=True)
    for n, k in ((5, 3), (1, 1), (2, 7)):
        a, b = (
            there(numbers.normal(size=(n, n)).astype(dtype)),
            there(numbers.normal(size=(k, n)).astype(dtype)),
        )
        assert f(a, b).numpy().tobytes() == solve(a, b).numpy().tobytes()
        assert not has_steps_in_python(f, a, b)
    assert fake_driver.factorisations == [(n, np.dtype(dtype).name) for n in (5, 1, 2)]


def test_a_singular_matrix_is_the_op_s_error_and_no_columns_no_answer() -> None:
    f = tf.function(lambda a, b: tf.linalg.solve(a, b) + 0.0, jit_compile=True)
    b = np.ones((3, 2), np.float32)
    close(f(there(positive(3)), there(b)), np.linalg.solve(positive(3), b))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        f(there(np.ones((3, 3), np.float32)), there(b))
    assert f(there(positive(3)), there(b[:, :0])).shape == (3, 0)


def test_a_gradient_of_a_solution() -> None:
    def f(a: Any, b: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            y = tf.reduce_sum(tf.linalg.solve(a, b) ** 2)
        return [y, *tape.gradient(y, [a, b])]

    values = positive(4), np.random.default_rng(1).normal(size=(4, 2)).astype(np.float32)
    made = tf.function(f, jit_compile=True)
    for mine, other in zip(made(*map(there, values)), made(*map(tf.constant, values)), strict=True):
        close(mine, other.numpy())
    assert len(fake_driver.factorisations) == 2


def test_late_streams_give_the_same(late_streams: Any) -> None:
    f = tf.function(lambda x: tf.linalg.cholesky(x * 2.0) + 1.0, jit_compile=True)
    for n in (3, 5, 3, 3):
        close(f(there(positive(n))), np.linalg.cholesky(positive(n) * 2) + 1)


@pytest.mark.parametrize("waits", [True, False])
def test_an_assignment_between_calls_is_made_once(waits: bool) -> None:
    """It waits for a factorisation behind it, since a run without an answer is made again. Where a step in Python between them
    may raise it cannot wait, and the factorisation is such a step too."""
    with tf.device("cuda"):
        total = tf.Variable(tf.zeros([3]))

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        row = tf.math.lgamma(x[0] * 2.0)
        total.assign_add(row)
        return tf.linalg.cholesky(x + (total if waits else tf.math.lgamma(total)) * 0.0)

    x = positive(3)
    close(f(there(x)), np.linalg.cholesky(x))
    want = gammaln(x[0] * 2)
    close(total + 0.0, want)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cholesky"):
        f(there(-x))
    close(total + 0.0, want + gammaln(x[0] * -2))
    assert bool(fake_driver.factorisations) is waits


def test_a_gradient() -> None:
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(tf.linalg.cholesky(x))))
        return [y, tape.gradient(y, x)]

    x = positive(4)
    made = tf.function(f, jit_compile=True)
    want = made(tf.constant(x))
    for _ in range(4):
        for mine, other in zip(made(there(x)), want, strict=True):
            close(mine, other.numpy())
    assert fake_driver.factorisations


def test_rounds_of_a_loop_factor() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        for _ in tf.range(3):
            x = tf.linalg.cholesky(x) + 2.0 * tf.eye(3)
            x = x @ tf.transpose(x)
        return x

    x = positive(3)
    want = f(tf.constant(x))
    for _ in range(4):
        close(f(there(x)), want.numpy())
    assert len(fake_driver.factorisations) == 12
    assert not has_steps_in_python(f, there(x))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cholesky: .*positive\s+definite"):
        f(there(-x))
    close(f(there(x)), want.numpy())
