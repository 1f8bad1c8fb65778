"""Second derivatives of a `cond` that each row decides for itself, where a branch keeps what all rows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

ROWS = np.array([[0.5, -1.0, 2.0], [1.0, 3.0, 0.3]])


def _row(r: Any, w: Any) -> Any:
    return tf.switch_case(
        tf.cast(tf.reduce_sum(r) <= 2.0, tf.int32) + tf.cast(r[0] > 0.7, tf.int32),
        [
            lambda: r * tf.exp(w),
            lambda: r * tf.sin(w) * w,
            lambda: r * tf.reshape(w[:, None] @ w[:1, None], [-1]),
        ],
    )


def _second(f: Callable[[Any, Any], Any], x: Any, w: Any) -> list[np.ndarray]:
    with tf.GradientTape() as outer:
        outer.watch([x, w])
        with tf.GradientTape() as inner:
            inner.watch([x, w])
            y = f(x, w)
        first = inner.gradient(y, [x, w])
        parts = [
            tf.reduce_sum(g * tf.sin(tf.cast(tf.range(tf.size(g)), tf.float64)[: g.shape[-1]])) for g in first
        ]
    return [g.numpy() for g in outer.gradient(parts, [x, w])]


@pytest.mark.parametrize("columns", [2, 3])  # as many as rows, and more
@pytest.mark.parametrize("traced", [False, True])
def test_shared_residuals_of_a_cond_by_rows_keep_their_shape(columns: int, traced: bool) -> None:
    x, w = tf.constant(ROWS[:, :columns]), tf.constant(np.arange(1.0, columns + 1))

    def mapped(x: Any, w: Any) -> Any:
        return tf.vectorized_map(lambda r: _row(r, w), x)

    def looped(x: Any, w: Any) -> Any:
        return tf.stack([_row(r, w) for r in tf.unstack(x)])

    found = _second(tf.function(mapped) if traced else mapped, x, w)
    for got, want in zip(found, _second(looped, x, w)):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_the_hessian_through_a_loop_whose_inner_loop_takes_a_step_more_each_time() -> None:
    def f(w):
        h = w
        for i in tf.range(2):
            for _ in tf.range(i + 1):
                h = h + 0.1 * h * h
        return tf.reduce_sum(h)

    w = tf.constant([0.3, -0.7], tf.float64)
    np.testing.assert_allclose(tf.hessian(tf.function(f))(w), tf.hessian(f)(w), rtol=1e-12)
