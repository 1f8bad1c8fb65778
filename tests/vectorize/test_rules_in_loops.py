"""Custom gradients in loops of rows whose sizes are known only where the rows are stacked: the rules keep their values."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphad as tf


@tf.custom_gradient
def sine(x: Any) -> Any:
    return tf.sin(x), lambda dy: dy * tf.cos(x)


def _of_row(x: Any, n: Any) -> Any:
    def step(s: Any, _: Any) -> Any:
        def of_element(_: Any) -> Any:
            square = s * s
            # Nothing reads this loop: it is left out, so that the values after it have other places.
            tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a * x), (0, x))
            return sine(square)

        return tf.reduce_sum(tf.map_fn(of_element, tf.stack([s, x, x])[:n]), 0)

    return tf.scan(step, tf.stack([x, x]), initializer=x)


def _with_slope(x: Any, n: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(_of_row(x, n) ** 2)
    return y, tape.gradient(y, x)


X, COUNTS = np.random.default_rng(0).normal(size=(2, 3)), np.array([2, 2], np.int32)


def _stacked(of_row: Any) -> list[Any]:
    return [
        np.stack(parts)
        for parts in zip(
            *[of_row(tf.constant(x), tf.constant(n)) for x, n in zip(X, COUNTS, strict=True)], strict=True
        )
    ]


def test_rules_keep_their_values_where_nodes_before_them_are_left_out():
    want = _stacked(lambda x, n: [_of_row(x, n)])[0]
    rows = tf.function(lambda x, n: tf.vectorized_map(lambda row: _of_row(*row), (x, n)))
    np.testing.assert_allclose(rows(tf.constant(X), tf.constant(COUNTS)), want, rtol=1e-12)


def test_so_do_their_slopes_inside_and_outside_of_the_rows():
    want, slopes = _stacked(_with_slope)
    rows = tf.function(lambda x, n: tf.vectorized_map(lambda row: _with_slope(*row), (x, n)))
    for found, right in zip(rows(tf.constant(X), tf.constant(COUNTS)), (want, slopes), strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-12)

    @tf.function
    def outside(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.vectorized_map(lambda row: _of_row(*row), (x, n)) ** 2
        return tape.gradient(y, x)

    np.testing.assert_allclose(outside(tf.constant(X), tf.constant(COUNTS)), slopes, rtol=1e-12)
