"""Numbers that depend on sizes alone, as the weight of a mean, are known when a plan is bound: with unknown sizes a program has
the kernels that it has with known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain

_rng = np.random.default_rng(5)


def _gradient(loss: Any) -> Any:
    def f(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = loss(x, y)
        return z, tape.gradient(z, x)

    return f


def _huber(x: Any, y: Any) -> Any:
    e = x - y
    return tf.reduce_mean(tf.where(tf.abs(e) <= 1.0, 0.5 * e * e, tf.abs(e) - 0.5))


LOSSES = {
    "huber": _huber,
    "cross-entropy": lambda x, y: tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(y, x)),
    "by hand": lambda x, y: -tf.reduce_mean(tf.reduce_sum(y * tf.nn.log_softmax(x), -1)),
    "logsumexp": lambda x, y: tf.reduce_mean(tf.reduce_logsumexp(x * y, -1)),
    "cosine": lambda x, y: (
        -tf.reduce_mean(tf.reduce_sum(tf.math.l2_normalize(x, -1) * tf.math.l2_normalize(y, -1), -1))
    ),
}


def kernels(f: Any, *given: Any) -> int:
    return sum(line[:3].strip().isdigit() for line in explain(f)(*given).units.splitlines())


@pytest.mark.parametrize("name", LOSSES)
def test_unknown_sizes_take_no_more_kernels(name: str) -> None:
    f, spec = _gradient(LOSSES[name]), tf.TensorSpec([None, None])
    known, free = tf.function(f, jit_compile=True), tf.function(f, [spec, spec], jit_compile=True)
    for shape in ((64, 128), (3, 70)):
        x, y = (tf.constant(_rng.normal(size=shape).astype(np.float32)) for _ in range(2))
        for want, a, b in zip(f(x, y), known(x, y), free(x, y), strict=True):
            np.testing.assert_allclose(a, want, rtol=2e-5, atol=1e-6)
            np.testing.assert_allclose(b, want, rtol=2e-5, atol=1e-6)
    x, y = tf.ones([64, 128]), tf.ones([64, 128])
    assert kernels(free, x, y) == kernels(known, x, y) <= 2


def test_numbers_of_sizes_are_results_operands_and_limits_of_loops() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, None])], jit_compile=True)
    def f(x: Any) -> Any:
        n = tf.shape(x)[0]
        weight = 1.0 / tf.cast(n * 2 + 1, tf.float32)
        y = x
        for _ in tf.range(n // 2 + 1):
            y = y * weight + 1.0 / tf.cast(tf.shape(x)[1], tf.float32)
        return y, weight, n * 3, tf.math.log(weight)

    for shape in ((4, 3), (7, 2), (0, 3)):
        x = tf.constant(_rng.normal(size=shape).astype(np.float32))
        for want, got in zip(f.python_function(x), f(x), strict=True):
            assert got.dtype == want.dtype and got.numpy().tobytes() == want.numpy().tobytes()


def test_a_mean_of_nothing_is_nan_without_a_warning() -> None:
    f = tf.function(lambda x: x * 2.0 + tf.reduce_mean(x), [tf.TensorSpec([None])], jit_compile=True)
    assert f(tf.zeros([0])).shape == (0,)
    g = tf.function(lambda x: tf.reduce_mean(x) + 1.0, [tf.TensorSpec([None])], jit_compile=True)
    assert np.isnan(g(tf.zeros([0])).numpy())
