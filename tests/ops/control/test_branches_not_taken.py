"""Second derivatives, taken outside of a function, through branches that were not taken and left values of unknown shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

UNKNOWN = (tf.TensorShape([]), tf.TensorShape([None, None]))


def program(x: Any) -> Any:
    def flow(p: Any) -> Any:
        if tf.reduce_all(tf.abs(p) < 1.0) or tf.reduce_sum(p) > 2.0:
            return p * p
        p = tf.sin(p) * 0.5
        if tf.reduce_sum(p) < -1.0:
            return p
        return x * p

    y = tf.tanh(flow(x))
    return tf.while_loop(
        lambda i, p: i < 2, lambda i, p: (i + 1, p[1:] * 1.25), (tf.constant(0), y), UNKNOWN
    )[1]


def derivatives(f: Any, x: Any) -> list[np.ndarray]:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(f(x))
        first = inner.gradient(y, x)
    return [y.numpy(), first.numpy(), outer.gradient(first, x).numpy()]


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("number", [-3.0, -0.6, -0.04, 0.5, 1.4, 3.0])
def test_second_derivatives_are_those_of_eager_code(rows: int, number: float) -> None:
    x = tf.constant(np.full((rows, 1), number))
    for found, wanted in zip(derivatives(tf.function(program), x), derivatives(program, x), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-15)
