"""A loop's body and the branches of a cond that run step by step are compiled as the user asked for the whole function."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan import tiers


def _halving(jit_compile: bool | None) -> tuple[Any, Any]:
    """A function whose loop calls Python and assigns, so that it runs step by step, and the variable."""
    total = tf.Variable(np.zeros(300))

    @tf.function(jit_compile=jit_compile)
    def halve(x: Any) -> Any:
        while tf.reduce_sum(x) > 0.01:
            x = tf.sin(x) * 0.5
            if tf.reduce_max(x) > 0.1:
                total.assign_add(tf.exp(x) * tf.numpy_function(np.sort, [x], tf.float64))
        return x

    return halve, total


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The names of the graphs that were compiled in the background, and of those that a call waited for."""
    found: dict[str, list[str]] = {"asked": [], "awaited": []}
    ask, wait = tiers.Compilation.ask, tiers.Compilation.wait

    def asked(self: Any, *arguments: Any) -> None:
        found["asked"].append(self.graph.name)
        ask(self, *arguments)

    def awaited(self: Any, *arguments: Any) -> bool:
        found["awaited"].append(self.graph.name)
        return wait(self, *arguments)

    monkeypatch.setattr(tiers.Compilation, "ask", asked)
    monkeypatch.setattr(tiers.Compilation, "wait", awaited)
    return found


def test_parts_of_a_function_that_is_never_compiled_are_not_compiled(noted: dict[str, list[str]]) -> None:
    halve, _ = _halving(jit_compile=False)
    for _ in range(5):
        halve(tf.constant(np.full(300, 2.0)))
    assert noted == {"asked": [], "awaited": []}


def test_parts_of_a_compiled_function_are_compiled_at_its_first_call(noted: dict[str, list[str]]) -> None:
    halve, total = _halving(jit_compile=True)
    results = []
    for _ in range(8):
        total.assign(np.zeros(300))
        halve(tf.constant(np.full(300, 2.0)))
        results.append(total.numpy())
    assert noted["asked"] == []
    assert len(noted["awaited"]) > 1, "the branch that assigns is a graph of its own"
    for later in results[1:]:
        np.testing.assert_array_equal(results[0], later)


def test_what_was_asked_of_a_function_is_forgotten_after_an_error(noted: dict[str, list[str]]) -> None:
    @tf.function(jit_compile=True)
    def refused(x: Any) -> Any:
        for _ in tf.range(3):
            tf.debugging.assert_less(x, 1.0)
            x = x + 1.0
        return x

    with pytest.raises(tf.errors.InvalidArgumentError):
        refused(tf.constant(0.5))
    noted["awaited"].clear()
    other, _ = _halving(jit_compile=None)
    other(tf.constant(np.full(300, 2.0)))
    assert noted["awaited"] == []
