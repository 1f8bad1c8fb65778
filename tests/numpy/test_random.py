"""NumPy's older random functions: shapes, dtypes, ranges, and repetition by a seed."""

import numpy as np
import pytest

import graphad as tf

random = tf.numpy.random


@pytest.mark.parametrize(
    ("draw", "shape", "low", "high"),
    [
        (lambda: random.rand(40, 5), (40, 5), 0, 1),
        (lambda: random.rand(), (), 0, 1),
        (lambda: random.random((30,)), (30,), 0, 1),
        (lambda: random.random(), (), 0, 1),
        (lambda: random.uniform(2.0, 3.0, [50]), (50,), 2, 3),
        (lambda: random.randn(20, 3), (20, 3), -9, 9),
        (lambda: random.standard_normal(4), (4,), -9, 9),
        (lambda: random.randint(5, size=(60,)), (60,), 0, 5),
        (lambda: random.randint(-3, -1, 60), (60,), -3, -1),
    ],
)
def test_numbers_lie_in_their_range_and_repeat_by_the_seed(draw, shape, low, high):
    random.seed(4)
    first = draw()
    random.seed(4)
    np.testing.assert_array_equal(first, draw())
    assert first.shape == shape and first.dtype in (tf.float64, tf.int64)
    assert np.all(first.numpy() >= low) and np.all(first.numpy() < high)


def test_integers_have_the_dtype_that_is_asked_for():
    assert random.randint(3, dtype="int32").dtype == tf.int32
