"""Ops whose sizes are inputs that only the run knows, in compiled code: passes and plans neither drop nor guess their sizes."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

SIX, THREE = np.arange(6, dtype=np.float32), np.arange(3, dtype=np.float32)


def ints(*values):
    return np.array(values, np.int32)


PROGRAMS = {
    "a reshape of a reshape": (lambda x, s: tf.reshape(tf.reshape(x, [-1, 1]), s), SIX, ints(2, 3)),
    "a reshape of one by value": (lambda x, s: tf.reshape(tf.reshape(x, s), [-1]), SIX, ints(2, 3)),
    "two reshapes by value": (lambda x, s: tf.reshape(tf.reshape(x, s), s[::-1]), SIX, ints(2, 3)),
    "a broadcast of a broadcast": (lambda x, s: tf.broadcast_to(tf.broadcast_to(x, [1, 6]), s), SIX, ints(2, 6)),
    "a sum of a broadcast": (lambda x, s: tf.reduce_sum(tf.broadcast_to(x, s), 0), SIX, ints(2, 6)),
    "a tile of a tile": (lambda x, s: tf.tile(tf.tile(x, [2]), s), THREE, ints(2)),
    "a pad": (lambda x, s: tf.pad(x, tf.reshape(s, [1, 2])), THREE, ints(2, 1)),
    "a number broadcast": (lambda x, s: x * tf.reshape(tf.broadcast_to(2.0, s), [-1])[0], THREE, ints(2, 1)),
    "the largest": (lambda x, s: tf.math.top_k(x, s[0]).values, SIX, ints(2, 1)),
    "a unit matrix": (lambda x, s: tf.eye(s[0], s[1]) * x, THREE, ints(2, 3)),
}  # fmt: skip


@pytest.mark.parametrize("jit", [False, True], ids=["numpy", "native"])
@pytest.mark.parametrize("known", [False, True], ids=["unknown", "known"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_is_as_eager_with_its_derivative(name, known, jit):
    program, x, sizes = PROGRAMS[name]

    def f(x, s):
        return program(tf.sin(x), s) * 2.0

    specs = [
        tf.TensorSpec([len(x)] if known else [None]),
        tf.TensorSpec([len(sizes)] if known else [None], tf.int32),
    ]
    found = []
    for g in (f, tf.function(f, input_signature=specs, jit_compile=jit)):
        with tf.GradientTape() as tape:
            source = tf.constant(x)
            tape.watch(source)
            y = g(source, tf.constant(sizes))
            loss = tf.reduce_sum(y * y)
        found.append((y, tape.gradient(loss, source)))
    for mine, wanted in zip(*found, strict=True):
        np.testing.assert_allclose(mine, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("jit", [False, True], ids=["numpy", "native"])
@pytest.mark.parametrize(
    "dtype", ["uint8", "int8", "int16", "uint16", "int64", "float16", "bfloat16", "complex64", "complex128"]
)
def test_a_cast_of_sizes_is_that_of_other_numbers(dtype, jit):
    """Integers wrap around, and floats become infinite, where a dtype does not hold a size."""

    def f(x):
        n = tf.cast(tf.size(x), dtype)
        return n, n * n, tf.cast(tf.shape(x), dtype), tf.cast(tf.cast(tf.shape(x)[0], dtype), tf.float32)

    compiled = tf.function(f, input_signature=[tf.TensorSpec([None])], jit_compile=jit)
    for n in (5, 300, 2_049, 70_000):
        x = tf.zeros([n])
        for want, got in zip(f(x), compiled(x), strict=True):
            assert got.dtype is want.dtype
            np.testing.assert_array_equal(got.numpy(), want.numpy())
