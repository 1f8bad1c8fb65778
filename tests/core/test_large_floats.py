"""Floats that float32 does not hold: refused where nobody asked for float32, infinite where somebody did."""

import math

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("value", [1e39, -1e39, [1.0, 1e39], [[1.0], [-1e300]], 3.4028236e38])
def test_a_float_that_becomes_float32_unasked_must_be_one(value):
    for make in (tf.constant, tf.Variable, tf.convert_to_tensor):
        with pytest.raises(ValueError, match="out of range; give dtype=float64"):
            make(value)
    np.testing.assert_array_equal(tf.constant(value, tf.float64), value)


def test_the_largest_float32_and_what_is_infinite_are_taken():
    largest = float(np.finfo(np.float32).max)
    assert float(tf.constant(largest)) == largest
    assert float(tf.constant(3.4028235e38)) == largest  # rounded to it
    np.testing.assert_array_equal(tf.constant([math.inf, -math.inf, 1.0]), [math.inf, -math.inf, 1.0])
    assert float(tf.constant(1e400)) == math.inf


def test_beside_a_tensor_a_large_number_is_what_its_dtype_makes_of_it():
    np.testing.assert_array_equal(tf.constant([1.0, -1.0]) * 1e39, [math.inf, -math.inf])
