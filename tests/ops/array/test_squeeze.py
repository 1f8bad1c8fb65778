"""`squeeze` without axes while the shape, or even the rank, is unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("spec", [tf.TensorSpec(None), tf.TensorSpec([None, None, None])])
def test_a_run_decides_which_axes_go_and_derivatives_come_back_in_the_full_shape(spec: Any) -> None:
    f = tf.function(lambda x: tf.squeeze(x * x), input_signature=[spec])
    shapes: list[tuple[int, ...]] = [(1, 3, 1), (2, 1, 2), (1, 1, 1), (0, 1, 2)]
    if spec.shape.rank is None:
        shapes += [(), (1,), (4, 1)]
    for shape in shapes:
        x = tf.constant(np.arange(np.prod(shape), dtype=np.float32).reshape(shape) + 1)
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        expected = np.squeeze(x.numpy() ** 2)
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(tape.gradient(y, x), 2 * x.numpy())
        assert tuple(tape.jacobian(y, x).shape) == expected.shape + shape


@pytest.mark.parametrize("axis", [[], ()])
def test_no_axis_is_all_axes_but_for_numpys_function(axis):
    x = tf.zeros([1, 2, 1])
    assert tf.squeeze(x, axis).shape == tf.function(lambda x: tf.squeeze(x, axis))(x).shape == [2]
    assert tf.numpy.squeeze(x, axis).shape == np.squeeze(x.numpy(), tuple(axis)).shape
