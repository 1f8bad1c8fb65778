"""Loops that assign variables carry them, and are native: the same values, also where a round raises or nothing runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain

_rng = np.random.default_rng(41)
X = tf.constant(_rng.normal(size=(16, 4)))
Y = tf.constant(_rng.normal(size=(16, 1)))


def trained(w: Any, b: Any, n: Any) -> Any:
    loss = tf.constant(0.0, tf.float64)
    for _ in tf.range(n):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(X @ w + b) - Y) ** 2)
        for v, slope in zip([w, b], tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(0.1 * slope)
    return loss, w + 0.0


def branching(w: Any, b: Any, n: Any) -> Any:
    for i in tf.range(n):
        if tf.reduce_sum(w) > 0.3:
            w.assign(w * 0.5 - b[0])
            b.assign_add([0.25])
        else:
            w.assign_add(tf.sin(w) + 1.0)
        if i % 3 == 1:
            b.assign(b * b)
    return b + w


def nested(w: Any, b: Any, n: Any) -> Any:
    total = tf.constant(0.0, tf.float64)
    for i in tf.range(n):
        for _ in tf.range(3):
            w.assign(tf.tanh(w + b))
        total += tf.reduce_sum(w) * tf.cast(i, tf.float64)
        b.assign_sub([0.1])
    return total, w + b


def by_value(w: Any, b: Any, n: Any) -> Any:
    while tf.reduce_sum(b) < tf.cast(n, tf.float64):
        b.assign_add([1.5])
        w.assign(w + b)
    return b + 1.0


def variables() -> tuple[Any, Any]:
    return tf.Variable(np.linspace(-0.5, 0.7, 4).reshape(4, 1)), tf.Variable([0.125], dtype=tf.float64)


@pytest.mark.parametrize("n", [7, 0, 1])
@pytest.mark.parametrize("function", [trained, branching, nested, by_value])
def test_loops_that_assign_are_native_and_leave_the_same_values(function: Any, n: int) -> None:
    found = []
    for jit in (False, True):
        w, b = variables()
        f = tf.function(function, jit_compile=jit)
        values = [x.numpy() for _ in range(2) for x in tf.nest.flatten(f(w, b, tf.constant(n)))]
        found.append([*values, w.numpy(), b.numpy()])
        if jit:
            units = explain(f)(w, b, tf.constant(n)).units
            assert "repeat" in units and "host" not in units, units
    w, b = variables()
    f = tf.function(function, jit_compile=False)
    values = [x.numpy() for _ in range(2) for x in tf.nest.flatten(f(w, b, n))]  # rounds of a known number
    found.append([*values, w.numpy(), b.numpy()])
    for want, *others in zip(*found, strict=True):
        for got in others:
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-12)


def test_eager_calls_agree() -> None:
    for function in (trained, branching, nested, by_value):
        results = []
        for eager in (True, False):
            w, b = variables()
            tf.config.run_functions_eagerly(eager)
            try:
                y = tf.function(function, jit_compile=True)(w, b, tf.constant(5))
            finally:
                tf.config.run_functions_eagerly(False)
            results.append([x.numpy() for x in (*tf.nest.flatten(y), w, b)])
        for want, got in zip(*results, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("jit", [False, True])
def test_an_error_in_a_round_leaves_what_earlier_rounds_assigned(jit: bool) -> None:
    v = tf.Variable([0.0, 0.0])

    @tf.function(jit_compile=jit)
    def f(x: Any) -> None:
        for i in tf.range(6):
            v.assign_add(tf.gather(x, [i, i]))

    f(tf.ones([6]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="gather"):
        f(tf.ones([4]))
    assert v.numpy().tolist() == [10.0, 10.0]


@pytest.mark.parametrize("jit", [False, True])
def test_one_variable_given_twice_is_one_variable(jit: bool) -> None:
    v = tf.Variable(1.0)

    @tf.function(jit_compile=jit)
    def f(w: Any, n: Any) -> Any:
        total = tf.constant(0.0)
        for _ in tf.range(n):
            w.assign(w * 2.0)
            total += v
            v.assign_add(1.0)
        return total

    assert float(f(v, tf.constant(3))) == 2.0 + 6.0 + 14.0 and float(v) == 15.0


def test_a_variable_whose_shape_may_change_stays_with_the_op() -> None:
    v = tf.Variable(tf.ones([1]), shape=[None])

    @tf.function(jit_compile=True)
    def f(n: Any) -> None:
        for _ in tf.range(n):
            v.assign(tf.concat([v, v * 2.0], 0))

    f(tf.constant(2))
    assert v.numpy().tolist() == [1.0, 2.0, 2.0, 4.0]
