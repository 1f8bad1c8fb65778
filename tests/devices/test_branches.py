"""A cond is a row of a plan's native call: the host reads the predicate's byte and walks one of two tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.devices import fake_driver
from tests.devices.test_indexed import agree, has_steps_in_python
from tests.devices.test_plans import plans_of, there

X = np.random.default_rng(2).normal(size=(5, 3)).astype(np.float32)


def gradient_of(f: Any) -> Any:
    def both(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(f(x))
        return y, tape.gradient(y, x)

    return both


def chosen(x: Any) -> Any:
    return tf.cond(tf.reduce_sum(x) > 0.0, lambda: tf.exp(x) * x, lambda: x[::-1] - 1.0)


def nested(x: Any) -> Any:
    total = tf.reduce_sum(x)
    return tf.cond(
        total > 0.0,
        lambda: tf.cond(total > 100.0, lambda: x * 3.0, lambda: tf.cumsum(x)),
        lambda: x @ tf.transpose(x) @ x,
    )


def rounds(x: Any) -> Any:
    def step(h: Any, row: Any) -> Any:
        return tf.cond(tf.reduce_sum(h) > 0.0, lambda: tf.tanh(h - row), lambda: h + row * row)

    return tf.scan(step, x, initializer=tf.zeros([3]))


@pytest.mark.parametrize("function", [chosen, nested, rounds], ids=lambda f: f.__name__)
@pytest.mark.parametrize("sign", [1.0, -1.0, 100.0])
def test_a_branch_and_its_gradient_are_one_native_call(function: Any, sign: float) -> None:
    f = tf.function(gradient_of(function), jit_compile=True)
    x = np.abs(X) * np.float32(sign)
    want, given = f(tf.constant(x)), there(x)
    for _ in range(4):
        agree(f(given), want, 2e-5)
    (bound,) = plans_of(f.get_concrete_function(given))
    assert not has_steps_in_python(bound)


def test_only_the_branch_that_is_chosen_runs() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, ids: Any) -> Any:
        return tf.cond(x[0, 0] > 0.0, lambda: tf.gather(x, ids) * 2.0, lambda: x[:2])

    x, good, bad = np.abs(X), np.array([4, 0], np.int32), np.array([5, 0], np.int32)
    agree(f(there(x), there(good)), f(tf.constant(x), tf.constant(good)))
    agree(f(there(-x), there(bad)), tf.constant(-x[:2]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
        f(there(x), there(bad))
    agree(f(there(-x), there(bad)), tf.constant(-x[:2]))
    fake_driver.launches.clear()
    f(there(-x), there(good))
    few = len(fake_driver.launches)
    fake_driver.launches.clear()
    f(there(x), there(good))
    assert len(fake_driver.launches) > few


def test_late_streams_give_the_same(late_streams: Any) -> None:
    f = tf.function(chosen, jit_compile=True)
    for x in (X, -X, np.abs(X)):
        agree(f(there(x)), f(tf.constant(x)), 2e-5)
