"""Loops that run natively give what the step-by-step evaluation gives: carries, stacks, gradients, nested and run-time limits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphad.compiler.plan.executable import Executable
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.spec import TensorSpec
from graphad.gradient.tape import GradientTape
from graphad.graph.evaluate import evaluate
from graphad.graph.ir import Graph
from graphad.ops import math as m
from graphad.ops.array import transpose
from graphad.ops.control.loop import Loop
from graphad.ops.control.while_loop import while_loop
from graphad.ops.linalg import matmul
from graphad.trace.tracer import trace_flat


def graph_of(function: Any, *shapes: Any, dtype: str = "float32") -> Graph:
    return trace_flat(function, [TensorSpec(s, dtype) for s in shapes]).graph


def check(graph: Graph, *values: Any, native: bool = True) -> Executable:
    wanted = evaluate(graph, values)
    executable = Executable(graph)
    for jit in (False, True, True):
        for a, b in zip(wanted, executable.run(values, jit), strict=True):
            assert np.shape(a) == np.shape(b)
            assert a.dtype == b.dtype
            np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6)
    compilation = executable.sizes_of(values).size_class.compilation
    kinds = [unit.kind for unit in compilation.schedule.partition.units] if compilation.schedule else []
    assert ("repeat" in kinds) == native, (kinds, compilation.reason)
    if native:
        assert executable.sizes_of(values).native is not None
    return executable


def count_to(n: int, step: Any, *start: Any) -> Any:
    out = while_loop(
        lambda i, *c: m.less(i, n), lambda i, *c: (i + 1, *step(i, *c)), [lift(np.int32(0)), *start]
    )
    return list(out[1:])


def graph_of_body(function: Any, *specs: Any) -> Graph:
    return trace_flat(function, list(specs)).graph


X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def test_carries_that_swap_and_carries_that_stay() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        return count_to(5, lambda i, a, b, c: (b, a, c), x, y, m.add(x, 1.0))

    check(graph_of(function, [2, 3], [2, 3]), X, X * 3)


def test_a_carry_that_another_one_still_needs_is_not_overwritten() -> None:
    def function(x: Any, y: Any) -> list[Any]:
        return count_to(4, lambda i, a, b: (m.multiply(b, 0.5), m.add(a, m.reduce_sum(b))), x, y)

    check(graph_of(function, [2, 3], [2, 3]), X, X * 3 + 1)  # a sum that is not all rounding


def test_products_and_views_inside() -> None:
    def function(x: Any, w: Any) -> list[Any]:
        return count_to(3, lambda i, h: (m.multiply(transpose(matmul(transpose(h), w)), 0.1),), x)

    check(
        graph_of(function, [3, 4], [3, 3]),
        np.ones((3, 4), "float32"),
        np.arange(9, dtype="float32").reshape(3, 3),
    )


def test_a_test_on_values_ends_the_loop() -> None:
    def function(x: Any) -> list[Any]:
        return list(
            while_loop(lambda x: m.less(m.reduce_sum(x), 100.0), lambda x: (m.multiply(x, 2.0),), [x])
        )

    for start in (1.0, 200.0, 3.0):
        check(graph_of(function, [None]), np.full(3, start, "float32"))


def test_no_steps_at_all() -> None:
    check(graph_of(lambda x: count_to(0, lambda i, a: (m.add(a, a),), x), [2, 3]), X)


@pytest.mark.parametrize("n", [1, 7])
def test_gradients_of_counted_loops(n: int) -> None:
    def function(x: Any, w: Any) -> list[Any]:
        with GradientTape() as tape:
            tape.watch(x)
            tape.watch(w)
            (h,) = count_to(n, lambda i, h: (m.multiply(m.add(matmul(h, w), x), 0.3),), x)
            loss = m.reduce_sum(m.multiply(h, h))
        return [loss, *tape.gradient(loss, [x, w])]

    check(graph_of(function, [2, 3], [3, 3]), X, np.linspace(0, 1, 9, dtype="float32").reshape(3, 3))


def scan_graph(
    body: Graph, n_carry: int, n_invariant: int, n_xs: int, specs: list[Any], reverse: bool = False
) -> Graph:
    op = Loop(None, body, n_carry, n_invariant, n_xs, reverse, None)
    return trace_flat(
        lambda limit, *rest: list(bind(op, limit, *rest)), [TensorSpec([], "int32"), *specs]
    ).graph


@pytest.mark.parametrize("reverse", [False, True])
def test_stacks_in_and_out_with_a_limit_known_at_run_time(reverse: bool) -> None:
    def step(c: Any, k: Any, x: Any) -> list[Any]:
        new = m.add(m.multiply(c, k), x)
        return [new, m.multiply(new, 2.0), c, x, new]

    specs = [TensorSpec([3]), TensorSpec([3]), TensorSpec([3])]
    body = graph_of_body(step, *specs)
    graph = scan_graph(body, 1, 1, 1, [TensorSpec([3]), TensorSpec([3]), TensorSpec([None, 3])], reverse)
    rng = np.random.default_rng(0)
    for length, limit in ((5, 5), (5, 3), (5, 0), (8, 8)):
        values = [np.int32(limit), *[rng.normal(size=s).astype("float32") for s in ((3,), (3,), (length, 3))]]
        check(graph, *values)


def test_a_limit_beyond_the_stacks_is_refused() -> None:
    body = graph_of_body(lambda c, x: [m.add(c, x)], TensorSpec([]), TensorSpec([]))
    graph = scan_graph(body, 1, 0, 1, [TensorSpec([]), TensorSpec([None])])
    values = [np.int32(4), np.float32(0), np.ones(3, "float32")]
    with pytest.raises((ValueError, IndexError)):
        Executable(graph).run(values, True)


def test_loops_inside_loops_over_stacks() -> None:
    inner = graph_of_body(lambda c, k, x: [m.add(c, m.multiply(x, k)), m.add(c, x)], *[TensorSpec([])] * 3)

    def outer_step(c: Any, row: Any) -> list[Any]:
        total, _, ys = bind(
            Loop(None, inner, 1, 1, 1, False, 4), lift(np.int32(4)), c, m.reduce_sum(row), row
        )
        return [total, ys]

    outer = graph_of_body(outer_step, TensorSpec([]), TensorSpec([4]))
    graph = scan_graph(outer, 1, 0, 1, [TensorSpec([]), TensorSpec([None, 4])])
    rng = np.random.default_rng(1)
    check(graph, np.int32(3), np.float32(0.5), rng.normal(size=(3, 4)).astype("float32"))


def test_a_body_with_a_host_step_runs_as_before() -> None:
    def function(x: Any) -> list[Any]:
        return count_to(3, lambda i, a: (m.cumsum(a, axis=0),), x)

    graph = graph_of(function, [2, 3])
    executable = Executable(graph)
    for a, b in zip(evaluate(graph, [X]), executable.run([X], True), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_a_limit_of_any_integer_dtype_counts_the_steps(kind: str) -> None:
    half = graph_of_body(lambda x: [m.multiply(x, 0.5)], TensorSpec((), "float32"))

    def function(x: Any, n: Any) -> list[Any]:
        return [bind(Loop(None, half, 1, 0, 0), n, x)[0]]

    graph = trace_flat(function, [TensorSpec((), "float32"), TensorSpec((), kind)]).graph
    check(graph, np.float32(8.0), np.dtype(kind).type(3), native=kind in ("int32", "int64"))
