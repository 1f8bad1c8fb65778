"""An axis given as a tensor whose value is known while tracing: constants, ranges, what follows from ranks and sizes."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

X = np.arange(24.0).reshape(2, 3, 4)

FUNCTIONS = {
    "reduce_sum": tf.reduce_sum,
    "reduce_logsumexp": tf.reduce_logsumexp,
    "expand_dims": tf.expand_dims,
    "boolean_mask": lambda x, axis: tf.boolean_mask(x, [True, False, True], axis=axis),
    "split": lambda x, axis: tf.split(x, 3, axis=axis)[1],
    "cumsum": tf.cumsum,
    "argmax": tf.argmax,
    "softmax": tf.nn.softmax,
    "repeat": lambda x, axis: tf.repeat(x, 2, axis=axis),
    "norm": lambda x, axis: tf.norm(x, axis=axis),
    "gather": lambda x, axis: tf.gather(x, [1, 0], axis=axis),
    "concat": lambda x, axis: tf.concat([x, x], axis),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_axis_may_be_a_constant_made_in_the_trace_or_follow_from_the_rank(name):
    function = FUNCTIONS[name]
    expected = function(tf.constant(X), 1)
    for axis in (lambda x: tf.constant(1), lambda x: tf.rank(x) - 2, lambda x: tf.shape(x)[0] - 1):
        found = tf.function(lambda x, axis=axis: function(x, axis(x)))(tf.constant(X))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("run", [lambda f: f, tf.function])
def test_several_axes_may_be_a_range_of_the_rank(run):
    found = run(lambda x: tf.reduce_mean(x, axis=tf.range(1, tf.rank(x))))(tf.constant(X))
    np.testing.assert_array_equal(found, X.mean((1, 2)))


def test_an_axis_of_another_call_is_refused():
    @tf.function
    def f(x, axis):
        return tf.reduce_sum(x, axis)

    with pytest.raises(TypeError, match="axis is a tensor whose value is not known while tracing"):
        f(tf.constant(X), tf.constant(1))
