"""One row for every op of graphad.ops.control and graphad.ops.state that a function of tensors can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

import graphad as tf
from graphad.vectorize.vectorized_map import vectorized_map
from tests.support.op_case import OpCase, positive, real

CHOOSE = np.array(True)[()]
THIRD = np.int32(2)
HALF = 0.5


def chosen(flag: Any, x: Any) -> Any:
    return tf.cond(flag, lambda: x * x, lambda: tf.sin(x))


def by_index(k: Any, x: Any) -> Any:
    return tf.switch_case(k, [lambda: x * 2.0, lambda: tf.exp(x), lambda: x * x * x])


def powers(x: Any) -> Any:
    return tf.while_loop(lambda k, y: k < 4, lambda k, y: (k + 1, y * x * 0.5), (tf.constant(0), x))[1]


def running(x: Any) -> Any:
    return tf.scan(lambda a, b: a * 0.5 + b * b, x)


def folded(x: Any) -> Any:
    return tf.foldl(lambda a, b: a * b + 0.5 * b, x, initializer=tf.ones_like(x[0]))


def mapped(x: Any) -> Any:
    return tf.map_fn(
        lambda r: r * tf.reduce_sum(r), x, fn_output_signature=tf.TensorSpec(x.shape[1:], x.dtype)
    )


def by_rows(x: Any) -> Any:
    return vectorized_map(lambda r: tf.math.cumsum(r) * r, x)


@tf.function
def _inner(x: Any) -> Any:
    return tf.sin(x) * x


def called(x: Any) -> Any:
    return _inner(x) + 0.5


@tf.custom_gradient
def _bent(x: Any) -> Any:
    def grad(g: Any) -> Any:
        return g * tf.exp(x) / (1.0 + tf.exp(x))

    return tf.math.softplus(x), grad


def with_rule(x: Any) -> Any:
    return _bent(x) * 2.0


def recomputed(x: Any) -> Any:
    return tf.recompute_grad(lambda y: tf.sin(y) * y)(x)


def checked(x: Any) -> Any:
    return tf.debugging.check_numerics(x * x, "x is not finite") + x


def _scan(x: Any) -> Any:
    rows = [x[0]]
    for row in x[1:]:
        rows.append(rows[-1] * HALF + row * row)
    return np.stack(rows)


def _fold(x: Any) -> Any:
    y = np.ones_like(x[0])
    for row in x:
        y = y * row + HALF * row
    return y


CASES = [
    OpCase(chosen, CHOOSE, real(3), expected=lambda flag, x: x * x if flag else np.sin(x)),
    OpCase(chosen, np.array(False)[()], real(2, 3), expected=lambda flag, x: x * x if flag else np.sin(x)),
    OpCase(by_index, THIRD, real(3), expected=lambda k, x: [x * 2.0, np.exp(x), x**3][k]),
    OpCase(powers, real(3), expected=lambda x: x**5 / 16),
    OpCase(running, real(3, 2), expected=_scan),
    OpCase(folded, real(3, 2), expected=_fold),
    OpCase(mapped, real(3, 2), expected=lambda x: x * x.sum(1, keepdims=True)),
    OpCase(by_rows, real(3, 2), expected=lambda x: np.cumsum(x, 1) * x),
    OpCase(called, real(3), expected=lambda x: np.sin(x) * x + 0.5),
    OpCase(with_rule, real(3), expected=lambda x: 2 * np.logaddexp(x, 0)),
    OpCase(recomputed, real(3), expected=lambda x: np.sin(x) * x),
    OpCase(checked, positive(3), expected=lambda x: x * x + x),
]
