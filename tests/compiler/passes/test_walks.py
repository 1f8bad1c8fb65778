"""Lookups by a loop's counter become slices of a stack, where every index is certain to be in range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphad.compiler.passes import walks
from graphad.compiler.pipeline import simplify
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
from graphad.ops.array.create import zeros
from graphad.ops.array.gather import gather
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.scatter import tensor_scatter_nd_update
from graphad.ops.array.sequence import range as range_
from graphad.ops.array.shape import shape
from graphad.ops.control.scan import scan
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


def walked(function: Any, run: Any = walks.run) -> tuple[Graph, Graph]:
    """The specialised graph before and after the pass, or after others too."""
    graph = specialise(
        trace_flat(function, [TensorSpec([6, 2], "float32")]).graph, [TensorSpec([6, 2], "float32")]
    )
    after = run(graph)
    verify(after)
    return graph, after


def bodies(graph: Graph) -> list[Graph]:
    return [body for node in graph.nodes for body in sub_graphs(node.op)]


def looked_up(graph: Graph) -> int:
    """How many lookups there are in the bodies of loops."""
    return sum(
        inner.op.name == "gather" or (inner.op.name == "getitem" and len(inner.inputs) > 1)
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


def written(write: Any, steps: Any = 6, start: int = 0, rows: int = 6, read: Any = None) -> Any:
    """A function of x that writes write(x, i, s) into row i of a buffer for i = start, start + 1, ..."""

    def function(x: Any) -> list[Any]:
        first = m.add(zeros([rows, 2]), 3.0)

        def body(i: Any, s: Any, buffer: Any) -> tuple[Any, ...]:
            if read is not None:
                s = s + read(buffer, i)
            row = write(x, i, s)
            return i + 1, s * 0.5 + row, tensor_scatter_nd_update(buffer, [[i]], [row])

        limit = steps(x) if callable(steps) else steps
        out = while_loop(
            lambda i, s, b: m.less(i, limit), body, [lift(np.int32(start)), m.multiply(x[0], 0.0), first]
        )
        return list(out)

    return function


def writes(graph: Graph) -> int:
    """How many writes into rows there are in the bodies of loops."""
    return sum(
        inner.op.name == "tensor_scatter_nd_update"
        for node in graph.nodes
        for body in sub_graphs(node.op)
        for inner in body.nodes
    )


@pytest.mark.parametrize(
    "function",
    [
        written(lambda x, i, s: x[i] + s),
        written(lambda x, i, s: s + 1.0),
        written(lambda x, i, s: m.cast(i, "float32") * s + x[i]),
        written(lambda x, i, s: x[i] + s, steps=lambda x: shape(x)[0]),
        written(lambda x, i, s: x[i] + s, steps=5),  # the last row stays
        written(lambda x, i, s: x[i] + s, start=1),  # the first row stays
        written(lambda x, i, s: s + 1.0, rows=7),
        written(lambda x, i, s: s + 1.0, rows=9, start=2),
    ],
)
def test_rows_that_are_written_one_by_one_become_a_stack(function: Any) -> None:
    before, after = walked(function, simplify)
    assert writes(before) and not writes(after) and not looked_up(after)
    agree(function, before, after)


@pytest.mark.parametrize(
    "function",
    [
        written(lambda x, i, s: x[i] + s, read=lambda b, i: b[5 - i]),
        written(lambda x, i, s: x[i] + s, read=lambda b, i: b[m.maximum(i - 1, 0)]),
        written(lambda x, i, s: x[i] + s, read=lambda b, i: m.reduce_sum(b, axis=0)),
    ],
)
def test_other_writes_stay(function: Any) -> None:
    before, after = walked(function, simplify)
    assert writes(after)
    agree(function, before, after)


def test_a_row_that_is_read_before_it_is_written_is_the_first_one() -> None:
    function = written(lambda x, i, s: x[i] + s, read=lambda b, i: b[i])
    before, after = walked(function, simplify)
    assert looked_up(before) and not looked_up(after) and not writes(after)
    agree(function, before, after)


def test_slices_of_equally_spaced_numbers_count() -> None:
    for order, counts in (
        ([0, 1, 2], True),
        ([5, 3, 1], True),
        ([4, 4, 2], False),
        ([0, 2, 3], False),
        ([-1, 0, 1], False),
    ):
        numbers = np.array(order, np.int32)

        def function(x: Any, numbers: Any = numbers) -> list[Any]:
            return [scan(lambda s, i: s * 0.5 + x[i], numbers, m.multiply(x[0], 0.0))]

        before, after = walked(function, simplify)
        assert looked_up(before) and bool(looked_up(after)) != counts
        agree(function, before, after)


def test_a_range_of_unknown_length_counts() -> None:
    """One size class serves loops over `range(n)` of every length n."""

    def function(x: Any) -> list[Any]:
        return [scan(lambda s, i: s * 0.5 + x[i], range_(shape(x)[0]), m.multiply(x[0], 0.0))]

    executable = Executable(trace_flat(function, [TensorSpec([None, 2], "float32")]).graph)
    for n in (5, 6, 9):
        x = np.linspace(0, 1, 2 * n, dtype="float32").reshape(n, 2)
        for a, b in zip(evaluate(executable.graph, [x]), executable.run([x], True), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
        plan = executable.sizes_of([x]).size_class.compilation.schedule
        assert "repeat" in [unit.kind for unit in plan.partition.units]


def test_what_is_added_to_rows_of_zeros_becomes_a_stack() -> None:
    def function(x: Any) -> list[Any]:
        with GradientTape() as tape:
            tape.watch(x)
            out = scan(lambda s, i: m.tanh(s + x[i]), np.arange(6, dtype=np.int32), x[0] * 0.5)
        return [tape.gradient(out, x, output_gradients=m.multiply(out, -0.0))]

    before, after = walked(function, simplify)
    assert [inner.op.name for graph in bodies(before) for inner in graph.nodes].count("getitem_grad") == 1
    assert all(inner.op.name != "getitem_grad" for graph in bodies(after) for inner in graph.nodes)
    agree(function, before, after)
    (x_bar,) = evaluate(after, [X])
    assert not np.signbit(x_bar[1:]).any()  # as 0 + -0


def test_a_stack_of_unknown_length_is_looked_up() -> None:
    """How many rows a mask leaves is known at run time only, so an index may be outside."""

    def function(x: Any) -> list[Any]:
        rows = boolean_mask(x, m.greater(x[:, 0], -1.0))
        return [scan(lambda s, i: s * 0.5 + rows[i], np.arange(6, dtype=np.int32), x[0])]

    before, after = walked(function, simplify)
    assert looked_up(before) and looked_up(after)
    agree(function, before, after)


@pytest.mark.parametrize("reverse", [False, True])
def test_derivatives_of_rows_that_are_read_and_written(reverse: bool) -> None:
    """The backward loop reads and clears rows of the cotangent; both loops become native ones."""

    def function(x: Any, w: Any) -> list[Any]:
        with GradientTape() as tape:
            tape.watch([x, w])
            first = zeros([6, 2])

            def body(i: Any, s: Any, buffer: Any) -> tuple[Any, ...]:
                at = 5 - i if reverse else i
                s = m.tanh(s * w + x[i])
                return i + 1, s, tensor_scatter_nd_update(buffer, [[at]], [s])

            _, _, rows = while_loop(
                lambda i, s, b: m.less(i, 6), body, [lift(np.int32(0)), m.multiply(x[0], 0.0), first]
            )
            loss = m.reduce_sum(rows * rows * x)
        return [rows, *tape.gradient(loss, [x, w])]

    executable = Executable(
        trace_flat(function, [TensorSpec([6, 2], "float32"), TensorSpec([2], "float32")]).graph
    )
    w = np.array([0.3, -0.7], "float32")
    wanted = evaluate(executable.graph, [X, w])
    for jit in (False, True):
        for a, b in zip(wanted, executable.run([X, w], jit), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-7)
    plan = executable.sizes_of([X, w]).size_class.compilation.schedule
    native = [unit.kind for unit in plan.partition.units].count("repeat")
    assert native == 2
