"""Shapes of what a function with a signature of unknown sizes gives to the function that calls it."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

INT = tf.TensorSpec([], tf.int32)


@tf.function(input_signature=[tf.TensorSpec([None, None], tf.int32), INT])
def filled(x, size):
    return tf.ones(tf.stack([tf.shape(x)[0], size], axis=0), tf.int32)


@tf.function(input_signature=[INT, INT, INT])
def box(a, b, c):
    return tf.ones(tf.concat([[a], [b], [c]], -1))


def shape_inside(f, *args):
    """The shape of the result of `f` while a function that calls it is traced, and when it has run."""
    seen = []

    @tf.function
    def outer(*args):
        y = f(*args)
        seen.append(y.shape)
        return y

    return seen, outer(*args).shape.as_list()


def test_numbers_that_are_known_are_sizes():
    for call, want in (
        (lambda x: filled(x, size=5), [3, 5]),
        (lambda x: tf.function(box)(1, 2, 3), [1, 2, 3]),
        (lambda x: box(tf.shape(x)[0], tf.shape(x)[1], tf.size(x)), [3, 6, 18]),
    ):
        seen, got = shape_inside(call, tf.zeros([3, 6], tf.int32))
        assert seen[0].as_list() == got == want


def test_the_sizes_of_arguments_are_those_of_results():
    rows = tf.function(lambda a: tf.reshape(a * a, [-1, 3]), input_signature=[tf.TensorSpec(None)])
    seen, got = shape_inside(rows, tf.ones([10, 2, 3]))
    assert seen[0].as_list() == got == [20, 3]
    seen, _ = shape_inside(rows.get_concrete_function(), tf.ones([4, 3]))
    assert seen[0].as_list() == [4, 3]
    x = tf.Variable(np.arange(6.0, dtype=np.float32).reshape(2, 3))
    outer = tf.function(lambda: tf.reduce_sum(rows(x) ** 2))
    with tf.GradientTape() as first:
        with tf.GradientTape() as second:
            y = outer()
        slope = second.gradient(y, x)
    np.testing.assert_allclose(slope, 4 * x.numpy() ** 3)
    np.testing.assert_allclose(first.gradient(slope, x), 12 * x.numpy() ** 2)


def test_what_depends_on_values_stays_unknown_and_effects_happen_once():
    v = tf.Variable(0.0)

    @tf.function(input_signature=[tf.TensorSpec([None])])
    def f(x):
        v.assign_add(tf.reduce_sum(x))
        return {"kept": tf.boolean_mask(x, x > 0.0), "all": x + 1.0}

    seen = []

    @tf.function
    def outer(x):
        found = f(x)
        seen.append({key: y.shape.as_list() for key, y in found.items()})
        return found

    assert outer(tf.constant([1.0, -1.0, 3.0]))["kept"].numpy().tolist() == [1.0, 3.0]
    assert seen == [{"kept": [None], "all": [3]}] and float(v) == 3.0


def test_sizes_that_do_not_go_together_are_refused_where_the_call_runs():
    f = tf.function(lambda a, b: a + b, input_signature=[tf.TensorSpec([None]), tf.TensorSpec([None])])
    outer = tf.function(lambda a, b: f(a, b))
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)|\[2\].*\[3\]"):
        outer(tf.ones([2]), tf.ones([3]))
