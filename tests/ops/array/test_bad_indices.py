"""Indices that lie outside are refused, or with `bad_indices_policy="IGNORE"` left out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

WAYS = pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
INDICES = np.array([[1, 0], [2, 0], [0, -1], [0, 2], [1, 0]])
INSIDE = [True, False, False, True, True]
UPDATES = np.array([5.0, 7.0, 11.0, -13.0, 17.0])
X = np.arange(6.0).reshape(2, 3) - 2.0


def _expected(kind: str) -> np.ndarray:
    y = np.zeros_like(X) if kind == "scatter" else X.copy()
    ufunc = {"scatter": np.add, "add": np.add, "sub": np.subtract, "max": np.maximum, "min": np.minimum}[kind]
    for index, update, inside in zip(INDICES, UPDATES, INSIDE, strict=True):
        if inside:
            y[tuple(index)] = ufunc(y[tuple(index)], update)
    return y


@WAYS
@pytest.mark.parametrize("dtype", [tf.float64, tf.int32])
@pytest.mark.parametrize("kind", ["scatter", "add", "sub", "max", "min"])
def test_updates_outside_are_left_out(run: Callable[[Any], Any], kind: str, dtype: tf.DType) -> None:
    i, u, x = tf.constant(INDICES), tf.constant(UPDATES, dtype), tf.constant(X, dtype)
    if kind == "scatter":
        f = run(lambda i, u, x: tf.scatter_nd(i, u, [2, 3], bad_indices_policy="IGNORE"))
    else:
        scatter = getattr(tf, f"tensor_scatter_nd_{kind}")
        f = run(lambda i, u, x: scatter(x, i, u, bad_indices_policy="IGNORE"))
    found = f(i, u, x)
    assert found.dtype is dtype
    np.testing.assert_array_equal(found.numpy(), _expected(kind))


@WAYS
def test_what_is_read_outside_is_0(run: Callable[[Any], Any]) -> None:
    f = run(lambda x, i: tf.gather_nd(x, i, bad_indices_policy="IGNORE"))
    found = f(tf.constant(X), tf.constant(INDICES)).numpy()
    want = [X[tuple(i)] if inside else 0.0 for i, inside in zip(INDICES, INSIDE, strict=True)]
    np.testing.assert_array_equal(found, want)
    rows = f(tf.constant(X), tf.constant([[1], [2]])).numpy()
    np.testing.assert_array_equal(rows, [X[1], [0.0, 0.0, 0.0]])


def test_batches_of_indices_have_the_bounds_of_the_axes_behind_them():
    f = tf.function(lambda i: tf.gather_nd(X, i, batch_dims=1, bad_indices_policy="IGNORE"))
    assert f(tf.constant([[[2], [3]], [[-1], [0]]])).numpy().tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_sizes_may_be_unknown():
    spec = [tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None, 2], tf.int64)]
    f = tf.function(
        lambda x, i: tf.tensor_scatter_nd_max(
            x, i, tf.gather_nd(x, i, bad_indices_policy="IGNORE") + 1, bad_indices_policy="IGNORE"
        ),
        input_signature=spec,
    )
    want = X.copy()
    want[1, 0] += 1
    want[0, 2] += 1
    np.testing.assert_array_equal(f(X, INDICES).numpy(), want)


def test_gradients_are_those_of_the_indices_inside():
    x, u = tf.constant(X), tf.constant(UPDATES)
    with tf.GradientTape() as tape:
        tape.watch([x, u])
        y = tf.tensor_scatter_nd_add(x, INDICES, u * u, bad_indices_policy="IGNORE")
        z = tf.gather_nd(y, INDICES[::-1], bad_indices_policy="IGNORE")
        loss = tf.reduce_sum(z * z)
    by_x, by_u = tape.gradient(loss, [x, u])
    value, weight = X.copy(), np.zeros_like(X)
    for index, update, inside in zip(INDICES, UPDATES, INSIDE, strict=True):
        if inside:
            value[tuple(index)] += update**2
            weight[tuple(index)] += 1.0
    np.testing.assert_allclose(by_x.numpy(), 2 * weight * value)
    want = [
        (4 * weight * value)[tuple(i)] * u if inside else 0.0
        for i, u, inside in zip(INDICES, UPDATES, INSIDE, strict=True)
    ]
    np.testing.assert_allclose(by_u.numpy(), want)


def test_an_infinite_element_stays_where_an_update_is_left_out():
    x = tf.constant([-np.inf, np.inf])
    assert tf.tensor_scatter_nd_max(x, [[5]], [1.0], "IGNORE").numpy().tolist() == [-np.inf, np.inf]
    assert tf.tensor_scatter_nd_min(x, [[5]], [1.0], "IGNORE").numpy().tolist() == [-np.inf, np.inf]


def test_truth_values_outside_are_false():
    assert tf.gather_nd([True, True], [[0], [7]], bad_indices_policy="IGNORE").numpy().tolist() == [
        True,
        False,
    ]


@pytest.mark.parametrize("policy", ["", None, "DEFAULT", "ERROR"])
def test_other_policies_refuse(policy: str | None) -> None:
    for call in (
        lambda: tf.gather_nd([1, 2], [[5]], bad_indices_policy=policy),
        lambda: tf.scatter_nd([[5]], [1], [2], bad_indices_policy=policy),
        lambda: tf.tensor_scatter_nd_add([1, 2], [[5]], [1], bad_indices_policy=policy),
        lambda: tf.compat.v1.gather_nd([1, 2], [[5]], bad_indices_policy=policy),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[0\] = 5 is not in \[0, 2\)"):
            call()


def test_a_policy_that_does_not_exist_is_refused_by_name():
    with pytest.raises(ValueError, match=r"^gather_nd: bad_indices_policy is 'ignore'; '', 'DEFAULT'"):
        tf.gather_nd([1, 2], [[0]], bad_indices_policy="ignore")


def test_names_may_stand_at_their_place():
    assert tf.tensor_scatter_nd_update([1, 2], [[0]], [5], "name").numpy().tolist() == [5, 2]
    assert tf.scatter_nd([[0]], [5], [2], "", "name").numpy().tolist() == [5, 0]
