"""gather_nd of many coordinates, which are one number for each place."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint8"])
@pytest.mark.parametrize("turned", [False, True])
def test_many_coordinates_give_the_elements_of_few(depth, dtype, turned):
    rng = np.random.default_rng(depth)
    x = rng.normal(size=(7, 9, 11, 2))
    x = x.transpose(2, 1, 0, 3) if turned else x
    places = np.stack([rng.integers(0, n, (50, 60)) for n in x.shape[:depth]], -1).astype(dtype)
    found = tf.gather_nd(tf.constant(x), tf.constant(places)).numpy()
    np.testing.assert_array_equal(found, x[tuple(places.astype(int).transpose(2, 0, 1))])
    assert found.shape == (50, 60, *x.shape[depth:])


@pytest.mark.parametrize("place", [-1, 9])
def test_one_of_many_coordinates_outside_is_an_error(place):
    places = np.zeros((5000, 2), "int32")
    places[3001, 1] = place
    with pytest.raises(tf.errors.OutOfRangeError, match=rf"indices\[3001.*\] = {place} is not in \[0, 9\)"):
        tf.gather_nd(tf.ones([7, 9, 2]), places)


def test_no_elements_for_many_coordinates():
    assert tf.gather_nd(tf.ones([7, 9, 0]), np.zeros((5000, 2), "int32")).shape == (5000, 0)


@pytest.mark.parametrize("channels", [2, 3, 16, 17])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int32", "bool"])
def test_a_condition_for_all_channels_chooses_as_numpy_does(channels, dtype):
    rng = np.random.default_rng(channels)
    condition = rng.random((40, 50, 1)) < 0.5
    x, y = (rng.integers(0, 9, (40, 50, channels)).astype(dtype) for _ in range(2))
    zero = np.zeros((), dtype)
    for holds in (condition, np.ones_like(condition), np.zeros_like(condition)):
        for first, second in ((x, y), (x, zero), (zero, y), (x[:, :1], y), (x[:1], y)):
            found = tf.where(tf.constant(holds), tf.constant(first), tf.constant(second)).numpy()
            wanted = np.where(holds, first, second)
            np.testing.assert_array_equal(found, wanted)
            assert found.dtype == wanted.dtype and found.shape == wanted.shape
