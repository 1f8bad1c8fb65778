"""Checks are rows of the native call, in loops and branches too: what holds costs nothing, what does not is the eager error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain

X = tf.constant([1.0, 2.0, 3.0])


def units(f: Any, *given: Any) -> str:
    found: str = explain(f)(*given).units
    return found


def fails_alike(f: Any, *given: Any) -> None:
    """The same message and line as the eager function, also at the second call."""
    with pytest.raises(tf.errors.InvalidArgumentError) as eager:
        f.python_function(*given)
    for _ in range(2):
        with pytest.raises(tf.errors.InvalidArgumentError) as found:
            f(*given)
        assert str(found.value) == str(eager.value)
        assert any("test_checks.py" in note for note in found.value.__notes__)


@tf.function(jit_compile=True)
def rounds(x: Any, most: Any) -> Any:
    for i in tf.range(6):
        x = x * 1.5 + 0.25
        tf.debugging.Assert(tf.reduce_all(x < most), [x, i])
    return x


def test_a_round_checks() -> None:
    want = rounds.python_function(X, tf.constant(1e3)).numpy()
    for _ in range(2):
        assert rounds(X, tf.constant(1e3)).numpy().tobytes() == want.tobytes()
    assert "repeat" in units(rounds, X, tf.constant(1e3))
    fails_alike(rounds, X, tf.constant(9.0))
    assert rounds(X, tf.constant(1e3)).numpy().tobytes() == want.tobytes()


def test_a_check_outside_of_loops_of_several_elements() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        tf.debugging.Assert(x > 0.0, [x])
        tf.debugging.assert_less(x, 10.0, message="too large")
        return x * 2.0 + 1.0

    np.testing.assert_array_equal(f(X), [3.0, 5.0, 7.0])
    assert "routine: assert" in units(f, X) and "host" not in units(f, X)
    fails_alike(f, -X)
    fails_alike(f, X * 5.0)
    assert f(tf.zeros([0])).shape == (0,)


def test_branches_and_inner_loops_check() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, n: Any) -> Any:
        for _ in tf.range(3):
            if n > 2:
                tf.debugging.assert_positive(x)
                x = x * 0.5
            else:
                for k in tf.range(n):
                    x = x + 1.0
                    tf.debugging.assert_greater(tf.reduce_sum(x), tf.cast(k, tf.float32))
        return x

    for n in (1, 5):
        want = f.python_function(X, tf.constant(n)).numpy()
        assert f(X, tf.constant(n)).numpy().tobytes() == want.tobytes()
    assert "repeat" in units(f, X, tf.constant(1))
    fails_alike(f, -X, tf.constant(5))
    fails_alike(f, -X * 10.0, tf.constant(2))


def test_what_acted_before_a_check_has_acted_once(capsys: Any) -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        v.assign_add(1.0)
        tf.print("seen", v, output_stream="stdout")
        tf.debugging.assert_positive(x)
        v.assign_add(10.0)
        tf.print("behind", output_stream="stdout")
        return x * v

    f(X)
    assert v.numpy() == 11.0 and capsys.readouterr().out == "seen 1\nbehind\n"
    for k in (12.0, 13.0):
        with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
            f(-X)
        assert v.numpy() == k and capsys.readouterr().out == f"seen {k:.0f}\n"


def test_rounds_that_check_and_assign_leave_what_earlier_ones_have_assigned() -> None:
    v = tf.Variable(0.0)

    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        for i in tf.range(5):
            v.assign_add(1.0)
            tf.debugging.assert_less(i, 3)
        return x * v

    for k in (4.0, 8.0):
        with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
            f(X)
        assert v.numpy() == k


def test_the_gradient_of_a_loop_that_checks() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                y = y * y * 0.5
                tf.debugging.assert_non_negative(y)
            loss = tf.reduce_sum(y)
        return tape.gradient(loss, x)

    np.testing.assert_allclose(f(X), f.python_function(X), rtol=1e-6)
