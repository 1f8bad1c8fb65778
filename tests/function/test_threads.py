"""What threads add to a variable is never lost: eagerly, in slices, in compiled functions, and by functions inside functions."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.core.tensor import guard_of

ROUNDS = 2_000
WAIT = 600.0  # until a hang counts as one


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Threads take turns after every few steps of the interpreter."""
    import sys

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(*works: Callable[[], Any]) -> None:
    """Each work `ROUNDS` times, in a thread of its own; whatever one raises is raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(works))

    def run(work: Callable[[], Any]) -> None:
        start.wait()
        try:
            for _ in range(ROUNDS):
                work()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
    assert not failures, failures
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"


def test_nothing_that_is_added_eagerly_is_lost() -> None:
    v = tf.Variable(0.0)
    in_threads(lambda: v.assign_add(1.0), lambda: v.assign_add(1.0), lambda: v.assign_sub(1.0))
    assert v.numpy() == ROUNDS


def test_nothing_is_lost_while_tapes_record() -> None:
    v = tf.Variable(0.0)

    def work() -> None:
        with tf.GradientTape():
            v.assign_add(1.0)

    in_threads(work, work)
    assert v.numpy() == 2 * ROUNDS


def test_slices_that_are_assigned_at_once_all_stay() -> None:
    v = tf.Variable(tf.zeros([2]))

    def adding(place: int) -> Callable[[], Any]:
        return lambda: v[place].assign(v[place] + 1.0)

    in_threads(adding(0), adding(1))
    np.testing.assert_array_equal(v.numpy(), ROUNDS)


@pytest.mark.parametrize("jit_compile", [False, None, True])
def test_nothing_that_compiled_functions_add_is_lost(jit_compile: bool | None) -> None:
    v = tf.Variable(tf.zeros([3]))

    @tf.function(jit_compile=jit_compile)
    def f(x: Any) -> Any:
        v.assign_add(x * 1.0)
        v.assign(v + x)
        return tf.reduce_sum(v)

    @tf.function(jit_compile=jit_compile)
    def with_host_step(x: Any) -> Any:
        v.assign(tf.sort(v) + x)

    one = tf.ones([3])
    f(one), with_host_step(one)
    v.assign(tf.zeros([3]))
    in_threads(lambda: f(one), lambda: with_host_step(one), lambda: v.assign_add(one))
    np.testing.assert_array_equal(v.numpy(), 4.0 * ROUNDS)


def test_nothing_is_lost_in_branches_and_loops() -> None:
    v = tf.Variable(0.0)

    @tf.function
    def f(x: Any) -> Any:
        tf.cond(x > 0.0, lambda: v.assign_add(x).value(), lambda: v.value())
        return tf.while_loop(
            lambda i: i < 2, lambda i: (i + tf.cast(v.assign_add(0.5) > -1.0, tf.int32),), [tf.constant(0)]
        )

    one = tf.constant(1.0)
    in_threads(lambda: f(one), lambda: f(one))
    assert v.numpy() == 4.0 * ROUNDS


def test_functions_that_call_each_other_crosswise_do_not_wait_for_each_other() -> None:
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    add_a = tf.function(lambda: a.assign_add(1.0))
    add_b = tf.function(lambda: b.assign_add(1.0))

    @tf.function
    def a_then_b() -> None:
        add_a()
        add_b()

    @tf.function
    def b_then_a() -> None:
        add_b()
        add_a()

    in_threads(a_then_b, b_then_a, add_a, lambda: b.assign_add(1.0))
    assert (a.numpy(), b.numpy()) == (3.0 * ROUNDS, 3.0 * ROUNDS)


def test_a_function_that_fails_gives_its_variables_back() -> None:
    v = tf.Variable(0.0)

    @tf.function
    def f(x: Any) -> None:
        v.assign_add(1.0)
        tf.debugging.Assert(x > 0.0, ["no"])

    def work() -> None:
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(tf.constant(-1.0))
        with pytest.raises(tf.errors.InvalidArgumentError):
            v.assign_add(tf.ones([2]))

    in_threads(work, work)
    assert v.numpy() == 2 * ROUNDS
    assert guard_of(v).acquire(blocking=False)
    guard_of(v).release()


def test_code_of_the_user_runs_without_guards() -> None:
    v = tf.Variable(0.0)
    inside, go_on = threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        inside.set()
        assert go_on.wait(WAIT)
        return x

    waiting = tf.function(lambda x: v.assign(tf.new_op("waits_for_others", wait)(x)))
    thread = threading.Thread(target=lambda: waiting(tf.constant(5.0)), daemon=True)
    thread.start()
    assert inside.wait(WAIT)
    v.assign_add(1.0)
    go_on.set()
    thread.join(WAIT)
    assert v.numpy() == 5.0


def test_draws_in_threads_are_all_different() -> None:
    generator = tf.random.Generator.from_seed(3)
    drawn: list[float] = []
    f = tf.function(lambda: generator.uniform([], dtype=tf.float64))
    in_threads(
        *[lambda: drawn.append(float(f()))] * 2,
        lambda: drawn.append(float(generator.uniform([], dtype=tf.float64))),
    )
    assert len(set(drawn)) == 3 * ROUNDS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_can_assign_what_another_thread_was_assigning() -> None:
    v = tf.Variable(0.0)
    holding, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        with guard_of(v):
            holding.set()
            go_on.wait(WAIT)

    thread = threading.Thread(target=hold, daemon=True)
    thread.start()
    assert holding.wait(WAIT)
    child = os.fork()
    if child == 0:
        try:
            v.assign_add(1.0)
            os._exit(0 if v.numpy() == 1.0 else 1)
        finally:
            os._exit(2)
    go_on.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
