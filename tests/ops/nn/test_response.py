"""Responses normalised over the channels beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("shape", [None, [None] * 4])
def test_an_image_whose_shape_only_a_run_tells_is_normalised(shape: Any) -> None:
    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.local_response_normalization(x, 1)
        return y, tape.gradient(y, x)

    x = tf.constant(np.arange(16.0, dtype=np.float32).reshape(1, 2, 2, 4) / 8.0)
    traced = tf.function(f, input_signature=[tf.TensorSpec(shape)])
    for found, expected in zip(traced(x), f(x)):
        np.testing.assert_allclose(found, expected, 1e-6)
    squares = np.pad(np.square(x.numpy()), [(0, 0)] * 3 + [(1, 1)])
    total = squares[..., :-2] + squares[..., 1:-1] + squares[..., 2:]
    np.testing.assert_allclose(f(x)[0], x.numpy() / np.sqrt(1.0 + total), 1e-6)


@pytest.mark.parametrize("channels", [1, 3, 16, 17])
@pytest.mark.parametrize("rows", [2, 600])
def test_few_and_many_channels_of_small_and_large_images_are_normalised(channels: int, rows: int) -> None:
    x = np.random.default_rng(0).standard_normal((1, rows, 2, channels)).astype(np.float32)
    squares = np.pad(np.square(x), [(0, 0)] * 3 + [(2, 2)])
    total = sum(squares[..., k : k + channels] for k in range(5))
    found = tf.nn.local_response_normalization(tf.constant(x), 2, bias=1.5, alpha=0.3, beta=0.7)
    np.testing.assert_allclose(found, x / (1.5 + 0.3 * total) ** 0.7, 1e-5)
