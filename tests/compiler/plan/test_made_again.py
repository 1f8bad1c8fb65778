"""Loops that check, look up or draw carry variables: native, and after an error each variable is as eager code leaves it."""

from __future__ import annotations

import functools
import signal
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain

X = tf.constant(np.linspace(-1.0, 2.0, 12).reshape(6, 2))


class State:
    """Two variables and a generator, each time with the same values."""

    def __init__(self) -> None:
        self.v = tf.Variable([0.5, -0.25], dtype=tf.float64)
        self.w = tf.Variable(tf.zeros([3], tf.float64))
        self.random = tf.random.Generator.from_seed(7)

    def seen(self) -> list[bytes]:
        return [x.numpy().tobytes() for x in (self.v, self.w, self.random.state)]


def checks(s: State, n: Any, most: Any) -> Any:
    total = tf.constant(0.0, tf.float64)
    for i in tf.range(n):
        s.v.assign(s.v * 1.25 + 0.5)
        tf.debugging.assert_less(s.v, most, message="too large")
        s.w.assign_add([1.0, 2.0, 3.0])
        total += tf.reduce_sum(s.v) * tf.cast(i, tf.float64)
    return total


def looks_up(s: State, n: Any, most: Any) -> Any:
    total = tf.constant(0.0, tf.float64)
    for i in tf.range(n):
        row = tf.gather(X, i + tf.cast(most * 0.0, tf.int32))
        s.v.assign_sub(row)
        total += tf.reduce_sum(row * s.v)
    return total


def draws(s: State, n: Any, most: Any) -> Any:
    total = tf.constant(0.0, tf.float64)
    for _ in tf.range(n):
        k = s.random.uniform([2], 0, 6, tf.int32)
        s.v.assign_add(tf.reduce_sum(tf.gather(X, k), 0) + s.random.normal([2], dtype=tf.float64))
        tf.debugging.assert_less(s.v, most)
        s.w.assign_add([1.0, 0.0, 0.0])
        total += s.v[0]
    return total


def branches(s: State, n: Any, most: Any) -> Any:
    i = tf.constant(0)
    while i < n:
        if i % 2 == 0:
            s.v.assign(s.v + 0.75)
            tf.debugging.assert_less(s.v, most)
        else:
            for _ in tf.range(i):
                s.w.assign_add([0.5, 0.5, 1.0])
                tf.debugging.assert_less(s.w[2], most)
        i += 1
    return s.v[0] + s.w[0]


def solves(s: State, n: Any, most: Any) -> Any:
    for _ in tf.range(n):
        s.v.assign_add([0.5, 0.5])
        a = tf.linalg.diag(most - s.v)
        s.w.assign(tf.concat([tf.linalg.cholesky(a)[0], [0.0]], 0))
    return s.w[0]


def in_turn(s: State, n: Any, most: Any) -> Any:
    for _ in tf.range(n):
        s.v.assign(tf.sin(s.v) + 1.0)
        tf.debugging.assert_less(s.v, 10.0)
    s.w.assign_add([1.0, 1.0, 1.0])
    for _ in tf.range(n):
        s.w.assign(s.w + s.v[0])
        tf.debugging.assert_less(s.w, most)
    return s.v[0]


def of_one_branch(s: State, n: Any, most: Any) -> Any:
    if n > 2:
        s.v.assign_add([1.0, 1.0])
        tf.debugging.assert_less(s.v, most)
        s.w.assign(tf.gather(tf.constant([[1.0, 2.0, 3.0]] * 8, tf.float64), n))
    return s.v + s.w[:2]


ALL = (checks, looks_up, draws, branches, solves, in_turn, of_one_branch)
FAILING = {  # what makes a later round raise
    checks: (9, 2.5),
    looks_up: (9, 1.0),
    draws: (40, 3.0),
    branches: (9, 2.0),
    solves: (9, 2.25),
    in_turn: (9, 6.0),
    of_one_branch: (9, 1e3),
}


def outcome(call: Any, s: State) -> tuple[Any, ...]:
    try:
        y = call()
    except Exception as error:  # whatever the eager function raises
        return type(error), str(error), s.seen()
    return tuple([x.numpy().tobytes() for x in tf.nest.flatten(y)]), s.seen()


