"""Whenever an interrupt comes while a function is traced, the program goes on as before."""

import gc
import linecache
import sys
from functools import partial

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan import exclusive
from graphad.core import collector, levels, turns
from graphad.core.flags import flags
from graphad.core.tensor import guard_of


def _interrupted(work, number, modules):
    """Run `work`, raising KeyboardInterrupt at that step of these modules; whether it was reached."""
    files = {module.__file__ for module in modules}
    count = 0

    def at_each_step(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename not in files or frame.f_code.co_name in (
            "leave_traces",
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
def test_no_turn_is_kept_and_the_collector_is_on_again(differentiated, monkeypatch):
    monkeypatch.setattr(flags, "jit", "never")  # no thread prepares plans meanwhile, with the collector off
    modules = [turns, collector]
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
        assert not collector._lock._is_owned(), f"interrupted at step {number}"
        assert not collector._depths and gc.isenabled(), f"interrupted at step {number}"
        assert slope(tf.constant(2.0)) == 12.0
    assert number > 20


@pytest.mark.parametrize("jit_compile", [False, True])
def test_no_guard_of_a_variable_is_kept(jit_compile):
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    a.assign_add(0.0), b.assign_add(0.0)  # each has a guard of its own

    @tf.function(jit_compile=jit_compile)
    def f(x):
        a.assign_add(x)
        b.assign_sub(x)

    f(tf.constant(1.0))
    guards = guard_of(a), guard_of(b)
    assert guards[0] is not guards[1]
    number, is_over = 0, False
    while not is_over:
        number += 1
        before = a.numpy(), b.numpy()
        is_over = not _interrupted(partial(f, tf.constant(1.0)), number, [exclusive])
        assert not any(guard._is_owned() for guard in guards), f"interrupted at step {number}"
        assert a.numpy() in (before[0], before[0] + 1.0) and b.numpy() == -a.numpy()
    assert number > 10


def test_guards_that_a_thread_had_before_stay_its_own():
    a, b = tf.Variable(0.0), tf.Variable(0.0)
    a.assign_add(0.0), b.assign_add(0.0)

    @tf.function
    def f(x):
        a.assign_add(x)
        b.assign_add(x)
        tf.debugging.assert_positive(x)

    with guard_of(a):
        with pytest.raises(tf.errors.InvalidArgumentError):
            f(tf.constant(-1.0))
        assert guard_of(a)._is_owned() and not guard_of(b)._is_owned()
    assert not guard_of(a)._is_owned()
