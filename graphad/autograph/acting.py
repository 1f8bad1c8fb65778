"""Tests of `while` that do something besides deciding, as one that draws a number or assigns a variable.

    while g.uniform([]) < 0.9:      ->      holds = g.uniform([]) < 0.9
        x = body(x)                         while holds:
                                                x = body(x)
                                                holds = g.uniform([]) < 0.9

To learn whether a tensor decides, the test is evaluated once in front of the loop. What it did there stays in the graph, so the
loop begins with that value instead of evaluating the test again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.tensor import Tensor
from graphad.graph import walk
from graphad.ops.control.predicates import as_predicate


def acts(trace: Any, start: int) -> bool:
    """Whether a node of a trace, from the number `start` on, does something that is seen when it is done twice; perhaps it does
    for rows of a batch without a trace."""
    if trace is None:
        return True
    return any(walk.acts(node.op) for node in trace.builder.nodes[start:])


class Tested:
    """The value of the test, as a variable of the loop."""

    name = "the test of the loop"

    def __init__(self, value: Any, test: Callable[[], Any]) -> None:
        self.value: Tensor = as_predicate("while", value)
        self._test = test

    def read(self) -> Tensor:
        return self.value

    def write(self, value: Tensor) -> None:
        self.value = value

    def behind(self, body: Callable[[], Any]) -> Callable[[], Any]:
        """A step that ends with the next test."""

        def step() -> None:
            body()
            self.value = as_predicate("while", self._test())

        return step
