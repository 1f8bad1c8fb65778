"""A float of NumPy that is an integer is taken for one; a fraction, an array and a float of Python are not."""

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
    [np.float64(5.5), np.float64(2.0**31), np.float64(math.nan), np.float64(math.inf), np.ones(2), 5.0],
)
def test_what_is_no_integer_of_the_dtype_is_refused(number):
    with pytest.raises(TypeError, match=r"cannot combine an array|Cannot convert 5\.0"):
        tf.constant([3, 4]) + number
