"""Variables that a function makes in its first call, where another function that is traced makes that call."""

from __future__ import annotations

import pytest

import graphad as tf


def maker(initial):
    """A function that makes its variable of what `initial` gives for its argument, and adds it."""
    made = []

    @tf.function
    def inner(x):
        if not made:
            made.append(tf.Variable(initial(x)))
        return made[0] + x

    return inner, made


def test_an_initial_value_may_follow_from_the_arguments_of_an_outer_function():
    inner, made = maker(lambda x: x * 10.0)
    outer = tf.function(lambda x: inner(tf.square(x)) * 2.0)
    assert [float(outer(tf.constant(value))) for value in (3.0, 1.0)] == [198.0, 182.0]
    assert float(made[0]) == 90.0


def test_an_initial_value_may_be_computed_from_what_an_inner_function_captures():
    @tf.function
    def outer(x):
        y = x * 3.0
        inner, made = kept or kept.extend(maker(lambda k: y + k)) or kept
        return inner(x)

    kept = []
    assert float(outer(tf.constant(2.0))) == 10.0
    assert float(kept[1][0]) == 8.0


def test_an_initial_value_needs_arguments_with_values():
    inner, _ = maker(lambda x: x)
    outer = tf.function(lambda x: inner(x))
    with pytest.raises(
        ValueError, match="depends on an argument, but this function is being traced from specs alone"
    ):
        outer.get_concrete_function(tf.TensorSpec([]))


def test_an_initial_value_of_a_loop_variable_is_refused():
    inner, _ = maker(lambda x: x)

    @tf.function
    def outer(x):
        for _ in tf.range(3):
            x = inner(x)
        return x

    with pytest.raises(ValueError, match=r"initial value depends on .* known only when|made inside"):
        outer(tf.constant(1.0))
