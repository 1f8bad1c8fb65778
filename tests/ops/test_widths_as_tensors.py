"""Widths of bands and of mirrors, and lists of axes, with numbers that only a call knows."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

X = np.arange(24.0).reshape(4, 6) + 1


def test_the_width_of_a_band() -> None:
    @tf.function
    def f(x, lower, upper):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.linalg.band_part(x, lower, upper)
            loss = tf.reduce_sum(y * y)
        return y, tape.gradient(loss, x)

    i, j = np.indices(X.shape)
    for lower, upper in ((0, 0), (1, 2), (-1, 0), (0, -1), (2, -1), (-1, -1), (9, 9)):
        kept = ((lower < 0) | (i - j <= lower)) & ((upper < 0) | (j - i <= upper))
        y, slope = f(tf.constant(X), tf.constant(lower), tf.constant(upper))
        np.testing.assert_array_equal(y, X * kept)
        np.testing.assert_array_equal(slope, 2 * X * kept)
    stack = np.stack([X, -X])
    y, _ = f(tf.constant(stack), tf.constant(1), tf.constant(0))
    np.testing.assert_array_equal(y, np.tril(np.triu(stack, -1)))


@pytest.mark.parametrize("width", [[1, 2], 1.0, [1], True])
def test_the_width_of_a_band_is_one_integer(width) -> None:
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError), match="band_part"):
        tf.function(lambda x, k: tf.linalg.band_part(x, 0, k))(tf.constant(X), tf.constant(width))


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_the_width_of_a_mirror(mode: str) -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([2, 2], tf.int32)])
    def f(x, paddings):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.pad(x, paddings, mode)
            loss = tf.reduce_sum(y * tf.cast(tf.reshape(tf.range(tf.size(y)), tf.shape(y)), tf.float64))
        return y, tape.gradient(loss, x)

    for paddings in ([[0, 0], [0, 0]], [[1, 2], [3, 0]], [[3, 3], [5, 5]], [[0, 1], [2, 2]]):
        y, slope = f(tf.constant(X), tf.constant(paddings))
        np.testing.assert_array_equal(y, np.pad(X, paddings, mode.lower()))
        places = np.pad(np.arange(24).reshape(4, 6), paddings, mode.lower())
        want = np.bincount(places.ravel(), np.arange(places.size), 24).reshape(4, 6)
        np.testing.assert_array_equal(slope, want)
    for wrong in ([[9, 0], [0, 0]], [[0, 0], [0, -1]]):
        with pytest.raises(tf.errors.InvalidArgumentError, match="pad: paddings must be"):
            f(tf.constant(X), tf.constant(wrong))
    assert f(tf.constant(X[:0]), tf.constant([[0, 0], [0, 2]]))[0].shape == (0, 8)


def test_axes_in_lists() -> None:
    @tf.function
    def f(x, k):
        sums = tf.reduce_sum(x, [0, k]), tf.reduce_mean(x, [k], keepdims=True), tf.reduce_max(x, (k, -3))
        return *sums, tf.math.reduce_variance(x, [k])

    x = X.reshape(2, 3, 4)
    for k in (1, 2, -1, -2):
        found = f(tf.constant(x), tf.constant(k))
        want = x.sum((0, k)), x.mean(k, keepdims=True), x.max((0, k)), x.var(k)
        for a, b in zip(found, want, strict=True):
            np.testing.assert_allclose(a, b)
    with pytest.raises(tf.errors.InvalidArgumentError, match="twice"):
        f(tf.constant(x), tf.constant(0))
