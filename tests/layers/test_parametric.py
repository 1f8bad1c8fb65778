"""`PReLU`: what it refuses, its penalties, and its slopes in a compiled function; its numbers are among those of Keras."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

PReLU = tf.keras.layers.PReLU


@pytest.mark.parametrize(
    ("options", "shape", "words"),
    [
        ({"shared_axes": 0}, (2, 3), "axis 0 is that of the batch"),
        ({"shared_axes": [2]}, (2, 3), "axis 2 is out of range"),
        ({}, (), "must have an axis of the batch"),
    ],
)
def test_axes_that_cannot_be_shared_are_refused(options: Any, shape: tuple[int, ...], words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        PReLU(**options)(tf.zeros(shape))


def test_an_input_of_other_sizes_is_refused_but_for_shared_axes() -> None:
    layer = PReLU("ones", shared_axes=1)
    x = np.float32([[[-1.0, 2.0], [3.0, -4.0]]])
    np.testing.assert_array_equal(layer(x), x)
    assert layer(tf.zeros([5, 7, 2])).shape == (5, 7, 2)
    for shape in ((1, 2, 3), (1, 2)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            layer(tf.zeros(shape))


def test_the_configuration_makes_an_equal_layer_and_penalties_count() -> None:
    layer = PReLU("ones", shared_axes=[1], alpha_regularizer="l2")
    other = PReLU.from_config(layer.get_config())
    x = tf.constant([[[-1.0, 2.0], [3.0, -4.0]]])
    np.testing.assert_array_equal(layer(x), other(x))
    assert other.shared_axes == [1]
    np.testing.assert_allclose(other.losses, [0.02])


def test_second_derivatives_by_alpha_and_input() -> None:
    layer = PReLU("ones")
    x = tf.constant([[-1.0, 2.0], [-3.0, -4.0]])
    layer(x)

    @tf.function
    def mixed() -> Any:
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                inner.watch(x)
                loss = tf.reduce_sum(layer(x) ** 2)
            slopes = inner.gradient(loss, x)
        return outer.gradient(slopes, layer.alpha)

    # sum over x of d/da 2 a^2 x = 4 a x where x is negative
    np.testing.assert_allclose(mixed(), [-16.0, -16.0])
