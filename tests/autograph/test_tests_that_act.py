"""A test of `while` that draws or assigns does so once before each round and once at the end, as Python's does."""

from __future__ import annotations

from typing import Any

import pytest

import graphad as tf


def agrees(make: Any, *given: Any) -> None:
    """The same values and the same state afterwards, in two calls of the eager, the traced and the compiled function."""
    found: list[Any] = []
    for way in (lambda f: f, tf.function, lambda f: tf.function(f, jit_compile=True)):
        g, v = tf.random.Generator.from_seed(1), tf.Variable(0)
        f = way(make(g, v))
        calls = []
        for _ in range(2):
            values = [tf.convert_to_tensor(y).numpy().tolist() for y in tf.nest.flatten(f(*given))]
            calls.append((values, g.state.numpy().tolist(), int(v.numpy())))
        found.append(calls)
    assert found[1] == found[0] and found[2] == found[0]


def test_a_test_draws() -> None:
    def make(g: Any, v: Any) -> Any:
        def f(x: Any) -> Any:
            while g.uniform([]) < 0.9:
                x = x + g.normal([2])
            return x

        return f

    agrees(make, tf.zeros([2]))


def test_a_test_assigns() -> None:
    v = tf.Variable(0)

    @tf.function
    def f(x: Any) -> Any:
        while v.assign_add(1) < 4:
            x = x + 1
        return x

    assert int(f(tf.constant(0))) == 3 and int(v.numpy()) == 4


def test_a_part_of_a_test_acts_and_names_its_value() -> None:
    def make(g: Any, v: Any) -> Any:
        def f(x: Any) -> Any:
            n = y = 0
            while n < 3 and v.assign_add(1) < 40 and g.uniform([]) < 0.9:
                x = x + g.uniform([])
                n = n + 1
            while (y := v.assign_add(2)) < 20 + n:
                x = x + tf.cast(y, tf.float32)
            return x, n, y

        return f

    agrees(make, tf.constant(0.0))


def test_loops_with_break_continue_and_return() -> None:
    def make(g: Any, v: Any) -> Any:
        def f(x: Any) -> Any:
            while v.assign_add(1) < 30:
                x = x + g.uniform([])
                if x > 2.5:
                    continue
                while g.uniform([]) < 0.5:
                    x = x + 0.25
                    if x > 7.0:
                        return x
                    if x > 6.0:
                        break
                else:
                    x = x + 0.125
            return x

        return f

    agrees(make, tf.constant(0.0))


def test_the_gradient_of_a_loop_whose_test_draws() -> None:
    def make(g: Any, v: Any) -> Any:
        def f(x: Any) -> Any:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = x
                while tf.reduce_sum(y * g.uniform([2])) < 3.0:
                    y = y * 1.5 + x
                loss = tf.reduce_sum(y)
            return y, tape.gradient(loss, x)

        return f

    agrees(make, tf.constant([0.25, 0.5]))


def test_a_check_in_a_step_leaves_what_tests_have_assigned() -> None:
    v = tf.Variable(0)

    @tf.function
    def f(x: Any) -> Any:
        while v.assign_add(1) < 10:
            tf.debugging.assert_less(v, 3)
            x = x + 1
        return x

    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant(0))
    assert int(v.numpy()) == 3


def test_rows_that_are_vectorized() -> None:
    """The first test is made once for all rows; then each row makes its own."""
    v = tf.Variable(0)

    def f(x: Any) -> Any:
        while tf.cast(v.assign_add(1), tf.float32) + 0.0 * x < 4.0:
            x = x + 1.0
        return x

    x = tf.zeros([3])
    for run in (lambda: tf.vectorized_map(f, x), lambda: tf.function(tf.vectorized_map)(f, x)):
        v.assign(0)
        assert run().numpy().tolist() == [3.0, 1.0, 1.0] and int(v.numpy()) == 6
