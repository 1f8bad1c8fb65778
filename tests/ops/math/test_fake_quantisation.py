"""Rounding to few values: what the cases compared with TensorFlow leave out."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

q = tf.quantization
X = np.random.default_rng(3).uniform(-2.0, 2.0, (4, 3))
LOW, HIGH = np.array([-1.0, -0.3, 0.5]), np.array([1.0, 0.9, 1.5])


def loss(x, low, high):
    return tf.reduce_sum(q.fake_quant_with_min_max_vars_per_channel(x, low, high, 4) ** 2)


def test_values_are_the_nearest_of_an_even_grid_with_zero():
    y = q.fake_quant_with_min_max_vars(X, -1.0, 2.0, 3).numpy()
    grid = (np.arange(8) - 2) * 3 / 7
    assert np.allclose(y, grid[np.abs(X[..., None] - grid).argmin(-1)])


@pytest.mark.parametrize("run", [lambda f: f, tf.function, lambda f: tf.function(f, jit_compile=True)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_first_and_second_derivatives_pass_through_the_rounding(run, dtype):
    given = [tf.constant(x, dtype) for x in (X, LOW, HIGH)]
    with tf.GradientTape() as outer:
        outer.watch(given)
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = run(loss)(*given)
        first = tape.gradient(total, given)
        moved = tf.reduce_sum(first[0] ** 2)
    second = outer.gradient(moved, given[0])
    y = q.fake_quant_with_min_max_vars_per_channel(*given, 4)
    pulled = q.fake_quant_with_min_max_vars_per_channel_gradient(2.0 * y, *given, 4)
    for mine, other in zip(first, pulled):
        assert np.allclose(mine, other)
    inside = (pulled[0].numpy() != 0) | (y.numpy() == 0)
    assert np.allclose(second, np.where(inside, 8.0 * y.numpy(), 0.0))


def test_rows_of_unknown_number_and_rows_of_a_batch():
    f = tf.function(
        lambda x: q.fake_quant_with_min_max_args(x, -1.0, 1.0), input_signature=[tf.TensorSpec(None)]
    )
    for x in (X.astype("float32"), np.zeros((0, 2), np.float32), np.float32(0.3)):
        want = q.fake_quant_with_min_max_args(x, -1.0, 1.0)
        assert np.array_equal(f(x), want) and f(x).shape == want.shape
    rows = tf.vectorized_map(lambda x: q.fake_quant_with_min_max_vars(x, -1.0, 1.0), X)
    assert np.allclose(rows, q.fake_quant_with_min_max_vars(X, -1.0, 1.0))


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: q.fake_quant_with_min_max_args(X, 1.0, 1.0), ValueError, "min must be below max"),
        (
            lambda: q.fake_quant_with_min_max_args(X, num_bits=17),
            ValueError,
            "num_bits is 17; it is from 2 to 16",
        ),
        (
            lambda: q.fake_quant_with_min_max_vars([1, 2], 0, 1),
            TypeError,
            "inputs have dtype int32; a float dtype is needed",
        ),
        (
            lambda: q.fake_quant_with_min_max_vars(X, [0.0], 1.0),
            ValueError,
            r"min has shape \(1,\); it is a scalar",
        ),
        (
            lambda: q.fake_quant_with_min_max_vars_per_channel(X, 0.0, LOW),
            ValueError,
            "one number for each channel",
        ),
    ],
)
def test_wrong_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()
