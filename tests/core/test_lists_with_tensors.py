"""Lists that hold tensors, where the dtype is asked for or adopted: the tensors of the list are cast to it."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

SMALL, LARGE = tf.constant(2), tf.constant([4, 5], tf.int64)


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        (lambda n: tf.convert_to_tensor([n, 3], tf.int64), [2, 3]),
        (lambda n: tf.concat([[n, 3], LARGE], 0), [2, 3, 4, 5]),
        (lambda n: tf.concat([LARGE, [n, 3]], 0), [4, 5, 2, 3]),
        (lambda n: tf.add(LARGE, [n, 3]), [6, 8]),
        (lambda n: [n, 3] + LARGE, [6, 8]),
        (lambda n: tf.stack([[n, 3], LARGE]), [[2, 3], [4, 5]]),
        (lambda n: tf.where([True, False], LARGE, [n, 3]), [4, 3]),
        (lambda n: tf.reshape(tf.range(6), [n, tf.constant(3, tf.int64)][:1] + [3]), [[0, 1, 2], [3, 4, 5]]),
    ],
)
def test_the_tensors_of_a_list_take_the_dtype_of_what_they_meet(formula, expected, traced):
    y = (tf.function(formula) if traced else formula)(SMALL)
    np.testing.assert_array_equal(y, expected)


@pytest.mark.parametrize("dtype", [tf.int64, tf.float32, tf.float64, tf.complex64])
def test_the_dtype_that_is_asked_for_is_given(dtype):
    for x in ([SMALL, 3], [[SMALL], [3]], (SMALL, tf.constant(3, tf.int64))):
        assert tf.convert_to_tensor(x, dtype).dtype is dtype


def test_derivatives_pass_the_cast():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.constant([1.0, 2.0], tf.float64) * [x, 2.0 * x])
    gradient = tape.gradient(y, x)
    assert gradient.dtype is tf.float32
    assert float(gradient) == 5.0


def test_numbers_with_a_fraction_are_not_rounded_unasked():
    with pytest.raises(
        TypeError, match=r"mul: .*int32 for a list that holds a Tensor with dtype float32.*cast"
    ):
        tf.constant([1, 2]) * [tf.constant(1.5), 3]


def test_tensors_side_by_side_are_not_cast():
    with pytest.raises(TypeError, match="cast one of them"):
        tf.concat([tf.constant([1]), LARGE], 0)
