"""`dynamic_stitch` writes eager slices at once: the same as its ops."""

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "complex64", tf.bfloat16.as_numpy_dtype])
def test_stitched_slices_are_those_of_a_traced_function(dtype):
    """The last one of a number counts, numbers that nobody names hold zeros."""
    rng = np.random.default_rng(0)
    for inner in ((), (3,), (2, 3)):
        numbers = [np.array([[0, 4], [7, 4]], "int32"), np.array(4, "int32"), np.array([2, 2, 9], "int64")]
        parts = [rng.integers(0, 9, (*at.shape, *inner)).astype(dtype) for at in numbers]
        found = tf.dynamic_stitch(numbers, [tf.constant(part) for part in parts])
        want = tf.function(lambda *xs, numbers=numbers: tf.dynamic_stitch(numbers, xs))(*parts)
        assert found.shape == want.shape == (10, *inner) and found.dtype == want.dtype
        np.testing.assert_array_equal(found.numpy(), want.numpy())


def test_slices_that_do_not_fit_are_refused_and_none_are_none():
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.dynamic_stitch([[0], [1]], [tf.ones([1, 2]), tf.ones([1, 3])])
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.dynamic_stitch([[0], [-1]], [tf.ones([1, 2]), tf.ones([1, 2])])
    assert tf.dynamic_stitch([np.zeros(0, "int32")], [tf.ones([0, 2])]).shape == (0, 2)