@pytest.mark.parametrize("function", ALL)
def test_values_state_and_errors_are_those_of_eager_code(function: Any) -> None:
    n, most = FAILING[function]
    given = [
        (tf.constant(k), tf.constant(m, tf.float64)) for k, m in ((4, 1e3), (0, 1e3), (n, most), (1, 1e3))
    ]
    states, found = [State() for _ in range(3)], []
    native = tf.function(lambda *a: function(states[1], *a), jit_compile=True)
    by_numpy = tf.function(lambda *a: function(states[2], *a), jit_compile=False)
    for each in given * 2:
        calls = (functools.partial(function, states[0]), native, by_numpy)
        found.append([outcome(functools.partial(f, *each), s) for f, s in zip(calls, states, strict=True)])
    for want, *others in found:
        for got in others:
            assert len(got) == len(want)
            if len(want) == 3:
                assert got == want
            for mine, theirs in zip(got[-1], want[-1], strict=True):
                kind = np.int64 if mine == got[-1][-1] else np.float64
                np.testing.assert_allclose(np.frombuffer(mine, kind), np.frombuffer(theirs, kind), rtol=1e-13)
    assert any(len(want) == 3 for want, *_ in found) and any(len(want) == 2 for want, *_ in found)
    kinds = explain(native)(*given[0]).units
    assert ("repeat" in kinds or "branch" in kinds) and not any(
        f"host: {name}" in kinds for name in ("loop", "cond", "assert")
    ), kinds


def test_a_call_in_a_round_that_raises_leaves_what_earlier_rounds_assigned() -> None:
    v = tf.Variable(tf.zeros([2, 2], tf.float64))

    @tf.function(jit_compile=True)
    def f(n: Any) -> Any:
        total = tf.constant(0.0, tf.float64)
        for i in tf.range(n):
            v.assign_add([[1.0, 0.5], [0.25, 2.0]])
            y = tf.exp(v) + tf.cast(6 // (3 - i), tf.float64)
            z = tf.tanh(y) * 2.0 + tf.sin(y) - tf.reduce_max(y) * tf.cos(v)
            total += tf.reduce_sum(z)
        return total

    f(tf.constant(2))
    assert "repeat" in explain(f)(tf.constant(2)).units
    for k in (1, 2):
        with pytest.raises(tf.errors.GraphadError):
            f(tf.constant(5))
        assert v.numpy()[0, 0] == 2.0 + 4.0 * k


def test_what_is_printed_before_an_error_is_printed_once(capsys: Any) -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        tf.print("first", output_stream="stdout")
        for _ in tf.range(4):
            v.assign_add(x)
            tf.debugging.assert_less(v, 6.0)
        tf.print("second", v, output_stream="stdout")
        return tf.gather(tf.constant([1.0, 2.0]), tf.cast(x, tf.int32))

    assert float(f(tf.constant(1.0))) == 2.0 and v.numpy() == 5.0
    assert capsys.readouterr().out == "first\nsecond 5\n"
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        f(tf.constant(1.0))
    assert v.numpy() == 7.0
    assert capsys.readouterr().out == "first\n"


def test_a_check_runs_before_the_loop_that_it_guards() -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(step: Any) -> Any:
        tf.debugging.assert_positive(step)
        v.assign_add(1.0)
        x = tf.constant(0.0)
        while x < 3.0:  # it would not end
            x += step
        v.assign(x)
        return x

    assert float(f(tf.constant(1.5))) == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant(0.0))
    assert v.numpy() == 3.0


def test_a_check_that_waits_for_a_host_step_is_before_the_loop_that_it_guards() -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(steps: Any) -> Any:
        tf.debugging.assert_positive(tf.unique(steps).y)
        v.assign_add(1.0)
        x = tf.constant(0.0)
        while x < 3.0:
            x += steps[0]
        return x

    assert float(f(tf.constant([1.5, 1.5]))) == 3.0
    units = explain(f)(tf.constant([1.5, 1.5])).units
    assert units.rindex("host: assert;") < units.index("repeat:"), units
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(tf.constant([0.0, 1.0]))  # the loop would not end
    assert v.numpy() == 1.0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no such timer")
def test_what_a_signals_handler_raises_ends_the_call() -> None:
    v = tf.Variable(tf.zeros([], tf.int64))

    @tf.function(jit_compile=True)
    def f(n: Any) -> Any:
        for _ in tf.range(n):
            v.assign_add(1)
            tf.debugging.assert_greater(v, tf.constant(0, tf.int64))
        return v + 0

    assert int(f(tf.constant(5, tf.int64))) == 5

    def late(*_: object) -> None:
        raise TimeoutError("late")

    before = signal.signal(signal.SIGALRM, late)
    try:
        with pytest.raises(TimeoutError, match="late"):
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            f(tf.constant(1 << 60, tf.int64))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert v.numpy() >= 5


def test_a_view_that_is_assigned_after_a_loop_is_a_copy() -> None:
    """The array that the loop made is let go with the assignment before."""

    def turned(s: State, n: Any) -> None:
        for _ in tf.range(n):
            s.v.assign_add(s.random.normal([2], dtype=tf.float64))
        s.v.assign(s.v[::-1])

    s, want = State(), State()
    compiled = tf.function(lambda n: turned(s, n), jit_compile=True)
    for n in (3, 0, 2):
        compiled(tf.constant(n))
        turned(want, tf.constant(n))
        np.testing.assert_allclose(s.v.numpy(), want.v.numpy(), rtol=1e-13)
        assert s.seen()[2] == want.seen()[2]
