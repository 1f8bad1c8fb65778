"""Slices whose step is a tensor without a value while tracing."""

import itertools

import numpy as np
import pytest

import graphad as tf

SCALARS = [tf.TensorSpec([], tf.int32)] * 3
KEYS = [
    lambda a, b, s: np.s_[..., a:b:s],
    lambda a, b, s: np.s_[:, ::s, None, ..., b::s],
    lambda a, b, s: np.s_[0, :b:s, ..., 1],
    lambda a, b, s: np.s_[::s],
    lambda a, b, s: np.s_[None, 1, ..., a::s, None],
]


@pytest.mark.parametrize("number", range(len(KEYS)))
@pytest.mark.parametrize("known", [None, [2, 3, 4, 5], [None, None, 4, None]], ids=["rank", "all", "some"])
def test_it_takes_what_numpy_takes(number, known):
    key = KEYS[number]
    x = np.arange(120.0, dtype=np.float32).reshape(2, 3, 4, 5)
    f = tf.function(lambda v, a, b, s: v[key(a, b, s)], input_signature=[tf.TensorSpec(known), *SCALARS])
    for a, b, s in itertools.product([-9, -3, 0, 3, 9], [-9, -2, 0, 2, 9], [-3, -1, 1, 2]):
        np.testing.assert_array_equal(f(x, a, b, s), x[key(a, b, s)], str((a, b, s)))


def test_it_has_a_gradient_and_no_step_of_0():
    f = tf.function(lambda v, a, b, s: v[a:b:s], input_signature=[tf.TensorSpec([None]), *SCALARS])
    x = tf.constant([1.0, 2.0, 3.0, 4.0, 5.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x, 4, 0, -2) ** 2)
    np.testing.assert_array_equal(tape.gradient(y, x), [0, 0, 6, 0, 10])
    with pytest.raises(ValueError, match="delta != 0"):
        f(x, 0, 4, 0)
    with pytest.raises(TypeError, match="valid indices"):
        tf.function(lambda v, s: v[::s])(x, tf.constant(2.0))
