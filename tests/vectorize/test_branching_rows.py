"""`cond` in `vectorized_map`: rows that take either branch, with values that all rows share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

N = 3
X = np.array([[1.0, 2.0, 3.0], [-1.0, 0.5, -3.0], [0.5, -2.0, 0.7]])
M = np.arange(9.0).reshape(3, 3) / 7 + np.eye(3)
C = np.array([3.0, -4.0, 0.5])
Row = Callable[[Any, Any, Any], Any]


def _captured(r: Any, b: Any, c: Any) -> Any:
    return tf.cond(tf.reduce_sum(r) > 0.0, lambda: r * b * c, lambda: r * r * c)


def _same_in_all_rows(r: Any, b: Any, c: Any) -> Any:
    """A branch that reads no row at all."""
    return tf.cond(r[0] > 0.0, lambda: tf.sin(b) * c, lambda: r * b)


def _product(r: Any, b: Any, c: Any) -> Any:
    m = tf.constant(M)
    return tf.cond(r[0] > 0.0, lambda: tf.linalg.matvec(m * b, r) * c, lambda: tf.linalg.matvec(m, r * r) * b)


def _nested(r: Any, b: Any, c: Any) -> Any:
    return tf.cond(
        r[0] > 0.0,
        lambda: tf.cond(r[1] > 0.0, lambda: r * b * b, lambda: tf.exp(b * 0.1) * c * r[1]),
        lambda: r * c * b,
    )


def _in_loop(r: Any, b: Any, c: Any) -> Any:
    body = lambda i, y: (i + 1, tf.cond(y[0] > 0.0, lambda: y * b * c * 0.3, lambda: y - b * c))  # noqa: E731
    return tf.while_loop(lambda i, y: i < 2, body, (tf.constant(0), r))[1]


def _poles(r: Any, b: Any, c: Any) -> Any:
    """Each branch has a pole where it does not run."""
    top = tf.maximum(r[0], 0.0)
    return tf.cond(r[0] > 0.0, lambda: tf.sqrt(top) * b * c, lambda: r * b / tf.stop_gradient(r[0] - 0.0) * c)


def _maps_in_maps(r: Any, b: Any, c: Any) -> Any:
    inner = lambda s: tf.cond(s > 0.0, lambda: s * b * r[0], lambda: s * s * c * b)  # noqa: E731
    return tf.reduce_sum(tf.vectorized_map(inner, r), axis=0)


ROWS = [_captured, _same_in_all_rows, _product, _nested, _in_loop, _poles, _maps_in_maps]


def _mapped(row: Row) -> Row:
    return lambda x, b, c: tf.vectorized_map(lambda r: row(r, b, c), x)


def _looped(row: Row) -> Row:
    return lambda x, b, c: tf.stack([row(x[i], b, c) for i in range(len(X))])


def _derivatives(f: Row, x: Any, b: Any, c: Any) -> list[Any]:
    """The value, gradients, second derivatives, Jacobians and tangents of `f`."""
    sources = [x, b, c]
    with tf.GradientTape(persistent=True) as outer:
        outer.watch([x, c])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, c])
            y = f(x, b, c)
            loss = tf.reduce_sum(y * y)
        first = tape.gradient(loss, sources, unconnected_gradients="zero")
        z = tf.add_n([tf.reduce_sum(tf.sin(g)) for g in first])
    found = [y, *first, *outer.gradient(z, sources, unconnected_gradients="zero")]
    found += tape.jacobian(y, sources, unconnected_gradients="zero")
    found += outer.jacobian(first[1], sources, unconnected_gradients="zero")
    dots = [tf.cos(x), tf.sin(tf.identity(b)), tf.cos(c)]
    with tf.autodiff.ForwardAccumulator(sources, dots) as accumulator:
        y = f(x, b, c)
    found.append(accumulator.jvp(y))
    return found


@pytest.mark.parametrize("row", ROWS)
def test_every_derivative_of_rows_that_branch_and_share_values_is_that_of_a_loop(row: Row) -> None:
    x, b, c = tf.constant(X), tf.Variable(np.array([0.7, -1.5, 2.0])), tf.constant(C)
    expected = _derivatives(_looped(row), x, b, c)
    assert all(np.isfinite(np.array(y)).all() for y in expected)
    sizes = [tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.float64)]
    ways = {
        "eager": lambda: _derivatives(_mapped(row), x, b, c),
        "traced": lambda: tf.function(lambda x, c: _derivatives(_mapped(row), x, b, c))(x, c),
        "traced, unknown sizes": lambda: tf.function(
            lambda x, c: _derivatives(_mapped(row), x, b, c), input_signature=sizes
        )(x, c),
        "a function of unknown sizes, differentiated outside": lambda: _derivatives(
            _outside(tf.function(lambda x, c: _mapped(row)(x, b, c), input_signature=sizes)), x, b, c
        ),
    }
    for way, compute in ways.items():
        for k, (ours, theirs) in enumerate(zip(compute(), expected, strict=True)):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=f"{way}, value {k}")


def _outside(f: Any) -> Row:
    return lambda x, b, c: f(x, c)


def _grown(c: Any) -> Any:
    array = tf.TensorArray(tf.float64, 0, dynamic_size=True)
    for k in range(3):
        if c > k - 1.0:
            array = array.write(array.size(), c + float(k))
    return tf.reduce_sum(array.stack())


def _stretched(c: Any) -> Any:
    return tf.reduce_sum(
        tf.cond(c > 0.0, lambda: c * tf.ones([3], tf.float64), lambda: c * tf.ones([1], tf.float64))
    )


def _steps_of_its_own(c: Any) -> Any:
    long = lambda y: tf.concat([y, y[:1]], 0)  # noqa: E731
    shapes = [tf.TensorShape([None])]
    return tf.reduce_sum(tf.while_loop(lambda y: tf.reduce_sum(y) < 3.0 * c, long, [c[None]], shapes)[0])


@pytest.mark.parametrize("row", [_grown, _stretched, _steps_of_its_own], ids=lambda f: f.__name__)
@pytest.mark.parametrize("traced", [False, True])
def test_rows_whose_branches_give_other_shapes_are_refused(row: Callable[[Any], Any], traced: bool) -> None:
    f = tf.function(row) if traced else row
    x = tf.constant([1.5, -0.5, 0.5], tf.float64)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"one branch gives results of shape"):
        tf.vectorized_map(f, x)
    one_by_one = tf.map_fn(tf.function(row), x)
    np.testing.assert_allclose(one_by_one, [row(v) for v in x], rtol=1e-12)
