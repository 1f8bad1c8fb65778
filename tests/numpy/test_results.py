"""What NumPy's functions give for tensors: arrays where nothing follows these, tensors where a derivative is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
CALLS = {
    "mean": lambda x: np.mean(x, 0),
    "sqrt": lambda x: np.sqrt(x),
    "maximum": lambda x: np.maximum(x, 2.0),
    "stack": lambda x: np.stack([x, x]),
    "transpose": lambda x: np.transpose(x),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "add": lambda x: np.add(x, np.ones(3)),
    "reduce": lambda x: np.add.reduce(x),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("made", [tf.constant, tf.Variable])
def test_numpys_result_is_its_own_where_nothing_follows(made: Any, name: str) -> None:
    wanted, found = CALLS[name](X), CALLS[name](made(X))
    assert type(found) is type(wanted) and found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("name", CALLS)
def test_a_tensor_is_given_where_a_derivative_is_recorded(name: str) -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = CALLS[name](x)
    assert isinstance(y, tf.Tensor) and tape.gradient(y, x) is not None
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)):
        assert isinstance(CALLS[name](x), tf.Tensor)
    assert isinstance(tf.function(CALLS[name])(x), tf.Tensor)


def test_a_tensor_that_no_tape_follows_is_an_array_beside_one_that_is_followed() -> None:
    x, v = tf.constant(X), tf.Variable(X)
    with tf.GradientTape():
        assert isinstance(np.exp(x), np.ndarray)
        assert isinstance(np.exp(v), tf.Tensor) and isinstance(np.concatenate([x, v]), tf.Tensor)


def test_results_may_be_written_to_and_leave_the_tensor_as_it_is() -> None:
    x = tf.constant(X)
    for made in (np.transpose(x), np.reshape(x, -1), np.array_split(x, 2)[0], np.atleast_1d(x)):
        made[...] = 0.0
    np.testing.assert_array_equal(x, X)


def test_an_array_of_a_tensor_is_converted_to_another_dtype() -> None:
    assert tf.convert_to_tensor(np.atleast_1d(tf.constant(X)), tf.float64).dtype == tf.float64


def test_operators_with_an_array_at_their_left_give_tensors() -> None:
    x = tf.constant(X)
    for y in (
        X + x,
        X * x,
        X @ tf.transpose(x),
        np.float32(2.0) ** x,
        np.float32(0.0) + x,
        np.mean(x, 1) @ x,
    ):
        assert isinstance(y, tf.Tensor)


def test_an_array_is_divided_in_place_by_a_tensor() -> None:
    array = given = X.copy()
    array /= tf.constant(2.0)
    assert array is given
    np.testing.assert_array_equal(array, X / 2)
