"""Checks that tracing cannot make because sizes are unknown are made when the function runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import graphad as tf

S = tf.TensorSpec


@pytest.mark.parametrize("jit", [None, True])
@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_assigning_a_shape_that_the_variable_does_not_allow(method: str, jit: bool | None) -> None:
    v = tf.Variable([[1.0], [2.0]])
    f = tf.function(lambda x: getattr(v, method)(x), input_signature=[S(None)], jit_compile=jit)
    for _ in range(5):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"variable shape \(2, 1\).*value shape \(\d, 2\)"
        ):
            f(tf.ones([1, 2]))
        np.testing.assert_array_equal(v.numpy(), [[1.0], [2.0]])
    f(tf.ones([2, 1]))
    assert v.numpy().shape == (2, 1)


@pytest.mark.parametrize("jit", [None, True])
@pytest.mark.parametrize("shape", [tf.TensorShape(None), tf.TensorShape([None])])
def test_a_variable_of_unknown_shape_takes_what_it_allows(shape: tf.TensorShape, jit: bool | None) -> None:
    v = tf.Variable([1.0, 2.0], shape=shape)
    f = tf.function(lambda x: v.assign(x * 2.0), input_signature=[S([None])], jit_compile=jit)
    for n in (4, 2, 3, 1, 5):
        f(tf.ones([n]))
        np.testing.assert_array_equal(v.numpy(), np.full([n], 2.0))


def test_a_loaded_function_checks_what_it_assigns(tmp_path: Path) -> None:
    class Model(tf.Module):
        def __init__(self) -> None:
            self.v = tf.Variable([1.0, 2.0])

        @tf.function(input_signature=[S([None])])
        def set(self, x: tf.Tensor) -> tf.Tensor:
            return self.v.assign(x)

    tf.saved_model.save(Model(), str(tmp_path / "m"))
    loaded = tf.saved_model.load(str(tmp_path / "m"))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"variable shape \(2,\)"):
        loaded.set(tf.ones([4]))
    np.testing.assert_array_equal(loaded.v.numpy(), [1.0, 2.0])


def test_shapes_that_do_not_fit_are_said_in_the_words_of_the_op() -> None:
    f = tf.function(
        lambda c, x, y: tf.cond(c, lambda: x, lambda: tf.constant(1.0)) + y,
        input_signature=[S([], tf.bool), S([2, 4]), S([2, 3])],
    )
    for _ in range(5):
        with pytest.raises(tf.errors.InvalidArgumentError, match="add: Incompatible shapes") as caught:
            f(True, tf.ones([2, 4]), tf.ones([2, 3]))
        assert any("in the traced line" in note for note in caught.value.__notes__)
    np.testing.assert_array_equal(f(False, tf.ones([2, 4]), tf.ones([2, 3])).numpy(), np.full([2, 3], 2.0))


def test_own_check_goes_before_sizes_that_do_not_fit() -> None:
    count = tf.Variable(0)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def inverse(x):
        tf.debugging.assert_equal(tf.shape(x)[0], tf.shape(x)[1], message="give a square")
        return tf.linalg.inv(x)

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def halves(x):
        tf.print("not yet", tf.shape(x))
        if tf.reduce_sum(x) > 0:
            tf.debugging.assert_equal(tf.shape(x)[0] % 2, 0, message="give an even number")
        return tf.reshape(x, [-1, 2, 3])

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def counted(x):
        count.assign_add(1)
        tf.debugging.assert_equal(count, 2, message="not reached")
        return tf.reshape(x, [-1, 2, 3])

    for _ in range(2):  # nothing of a refused call is kept
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^give a square Condition x == y") as info:
            inverse(tf.ones([3, 4]))
        assert info.value.__suppress_context__
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^give an even number"):
            halves(tf.ones([3, 3]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^reshape: x with shape"):
            halves(-tf.ones([3, 3]))
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"^reshape: x with shape"):
            counted(tf.ones([3, 3]))
    assert count.numpy() == 0
    np.testing.assert_array_equal(inverse(tf.eye(2)), np.eye(2))
