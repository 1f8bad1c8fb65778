"""Lookups by a loop's counter become slices of a stack, where every index is certain to be in range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphad.compiler.passes import walks
from graphad.compiler.plan.executable import Executable
from graphad.core.convert import lift
from graphad.core.errors import InvalidArgumentError
from graphad.core.spec import TensorSpec
from graphad.gradient.tape import GradientTape
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.graph.verify import verify
from graphad.graph.walk import sub_graphs
from graphad.ops import math as m
from graphad.ops.array.gather import gather
from graphad.ops.array.shape import shape
from graphad.ops.control.while_loop import while_loop
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat

X = np.arange(12, dtype="float32").reshape(6, 2) / 8


def summed(read: Any, test: Any, start: Any = 0, step: int = 1) -> Any:
    """A function of x that adds up read(x, i) for i = start, start + step, ... while test(i)."""

    def function(x: Any) -> list[Any]:
        begin = start(x) if callable(start) else lift(np.int32(start))
        out = while_loop(
            lambda i, s: test(x, i),
            lambda i, s: (i + step, s * 0.5 + read(x, i)),
            [begin, m.multiply(x[0], 0.0)],
        )
        return list(out)

    return function


def walked(function: Any, dims: Any = (6, 2)) -> tuple[Graph, Graph]:
    """The specialised graph before and after the pass."""
    graph = specialise(
        trace_flat(function, [TensorSpec(dims, "float32")]).graph, [TensorSpec([6, 2], "float32")]
    )
    after = walks.run(graph)
    verify(after)
    return graph, after


def looked_up(graph: Graph) -> int:
    """How many lookups there are in the bodies of loops."""
    return sum(
        inner.op.name == "gather" or (inner.op.name == "getitem" and inner.op.refers)
        for node in graph.nodes
        for body in sub_graphs(node.op)
        for inner in body.nodes
    )


def agree(function: Any, before: Graph, after: Graph) -> None:
    for a, b in zip(evaluate(before, [X]), evaluate(after, [X]), strict=True):
        np.testing.assert_array_equal(a, b)
    executable = Executable(trace_flat(function, [TensorSpec([None, 2], "float32")]).graph)
    for jit in (False, True):
        for a, b in zip(evaluate(before, [X]), executable.run([X], jit), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        summed(lambda x, i: x[i], lambda x, i: m.less(i, 6)),
        summed(lambda x, i: x[i + 1] * x[i], lambda x, i: m.less(i, 5)),
        summed(lambda x, i: x[i - 2], lambda x, i: m.less(i, 8), start=2),
        summed(lambda x, i: x[1 + i], lambda x, i: m.less(i, 4), start=-1, step=2),
        summed(lambda x, i: x[i], lambda x, i: m.greater_equal(i, 0), start=5, step=-1),
        summed(lambda x, i: x[i], lambda x, i: m.greater(i, 0), start=lambda x: shape(x)[0] - 1, step=-1),
        summed(lambda x, i: gather(x, i), lambda x, i: m.less(i, shape(x)[0])),
    ],
)
def test_lookups_by_the_counter_become_slices(function: Any) -> None:
    before, after = walked(function)
    assert looked_up(before) and not looked_up(after)
    (loop,) = [node for node in after.nodes if node.op.name == "loop"]
    assert loop.op.n_invariant == 0 and loop.op.n_xs in (1, 2)  # type: ignore[attr-defined]
    agree(function, before, after)


@pytest.mark.parametrize(
    "function",
    [
        summed(lambda x, i: x[i], lambda x, i: m.less(i, 3), start=-2),  # counts from the end at first
        summed(lambda x, i: x[i], lambda x, i: m.less(i, 0)),  # no step at all
        summed(lambda x, i: x[i * 2], lambda x, i: m.less(i, 3)),
        summed(lambda x, i: m.reduce_sum(x[:, i]), lambda x, i: m.less(i, 2)),
    ],
)
def test_other_lookups_stay(function: Any) -> None:
    before, after = walked(function)
    assert after is before
    assert looked_up(before)


def test_a_lookup_out_of_range_still_fails() -> None:
    function = summed(lambda x, i: x[i + 1], lambda x, i: m.less(i, 6))
    before, after = walked(function)
    assert after is before
    executable = Executable(trace_flat(function, [TensorSpec([6, 2], "float32")]).graph)
    for jit in (False, True):
        with pytest.raises(InvalidArgumentError, match="slice index 6 of dimension 0 out of bounds"):
            executable.run([X], jit)


def test_one_size_class_serves_every_length() -> None:
    function = summed(lambda x, i: x[i + 1] * x[i], lambda x, i: m.less(i, shape(x)[0] - 1))
    executable = Executable(trace_flat(function, [TensorSpec([None, 2], "float32")]).graph)
    classes = set()
    for n in (5, 6, 9):
        x = np.linspace(0, 1, 2 * n, dtype="float32").reshape(n, 2)
        wanted = evaluate(executable.graph, [x])
        for a, b in zip(wanted, executable.run([x], True), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        classes.add(str(executable.sizes_of([x]).size_class.key))
        plan = executable.sizes_of([x]).size_class.compilation.schedule
        assert "repeat" in [unit.kind for unit in plan.partition.units]
    assert len(classes) == 1


def test_gradients_of_what_is_computed_from_the_slices() -> None:
    def function(x: Any, w: Any) -> list[Any]:
        with GradientTape() as tape:
            tape.watch(w)
            out = while_loop(
                lambda i, s: m.less(i, 5),
                lambda i, s: (i + 1, m.tanh(s * w + x[i] - x[i + 1])),
                [lift(np.int32(0)), w],
            )
            loss = m.reduce_sum(out[1])
        return [loss, tape.gradient(loss, w)]

    specs = [TensorSpec([6, 2], "float32"), TensorSpec([2], "float32")]
    graph = trace_flat(function, specs).graph
    values = [X, np.array([0.5, -0.25], "float32")]
    executable = Executable(graph)
    for jit in (False, True):
        for a, b in zip(evaluate(graph, values), executable.run(values, jit), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    plan = executable.sizes_of(values).size_class.compilation.schedule
    assert {unit.kind for unit in plan.partition.units} <= {"repeat", "loop", "copy"}
