"""Whenever an interrupt comes while a function is traced, the program goes on as before."""

import gc
import linecache
import sys
from functools import partial

import numpy as np
import pytest

import graphad as tf
from graphad.core import collector, levels, turns


def _interrupted(work, number, modules):
    """Run `work`, raising KeyboardInterrupt at that step of these modules; whether it was reached."""
    files = {module.__file__ for module in modules}
    count = 0

    def at_each_step(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename not in files or frame.f_code.co_name in (
            "leave_traces",
            "let_go",
            "_turn_on",
            "<genexpr>",
        ):
            return None
        # Python looks for interrupts at calls, never between the last step of a `with` and the lock's own exit.
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "call" or (event == "line" and not line.startswith("with ")):
            count += 1
            if count == number:
                raise KeyboardInterrupt
        return at_each_step

    earlier = sys.gettrace()
    sys.settrace(at_each_step)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(earlier)
    return False


@pytest.mark.parametrize("differentiated", [False, True])
def test_no_trace_is_left_open(differentiated):
    x, v = tf.constant([1.0, 2.0]), tf.Variable(3.0)
    number = 0
    while True:
        number += 1

        @tf.function
        def f(x):
            with tf.GradientTape() as tape:
                y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * v, lambda: x)
            return tape.gradient(y, v) if differentiated else y

        is_over = not _interrupted(lambda: f(x), number, [levels])
        assert levels.busy() is None, f"interrupted at step {number}"
        np.testing.assert_array_equal(f(x), 3.0 if differentiated else [3.0, 6.0])
        if is_over:
            break
    assert number > 100


@pytest.mark.parametrize("differentiated", [False, True])
def test_no_turn_is_kept_and_the_collector_is_on_again(differentiated):
    modules = [turns] if differentiated else [turns, collector]
    number, is_over = 0, False
    while not is_over:
        number += 1

        @tf.custom_gradient
        def cube(x):
            return x**3, lambda dy: 3 * dy * x**2

        @tf.function
        def f(x):
            return cube(x)

        def slope(x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return tape.gradient(y, x)

        work = slope if differentiated else f
        is_over = not _interrupted(partial(work, tf.constant(2.0)), number, modules)
        levels.make_top(None)  # the tape was left in an error
        assert f._turn._owner is None and not turns._waiting, f"interrupted at step {number}"
        assert not turns._lock._is_owned(), f"interrupted at step {number}"
        assert not collector._depths and gc.isenabled(), f"interrupted at step {number}"
        assert slope(tf.constant(2.0)) == 12.0
    assert number > 20
