"""What never changes is computed before a loop: the same bits in every tier, no error and no NaN where no step runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.passes import hoist
from graphad.compiler.pipeline import optimise
from graphad.compiler.plan.executable import Executable
from graphad.core.spec import TensorSpec
from graphad.gradient.registry import new_op
from graphad.graph.evaluate import evaluate, set_runner
from graphad.graph.ir import Graph, Node
from graphad.graph.verify import verify
from graphad.graph.walk import sub_graphs
from graphad.trace.specialise import specialise
from graphad.trace.tracer import trace_flat
from tests.support.bits import assert_same_bits

RNG = np.random.default_rng(5)
H, U, W = (RNG.normal(size=(3, 3)).astype("float32") for _ in range(3))


def definite(function: Callable[..., Any], *values: Any) -> Graph:
    """The specialised graph of a function of these values, before any pass."""
    specs = [TensorSpec(np.shape(x), np.asarray(x).dtype) for x in values]
    return specialise(trace_flat(lambda *xs: [function(*xs)], specs).graph, specs)


def loops(graph: Graph) -> Iterator[Node]:
    """The loops of a graph, those in bodies and branches included."""
    for node in graph.nodes:
        if node.op.name.startswith("loop"):
            yield node
        for inner in sub_graphs(node.op):
            yield from loops(inner)


def in_loops(graph: Graph) -> list[str]:
    """The ops that loops run again and again, those of branches included."""

    def names(inner: Graph) -> list[str]:
        found = []
        for node in inner.nodes:
            found.append(node.op.name)
            for graph in sub_graphs(node.op):
                found += names(graph)
        return found

    return [name for node in loops(graph) for inner in sub_graphs(node.op) for name in names(inner)]


def moved(function: Callable[..., Any], *values: Any) -> tuple[Graph, Graph]:
    """The graph before and after the pass, which must agree to the last bit, also through all tiers."""
    before = definite(function, *values)
    after = hoist.run(before)
    verify(after)
    assert hoist.run(after) is after
    # Rounds that become compiled meanwhile would have other last bits of small products.
    runner = set_runner(lambda graph, values, place=None: evaluate(graph, values))
    try:
        want, found = evaluate(before, values), evaluate(after, values)
    finally:
        set_runner(runner)
    for y, w in zip(found, want, strict=True):
        assert_same_bits(y, w)
    specs = [TensorSpec(np.shape(x), np.asarray(x).dtype) for x in values]
    executable = Executable(trace_flat(lambda *xs: [function(*xs)], specs).graph)
    (y,) = executable.run(values, False)
    assert_same_bits(y, want[0])
    np.testing.assert_allclose(executable.run(values, True)[0], want[0], rtol=1e-5, atol=1e-6)
    return before, after


def steps(body: Callable[..., Any], count: Any = 5) -> Callable[..., Any]:
    """h, u, w -> h after some steps of `body(h, u, w)`."""

    def function(h: Any, u: Any, w: Any) -> Any:
        return tf.while_loop(lambda i, h: i < count, lambda i, h: (i + 1, body(h, u, w)), (0, h))[1]

    return function


def gradient(function: Callable[..., Any]) -> Callable[..., Any]:
    """h, u, w -> the gradient of the function by u."""

    def backward(h: Any, u: Any, w: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(u)
            y = function(h, u, w)
        return tape.gradient(y, u)

    return backward


def nested(h: Any, u: Any, w: Any) -> Any:
    return steps(lambda h, u, w: steps(lambda h, u, w: tf.tanh(h + tf.exp(u) @ w), 3)(h, u, w) * 0.5, 4)(
        h, u, w
    )


def scanned(h: Any, u: Any, w: Any) -> Any:
    return tf.scan(lambda a, x: tf.tanh(a @ tf.exp(u) + x), w, initializer=h[0:1])


def mapped(h: Any, u: Any, w: Any) -> Any:
    return tf.map_fn(lambda x: x * tf.reduce_sum(tf.exp(u) @ w), h)


def branched(h: Any, u: Any, w: Any) -> Any:
    def body(h: Any, u: Any, w: Any) -> Any:
        return tf.cond(h[0, 0] > 0.0, lambda: h - tf.exp(u) @ w, lambda: h + tf.exp(w))

    return steps(body)(h, u, w)


def in_a_branch(h: Any, u: Any, w: Any) -> Any:
    return tf.cond(h[0, 0] > 9.0, lambda: h, lambda: steps(lambda h, u, w: h + tf.exp(u))(h, u, w))


def until(h: Any, u: Any, w: Any) -> Any:
    return tf.while_loop(
        lambda h: tf.reduce_sum(h) < tf.reduce_sum(tf.exp(u)), lambda h: (h + tf.abs(tf.exp(w)),), (h,)
    )[0]


MOVED = {
    "a function": (steps(lambda h, u, w: tf.tanh(h + tf.exp(u))), {"exp"}),
    "a matrix product": (steps(lambda h, u, w: tf.tanh(h + tf.exp(u) @ w)), {"exp", "matmul"}),
    "products": (steps(lambda h, u, w: h + tf.tanh(u * w)), {"mul", "tanh"}),
    "a sum": (steps(lambda h, u, w: h + tf.reduce_sum(u * w)), {"reduce_sum"}),
    "arrays put together": (steps(lambda h, u, w: h @ tf.concat([u, tf.exp(w)], 0)[1:4]), {"concat", "exp"}),
    "a loop in a loop": (nested, {"exp", "matmul"}),
    "scan": (scanned, {"exp"}),
    "map_fn": (mapped, {"exp", "matmul", "reduce_sum"}),
    "branches": (branched, {"exp", "matmul"}),
    "a loop in a branch": (in_a_branch, {"exp"}),
    "a test": (until, {"exp"}),
    "gradient": (gradient(steps(lambda h, u, w: tf.tanh(h + tf.exp(u) @ w))), {"exp"}),
    "gradient of scan": (gradient(scanned), {"exp"}),
    "gradient of a loop in a loop": (gradient(nested), {"exp"}),
}


@pytest.mark.parametrize("case", list(MOVED))
def test_what_never_changes_stands_before_the_loop(case: str) -> None:
    function, gone = MOVED[case]
    before, after = moved(function, H, U, W)
    assert gone <= set(in_loops(before))
    assert not gone & set(in_loops(after))


def test_a_gradient_computes_what_both_loops_need_once() -> None:
    _, after = moved(gradient(steps(lambda h, u, w: tf.tanh(h + tf.exp(u) * h))), H, U, W)
    assert [node.op.name for node in after.nodes].count("exp") == 1


@pytest.mark.parametrize("run", [None, False, True], ids=["eager", "tier 0", "native"])
@pytest.mark.parametrize(
    "body",
    [
        lambda h, u: h + tf.math.log(u),
        lambda h, u: tf.cond(h[0] >= 0.0, lambda: h + 1.0 / u, lambda: h * tf.sqrt(u)),
        lambda h, u: tf.while_loop(lambda k, h: k < 2, lambda k, h: (k + 1, h * tf.exp(u) / u), (0, h))[1],
    ],
    ids=["straight", "branches", "nested"],
)
def test_no_steps_and_a_pole_have_the_gradient_zero(body: Callable[..., Any], run: bool | None) -> None:
    def f(h: Any, u: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([h, u])
            y = tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, body(h, u)), (0, h))[1]
        return y, *tape.gradient(y, [h, u], unconnected_gradients="zero")

    g = f if run is None else tf.function(f, jit_compile=run)
    y, by_h, by_u = g(tf.constant([1.0, 2.0]), tf.constant([0.0, -1.0]), tf.constant(0))
    assert [x.numpy().tolist() for x in (y, by_h, by_u)] == [[1.0, 2.0], [1.0, 1.0], [0.0, 0.0]]
    # And what does run gives what is computed eagerly.
    wanted = f(tf.constant([1.0, 2.0]), tf.constant([0.5, 1.5]), tf.constant(2))
    found = g(tf.constant([1.0, 2.0]), tf.constant([0.5, 1.5]), tf.constant(2))
    for x, w in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, w, rtol=1e-5)


BAD = np.array([[1.0, 0.0], [0.0, -1.0]], "float32")  # has no Cholesky factor


def factor(h: Any, u: Any) -> Any:
    return h + tf.linalg.cholesky(u)


@pytest.mark.parametrize("run", [False, True], ids=["tier 0", "native"])
def test_what_may_raise_does_so_only_where_a_step_runs(run: bool) -> None:
    @tf.function(jit_compile=run)
    def some(h: Any, u: Any, n: Any) -> Any:
        return tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, factor(h, u)), (0, h))[1]

    h = np.ones((2, 2), "float32")
    np.testing.assert_array_equal(some(h, BAD, tf.constant(0)), h)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cholesky"):
        some(h, BAD, tf.constant(1))


@pytest.mark.parametrize("run", [False, True], ids=["tier 0", "native"])
@pytest.mark.parametrize(
    "body",
    [lambda x, k: 6 // x[1], lambda x, k: x % k, lambda x, k: tf.gather(x, k + 2), lambda x, k: x[k + 2]],
    ids=["quotient", "remainder", "gather", "item"],
)
def test_integers_that_raise_do_so_only_where_a_step_runs(body: Callable[..., Any], run: bool) -> None:
    @tf.function(jit_compile=run)
    def f(x: Any, k: Any, n: Any) -> Any:
        test = lambda i, s: i < n  # noqa: E731
        return tf.while_loop(test, lambda i, s: (i + 1, s + tf.reduce_sum(body(x, k))), (0, 0))[1]

    x, k = tf.constant([1, 0]), tf.constant(0)
    assert int(f(x, k, tf.constant(0))) == 0
    with pytest.raises((ZeroDivisionError, tf.errors.InvalidArgumentError)):
        f(x, k, tf.constant(1))


def test_what_may_raise_is_moved_where_a_step_is_certain_and_nothing_raises_before() -> None:
    h, u = np.ones((2, 2), "float32"), np.eye(2, dtype="float32") * 4

    def counted(body: Callable[..., Any]) -> set[str]:
        def function(h: Any, u: Any) -> Any:
            return tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, body(i, h, u)), (0, h))[1]

        before = definite(function, h, u)
        after = hoist.run(before)
        assert_same_bits(evaluate(after, [h, u])[0], evaluate(before, [h, u])[0])
        return set(in_loops(after))

    assert "cholesky" not in counted(lambda i, h, u: factor(h, u))
    assert "cholesky" in counted(lambda i, h, u: factor(tf.linalg.inv(h + tf.eye(2)), u))
    assert "cholesky" in counted(lambda i, h, u: tf.cond(h[0, 0] > 0.0, lambda: factor(h, u), lambda: h))
    assert "floordiv" not in counted(lambda i, h, u: h + tf.cast(tf.cast(u, "int32") // 3, "float32"))

    def until(h: Any, n: Any) -> Any:
        return tf.while_loop(lambda h: h[0] < 9, lambda h: (h + 6 // n,), (h,))[0]

    left = hoist.run(definite(until, np.array([1], "int32"), np.array([2], "int32")))
    assert "floordiv" in in_loops(left)


def test_effects_and_functions_of_the_user_stay_in_every_step() -> None:
    calls: list[Any] = []

    def counting(x: Any) -> Any:
        calls.append(x)
        return x * 2.0

    counted = new_op("counted_in_a_loop", counting)

    @tf.function
    def f(h: Any, u: Any) -> Any:
        return tf.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, h + counted(u)), (0, h))[1]

    assert float(f(tf.constant(1.0), tf.constant(2.0))) == 17.0
    assert len(calls) == 4


LONG = np.ones(40_000, "float32")


def test_what_costs_memory_and_saves_nothing_stays() -> None:
    def left(function: Callable[..., Any], *values: Any) -> list[str]:
        return in_loops(hoist.run(definite(function, *values)))

    def summed(body: Callable[..., Any]) -> Callable[..., Any]:
        return lambda h, *xs: tf.while_loop(lambda i, h: i < 3, lambda i, h: (i + 1, body(h, *xs)), (0, h))[1]

    a, b = np.ones((300, 1), "float32"), np.ones((1, 300), "float32")
    scalar = np.float32(1.0)
    # An array that nothing else in the loop is as large as, which a kernel has for nothing.
    assert "mul" in left(summed(lambda h, a, b: h + tf.reduce_sum(tf.sin(h + a * b))), scalar, a, b)
    # A kernel would read as much as before.
    assert "div" in left(summed(lambda h, x: tf.sin(h - x / 3.0)), LONG, LONG)
    # It reads one array in place of two, or is spared a function.
    assert left(summed(lambda h, x, y: tf.sin(h + x * y)), LONG, LONG, LONG).count("mul") == 0
    assert "exp" not in left(summed(lambda h, x: tf.sin(h + tf.exp(x))), LONG, LONG)
    # Views cost nothing.
    row = np.ones((1, 300), "float32")
    assert left(summed(lambda h, a: h + tf.transpose(tf.exp(a))), row, a) == ["add", "transpose", "add"]
    assert "broadcast_to" in left(summed(lambda h, b: h + tf.broadcast_to(b, [300, 300])), a @ b, b)

    def until(h: Any, x: Any) -> Any:  # nobody knows whether it takes a step
        body = lambda h: (h + tf.reduce_sum(tf.concat([tf.exp(x)] * 50, 0)),)  # noqa: E731
        return tf.while_loop(lambda h: h < 9.0, body, (h,))[0]

    ops = left(until, scalar, LONG)
    assert "concat" in ops and "exp" not in ops


def test_moved_nodes_keep_the_lines_of_the_user() -> None:
    graph = hoist.run(definite(steps(lambda h, u, w: h + tf.exp(u)), H, U, W))
    (found,) = [node for node in graph.nodes if node.op.name == "exp"]
    assert found.line is not None and "test_hoist.py" in found.line


def test_sizes_that_are_symbols_are_no_hindrance() -> None:
    f = tf.function(steps(lambda h, u, w: tf.tanh(h + tf.exp(u) @ w)), jit_compile=True)
    executable = Executable(f.get_concrete_function(*[TensorSpec([None, None], "float32")] * 3).graph)
    for n in (1, 2, 5):
        values = (
            [x[:n, :n].copy() for x in (H, U, W)]
            if n < 4
            else [RNG.normal(size=(n, n)).astype("float32")] * 3
        )
        np.testing.assert_allclose(
            executable.run(values, True)[0], executable.run(values, False)[0], rtol=1e-5, atol=1e-6
        )
    for cls in executable.classes:
        assert "exp" not in in_loops(cls.graph)


def test_the_pipeline_moves() -> None:
    graph = definite(steps(lambda h, u, w: h + tf.exp(u)), H, U, W)
    assert "exp" in in_loops(graph)
    assert "exp" not in in_loops(optimise(graph))
