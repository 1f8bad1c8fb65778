"""Which loops count: their test follows from the carry that it compares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphad.core.convert import lift
from graphad.core.spec import TensorSpec
from graphad.graph.evaluate import evaluate
from graphad.ops import math as m
from graphad.ops.array.shape import shape
from graphad.ops.control.while_loop import while_loop
from graphad.trace.specialise import specialise_call
from graphad.trace.tracer import trace_flat


def loop_of(function: Any, *shapes: Any) -> Any:
    graph = trace_flat(function, [TensorSpec(s) for s in shapes]).graph
    special = specialise_call(graph, [tuple(7 if n is None else n for n in s) for s in shapes]).graph
    (node,) = [node for node in special.nodes if node.op.name == "loop"]
    return node.op, graph


def counting(start: int, compare: Any, end: Any, step: int) -> Any:
    def function(x: Any) -> list[Any]:
        bound = end(x) if callable(end) else end
        body = lambda i, y: (m.add(i, step), m.add(y, 1.0))  # noqa: E731
        return list(while_loop(lambda i, y: compare(i, bound), body, [lift(np.int32(start)), x]))

    return function


@pytest.mark.parametrize(
    ("start", "compare", "end", "step", "steps"),
    [
        (0, m.less, 10, 1, 10),
        (2, m.less, 10, 3, 3),
        (0, m.less_equal, 10, 1, 11),
        (10, m.greater, 0, -1, 10),
        (10, m.greater_equal, 0, -4, 3),
        (5, m.less, 2, 1, 0),
    ],
)
def test_a_counter_gives_the_number_of_steps(
    start: int, compare: Any, end: int, step: int, steps: int
) -> None:
    op, graph = loop_of(counting(start, compare, end, step), [3])
    assert op.test is None
    assert op.steps == steps
    values = [np.zeros(3, "float32")]
    assert evaluate(graph, values)[1][0] == steps


def test_a_size_may_be_the_bound() -> None:
    op, _ = loop_of(counting(0, m.less, lambda x: shape(x)[0], 1), [None])
    assert op.test is None
    assert str(op.steps) == "n0"


@pytest.mark.parametrize(
    ("start", "compare", "end", "step"),
    [(0, m.less, 10, -1), (0, m.greater, -10, 1), (0, m.not_equal, 10, 1)],
)
def test_other_tests_stay(start: int, compare: Any, end: int, step: int) -> None:
    op, _ = loop_of(counting(start, compare, end, step), [3])
    assert op.test is not None


def test_a_test_on_another_value_stays() -> None:
    def function(x: Any) -> list[Any]:
        return list(
            while_loop(
                lambda i, y: m.less(m.reduce_sum(y), 5.0),
                lambda i, y: (i + 1, y + 1.0),
                [lift(np.int32(0)), x],
            )
        )

    op, _ = loop_of(function, [3])
    assert op.test is not None
