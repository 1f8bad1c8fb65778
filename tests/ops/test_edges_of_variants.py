"""What variants of the cases showed: matrices that no iteration ends for, windows and transforms of nothing, halves of complex
numbers, rows that are not there, upstream gradients of unknown shape."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

INF, NAN = float("inf"), float("nan")


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
@pytest.mark.parametrize("function", [tf.linalg.svd, tf.linalg.eigh, tf.linalg.eig])
def test_an_iteration_of_what_is_not_finite_is_refused_and_does_not_begin(function, bad):
    """LAPACK's singular values of such a matrix may never end."""
    x = np.eye(4)
    x[1, 2] = x[2, 1] = bad
    for run in (function, tf.function(function)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="NaN or infinity"):
            run(x)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_a_window_without_elements_is_refused(padding):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"conv2d: .*\(0, 0, 1, 2\)"):
        tf.nn.conv2d(tf.zeros([1, 4, 4, 1]), tf.zeros([0, 0, 1, 2]), 1, padding)
    unknown = tf.function(
        lambda x, k: tf.nn.conv2d(x, k, 1, padding), input_signature=[tf.TensorSpec([None] * 4)] * 2
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"conv2d: .*\(0, 0, 1, 2\)"):
        unknown(tf.zeros([1, 4, 4, 1]), tf.zeros([0, 0, 1, 2]))


def test_a_transform_of_a_scalar_is_refused_in_words():
    with pytest.raises(tf.errors.InvalidArgumentError, match="rfft: input has shape"):
        tf.signal.rfft(tf.constant(1.0), [4])
    with pytest.raises(tf.errors.InvalidArgumentError, match="irfft: input has shape"):
        tf.signal.irfft(tf.constant(1.0 + 0j), [4])


@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_complex_numbers_have_no_narrow_parts(dtype):
    x = tf.cast([1.0, 2.0], dtype)
    for run in (tf.complex, tf.function(tf.complex)):
        with pytest.raises(TypeError, match="float32 or float64 is needed"):
            run(x, x)


def test_no_rows_are_mapped_to_none_of_their_dtype():
    """As in TensorFlow."""
    found = tf.map_fn(lambda r: r * 2.0, tf.zeros([0, 2], tf.float64))
    assert (found.dtype, found.shape) == (tf.float64, (0,))
    a, b = tf.map_fn(lambda r: r, (tf.zeros([0, 2]), tf.zeros([0], tf.int64)))
    assert (a.dtype, b.dtype) == (tf.float32, tf.int64)


def test_no_classes_have_a_gradient_of_no_numbers():
    logits = tf.zeros([0, 0])
    with tf.GradientTape() as tape:
        tape.watch(logits)
        loss = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.zeros([0], tf.int32), logits)
    assert tape.gradient(loss, logits).shape == (0, 0)


@pytest.mark.parametrize("spec", [tf.TensorSpec(None), tf.TensorSpec([None, None])])
def test_an_upstream_gradient_of_unknown_shape_is_given_to_a_target_of_a_known_one(spec):
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    @tf.function(input_signature=[spec])
    def slope(bar):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x, output_gradients=bar)

    np.testing.assert_array_equal(slope(tf.ones([2, 2])), [[2.0, 4.0], [6.0, 8.0]])
    np.testing.assert_array_equal(slope(tf.constant([[1.0], [0.0]])), [[2.0, 4.0], [0.0, 0.0]])
    with pytest.raises(tf.errors.InvalidArgumentError):
        slope(tf.ones([3, 2]))


def test_a_derivative_by_the_parameters_of_betainc_and_zeta_in_every_way_to_run():
    a, b, x = (tf.constant(v, tf.float64) for v in ([0.5, 2.0], [3.0, 1.5], [0.3, 0.9]))

    def slopes(a, b, x):
        with tf.GradientTape() as outer:
            outer.watch([a, b, x])
            with tf.GradientTape() as tape:
                tape.watch([a, b, x])
                y = tf.math.betainc(a, b, x) + tf.math.zeta(a + 1.0, b)
            first = tape.gradient(y, [a, b, x])
        return [*first, *outer.gradient(first, [a, b, x])]

    want = [y.numpy() for y in slopes(a, b, x)]
    for jit in (False, True):
        for found, y in zip(tf.function(slopes, jit_compile=jit)(a, b, x), want, strict=True):
            np.testing.assert_allclose(found, y, rtol=1e-12)
    narrow = slopes(*(tf.cast(v, tf.float32) for v in (a, b, x)))
    for found, y in zip(narrow, want, strict=True):
        assert found.dtype is tf.float32
        np.testing.assert_allclose(found, y, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("x", [0.0, 1.0])
def test_at_its_ends_betainc_does_not_depend_on_its_parameters(x):
    a, b = tf.constant(2.0, tf.float64), tf.constant(3.0, tf.float64)
    with tf.GradientTape() as tape:
        tape.watch([a, b])
        y = tf.math.betainc(a, b, tf.constant(x, tf.float64))
    assert [float(g) for g in tape.gradient(y, [a, b])] == [0.0, 0.0]
