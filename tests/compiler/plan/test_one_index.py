"""An index that only the run knows is a lookup or an update within the native call, in rounds of loops too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain
from tests.compiler.plan.test_calls import is_native

_rng = np.random.default_rng(31)


def agrees(function: Any, *given: Any) -> Any:
    f = tf.function(function, jit_compile=True)
    for _ in range(2):
        wants, found = tf.nest.flatten(function(*given)), tf.nest.flatten(f(*given))
        for want, got in zip(wants, found, strict=True):
            assert got.dtype == want.dtype and got.numpy().tobytes() == want.numpy().tobytes()
    return f


@pytest.mark.parametrize("index", [0, 3, -1, -4])
@pytest.mark.parametrize("dtype", [tf.float32, tf.int64, tf.bool, tf.complex64, tf.bfloat16])
def test_a_slice_at_one_index_is_a_step_of_the_native_call(index: int, dtype: Any) -> None:
    x = tf.cast(tf.constant(_rng.integers(0, 9, (4, 5, 4))), dtype)

    def f(x: Any, i: Any) -> Any:
        return x[i], x[:, i], x[..., i], tf.concat([x, x], 0)

    for i in (tf.constant(index), tf.constant(index, tf.int64)):
        compiled = agrees(f, x, i)
        assert "host" not in explain(compiled)(x, i).units


def test_an_index_outside_is_the_op_s_error_on_every_tier() -> None:
    x = tf.ones([4, 3])
    for jit in (False, True):
        f = tf.function(lambda x, i: x[i] * 2.0, jit_compile=jit)
        assert f(x, tf.constant(-4)).shape == (3,)
        for i in (4, -5, 2**31 - 1, -(2**31)):
            with pytest.raises(tf.errors.OutOfRangeError, match=f"index {i} of dimension 0"):
                f(x, tf.constant(i))


def test_rounds_look_up_and_write_slices_at_places_that_they_compute() -> None:
    def f(x: Any, n: Any) -> Any:
        def step(i: Any, k: Any, x: Any) -> Any:
            row = x[k] * 0.5 + x[-k - 1]
            k = tf.cast(tf.abs(row[0]) * 97.0, tf.int32) % 6
            return i + 1, k, x.at[k].set(row)

        return tf.while_loop(lambda i, *_: i < n, step, (tf.constant(0), tf.constant(2), x))

    x, n = tf.constant(_rng.normal(size=(6, 3))), tf.constant(11)
    assert is_native(agrees(f, x, n), x, n)


def test_rounds_call_what_takes_several_indices() -> None:
    def f(x: Any, n: Any) -> Any:
        def step(i: Any, k: Any, total: Any) -> Any:
            part = x[k, k % 3] + tf.slice(x[1], [k % 2], [2])[1]
            k = (k * 5 + 1) % 6
            return i + 1, k, total * 0.5 + part * tf.sin(total) - 0.25

        return tf.while_loop(lambda i, *_: i < n, step, (tf.constant(0), tf.constant(2), x[0, 0]))

    x, n = tf.constant(_rng.normal(size=(6, 3))), tf.constant(11)
    compiled = tf.function(f, jit_compile=True)
    for want, got in zip(f(x, n), compiled(x, n), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-14)
    assert is_native(compiled, x, n), explain(compiled)(x, n).units


def test_the_derivative_of_a_lookup_at_a_computed_place() -> None:
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            k, total = tf.constant(2), tf.constant(0.0, tf.float64)
            for _ in tf.range(7):
                total = tf.tanh(total + tf.reduce_sum(x[k] * x[k]))
                k = (k * 5 + 1) % 6
        return tape.gradient(total, x)

    x = tf.constant(_rng.normal(size=(6, 3)) * 0.3)
    compiled = tf.function(f, jit_compile=True)
    np.testing.assert_allclose(compiled(x).numpy(), f(x).numpy(), rtol=1e-13)


def test_a_lookup_in_a_table_of_unknown_size() -> None:
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 2]), tf.TensorSpec([], tf.int32)])
    def f(x: Any, i: Any) -> Any:
        return x[i] + 1.0

    for n in (3, 5):
        x = tf.constant(_rng.normal(size=(n, 2)).astype(np.float32))
        assert (f(x, tf.constant(n - 1)).numpy() == x.numpy()[-1] + 1).all()
        with pytest.raises(tf.errors.OutOfRangeError, match=f"the size is {n}"):
            f(x, tf.constant(n))
    assert "host" not in explain(f)(tf.ones([4, 2]), tf.constant(1)).units
