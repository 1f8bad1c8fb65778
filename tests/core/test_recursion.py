"""Functions that call themselves without an end in eager code are named by what called them, and branches that stand too deeply
within each other are told."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
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


def many_elifs(folder: Path, count: int) -> Any:
    """A function with so many branches, from a file, since autograph reads its source."""
    lines = ["def chosen(x):", "    if x < 0:", "        y = -x"]
    for k in range(count):
        lines += [f"    elif x < {k + 1}:", f"        y = x * {k}"]
    path = folder / f"elifs{count}.py"
    path.write_text("\n".join([*lines, "    else:", "        y = x", "    return y", ""]))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.chosen


@pytest.mark.parametrize(("count", "when"), [(150, "while it is traced"), (400, "while it is traced")])
def test_branches_too_deep_within_each_other_are_told_with_a_cure(
    tmp_path: Path, count: int, when: str
) -> None:
    f = tf.function(many_elifs(tmp_path, count))
    with pytest.raises(
        RecursionError, match=f"chosen: its branches, .* deep within each other {when}"
    ) as caught:
        f(X)
    assert isinstance(caught.value, tf.errors.GraphadError) and "tf.switch_case" in str(caught.value)
    assert float(tf.function(many_elifs(tmp_path, 5))(X)) == 1.0  # nothing is left behind


def test_a_derivative_of_branches_too_deep_within_each_other_is_told(tmp_path: Path) -> None:
    f = tf.function(
        many_elifs(tmp_path, 88)
    )  # traced or not, its derivative takes more frames for each branch
    with pytest.raises(RecursionError, match=r"chosen: its branches, .* deep within each other"):
        with tf.GradientTape() as tape:
            tape.watch(X)
            f(X)
