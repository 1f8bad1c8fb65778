"""Tracing from several threads: one at a time for each function, and nobody waits for himself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.turns import Turn
from graphad.function import polymorphic

WAIT = 120.0  # until a hang counts as one


def run(*works: Callable[[], Any]) -> list[Any]:
    """What functions return that run in threads at once."""
    found: list[Any] = [None] * len(works)

    def work(k: int) -> None:
        try:
            found[k] = works[k]()
        except BaseException as error:
            found[k] = error

    threads = [threading.Thread(target=work, args=(k,), daemon=True) for k in range(len(works))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive(), "the threads wait for each other"
    for value in found:
        if isinstance(value, BaseException):
            raise value
    return found


def test_a_traced_function_may_start_a_thread_that_traces_and_wait_for_it() -> None:
    @tf.function
    def inner(x: tf.Tensor) -> tf.Tensor:
        return x * 3.0

    found = []

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        found.extend(run(lambda: inner(tf.constant(2.0))))
        return x + 1.0

    assert float(run(lambda: outer(tf.constant(1.0)))[0]) == 2.0
    assert float(found[0]) == 6.0


def test_a_rule_may_start_a_thread_that_differentiates_and_wait_for_it() -> None:
    @tf.function
    def other(x: tf.Tensor) -> tf.Tensor:
        return x * x

    def slope() -> float:
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = other(x)
        return float(tape.gradient(y, x))

    found = []

    @tf.custom_gradient
    def strange(x: tf.Tensor) -> Any:
        def grad(dy: tf.Tensor) -> tf.Tensor:
            found.extend(run(slope))
            return dy * 5.0

        return x * 1.0, grad

    @tf.function
    def outer(x: tf.Tensor) -> tf.Tensor:
        return strange(x) + 1.0

    def work() -> float:
        x = tf.constant(1.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = outer(x)
        return float(tape.gradient(y, x))

    assert run(work) == [5.0]
    assert found and set(found) == {6.0}


def test_two_threads_may_trace_functions_that_call_each_other() -> None:
    meet = threading.Barrier(2)

    def step(x: tf.Tensor, n: int, other: Any) -> tf.Tensor:
        if n == 2:
            meet.wait(WAIT)  # both are being traced, and each is about to call the other
        return x if n == 0 else other(x, n - 1) + 1.0

    @tf.function
    def left(x: tf.Tensor, n: int) -> tf.Tensor:
        return step(x * 2.0, n, right)

    @tf.function
    def right(x: tf.Tensor, n: int) -> tf.Tensor:
        return step(x * 10.0, n, left)

    x = tf.constant(1.0)
    found = run(lambda: left(x, 2), lambda: right(x, 2))
    assert [float(y) for y in found] == [42.0, 202.0]


def test_threads_that_call_a_new_function_at_once_trace_it_once() -> None:
    made, started = [], threading.Barrier(8)

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        if not made:
            made.append(tf.Variable(2.0))
        return x * made[0]

    def work() -> float:
        started.wait(WAIT)
        return float(f(tf.constant(4.0)))

    assert run(*[work] * 8) == [8.0] * 8
    # twice: the first trace made the variable
    assert f.experimental_get_tracing_count() == 2 and len(f.concrete_functions) == 1


def test_a_turn_is_had_by_one_thread_at_a_time_and_again_by_the_same() -> None:
    turn, inside, most = Turn(), [0], [0]

    def work() -> None:
        for _ in range(200):
            with turn, turn:
                inside[0] += 1
                most[0] = max(most[0], inside[0])
                inside[0] -= 1

    run(*[work] * 4)
    assert most == [1]
    assert turn._owner is None


def test_an_error_while_tracing_gives_the_turn_back() -> None:
    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        raise ValueError("on purpose")

    for _ in range(2):
        with pytest.raises(ValueError, match="on purpose"):
            run(lambda: f(tf.constant(1.0)))


def test_recursion_with_a_python_number_that_changes_ends() -> None:
    @tf.function
    def factorial(x: tf.Tensor, n: int) -> tf.Tensor:
        return x if n <= 1 else n * factorial(x, n - 1)

    assert float(factorial(tf.constant(1.0), 6)) == 720.0


def test_recursion_that_only_a_tensor_would_end_is_refused_with_its_cure() -> None:
    @tf.function
    def forever(x: tf.Tensor) -> tf.Tensor:
        return forever(x - 1.0)

    with pytest.raises(tf.errors.EndlessRecursionError, match=r"forever: it calls itself .* tf.while_loop"):
        forever(tf.constant(3.0))
    assert not forever._open
    assert polymorphic.DEEPEST > 8


def test_the_same_arguments_may_recur_until_python_says_stop() -> None:
    left = [5]

    @tf.function
    def f(x: tf.Tensor) -> tf.Tensor:
        left[0] -= 1
        return x * 2.0 if left[0] < 0 else f(x) * 2.0

    np.testing.assert_array_equal(f(tf.constant(1.0)), 64.0)
