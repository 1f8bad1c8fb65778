"""A loop that makes no step has no derivative by what its body alone reads, whatever that holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

NAN, INF = float("nan"), float("inf")
BODIES: dict[str, Callable[[Any], Any]] = {
    "quotient": lambda x: 1.0 / x,
    "log_softmax": tf.nn.log_softmax,
    "product": lambda x: x * tf.exp(x),
    "matmul": lambda x: tf.linalg.matvec(tf.tensordot(x, x, 0), x),
    "reshaped": lambda x: tf.reshape(tf.stack([x, x]), [2, -1])[0],
}


@pytest.mark.parametrize("run", [None, False, True], ids=["eager", "tier 0", "native"])
@pytest.mark.parametrize("body", list(BODIES))
@pytest.mark.parametrize("by_value", [False, True])
def test_zeros_and_no_nan_come_down_from_a_loop_without_steps(
    by_value: bool, body: str, run: bool | None
) -> None:
    def f(x: Any, steps: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            test = (lambda i, p: tf.reduce_sum(p) < -1e9) if by_value else (lambda i, p: i < steps)
            y = tf.while_loop(test, lambda i, p: (i + 1, p + BODIES[body](x)), (0, tf.zeros_like(x)))[1]
        return tape.gradient(y, x, unconnected_gradients="zero")

    for x in ([0.0, 1.0, 2.0], [1.0, NAN, 2.0], [INF, 0.0, -INF]):
        g = f if run is None else tf.function(f, jit_compile=run)
        assert g(tf.constant(x), tf.constant(0)).numpy().tolist() == [0.0, 0.0, 0.0]


def test_what_never_changes_is_still_computed_once_where_its_derivative_takes_no_value() -> None:
    def f(x: Any) -> Any:
        return tf.while_loop(
            lambda i, p: i < 3, lambda i, p: (i + 1, p + tf.reshape(x, [6])), (0, tf.zeros([6]))
        )[1]

    graph = tf.function(f).get_concrete_function(tf.TensorSpec([2, 3])).graph
    assert "reshape" in [node.op.name for node in graph.nodes]
    np.testing.assert_array_equal(tf.function(f)(tf.ones([2, 3])), np.full(6, 3.0))


@pytest.mark.parametrize("fold", [tf.foldl, tf.foldr])
def test_a_loop_over_no_rows_of_unknown_rank_is_differentiated_twice(fold: Any) -> None:
    """What it would have kept for each row has no rank that anybody knows."""

    def f(x: Any) -> Any:
        y = fold(lambda a, row: tf.tanh(a) + 0.5 * row, x, initializer=tf.zeros(tf.shape(x)[1:]))
        y += y
        return tf.einsum("...ij,jk->...ik", y, y)

    def derivatives(f: Any, x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            first = inner.gradient(y, x, unconnected_gradients="zero")
            total = tf.reduce_sum(first * 0.5)
        return y, first, outer.gradient(total, x, unconnected_gradients="zero")

    traced = tf.function(f, input_signature=[tf.TensorSpec(None, tf.float32)])
    for rows in (0, 1, 3, 0):
        x = tf.reshape(tf.range(4.0 * rows) - 1.5, [rows, 2, 2])
        for found, expected in zip(derivatives(traced, x), derivatives(f, x)):
            np.testing.assert_allclose(found, expected, 1e-4)


def test_what_no_step_has_kept_has_no_size_that_must_fit() -> None:
    def f(x: Any, n: Any) -> Any:
        kept, h = tf.TensorArray(tf.float32, 0, dynamic_size=True), x
        for i in tf.range(n):
            for _ in tf.range(i + 1):
                h = h + 0.5 * h * x
            kept = kept.write(i, h)
        return tf.reduce_sum(h * x) + tf.reduce_sum(kept.stack() ** 2)

    traced = tf.function(f, input_signature=[tf.TensorSpec([None]), tf.TensorSpec([], tf.int32)])
    x = tf.constant([0.5, -1.0])
    for n in (0, 2, 0):
        second = []
        for g in (traced, f if n else lambda x, n: tf.reduce_sum(x * x)):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    y = g(x, tf.constant(n))
                total = tf.reduce_sum(inner.gradient(y, x) * [1.0, 3.0])
            second.append(outer.gradient(total, x))
        np.testing.assert_allclose(second[0], second[1], 1e-5)
