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
    "roll of an axis": lambda x: np.roll(x, 1, axis=1),
    "roll of two axes": lambda x: np.roll(x, (1, 2), axis=(0, 1)),
}


@pytest.mark.parametrize("name", list(CALLS))
def test_a_numpy_function_gives_what_it_gives_for_arrays(name: str) -> None:
    call = CALLS[name]
    for x in (tf.constant(X), tf.Variable(X)):
        np.testing.assert_allclose(call(x).numpy(), call(X), rtol=1e-12)
    traced = tf.function(call, input_signature=[tf.TensorSpec([None, None], tf.float64)])
    np.testing.assert_allclose(traced(tf.constant(X)).numpy(), call(X), rtol=1e-12)


def test_the_variance_of_a_sample_has_a_gradient() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = np.var(x, ddof=1)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), 2 * (X - X.mean()) / 11, rtol=1e-12)


@pytest.mark.parametrize(
    "call", [lambda x: np.sum(x, where=X > 1), lambda x: np.sort(x, kind="stable", order="f")]
)
def test_what_is_not_supported_is_refused_in_words_that_name_the_function(call: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError, match=r"^np\.(sum|sort): .* for tensors; use graphad's own functions"):
        call(tf.constant(X))
