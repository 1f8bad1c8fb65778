"""`ensure_shape` and `Tensor.set_shape`: what the program knows of a shape, in every way to run it."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

ANY = [tf.TensorSpec(None, tf.float32)]


def set_rows(x):
    x.set_shape([None, 3])
    assert x.shape.as_list() == [None, 3]
    return tf.reduce_sum(x * x, axis=1)


@pytest.mark.parametrize("jit", [False, True])
def test_set_shape_holds_from_there_on_and_is_checked_at_run_time(jit):
    f = tf.function(set_rows, input_signature=ANY, jit_compile=jit)
    assert f(tf.ones([2, 3])).numpy().tolist() == [3.0, 3.0]
    assert f(tf.ones([5, 3])).shape == [5]
    with pytest.raises(
        ValueError, match=r"shape \(2, 4\), which is not compatible with the expected shape \(None, 3\)"
    ):
        f(tf.ones([2, 4]))


def test_gradients_pass_set_shape_from_both_sides_of_it():
    @tf.function(input_signature=ANY)
    def gradients(x):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = x * x
            z = tf.reduce_sum(y)  # read before
            y.set_shape([None, 3])
            w = tf.reduce_sum(y * y)  # and after
        return tape.gradient(z, x), tape.gradient(w, x), tape.gradient(w, y)

    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    of_z, of_w, of_y = gradients(x)
    np.testing.assert_allclose(of_z, 2 * x)
    np.testing.assert_allclose(of_w, 4 * x**3)
    np.testing.assert_allclose(of_y, 2 * x**2)


def test_an_argument_remains_the_argument_after_set_shape():
    @tf.function(input_signature=[*ANY, *ANY])
    def second_and_first(x, y):
        x.set_shape([2])
        return y, x, tf.cond(tf.reduce_sum(y) > 0.0, lambda: x + y, lambda: x - y)

    y, x, z = second_and_first(tf.constant([1.0, 2.0]), tf.constant([3.0, 4.0]))
    assert (y.numpy().tolist(), x.numpy().tolist(), z.numpy().tolist()) == (
        [3.0, 4.0],
        [1.0, 2.0],
        [4.0, 6.0],
    )


def test_set_shape_that_says_nothing_new_adds_no_op():
    @tf.function(input_signature=[tf.TensorSpec([2, 3])])
    def same(x):
        x.set_shape([None, 3])
        return x * 2.0

    names = [node.op.name for node in same.get_concrete_function().graph.nodes]
    assert names and "ensure_shape" not in names


def test_values_and_variables_are_checked_at_once():
    tf.ones([2, 3]).set_shape([None, 3])
    tf.Variable([1.0, 2.0]).set_shape([2])
    for x in (tf.ones([2, 3]), tf.Variable(tf.ones([2, 3]))):
        with pytest.raises(ValueError, match=r"\(2, 3\)"):
            x.set_shape([2, 4])


def test_ensure_shape_gives_sizes_and_second_derivatives():
    @tf.function(input_signature=ANY)
    def hessian(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.ensure_shape(x, [3])
                assert y.shape == [3]
                z = tf.reduce_sum(y * y * y)
            g = inner.gradient(z, x)
        return outer.gradient(g, x)

    np.testing.assert_allclose(hessian(tf.constant([1.0, 2.0, 3.0])), [6.0, 12.0, 18.0])


def test_ensure_shape_maps_over_rows():
    rows = tf.vectorized_map(lambda r: tf.ensure_shape(r, [None]) * 2.0, tf.ones([4, 2]))
    assert rows.numpy().tolist() == [[2.0, 2.0]] * 4


def test_the_shape_of_a_scalar_is_a_tensor_of_integers():
    none = tf.TensorShape([])
    assert tf.convert_to_tensor(none).dtype == tf.int32
    assert tf.concat([none, tf.TensorShape([2])], axis=0).numpy().tolist() == [2]
    assert tf.broadcast_to(1.0, tf.concat([none, none], axis=0)).shape == ()
