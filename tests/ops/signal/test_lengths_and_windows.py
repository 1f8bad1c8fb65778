"""Lengths of transforms that cannot be, and windows that are 0 where nothing overlaps."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize(
    "call",
    [
        lambda: tf.signal.rfft(tf.zeros(3), fft_length=[-1]),
        lambda: tf.signal.rfft2d(tf.zeros((3, 3)), fft_length=[2, -2]),
        lambda: tf.signal.fftnd(tf.zeros((3, 3), tf.complex64), fft_length=[-1, 2]),
        lambda: tf.signal.dct(tf.zeros(3), n=-2),
        lambda: tf.signal.dst(tf.zeros(3), n=-2),
    ],
)
def test_a_negative_length_is_refused_and_does_not_cut_the_signal(call):
    with pytest.raises(ValueError, match="must be 0 or more"):
        call()


@pytest.mark.parametrize("transform", ["dct", "dst"])
def test_a_scalar_has_no_axis_to_transform(transform):
    for options in ({}, {"n": 4}):
        with pytest.raises(ValueError, match=f"{transform}: input has shape .*rank 1"):
            getattr(tf.signal, transform)(1.0, **options)
    with pytest.raises(ValueError, match=r"^n: a transform of -2 numbers"):
        getattr(tf.signal, transform)([1.0], n=-2)


def test_the_inverse_window_is_zero_where_all_windows_are():
    found = tf.signal.inverse_stft_window_fn(64)(64, dtype=tf.float32).numpy()
    forward = tf.signal.hann_window(64).numpy()
    assert found[0] == 0.0
    np.testing.assert_allclose(found[1:] * forward[1:], 1.0, rtol=1e-6)


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
def test_no_frequencies_are_no_numbers(run):
    for shape, want in (([0], [0]), ([2, 0], [2, 0]), ([0, 3], [0, 4])):
        found = run(tf.signal.irfft)(tf.zeros(shape, tf.complex64))
        assert found.shape == want
        assert found.dtype is tf.float32
    assert run(tf.signal.irfft2d)(tf.zeros([2, 0], tf.complex64)).shape == [2, 0]


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_mel_weights_take_tensors_that_are_known(dtype):
    want = tf.signal.linear_to_mel_weight_matrix(5, 33, 8000, 100.0, 3000.0, dtype).numpy()

    @tf.function
    def made():
        rate, low, high = (tf.constant(x) for x in (8000.0, 100.0, 3000.0))
        return tf.signal.linear_to_mel_weight_matrix(tf.constant(5), 33, rate, low, high, dtype)

    assert np.array_equal(made().numpy(), want)
    with pytest.raises(ValueError, match="float"):
        tf.signal.linear_to_mel_weight_matrix(dtype=tf.int32)
    with pytest.raises(TypeError, match="known while tracing"):
        tf.function(lambda x: tf.signal.linear_to_mel_weight_matrix(5, 33, x))(8000.0 * tf.ones([]))
