"""Whenever an interrupt comes while a function is traced, the program goes on as before."""

import sys

import numpy as np
import pytest

import graphad as tf
from graphad.core import levels


def _interrupted(work, number):
    """Run `work`, raising KeyboardInterrupt at that step of `core/levels.py`; whether it was reached."""
    count = 0

    def at_each_step(frame, event, _):
        nonlocal count
        if frame.f_code.co_filename != levels.__file__ or frame.f_code.co_name in (
            "leave_traces",
            "<genexpr>",
        ):
            return None
        if event in ("call", "line"):
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

        is_over = not _interrupted(lambda: f(x), number)
        assert levels.busy() is None, f"interrupted at step {number}"
        np.testing.assert_array_equal(f(x), 3.0 if differentiated else [3.0, 6.0])
        if is_over:
            break
    assert number > 100
