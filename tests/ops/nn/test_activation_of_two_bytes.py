"""Activations of float16 and bfloat16 have the digits of the wider computation, rounded once."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize("approximate", [False, True])
@pytest.mark.parametrize("dtype", [tf.float16, tf.bfloat16])
def test_every_gelu_of_two_bytes_is_that_of_float32_rounded(dtype: tf.DType, approximate: bool) -> None:
    x = np.arange(65536, dtype=np.uint16).view(dtype.numpy)
    x = x[np.isfinite(x.astype(np.float32))]
    wanted = tf.nn.gelu(x.astype(np.float32), approximate).numpy().astype(dtype.numpy)
    for run in (tf.nn.gelu, tf.function(tf.nn.gelu)):
        found = run(tf.constant(x), approximate)
        assert found.dtype is dtype
        np.testing.assert_array_equal(found.numpy(), wanted)
    slope = tf.grad(lambda y: tf.reduce_sum(tf.nn.gelu(y, approximate)))(tf.constant([-0.75, -4.0], dtype))
    wide = tf.grad(lambda y: tf.reduce_sum(tf.nn.gelu(y, approximate)))(tf.constant([-0.75, -4.0]))
    np.testing.assert_array_equal(slope.numpy(), wide.numpy().astype(dtype.numpy))
