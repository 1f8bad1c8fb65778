"""Jacobians where only the run knows the shape of a value: results of branches, and slices of each step of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.arange(12, dtype=np.float32).reshape(4, 3) / 4
SIGNS = (1.0, -1.0, 2.0)


def either(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x), lambda: tf.cos(x)[:2])


def either_within(x: Any) -> Any:
    return tf.exp(tf.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * tf.cos(x), lambda: x[:2] ** 2)) * 2


def one_of_three(x: Any) -> Any:
    def positive() -> Any:
        return tf.cond(
            tf.reduce_max(x) > 3, lambda: tf.sin(x)[1:], lambda: tf.reshape(tf.cos(x[1:]), [-1, 1]) * x[0]
        )

    return tf.cond(tf.reduce_sum(x) > 0, positive, lambda: tf.cos(x)[:2])


def either_in_each_step(x: Any) -> Any:
    total = tf.zeros([])
    for i in tf.range(3):
        y = tf.cond(
            tf.cast(i - 1, tf.float32) * x[3, 2] > 0, lambda: tf.sin(x), lambda: tf.cos(x)[:2] * x[2:]
        )
        total += tf.reduce_sum(y * y)
    return total[None]


def less_in_each_step(x: Any) -> Any:
    total = tf.zeros([])
    for i in tf.range(3):
        y = tf.sin(x[i:])
        total += tf.reduce_sum(y * y)
    return total[None]


FUNCTIONS = (either, either_within, one_of_three, either_in_each_step, less_in_each_step)


def jacobian(f: Callable[[Any], Any], use_pfor: bool = True) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.jacobian(y, x, experimental_use_pfor=use_pfor)

    return of


def hessian(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def of(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                loss = tf.reduce_sum(f(x) ** 2)
            slope = tape.gradient(loss, x)
        return outer.jacobian(slope, x)

    return of


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", SIGNS)
def test_jacobians_and_hessians_are_those_of_eager_code(f: Callable[[Any], Any], sign: float) -> None:
    x = tf.constant(X * np.float32(sign))
    inner = tf.function(f)
    open_ = tf.function(f, input_signature=[tf.TensorSpec([None, 3])])
    want = jacobian(f)(x).numpy()
    for found in (
        tf.function(jacobian(f)),
        tf.function(jacobian(f), input_signature=[tf.TensorSpec([None, 3])]),
        tf.function(jacobian(f), jit_compile=True),
        tf.function(jacobian(f, False)),
        jacobian(inner),
        jacobian(open_),
        tf.function(jacobian(inner)),
    ):
        for _ in range(2):
            np.testing.assert_allclose(found(x).numpy(), want, rtol=1e-5, atol=1e-5, strict=True)
    want = hessian(f)(x).numpy()
    for found in (tf.function(hessian(f)), tf.function(hessian(f), jit_compile=True), hessian(inner)):
        np.testing.assert_allclose(found(x).numpy(), want, rtol=1e-4, atol=1e-4, strict=True)


def test_rows_that_share_a_predicate() -> None:
    def rows(x: Any) -> Any:
        holds = tf.reduce_sum(x) > 0
        one = lambda row: tf.reduce_sum(tf.cond(holds, lambda: tf.sin(row), lambda: tf.cos(row)[:2]) * 2)  # noqa: E731
        return tf.vectorized_map(one, tf.stack([x, x * 2]))

    for sign in SIGNS:
        x = tf.constant(X * np.float32(sign))
        np.testing.assert_allclose(tf.function(rows)(x).numpy(), rows(x).numpy(), rtol=1e-5)
