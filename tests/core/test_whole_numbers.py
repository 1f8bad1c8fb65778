"""Floats of NumPy that are integers are taken for them; a fraction, a list and a float of Python are not."""

import math

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("number", [np.float64(5.0), np.float32(5.0), np.array(5.0), np.ceil(4.2)])
def test_a_whole_number_of_numpy_meets_integers(run, number):
    x = tf.constant([3, 4])
    made = run(
        lambda x: [x + number, number * x, tf.constant(number, tf.int64), tf.shape(x)[0] + number - 1]
    )(x)
    assert [part.dtype.name for part in made] == ["int32", "int32", "int64", "int32"]
    assert [part.numpy().tolist() for part in made] == [[8, 9], [15, 20], 5, 6]


@pytest.mark.parametrize(
    "number",
    [
        np.float64(5.5),
        np.float64(2.0**31),
        np.float64(math.nan),
        np.float64(math.inf),
        np.array([1.0, 2.5]),
        5.0,
    ],
)
def test_what_is_no_integer_of_the_dtype_is_refused(number):
    with pytest.raises(TypeError, match=r"cannot combine an array|Cannot convert 5\.0"):
        tf.constant([3, 4]) + number


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_an_array_of_whole_numbers_meets_integers(run):
    rows = np.zeros((2, 2))
    rows[:, 1] = 5.0
    x = tf.constant([3, 4])
    parts = run(lambda x: [tf.constant(rows, tf.int32), x + rows, tf.constant(rows, tf.uint8)])(x)
    assert parts[0].dtype == tf.int32 and parts[0].numpy().tolist() == [[0, 5], [0, 5]]
    assert parts[1].dtype == tf.int32 and parts[1].numpy().tolist() == [[3, 9], [3, 9]]
    assert all(part.numpy().tolist() == [[0, 5], [0, 5]] for part in parts[2:])


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        ([1.0, 1.5], tf.int32),
        ([1.0, math.nan], tf.int32),
        ([1.0, -math.inf], tf.int32),
        ([0.0, 2.0**31], tf.int32),
        ([0.0, 2.0**63], tf.int64),
        ([0.0, -1.0], tf.uint8),
        ([0.0, 2.0], tf.bool),
        ([0.0, 1.0 + 0j], tf.int32),
    ],
)
def test_an_array_with_another_number_is_refused(array, dtype):
    with pytest.raises(TypeError, match="Cannot convert"):
        tf.constant(np.array(array), dtype)
    with pytest.raises(TypeError, match="Cannot convert"):
        tf.constant(array, dtype)
