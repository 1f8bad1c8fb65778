"""What NumPy's functions give for tensors: arrays where nothing follows these, tensors where a derivative is recorded."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3)
CALLS: dict[str, Callable[[Any], Any]] = {
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
    for made in (
        np.transpose(x),
        np.reshape(x, -1),
        np.array_split(x, 2)[0],
        np.atleast_1d(x),
        np.real(x),
        np.imag(x),
        np.real(x[0, 0]),
        np.diagonal(x),
        np.broadcast_to(x, [2, 2, 3]),
        *np.broadcast_arrays(x, np.zeros([2, 1])),
    ):
        made[...] = 0.0
    np.testing.assert_array_equal(x, X)


def test_functions_that_write_into_their_argument_refuse_tensors() -> None:
    for made in (tf.constant, tf.Variable):
        x = made(X)
        for write in (
            lambda x: np.copyto(x, 0.0),
            lambda x: np.put(x, [0], [9.0]),
            lambda x: np.putmask(x, X > 1, 9.0),
            lambda x: np.place(x, X > 1, [9.0]),
            lambda x: np.fill_diagonal(x, 9.0),
            lambda x: np.put_along_axis(x, np.array([[0]]), 9.0, 1),
            lambda x: np.mean(np.ones([4, 2, 3]), 0, out=x),
            lambda x: np.add(X, X, out=x),
            lambda x: np.add.at(x, 0, 1.0),
        ):
            with pytest.raises((ValueError, TypeError)):
                write(x)
        np.testing.assert_array_equal(x, X)


@pytest.mark.parametrize("place", [slice(3, 6), slice(None)])
def test_what_out_names_is_the_result_and_no_copy_of_it(place: slice) -> None:
    x, base = tf.constant([1.0, 2.0, 3.0]), np.zeros(6)
    out = base[place][:3]
    assert np.add(x, 1.0, out=out) is out and np.mean(tf.constant([X[0]]), 0, out=out) is out
    np.testing.assert_array_equal(base[place][:3], X[0])
    name = out
    name += x
    name[0] = 9.0
    assert name is out and base[place][0] == 9.0


def test_a_ufunc_of_an_operator_with_options_or_a_number_at_its_left_is_numpys() -> None:
    x = tf.constant(X)
    for call in (
        lambda x: np.multiply(2.0, x),
        lambda x: np.subtract([1.0, 2.0, 3.0], x),
        lambda x: np.add(X, x, dtype=np.float64),
        lambda x: np.add(X, x, where=X > 2.0, out=np.zeros_like(X)),
        lambda x: np.add(np.zeros_like(X), 1.0, where=x > 2.0, out=np.zeros_like(X)),
        lambda x: np.divide(X, x, casting="unsafe"),
    ):
        wanted, found = call(X), call(x)
        assert type(found) is np.ndarray and found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_a_tensor_that_a_trace_captures_has_its_derivative() -> None:
    x = tf.constant(X)
    f = tf.function(lambda: tf.reduce_sum(np.sin(x)) + tf.reduce_sum(np.cumsum(x)) + np.spacing(x)[0, 0])
    f()  # traced where nothing follows x
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f()
    wanted = np.cos(X) + np.arange(6.0, 0.0, -1.0).reshape(2, 3)
    np.testing.assert_allclose(tape.gradient(y, x), wanted, rtol=1e-6)


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


@pytest.mark.parametrize("dtype", ["float64", "float32", "int32", "int8", "uint8"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq"])
def test_an_operator_with_an_array_at_its_left_is_that_of_two_tensors(name: str, dtype: str) -> None:
    function = getattr(operator, name)
    x, y = (
        np.array([1, 7, 3, 12, 0, 5], dtype),
        np.array([0.1, 2, 3, 5, 7, 1], dtype) + np.array(dtype[0] != "f", dtype),
    )
    wanted = function(tf.constant(x), tf.constant(y))
    traced = tf.function(lambda y: function(x, y))(tf.constant(y))
    results = [function(x, tf.constant(y)), function(x, tf.Variable(y)), traced]
    if dtype[0] == "f":
        with tf.GradientTape() as tape:
            followed = tf.constant(y)
            tape.watch(followed)
            results.append(function(x, followed))
    for found in results:
        assert isinstance(found, tf.Tensor) and found.dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted)


def test_functions_that_numpy_has_for_its_own_dtypes_alone_take_bfloat16() -> None:
    x = tf.constant([[1.0, 2.0], [3.0, 5.0]], tf.bfloat16)
    v = tf.constant([3.0, 1.0, 2.0], tf.bfloat16)
    wide = np.array([[1.0, 2.0], [3.0, 5.0]])
    for found, wanted in (
        (np.einsum("ij,jk->ik", x, x), wide @ wide),
        (np.vander(v, 3), np.vander(np.array([3.0, 1.0, 2.0]), 3)),
    ):
        assert type(found) is np.ndarray and found.dtype == tf.bfloat16.as_numpy_dtype
        np.testing.assert_array_equal(found.astype(np.float64), wanted)
