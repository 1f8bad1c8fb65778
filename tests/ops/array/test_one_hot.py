"""In compiled functions one-hot rows are a comparison within the loops that read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain


@pytest.mark.parametrize("axis", [-1, 0, 1])
@pytest.mark.parametrize("index", ["int8", "uint8", "int32", "int64", "uint64"])
def test_compiled_rows_are_those_of_eager_calls(index: str, axis: int) -> None:
    y = np.array([[0, 3, 4, 100, 7], [1, 2, 5, 1, 0]]).astype(index)
    if index != "int8":
        y[0, 0] = np.iinfo(index).max
    if np.iinfo(index).min < 0:
        y[1, 0] = -1
    signature = [tf.TensorSpec([None, None], index)] if axis else None
    for depth in (1, 5, 300):
        for dtype in ("float32", "float16", "int8", "bool", "complex64"):

            def rows(y: Any, depth: int = depth, dtype: str = dtype) -> Any:
                return tf.one_hot(y, depth, axis=axis, dtype=dtype)

            want = rows(tf.constant(y))
            found = tf.function(rows, jit_compile=True, input_signature=signature)(tf.constant(y))
            assert found.dtype == want.dtype and np.array_equal(found, want)


def test_smoothed_labels_with_their_gradient_are_one_kernel() -> None:
    x = tf.constant(np.random.default_rng(0).normal(size=(64, 128)).astype(np.float32))
    y = tf.constant(np.arange(64, dtype=np.int32))

    def loss(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            labels = tf.one_hot(y, 128) * 0.9 + 0.1 / 128
            z = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(labels, x))
        return z, tape.gradient(z, x)

    compiled = tf.function(loss, jit_compile=True)
    for want, got in zip(loss(x, y), compiled(x, y), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-7)
    units = [line for line in explain(compiled)(x, y).units.splitlines() if line[:3].strip().isdigit()]
    assert len(units) == 1, units


def test_a_depth_that_is_a_tensor() -> None:
    f = tf.function(lambda y, n: tf.one_hot(y, n, on_value=5.0, off_value=-1.0) * 2.0, jit_compile=True)
    assert f(tf.constant([0, 2]), tf.constant(3)).numpy().tolist() == [[10, -2, -2], [-2, -2, 10]]
