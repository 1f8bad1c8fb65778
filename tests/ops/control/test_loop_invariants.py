"""What the body of a loop computes from values that never change is pulled back once, behind the backward loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.pipeline import optimise
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.graph.walk import sub_graphs
from graphad.trace.specialise import specialise

STEP: dict[str, Callable[[Any, Any, Any], Any]] = {
    "matmul": lambda h, u, w: tf.tanh(h + tf.exp(u) @ w),
    "poles": lambda h, u, w: tf.tanh(h + tf.math.log(u) @ w + 1.0 / u),
    "may raise": lambda h, u, w: (
        h + tf.linalg.cholesky(u @ tf.transpose(u) + 0.5 * tf.eye(3, dtype=tf.float64)) @ w
    ),
    "forgets its carry": lambda h, u, w: tf.exp(u) @ w,
    "read twice": lambda h, u, w: h * tf.exp(u) + tf.exp(u) * u @ w + u,
    "softmax": lambda h, u, w: h * tf.nn.softmax(u) + tf.nn.log_softmax(w),
    "gather": lambda h, u, w: h + tf.gather(tf.exp(u), [0, 2, 2]) * w,
    "enlarged": lambda h, u, w: h + tf.broadcast_to(tf.exp(u[0]), [3, 3]) * w,
}


def repeated(step: Callable[..., Any], h: Any, u: Any, w: Any, n: Any) -> Any:
    return tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, step(h, u, w)), (0, h))[1]


def scanned(step: Callable[..., Any], h: Any, u: Any, w: Any, n: Any) -> Any:
    return tf.scan(lambda h, x: step(h + x, u, w), tf.zeros(tf.stack([n, 1, 1]), tf.float64), initializer=h)


def unrolled(step: Callable[..., Any], h: Any, u: Any, w: Any, n: int) -> Any:
    for _ in range(n):
        h = step(h, u, w)
    return h


def unrolled_stack(step: Callable[..., Any], h: Any, u: Any, w: Any, n: int) -> Any:
    rows = []
    for _ in range(n):
        h = step(h, u, w)
        rows.append(h)
    return tf.stack(rows) if rows else tf.zeros([0, 3, 3])


def slopes(loop: Callable[..., Any], step: Callable[..., Any]) -> Callable[..., Any]:
    """Values of the first and second derivatives by h, u and w."""

    def f(h: Any, u: Any, w: Any, n: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch([h, u, w])
            with tf.GradientTape() as tape:
                tape.watch([h, u, w])
                y = tf.reduce_sum(loop(step, h, u, w, n) ** 2)
            first = tape.gradient(y, [h, u, w], unconnected_gradients="zero")
            z = sum(tf.reduce_sum(bar**2) for bar in first)
        return first, outer.gradient(z, [h, u, w], unconnected_gradients="zero")

    return f


def operands() -> list[Any]:
    rng = np.random.default_rng(3)
    return [tf.constant(np.abs(rng.normal(size=(3, 3))) * 0.3 + 0.3) for _ in range(3)]


def traced(f: Callable[..., Any], sizes: list[int | None], *more: Any, **options: Any) -> Any:
    return tf.function(f, input_signature=[*[tf.TensorSpec(sizes, tf.float64)] * 3, *more], **options)


NUMBER = tf.TensorSpec([], tf.int32)


def agree(got: Any, want: Any) -> None:
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("run", [False, True], ids=["tier 0", "native"])
@pytest.mark.parametrize("sizes", [[3, 3], [None, None]], ids=["sizes", "no sizes"])
@pytest.mark.parametrize("step", list(STEP))
def test_slopes_of_a_loop_are_those_of_its_steps_one_by_one(
    step: str, sizes: list[int | None], run: bool
) -> None:
    for loop, plain in ((repeated, unrolled), (scanned, unrolled_stack)):
        f = traced(slopes(loop, STEP[step]), sizes, NUMBER, jit_compile=run)
        for n in (1, 3):
            agree(f(*operands(), tf.constant(n)), slopes(plain, STEP[step])(*operands(), n))


@pytest.mark.parametrize("run", [False, True], ids=["tier 0", "native"])
@pytest.mark.parametrize("sizes", [[3, 3], [None, None]], ids=["sizes", "no sizes"])
@pytest.mark.parametrize("step", list(STEP))
def test_a_loop_without_steps_has_slopes_of_zero_of_any_order_at_a_pole(
    step: str, sizes: list[int | None], run: bool
) -> None:
    h, _, w = operands()
    for u in (tf.zeros([3, 3], tf.float64), tf.fill([3, 3], tf.constant(np.nan)), tf.fill([3, 3], np.inf)):
        u = tf.cast(u, tf.float64)
        for number in (True, False):
            f = slopes(repeated, STEP[step])
            if number:
                g = traced(lambda h, u, w, f=f: f(h, u, w, 0), sizes, jit_compile=run)
                first, second = g(h, u, w)
            else:
                first, second = traced(f, sizes, NUMBER, jit_compile=run)(h, u, w, tf.constant(0))
            agree([first[0], second[0]], [2.0 * h, 8.0 * h])
            for bar in (*first[1:], *second[1:]):
                assert not bar.numpy().any()


@pytest.mark.parametrize("sizes", [[3, 3], [None, None]], ids=["sizes", "no sizes"])
def test_nothing_that_never_changes_is_computed_for_the_slope_of_a_loop_without_steps(
    sizes: list[int | None],
) -> None:
    def f(h: Any, u: Any, w: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(u)
            y = repeated(lambda h, u, w: h + tf.linalg.cholesky(u), h, u, w, n)
        return tape.gradient(y, u, unconnected_gradients="zero")

    h, _, w = operands()
    g = traced(f, sizes, NUMBER)
    assert not g(h, -tf.eye(3, dtype=tf.float64), w, tf.constant(0)).numpy().any()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Cholesky"):
        g(h, -tf.eye(3, dtype=tf.float64), w, tf.constant(2))


def products(graph: Graph, inside: bool = False) -> int:
    """How many matrix products the loops in a graph hold."""
    return sum(
        (inside and node.op.name == "matmul")
        + sum(products(part, inside or node.op.name == "loop") for part in sub_graphs(node.op))
        for node in graph.nodes
    )


@pytest.mark.parametrize("number", [True, False], ids=["number", "any number"])
@pytest.mark.parametrize("sizes", [[3, 3], [None, None]], ids=["sizes", "no sizes"])
@pytest.mark.parametrize("loop", [repeated, scanned])
def test_the_backward_loop_holds_no_product_of_what_never_changes(
    loop: Callable[..., Any], sizes: list[int | None], number: bool
) -> None:
    def f(h: Any, u: Any, w: Any, n: Any = 3) -> Any:
        with tf.GradientTape() as tape:
            tape.watch([h, u, w])
            y = tf.reduce_sum(loop(STEP["matmul"], h, u, w, n))
        return tape.gradient(y, [h, u, w])

    graph = traced(f, sizes, *([] if number else [NUMBER])).get_concrete_function().graph
    if number:  # a loop with a test has a number of steps where its sizes are known
        graph = optimise(specialise(graph, [TensorSpec([3, 3], tf.float64)] * 3))
    backward = [node for node in graph.nodes if node.op.name == "loop"][-1]
    assert backward.op.reverse
    assert products(backward.op.body) == 0
    behind = [node for node in graph.nodes if node.start > backward.start]
    inside = sum(products(part, True) for node in behind for part in sub_graphs(node.op))
    assert sum(node.op.name == "matmul" for node in behind) + inside == 2
    # Whether a step ran is asked only where that is not known.
    assert ("cond" in [node.op.name for node in behind]) == (not number)


def test_small_values_made_large_are_not_added_up_where_they_are_large() -> None:
    def f(h: Any, u: Any, w: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(u)
            y = repeated(lambda h, u, w: h + tf.broadcast_to(tf.exp(u), [50, 3, 3]), h, u, w, 4)
        return tape.gradient(y, u)

    g = tf.function(f)
    specs = [tf.TensorSpec([50, 3, 3]), tf.TensorSpec([3, 3]), tf.TensorSpec([3, 3])]
    backward = [node for node in g.get_concrete_function(*specs).graph.nodes if node.op.name == "loop"][-1]
    shapes = [spec.dims for spec in backward.op.body.output_specs]
    assert shapes.count((3, 3)) == 1


def test_each_row_of_a_vectorized_loop_pulls_back_by_its_own_number_of_steps() -> None:
    h, u, w = operands()
    counts = tf.constant([2, 0, 1, 0])
    us = tf.stack([u, 0.0 * u, 2.0 * u, np.nan * u])

    def rows(n: Any, u: Any) -> Any:
        return slopes(repeated, STEP["poles"])(h, u, w, n)

    for run in (rows_of(rows), tf.function(rows_of(rows)), tf.function(rows_of(rows), jit_compile=True)):
        got = run(counts, us)
        for k, n in enumerate(counts.numpy()):
            want = slopes(unrolled, STEP["poles"])(h, us[k], w, int(n))
            agree(tf.nest.map_structure(lambda x, k=k: x[k], got), want)


def rows_of(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda n, u: tf.vectorized_map(lambda row: f(*row), (n, u))


@pytest.mark.parametrize("n", [0, 3])
def test_jacobians_and_forward_mode_agree_with_steps_one_by_one(n: int) -> None:
    def jacobian(loop: Callable[..., Any]) -> Callable[..., Any]:
        def f(h: Any, u: Any, w: Any, n: Any) -> Any:
            with tf.GradientTape(persistent=True) as tape:
                tape.watch([u, w])
                y = loop(STEP["matmul"], h, u, w, n)
            return [tape.jacobian(y, x, unconnected_gradients="zero") for x in (u, w)]

        return f

    def pushed(loop: Callable[..., Any]) -> Callable[..., Any]:
        def f(h: Any, u: Any, w: Any, n: Any) -> Any:
            with tf.autodiff.ForwardAccumulator(u, tf.ones_like(u)) as accumulator:
                found = slopes(loop, STEP["matmul"])(h, u, w, n)[0]
            return [accumulator.jvp(bar, unconnected_gradients="zero") for bar in found]

        return f

    for make in (jacobian, pushed):
        got = traced(make(repeated), [3, 3], NUMBER)(*operands(), tf.constant(n))
        agree(got, make(unrolled)(*operands(), n))


def test_the_slope_given_by_a_function_is_asked_in_every_step() -> None:
    @tf.custom_gradient
    def limited(x: Any) -> Any:
        return tf.exp(x), lambda bar: tf.clip_by_value(bar, -1.0, 1.0)

    @tf.function
    def f(u: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(u)
            y = tf.while_loop(lambda i, h: i < n, lambda i, h: (i + 1, h + 5.0 * limited(u)), (0, 0.0))[1]
        return tape.gradient(y, u)

    assert f(tf.constant(0.5), tf.constant(3)).numpy() == 3.0


def test_what_stands_behind_an_effect_stays_there() -> None:
    v = tf.Variable(0.0)

    @tf.function
    def f(u: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(u)

            def body(i: Any, h: Any) -> Any:
                v.assign_add(1.0)
                return i + 1, h + tf.reduce_sum(tf.linalg.cholesky(u)) * v

            y = tf.while_loop(lambda i, h: i < n, body, (0, 0.0))[1]
        return tape.gradient(y, u), y

    eye = tf.eye(2)
    np.testing.assert_allclose(f(eye, tf.constant(3))[0].numpy()[0, 0], 0.5 * (1 + 2 + 3))
    assert v.numpy() == 3.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(-eye, tf.constant(3))
    assert v.numpy() == 4.0


@pytest.mark.parametrize("n", [0, 2])
def test_a_saved_loop_and_a_saved_slope_are_differentiated_alike(n: int, tmp_path: Any) -> None:
    class Model(tf.Module):
        @tf.function(input_signature=[*[tf.TensorSpec([None, 3], tf.float64)] * 3, NUMBER])
        def run(self, h: Any, u: Any, w: Any, n: Any) -> Any:
            return repeated(STEP["poles"], h, u, w, n)

        @tf.function(input_signature=[*[tf.TensorSpec([None, 3], tf.float64)] * 3, NUMBER])
        def slope(self, h: Any, u: Any, w: Any, n: Any) -> Any:
            return slopes(repeated, STEP["poles"])(h, u, w, n)

    tf.saved_model.save(Model(), str(tmp_path / "model"))
    model = tf.saved_model.load(str(tmp_path / "model"))
    h, u, w = operands()
    u = u if n else 0.0 * u
    want = slopes(unrolled, STEP["poles"])(h, u, w, n)
    agree(model.slope(h, u, w, tf.constant(n)), want)
    got = slopes(lambda step, *values: model.run(*values), STEP["poles"])(h, u, w, tf.constant(n))
    agree(got, want)


@pytest.mark.parametrize("n", [0, 2])
def test_the_gradient_by_the_tape_within_a_tape_leaves_out_what_never_changes(n: int) -> None:
    """Two tapes listen, so the loop has two layers, and the lower one pulls back what the inner tape asks for."""
    x = np.array([[0.3, -0.4], [0.5, 0.2]])

    def slopes(x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)

                def step(i: Any, p: Any) -> Any:
                    return i + 1, tf.sin(tf.jvp(lambda q: x * q, (x,), (x,))[1]) + 0.5 * p

                y = tf.while_loop(lambda i, p: i < n, step, (0, x))[1]
            first = inner.gradient(y, x)
        return y, first, outer.gradient(first, x, unconnected_gradients="zero")

    found = tf.function(slopes, input_signature=[tf.TensorSpec([None, 2], tf.float64)])(x)
    for one, other in zip(found, slopes(tf.constant(x)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
