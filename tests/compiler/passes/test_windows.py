"""Buffers whose rows a loop reads and writes near its counter become windows, with the same numbers to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad
from graphad.compiler.passes import windows
from graphad.compiler.pipeline import simplify
from graphad.compiler.plan.executable import Executable
from graphad.core.spec import TensorSpec
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.graph.verify import verify
from graphad.graph.walk import sub_graphs
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat

N = 9
X = np.linspace(-1, 1, 2 * N, dtype="float32").reshape(N, 2)


def put(buffer: Any, i: Any, row: Any) -> Any:
    return graphad.tensor_scatter_nd_update(buffer, [[i]], [row])


def add_to(buffer: Any, i: Any, row: Any) -> Any:
    return graphad.tensor_scatter_nd_update(buffer, [[i]], [buffer[i] + row])


def loop(step: Any, first: int, last: int, by: int = 1, start: Any = None) -> Callable[[Any], list[Any]]:
    """A function of x that runs `step(i, s, buffer, x)` for i = first, first + by, ..., last."""

    def function(x: Any) -> list[Any]:
        begin = x * 0.5 if start is None else start(x)
        numbers = np.arange(first, last + (1 if by > 0 else -1), by, dtype=np.int32)
        limit = len(numbers)
        _, _, s, buffer = graphad.while_loop(
            lambda t, i, s, b: t < limit,
            lambda t, i, s, b: (t + 1, i + by, *step(i, s, b, x)),
            [graphad.constant(0), graphad.constant(first), x[0] * 0.0, begin],
        )
        return [s, buffer]

    return function


def gradients(function: Callable[[Any], list[Any]]) -> Callable[[Any], list[Any]]:
    def found(x: Any) -> list[Any]:
        with graphad.GradientTape() as tape:
            tape.watch(x)
            loss = graphad.add_n([graphad.reduce_sum(graphad.sin(y)) for y in function(x)])
        return [loss, tape.gradient(loss, x)]

    return found


def large(graph: Graph) -> int:
    """How many values of the bodies of loops have a row for each step."""
    return sum(
        len(spec.dims or ()) == 2 and spec.dims[0] == N  # type: ignore[index]
        for node in graph.nodes
        for body in sub_graphs(node.op)
        for spec in body.specs
    )


WINDOWS = {
    "backwards": loop(lambda i, s, b, x: (s * 0.9 + x[i], put(b, i, s + x[i])), N - 1, 0, -1),
    "some rows": loop(lambda i, s, b, x: (s * 0.9 + x[i], put(b, i, s)), 2, N - 3),
    "some rows backwards": loop(lambda i, s, b, x: (s * 0.9 + x[i], put(b, i, s)), N - 3, 2, -1),
    "the row before": loop(
        lambda i, s, b, x: (s, put(b, i, graphad.tanh(b[i - 1]) + x[i])), 1, N - 1
    ),
    "the row behind, backwards": loop(
        lambda i, s, b, x: (s, put(b, i, b[i + 1] * 0.9 + x[i])), N - 2, 0, -1
    ),
    "two rows before": loop(
        lambda i, s, b, x: (s + b[i], put(b, i, b[i - 1] + b[i - 2] * 0.5)), 2, N - 1
    ),
    "rows ahead": loop(lambda i, s, b, x: (s + b[i + 1], put(b, i, s)), 0, N - 2),
    "added": loop(lambda i, s, b, x: (s * 0.5 + x[i], add_to(b, i, s)), 0, N - 1),
    "twice": loop(
        lambda i, s, b, x: (s + x[i], put(put(b, i, s), i + 1, b[i] * 2.0)), 0, N - 2
    ),
    "zeros": loop(lambda i, s, b, x: (s + b[i], put(b, i, x[i] * 0.0)), 0, N - 1),
    "constants": loop(lambda i, s, b, x: (s + b[i], put(b, i, graphad.zeros([2]))), 0, N - 1),
    "one step": loop(lambda i, s, b, x: (s + b[i], put(b, i, b[i + 2])), 3, 3),
    "opposite counter": loop(lambda i, s, b, x: (s + x[i], put(b, N - 1 - i, s)), 0, N - 1),
    "zeros first": loop(
        lambda i, s, b, x: (s, put(b, i, b[i - 1] * 0.5 + x[i])), 1, N - 1, start=graphad.zeros_like
    ),
}  # fmt: skip


def compared(function: Any, x: Any = X) -> tuple[Graph, Graph]:
    """The graph before and after the passes, which give the same bits; compiled code agrees."""
    graph = trace_flat(function, [TensorSpec(x.shape, x.dtype)]).graph
    before = specialise(graph, [TensorSpec(x.shape, x.dtype)])
    after = simplify(before)
    verify(after)
    for a, b in zip(evaluate(before, [x]), evaluate(after, [x]), strict=True):
        np.testing.assert_array_equal(a, b)
    executable = Executable(graph)
    for jit in (False, True):
        for a, b in zip(evaluate(before, [x]), executable.run([x], jit), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    return before, after


@pytest.mark.parametrize("case", WINDOWS)
def test_rows_near_the_counter_become_a_window(case: str) -> None:
    before, after = compared(WINDOWS[case])
    assert large(before) and not large(after)


@pytest.mark.parametrize("case", WINDOWS)
def test_so_do_the_buffers_of_their_derivatives(case: str) -> None:
    before, after = compared(gradients(WINDOWS[case]))
    assert large(before) and not large(after)


@pytest.mark.parametrize(
    "step",
    [
        lambda i, s, b, x: (s, put(b, i, b[0] + x[i])),  # the same row in all steps
        lambda i, s, b, x: (s, put(b, i, graphad.reduce_sum(b, 0))),
        lambda i, s, b, x: (s, put(b, i, b[N - 1 - i])),
        lambda i, s, b, x: (s, put(b, i, s) * 0.5),
        lambda i, s, b, x: (s + graphad.reduce_sum(put(b, i, s * 2.0)), put(b, i, s)),
    ],
)
def test_other_buffers_stay(step: Any) -> None:
    _, after = compared(loop(step, 0, N - 1))
    assert large(after)


def test_a_row_out_of_range_still_fails() -> None:
    function = loop(lambda i, s, b, x: (s, put(b, i + 1, x[i])), 0, N - 1)
    executable = Executable(trace_flat(function, [TensorSpec(X.shape, X.dtype)]).graph)
    for jit in (False, True):
        with pytest.raises(graphad.errors.InvalidArgumentError, match="9 is not in"):
            executable.run([X], jit)


def test_narrow_counters_begin_anew() -> None:
    """200 + 100 is 44 for a uint8."""

    def function(x: Any) -> list[Any]:
        numbers = graphad.constant(np.arange(190, 206, dtype=np.uint8))
        hundred = graphad.constant(100, graphad.uint8)
        return [
            graphad.scan(lambda s, i: s * 0.5 + x[graphad.cast(i + hundred, "int32")], numbers, x[0] * 0.0),
            graphad.scan(lambda s, i: s * 0.5 + graphad.gather(x, i + hundred), numbers, x[0] * 0.0),
        ]

    with np.errstate(over="ignore"):
        compared(function, np.linspace(0, 1, 400, dtype="float32").reshape(400, 1))


def test_windows_of_unknown_lengths_are_one_size_class() -> None:
    def function(x: Any) -> list[Any]:
        n = graphad.shape(x)[0]
        _, buffer = graphad.while_loop(
            lambda i, b: i < n - 1,
            lambda i, b: (i + 1, put(b, i + 1, graphad.tanh(b[i]) + x[i])),
            [graphad.constant(0), x * 0.5],
        )
        return [buffer]

    executable = Executable(trace_flat(function, [TensorSpec([None, 2], "float32")]).graph)
    classes = set()
    for n in (5, 6, 9):
        x = np.linspace(0, 1, 2 * n, dtype="float32").reshape(n, 2)
        for a, b in zip(evaluate(executable.graph, [x]), executable.run([x], True), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        found = executable.sizes_of([x]).size_class
        classes.add(str(found.key))
        assert "repeat" in [unit.kind for unit in found.compilation.schedule.partition.units]
    assert len(classes) == 1


def test_the_pass_leaves_graphs_without_buffers() -> None:
    graph = trace_flat(lambda x: [x * 2.0], [TensorSpec([3], "float32")]).graph
    assert windows.run(graph) is graph
