"""Functions that call themselves without an end in eager code are named by what called them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import graphad as tf

X = tf.constant(1.0)


def row(x: Any) -> Any:
    return row(x * 2.0)


@tf.custom_gradient
def value(x: Any) -> Any:
    return value(x), lambda dy: dy


@tf.custom_gradient
def slope(x: Any) -> Any:
    def gradient(dy: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(dy)
            y = slope(dy)
        return tape.gradient(y, dy)

    return x * x, gradient


def slope_of_slope() -> Any:
    with tf.GradientTape() as tape:
        tape.watch(X)
        y = slope(X)
    return tape.gradient(y, X)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: tf.vectorized_map(row, tf.ones([3])), "vectorized_map: row calls itself while its rows are computed"),
        (lambda: value(X), "custom_gradient: value calls itself while its value is computed"),
        (slope_of_slope, "slope: gradient calls itself while its gradient is computed"),
    ],
)  # fmt: skip
def test_a_function_that_calls_itself_is_named_with_the_number_of_calls(
    call: Callable[[], object], words: str
) -> None:
    with pytest.raises(RecursionError, match=f"{words}, [0-9]+ calls deep, where Python's limit") as caught:
        call()
    assert isinstance(caught.value, tf.errors.GraphadError)
    count = re.search(r"(\d+) calls deep", str(caught.value))
    assert count is not None and int(count[1]) > 20
    assert float(value_of_two()) == 4.0  # nothing is left behind


def value_of_two() -> Any:
    return tf.custom_gradient(lambda x: (x * x, lambda dy: dy * 2.0 * x))(tf.constant(2.0))
