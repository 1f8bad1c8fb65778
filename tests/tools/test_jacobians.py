"""`test.compute_gradient`: Jacobians by derivatives and by differences."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

RNG = np.random.default_rng(5)


def test_both_are_the_jacobian_for_each_argument():
    a, b = RNG.standard_normal((2, 3)), RNG.standard_normal((3, 2))
    derived, measured = tf.test.compute_gradient(tf.matmul, [a, tf.constant(b)])
    by_a = np.einsum("ik,lj->ijkl", np.eye(2), b).reshape(4, 6)
    by_b = np.einsum("il,jk->ijlk", a, np.eye(2)).reshape(4, 6)
    for found in (derived, measured):
        np.testing.assert_allclose(found[0], by_a, atol=1e-10)
        np.testing.assert_allclose(found[1], by_b, atol=1e-10)
    in_function, _ = tf.test.compute_gradient(tf.function(tf.matmul), (a, b), delta=1e-3)
    np.testing.assert_allclose(in_function[0], by_a)


def test_complex_numbers_are_two_numbers_each():
    z = RNG.standard_normal(3) + 1j * RNG.standard_normal(3)
    for f, size in ((lambda z: z * z * tf.math.conj(z), 6), (tf.abs, 3), (tf.math.real, 3)):
        derived, measured = tf.test.compute_gradient(f, [z])
        assert derived[0].shape == measured[0].shape == (size, 6)
        assert derived[0].dtype == np.float64
        np.testing.assert_allclose(derived[0], measured[0], atol=1e-5)
    derived, measured = tf.test.compute_gradient(lambda x: tf.complex(x, x * x), [np.array([2.0])])
    assert derived[0].tolist() == [[1.0], [4.0]] and np.allclose(measured[0], [[1.0], [4.0]])


def test_slices_missing_gradients_scalars_and_nothing():
    rows, counted = tf.test.compute_gradient(lambda x: tf.gather(x, [0, 0, 1]), [tf.constant([1.0, 2.0])])
    assert rows[0].tolist() == counted[0].tolist() == [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert tf.test.compute_gradient(lambda x: tf.constant([1.0]), [3.0])[0][0].tolist() == [[0.0]]
    assert tf.test.compute_gradient(tf.square, [3.0])[0][0].tolist() == [[6.0]]
    for found in tf.test.compute_gradient(lambda x: x[:, None] * tf.ones([1, 2]), [tf.zeros([0])]):
        assert found[0].shape == (0, 0)
    for found in tf.test.compute_gradient(lambda x: tf.reduce_sum(x), [tf.zeros([0, 2])]):
        assert found[0].shape == (1, 0)


def test_wrong_arguments_are_refused():
    check = tf.test.compute_gradient
    with pytest.raises(TypeError, match="f must be a function, got 3"):
        check(3, [1.0])
    with pytest.raises(TypeError, match=r"x must be a list of arguments, got float; give \[x\]"):
        check(tf.sin, 1.0)
    with pytest.raises(TypeError, match="argument 1 is int32"):
        check(tf.pow, [1.0, 2])
    with pytest.raises(TypeError, match="the result of f is bool"):
        check(lambda x: x > 0.0, [1.0])
    with pytest.raises(TypeError, match="f must give one tensor, got 'no'"):
        check(lambda x: "no", [1.0])
    for wrong in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="it must be above 0"):
            check(tf.sin, [1.0], wrong)
