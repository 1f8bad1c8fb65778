"""Softmax and its kin in float16 and bfloat16: compiled, they are computed in float32 and rounded once, as eager ones are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "softmax": tf.nn.softmax,
    "softmax of columns": lambda x: tf.nn.softmax(x, 0),
    "log_softmax": tf.nn.log_softmax,
    "reduce_logsumexp": lambda x: tf.reduce_logsumexp(x, -1),
    "cross entropy": lambda x: tf.nn.softmax_cross_entropy_with_logits(tf.ones_like(x) / 8, x),
    "cross entropy of labels": lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits(
        tf.constant([3] * 9), x
    ),
}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_rows_have_the_bits_of_eager_ones(name: str, dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    x = tf.cast(np.random.default_rng(0).normal(size=(9, 8)) * 3, dtype)
    eager, compiled = FUNCTIONS[name](x), tf.function(FUNCTIONS[name])(x)
    assert eager.dtype is compiled.dtype is x.dtype
    np.testing.assert_array_equal(tf.cast(eager, "float64"), tf.cast(compiled, "float64"))


def test_rows_of_narrow_numbers_are_right_to_the_last_digit() -> None:
    x = tf.constant([[9.0, 1.0, 0.5]], tf.bfloat16)
    want = tf.cast(tf.nn.log_softmax(tf.cast(x, tf.float64)), tf.bfloat16)
    found = tf.function(tf.nn.log_softmax)(x)
    np.testing.assert_array_equal(tf.cast(found, "float64"), tf.cast(want, "float64"))
