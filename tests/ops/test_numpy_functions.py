"""NumPy's functions on tensors: as on arrays, traced and differentiated, or refused in words that say what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.arange(12.0).reshape(3, 4) ** 1.5

CALLS: dict[str, Callable[[Any], Any]] = {
    "var": lambda x: np.var(x),
    "var ddof": lambda x: np.var(x, ddof=1),
    "var of columns": lambda x: np.var(x, axis=0, ddof=1, keepdims=True),
    "std ddof": lambda x: np.std(x, 1, ddof=1),
    "roll": lambda x: np.roll(x, 1),
    "roll backwards": lambda x: np.roll(x, -5),
    "roll by no shifts": lambda x: np.roll(x, (), axis=0),
    "roll of an axis": lambda x: np.roll(x, 1, axis=1),
    "roll of two axes": lambda x: np.roll(x, (1, 2), axis=(0, 1)),
    "where=": lambda x: np.sum(x, where=X > 1),
    "median": np.median,
    "of a list": lambda x: np.vstack([x, x]),
    "percentile": lambda x: np.percentile(x, q=[25, 50]),
    "ufunc": lambda x: np.copysign(x, -2.0),
    "ufunc with a dtype": lambda x: np.exp(x, dtype=np.float64),
    "accumulate": lambda x: np.add.accumulate(x),
    "outer": lambda x: np.multiply.outer(x, X),
    "reduce with a start": lambda x: np.add.reduce(x, axis=0, initial=3.0),
    "arguments that are the defaults": lambda x: np.median(x, None, None, False),
    "of linalg": lambda x: np.linalg.norm(x, axis=1),
    "of fft": lambda x: np.abs(np.fft.rfft(x)),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_numpy_function_gives_what_it_gives_for_arrays(name: str) -> None:
    call = CALLS[name]
    for x in (tf.constant(X), tf.Variable(X)):
        values = call(x)
        assert isinstance(values, np.ndarray | np.generic)
        np.testing.assert_array_equal(values, call(X))
        with tf.GradientTape() as tape:
            tape.watch(x)
            recorded = call(x)
        assert isinstance(recorded, tf.Tensor)
        np.testing.assert_allclose(recorded.numpy(), call(X), rtol=1e-12)
    traced = tf.function(call, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    np.testing.assert_allclose(traced(tf.constant(X)).numpy(), call(X), rtol=1e-12)


def test_the_variance_of_a_sample_has_a_gradient() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = np.var(x, ddof=1)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * (X - X.mean()) / 11, rtol=1e-12)


# What graphad has no function for, or none that takes these arguments.
OTHERS: dict[str, Callable[[Any], Any]] = {
    "along an axis": lambda x: np.apply_along_axis(np.sort, 0, x),
    "into an array": lambda x: np.percentile(x, 25, out=np.empty(())),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, (2, 2)),
    "another": np.emath.sqrt,
    "ufunc with an option": lambda x: np.exp(x, order="F"),
    "reduce of some elements": lambda x: np.hypot.reduce(x, where=X > 1.0),
    "of a list": lambda x: np.concatenate([x, x], casting="unsafe"),
}
GONE = r"^np\.[a-z_.]+: graphad('s|\.numpy| has (no such function|signal\.)).*, and this one cannot take the tensor: "


@pytest.mark.parametrize("name", list(OTHERS))
def test_any_other_function_gives_numpy_s_result_where_nothing_follows_the_tensor(name: str) -> None:
    call, x, other = OTHERS[name], tf.constant(X), tf.Variable([1.0])
    np.testing.assert_array_equal(call(x), call(X))
    np.testing.assert_array_equal(call(tf.Variable(X)), call(X))
    assert isinstance(call(x), np.ndarray | np.generic)
    with tf.GradientTape() as tape:  # which does not follow x
        tape.watch(other)
        np.testing.assert_array_equal(call(x), call(X))


@pytest.mark.parametrize("name", list(OTHERS))
def test_any_other_function_is_refused_where_a_derivative_would_end(name: str) -> None:
    call, x, v = OTHERS[name], tf.constant(X), tf.Variable(X)
    recorded = GONE + "a derivative is being recorded"
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        for followed in (x, x + 1.0, v):
            with pytest.raises(TypeError, match=recorded):
                call(followed)
        with tape.stop_recording():
            np.testing.assert_array_equal(call(x), call(X))
        np.testing.assert_array_equal(call(tf.stop_gradient(x)), call(X))
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)), pytest.raises(TypeError, match=recorded):
        call(x)


@pytest.mark.parametrize("name", ["into an array", "another", "reduce of some elements", "of a list"])
def test_any_other_function_is_refused_while_a_function_is_traced(name: str) -> None:
    v = tf.Variable(X)
    with pytest.raises(TypeError, match=GONE + "its values are not known while a function is traced"):
        tf.function(OTHERS[name])(tf.constant(X))
    with pytest.raises(TypeError, match=GONE + "its values are not known while a function is traced"):
        tf.function(lambda: OTHERS[name](v))()


def test_a_tensor_is_no_place_for_results() -> None:
    with pytest.raises(TypeError, match=r"np\.add: out= is not supported, since tensors are immutable"):
        np.add(X, X, out=tf.constant(X))  # type: ignore[call-overload]
    out = np.zeros_like(X)
    np.spacing(tf.constant(X), out=out)
    np.testing.assert_array_equal(out, np.spacing(X))


def test_hypot_takes_numbers_of_python() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        recorded = np.hypot(x, 2.0)
    np.testing.assert_allclose(recorded.numpy(), np.hypot(X, 2.0), rtol=1e-15)
