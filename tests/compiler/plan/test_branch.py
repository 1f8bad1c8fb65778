"""A cond in a round of a loop whose branches are too large to compute both is part of the native loop, and only the branch that
is taken runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.graph.evaluate import set_runner
from graphad.tools.explain import explain
from tests.compiler.plan.test_calls import is_native

_rng = np.random.default_rng(23)
N = 24


def numbers(*shape: int) -> Any:
    return tf.constant(_rng.normal(size=shape))


def agrees(function: Any, *given: Any) -> Any:
    """The function compiled, after two calls that gave what the eager one gives; its loop is native."""
    f = tf.function(function, jit_compile=True)
    for _ in range(2):
        wants, found = tf.nest.flatten(function(*given)), tf.nest.flatten(f(*given))
        for want, got in zip(wants, found, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)
    assert is_native(f, *given), explain(f)(*given).units
    return f


def rounds(n: int, step: Any, *start: Any) -> Any:
    return tf.while_loop(lambda i, *c: i < n, lambda i, *c: (i + 1, *step(i, *c)), (tf.constant(0), *start))[
        1:
    ]


def product(a: Any, x: Any) -> Any:
    return tf.linalg.matvec(a, tf.sin(x))


def test_each_round_runs_its_branch() -> None:
    def f(a: Any, x: Any) -> Any:
        def step(i: Any, x: Any, s: Any) -> Any:
            return tf.cond(
                i % 3 == 1, lambda: (product(a, x), s + tf.reduce_sum(x)), lambda: (x * 0.5 + 1.0, s - 1.0)
            )

        return rounds(7, step, x, tf.constant(0.0, tf.float64))

    agrees(f, numbers(N, N), numbers(N))


def test_results_that_pass_through_exchange_or_are_one_value() -> None:
    def f(a: Any, x: Any, y: Any) -> Any:
        def step(i: Any, x: Any, y: Any, z: Any, b: Any) -> Any:
            def first() -> Any:
                p = product(a, x)
                return y, x, p, tf.transpose(b) * 2.0

            def second() -> Any:
                p = product(a, y)
                return p, tf.reshape(p, [N]), z, tf.transpose(b)

            return tf.cond(tf.reduce_sum(x) > 0.0, first, second)

        return rounds(6, step, x, y, x * y, a)

    agrees(f, numbers(N, N), numbers(N), numbers(N))


def test_branches_within_branches_and_loops_within_them() -> None:
    def f(a: Any, x: Any) -> Any:
        def inner(x: Any) -> Any:
            return rounds(3, lambda j, x: (product(a, x) * 0.1,), x)[0]

        def step(i: Any, x: Any) -> Any:
            def first() -> Any:
                return tf.cond(i < 4, lambda: inner(x), lambda: product(a, x + 1.0))

            return (tf.cond(i % 2 == 0, first, lambda: x + 0.5),)

        return rounds(8, step, x)

    agrees(f, numbers(N, N), numbers(N))


def test_slices_that_move_with_the_rounds_are_read_and_written_in_branches() -> None:
    def f(a: Any, xs: Any) -> Any:
        def step(total: Any, x: Any) -> Any:
            return tf.cond(
                tf.reduce_sum(x) > 0.0, lambda: product(a, x) + total, lambda: tf.cumsum(x) - 0.1 * total
            )

        def backwards(total: Any, x: Any) -> Any:
            rows = rounds(2, lambda j, r: (tf.cond(r[0] > x[0], lambda: product(a, x), lambda: x + r),), x)
            return total * 0.5 + rows[0]

        zeros = tf.zeros([N], tf.float64)
        return tf.scan(step, xs, zeros), tf.scan(backwards, xs, zeros, reverse=True)

    agrees(f, numbers(N, N), numbers(9, N))


def test_the_test_of_a_loop_has_branches() -> None:
    def f(a: Any, x: Any) -> Any:
        def test(i: Any, x: Any) -> Any:
            return tf.cond(
                i < 3, lambda: tf.reduce_sum(product(a, x)) < 1e9, lambda: tf.linalg.det(a * 0.1) > 1e9
            )

        return tf.while_loop(test, lambda i, x: (i + 1, tf.tanh(x) + 0.1), (tf.constant(0), x))

    agrees(f, numbers(N, N), numbers(N))


def test_derivatives_take_the_branch_that_was_taken() -> None:
    def f(a: Any, x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return (
                tf.cond(
                    tf.reduce_sum(x) > 0.0,
                    lambda: tf.tanh(product(a, x)),
                    lambda: tf.exp(-x * x) * tf.cos(tf.reduce_sum(a, 0)),
                ),
            )

        with tf.GradientTape() as outer:
            outer.watch([a, x])
            with tf.GradientTape() as tape:
                tape.watch([a, x])
                (y,) = tf.while_loop(
                    lambda i, *c: i < 5,
                    lambda i, *c: (i + 1, *step(i, *c)),
                    (tf.constant(0), x),
                    maximum_iterations=5,
                )[1:]
                y = tf.reduce_sum(y * y)
            slopes = tape.gradient(y, [a, x])
            total = tf.reduce_sum(tf.sin(slopes[1]))
        return *slopes, *outer.gradient(total, [a, x])

    f_ = tf.function(f, jit_compile=True)
    a, x = numbers(N, N) * 0.3, numbers(N)
    for want, got in zip(f(a, x), f_(a, x), strict=True):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-9, atol=1e-12)


def test_what_the_other_branch_alone_keeps_for_a_derivative_is_not_left_over_from_before() -> None:
    """Residuals of the branch that is not taken are zeros, whatever their memory held."""

    def f(a: Any, xs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            ys = tf.map_fn(
                lambda x: tf.cond(x[0] > 0.0, lambda: tf.exp(product(a, x)), lambda: tf.sqrt(product(a, x))),
                xs,
            )
            ys = tf.where(ys > 0.0, ys, 0.0)  # the roots of negative numbers are NaN
        return tape.gradient(ys, xs)

    agrees(f, tf.abs(numbers(N, N)), numbers(12, N))


def test_a_branch_that_is_not_taken_raises_nothing() -> None:
    def f(a: Any, x: Any, limit: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return (tf.cond(i < limit, lambda: x + 1.0, lambda: tf.linalg.solve(a * 0.0, x)),)

        return rounds(4, step, x)

    f_ = agrees(f, numbers(N, N), numbers(N, 1), tf.constant(9))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        f_(numbers(N, N), numbers(N, 1), tf.constant(2))
    called = tf.function(
        lambda a, x, limit: rounds(
            4,
            lambda i, x: (tf.cond(i < limit, lambda: x + 1.0, lambda: product(tf.linalg.lu(a)[0], x)),),
            x,
        ),
        jit_compile=True,
    )
    given = tf.zeros([N, N], tf.float64), numbers(N)
    assert called(*given, tf.constant(9))[0].shape == (N,)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        called(*given, tf.constant(3))


def test_sizes_that_are_not_known() -> None:
    spec = tf.TensorSpec([None], tf.float64)

    @tf.function(jit_compile=True, input_signature=[spec])
    def f(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return (
                tf.cond(
                    tf.reduce_sum(x) > 0.0,
                    lambda: x - tf.reduce_mean(tf.sort(x)) * tf.sin(x),
                    lambda: tf.cumsum(x) * 0.5 + 1.0,
                ),
            )

        return rounds(5, step, x)[0]

    for n in (40, 0, 1, 41):
        x = numbers(n)
        with tf.device("cpu"):
            want = f.python_function(x)
        np.testing.assert_allclose(f(x).numpy(), want.numpy(), rtol=1e-12)
    assert is_native(f, numbers(40))


def test_a_loop_that_is_not_native_says_which_op_and_line_keep_it() -> None:
    def f(x: Any) -> Any:
        def step(i: Any, x: Any) -> Any:
            return (tf.cond(x[0] > 9.0, lambda: tf.unique(x)[0][:1] + x, lambda: tf.cumsum(x)),)

        return rounds(3, step, x)[0] * 2.0

    said = explain(tf.function(f, jit_compile=True))(numbers(N))
    assert "a round has cond of" in said.units and "a branch has boolean_mask of" in said.units, said.units
    assert "test_branch.py" in said.units


def test_a_loop_whose_test_always_holds_has_as_many_rounds_as_its_limit() -> None:
    def f(a: Any, x: Any) -> Any:
        def step(i: Any, x: Any, kept: Any) -> Any:
            x = tf.tanh(product(a, x))
            return i + 1, x, kept.write(i, x)

        made = tf.TensorArray(tf.float64, 6)
        loop = tf.while_loop(lambda *_: True, step, (tf.constant(0), x, made), maximum_iterations=6)
        return loop[1], loop[2].stack()

    agrees(f, numbers(N, N), numbers(N))


def test_rounds_of_a_loop_in_python_that_have_a_loop_run_as_graphs_that_are_compiled() -> None:
    """The outer loop calls Python, so it stays a step in Python; what its rounds compute does not."""
    seen, ran = [], []

    def f(x: Any) -> Any:
        for i in tf.range(4):
            tf.py_function(lambda k: seen.append(int(k)), [i], [])
            for _ in tf.range(3):
                x = tf.tanh(x * 1.5 + 0.25)
        return x

    def runner(graph: Any, values: Any, *rest: Any) -> Any:
        ran.append([node.op.name for node in graph.nodes])
        return before(graph, values, *rest)

    x = numbers(N)
    want = f(x).numpy()
    compiled = tf.function(f, jit_compile=True)
    before = set_runner(runner)
    try:
        for _ in range(2):
            seen.clear()
            ran.clear()
            np.testing.assert_allclose(compiled(x).numpy(), want, rtol=1e-12)
            assert seen == [0, 1, 2, 3] and sum("loop" in names for names in ran) == 4
    finally:
        set_runner(before)


# outside of loops


def whole(f: Any, *given: Any) -> bool:
    """Whether one native call does all that a compiled function computes."""
    return not any(
        line.split()[1].startswith("host")
        for line in explain(f)(*given).units.splitlines()
        if line[:3].strip()
    )


def variables() -> list[Any]:
    return [tf.Variable(_rng.normal(size=(N, N))), tf.Variable(_rng.normal(size=(N, N)))]


def test_a_cond_outside_of_loops_is_part_of_the_native_call() -> None:
    w = variables()

    def f(x: Any, k: Any) -> Any:
        y = tf.cond(k > 0, lambda: tf.tanh(x @ w[0]) @ w[1], lambda: tf.nn.relu(x) - x[::-1])
        return tf.reduce_sum(y * y), y

    f_ = tf.function(f, jit_compile=True)
    x = numbers(N, N)
    for k in (1, 0, 1, -1, 5):
        given = x, tf.constant(k)
        for want, got in zip(f(*given), f_(*given), strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-12)
    assert whole(f_, x, tf.constant(1)), explain(f_)(x, tf.constant(1)).units


def test_its_gradient_reads_what_the_branch_that_was_taken_left() -> None:
    w = variables()

    def f(x: Any, k: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.cond(
                k > 0,
                lambda: tf.tanh(x @ w[0]) @ w[1],
                lambda: tf.cond(k > -5, lambda: tf.sigmoid(x @ w[0]), lambda: tf.exp(-x * x) @ w[1] * w[0]),
            )
            loss = tf.reduce_sum(y * y)
        return loss, *tape.gradient(loss, w, unconnected_gradients="zero")

    f_ = tf.function(f, jit_compile=True)
    x = numbers(N, N)
    for k in (1, 0, -9, 1, -9, 0):
        given = x, tf.constant(k)
        for want, got in zip(f(*given), f_(*given), strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-10, atol=1e-12)
    assert whole(f_, x, tf.constant(1)), explain(f_)(x, tf.constant(1)).units


def test_what_a_branch_has_not_is_zero_where_it_is_seen() -> None:
    """The residual of a branch that was not taken, as a result of the function."""
    from graphad.core.bind import bind
    from graphad.graph.builder import GraphBuilder
    from graphad.ops.control.cond import Cond
    from graphad.ops.math.arithmetic import ADD

    def branch(extra: bool) -> Any:
        builder = GraphBuilder()
        x = builder.add_input(tf.TensorSpec([300], tf.float64))
        y = builder.add_node(ADD, [x, x], [tf.TensorSpec([300], tf.float64)], None)
        return builder.finish([y, y] if extra else [y], "branch")[0]

    @tf.function(jit_compile=True)
    def f(k: Any, x: Any) -> Any:
        y, rest = bind(Cond(branch(True), branch(False), ("both", "then")), k, x)
        return y, rest

    x = numbers(300)
    for k in (True, False, True, False):
        y, rest = f(tf.constant(k), x)
        np.testing.assert_array_equal(y.numpy(), 2 * x.numpy())
        np.testing.assert_array_equal(rest.numpy(), 2 * x.numpy() * k)


def test_small_variables_are_assigned_by_the_branch_that_is_taken() -> None:
    def made() -> tuple[Any, Any, Any]:
        count, scale, target = tf.Variable(0), tf.Variable(1.0), tf.Variable(tf.zeros([40]))

        def step(x: Any) -> Any:
            if tf.reduce_all(tf.math.is_finite(x)):
                count.assign_add(1)
                scale.assign(scale * 2.0)
            else:
                scale.assign(scale * 0.5)
            if count % 2 == 0:
                target.assign(tf.exp(x) * scale)
            return tf.reduce_sum(target) + scale

        return step, [count, scale, target], None

    step, wanted, _ = made()
    twin, found, _ = made()
    compiled = tf.function(twin, jit_compile=True)
    for k in range(7):
        x = tf.constant(_rng.normal(size=40).astype("float32")) / (0.0 if k == 3 else 1.0)
        assert compiled(x).numpy() == pytest.approx(step(x).numpy(), rel=1e-6)
        for want, got in zip(wanted, found, strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)
    assert whole(compiled, x), explain(compiled)(x).units


def test_a_branch_that_may_raise_assigns_nothing_before_the_error() -> None:
    v = tf.Variable([1.0, 2.0])

    @tf.function(jit_compile=True)
    def f(k: Any, i: Any) -> Any:
        if k:
            v.assign(v * 2.0)
            return tf.gather(v, i)
        return v[0]

    assert f(True, 1) == 4.0
    with pytest.raises(tf.errors.InvalidArgumentError):
        f(True, 7)
    np.testing.assert_array_equal(v.numpy(), [4.0, 8.0])  # assigned by then, as in an eager call


def test_branches_without_native_code_are_steps_in_python() -> None:
    @tf.function(jit_compile=True)
    def f(x: Any, k: Any) -> Any:
        return tf.cond(k > 0, lambda: tf.linalg.lu(x)[0], lambda: tf.zeros([40, 40], tf.float64))

    x = numbers(40, 40)
    assert f(x, tf.constant(0)).numpy().sum() == 0
    np.testing.assert_allclose(f(x, tf.constant(1)).numpy(), tf.linalg.lu(x)[0])
    units = explain(f)(x, tf.constant(1)).units
    assert "host: cond" in units and "a branch has lu" in units, units


def test_large_loops_and_products_of_a_branch_are_shared_among_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from graphad.compiler.cpu.runtime import pool

    monkeypatch.setattr(pool, "thread_count", lambda: 3)

    def f(a: Any, k: Any) -> Any:
        return tf.cond(
            k > 0, lambda: tf.reduce_sum(tf.sin(a) @ a[:, :8], 1), lambda: tf.exp(tf.reduce_sum(a, 0) / 1e3)
        )

    f_ = tf.function(f, jit_compile=True)
    a = numbers(700, 700)
    for k in (1, 0):
        np.testing.assert_allclose(f_(a, tf.constant(k)).numpy(), f(a, tf.constant(k)).numpy(), rtol=1e-9)
    tier = explain(f_)(a, tf.constant(1)).tier
    assert "loops shared" in tier and " 0 loops shared" not in tier, tier
