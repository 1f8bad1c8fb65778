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


def test_an_axis_of_another_call():
    @tf.function
    def f(x, axis):
        return tf.reduce_sum(x, axis)

    for axis in (tf.constant(1), 1):
        np.testing.assert_allclose(f(tf.constant(X), axis), tf.reduce_sum(X, 1), rtol=1e-5)
    unknown = tf.function(
        f.python_function, input_signature=[tf.TensorSpec(None, tf.float64), tf.TensorSpec([], tf.int32)]
    )
    with pytest.raises(
        TypeError,
        match=r"axis is a tensor whose value is not known while tracing.*Python number.*switch_case",
    ):
        unknown(tf.constant(X), tf.constant(1))

    @tf.function
    def by_case(x, axis):
        return tf.switch_case(axis, [lambda k=k: tf.reduce_sum(x, k) for k in range(3)])

    np.testing.assert_array_equal(by_case(tf.constant(X), tf.constant(1)), tf.reduce_sum(X, 1))


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_expand_dims_takes_an_axis_of_another_call(dtype):
    @tf.function(input_signature=[tf.TensorSpec([2, 3]), tf.TensorSpec([], dtype)])
    def f(x, axis):
        return tf.expand_dims(x, axis)

    x = tf.reshape(tf.range(6.0), [2, 3])
    for axis in range(-3, 3):
        np.testing.assert_array_equal(f(x, axis), np.expand_dims(x.numpy(), axis))
    for axis in (3, -4):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=f"expand_dims: axis {axis} is out of range.* rank 3"
        ):
            f(x, axis)


def test_expand_dims_with_an_axis_of_another_call_has_a_gradient():
    @tf.function
    def f(x, axis):
        return tf.reduce_sum(tf.expand_dims(x, axis) * tf.ones([3, 1, 2, 1]))

    x = tf.ones([2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x, tf.constant([1]))
    assert float(y) == 36.0
    np.testing.assert_array_equal(tape.gradient(y, x), np.full([2, 3], 6.0))


def test_expand_dims_of_unknown_rank_takes_an_axis_of_another_call():
    f = tf.function(tf.expand_dims, input_signature=[tf.TensorSpec(None), tf.TensorSpec([], tf.int32)])
    assert f(3.0, -1).shape == [1]
    assert f(tf.ones([2, 3]), 1).shape == [2, 1, 3]


def test_expand_dims_refuses_an_axis_of_floats():
    with pytest.raises(TypeError, match="expand_dims: axis has dtype float32"):
        tf.function(tf.expand_dims)(tf.ones([2]), tf.constant(1.0))
