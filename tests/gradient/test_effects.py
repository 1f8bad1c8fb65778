"""Prints, checks and assignments: once each, in program order, whatever is differentiated around them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import graphad as tf


def lines(capsys):
    captured = capsys.readouterr()
    return (captured.out + captured.err).split("\n")[:-1]


# -- print ---------------------------------------------------------------------------------------------------------------


def test_print_shows_values_in_tensorflows_form(capsys):
    tf.print(
        "x",
        tf.constant([1.0, 2.5, 1.0 / 3.0]),
        7,
        tf.constant(True),
        tf.constant(1e10),
        output_stream=sys.stdout,
    )
    tf.print(tf.range(10), tf.reshape(tf.range(6), [2, 3]), sep="|", end="!\n")
    tf.print(tf.range(10), summarize=-1)
    tf.print({"a": tf.constant(1), "b": [tf.constant([1, 2]), "text"]}, tf.Variable(2.0))
    assert lines(capsys) == [
        "x [1 2.5 0.333333343] 7 1 1e+10",
        "[0 1 2 ... 7 8 9]|[[0 1 2]",
        " [3 4 5]]!",
        "[0 1 2 3 4 5 6 7 8 9]",
        "{'a': 1, 'b': [[1 2], 'text']} 2",
    ]


def test_print_shows_sparse_tensors_by_their_parts(capsys):
    x = tf.sparse.from_dense([[0, 1], [2, 0]])

    @tf.function
    def shown(x):
        tf.print("x", x, {"k": [x, 3]}, output_stream=sys.stdout)

    shown(x)
    tf.print("x", x, {"k": [x, 3]}, output_stream=sys.stdout)
    parts = "SparseTensor(indices=[[0 1]\n [1 0]], values=[1 2], shape=[2 2])"
    assert capsys.readouterr().out == 2 * f"x {parts} {{'k': [{parts}, 3]}}\n"


def test_print_in_a_function_happens_at_run_time_in_order(capsys):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        tf.print("before", v)
        v.assign(x)
        tf.print("between", v)
        v.assign_add(1.0)
        tf.print("after", v)
        return v.value()

    f.get_concrete_function(tf.TensorSpec([]))
    assert lines(capsys) == []
    assert f(tf.constant(5.0)).numpy() == 6.0
    assert lines(capsys) == ["before 1", "between 5", "after 6"]
    f(tf.constant(2.0))
    assert lines(capsys) == ["before 6", "between 2", "after 3"]


def test_print_in_loops_and_branches(capsys):
    @tf.function
    def f(n):
        def body(i):
            tf.cond(i % 2 == 0, lambda: tf.print("even", i), lambda: tf.print("odd", i))
            return (i + 1,)

        return tf.while_loop(lambda i: i < n, body, (0,))[0]

    f(tf.constant(3))
    assert lines(capsys) == ["even 0", "odd 1", "even 2"]


def test_print_row_by_row(capsys):
    tf.vectorized_map(lambda x: (tf.print("row", x), x)[1], tf.constant([1.0, 2.0]))
    assert lines(capsys) == ["row 1", "row 2"]


def test_unknown_streams_are_refused():
    with pytest.raises(ValueError, match="Unknown output stream"):
        tf.print(1, output_stream="nowhere")


def test_print_to_a_file(tmp_path):
    path = tmp_path / "log.txt"
    for i in range(2):
        tf.print("line", tf.constant(i), output_stream=f"file://{path}")
    assert path.read_text() == "line 0\nline 1\n"


# -- once, in order --------------------------------------------------------------------------------------------------------


def noisy(v):
    @tf.function
    def f(x):
        tf.print("run")
        v.assign_add(1.0)
        y = x * x * v
        v.assign(v * 10.0)
        return y * v

    return f


@pytest.mark.parametrize("order", [1, 2, 3])
def test_effects_happen_once_under_nested_tapes(capsys, order):
    v = tf.Variable(1.0)
    f = noisy(v)
    x = tf.constant(3.0)

    def nested(order):
        if order == 0:
            return f(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = nested(order - 1)
        return tape.gradient(y, x)

    # y = x^2 * 2 * 20; the second derivative is constant
    found = nested(order)
    assert found is None if order == 3 else found.numpy() == {1: 240.0, 2: 80.0}[order]
    assert lines(capsys) == ["run"]
    assert v.numpy() == 20.0


def test_effects_in_a_loop_happen_once_per_step(capsys):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        def body(i, y):
            tf.print("step", i)
            v.assign(v * 2.0)
            return i + 1, y * x * v

        return tf.while_loop(lambda i, y: i < 3, body, (0, tf.constant(1.0)))[1]

    x = tf.constant(5.0)
    with tf.GradientTape() as third:
        third.watch(x)
        with tf.GradientTape() as second:
            second.watch(x)
            with tf.GradientTape() as first:
                first.watch(x)
                y = f(x)
            dx = first.gradient(y, x)
        ddx = second.gradient(dx, x)
    dddx = third.gradient(ddx, x)
    # y = x^3 * 2 * 4 * 8
    np.testing.assert_allclose([y, dx, ddx, dddx], [64 * 125.0, 192 * 25.0, 384 * 5.0, 384.0])
    assert lines(capsys) == ["step 0", "step 1", "step 2"]
    assert v.numpy() == 8.0


def test_effects_in_a_branch_happen_once(capsys):
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        def then():
            tf.print("then")
            v.assign_add(2.0)
            return x * x * v

        return tf.cond(x > 0, then, lambda: x)

    x = tf.constant(2.0)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = f(x)
        dx = first.gradient(y, x)
    assert (dx.numpy(), second.gradient(dx, x).numpy()) == (12.0, 6.0)
    assert lines(capsys) == ["then"]


def test_a_persistent_tape_repeats_no_effect(capsys):
    v = tf.Variable(1.0)
    f = noisy(v)
    x = tf.constant(3.0)
    with pytest.warns(UserWarning, match="persistent"), tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
        dx = tape.gradient(y, x)
        ddx = tape.gradient(dx, x)
    assert (dx.numpy(), ddx.numpy()) == (240.0, 80.0)
    assert lines(capsys) == ["run"]


def test_gradient_to_each_read_between_writes():
    v = tf.Variable(2.0)

    @tf.function
    def f(x):
        a = v * x
        v.assign(5.0)
        b = v * x * x
        return a + b

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    dx, dv = tape.gradient(y, [x, v])
    assert (y.numpy(), dx.numpy(), dv.numpy()) == (51.0, 2.0 + 30.0, 3.0 + 9.0)


def test_effects_inside_of_tapes_inside_of_a_function(capsys):
    v = tf.Variable(0.0)

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            tf.print("forward", x)
            y = x * x
        dx = tape.gradient(y, x)
        tf.print("gradient", dx)
        v.assign_add(dx)
        return dx

    with tf.GradientTape() as tape:
        x = tf.constant(3.0)
        tape.watch(x)
        dx = step(x)
    assert tape.gradient(dx, x).numpy() == 2.0
    assert lines(capsys) == ["forward 3", "gradient 6"]
    assert v.numpy() == 6.0


def test_effects_of_a_gradient_function_happen_when_the_gradient_is_computed(capsys):
    @tf.custom_gradient
    def f(x):
        def grad(g):
            tf.print("upstream", g)
            tf.print("always")
            return g * 2.0 * x

        return x * x, grad

    @tf.function
    def run(x):
        y = f(x)
        tf.print("forward")
        return y * 3.0

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(x)
    assert lines(capsys) == ["forward"]
    assert tape.gradient(y, x).numpy() == 12.0
    assert lines(capsys) == ["upstream 3", "always"]


def test_results_nobody_reads_are_written_all_the_same():
    v = tf.Variable(0.0)

    @tf.function
    def f(x):
        v.assign_add(x)
        v.assign_add(x)

    assert f(tf.constant(2.0)) is None
    assert v.numpy() == 4.0


# -- checks -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "function"])
def test_checks_hold_or_raise(wrap):
    good = [
        ("assert_equal", 1.0, 1.0), ("assert_none_equal", 1.0, 2.0), ("assert_less", 1.0, 2.0),
        ("assert_less_equal", 2.0, 2.0), ("assert_greater", 2.0, 1.0), ("assert_greater_equal", 2.0, 2.0),
    ]  # fmt: skip
    bad = [(1.0, 2.0), (1.0, 1.0), (2.0, 2.0), (3.0, 2.0), (1.0, 1.0), (1.0, 2.0)]
    for (name, a, b), (c, d) in zip(good, bad, strict=True):
        check = wrap(lambda x, y, name=name: getattr(tf.debugging, name)(x, y, message="mine"))
        check(tf.constant(a), tf.constant(b))
        with pytest.raises(tf.errors.InvalidArgumentError, match="mine Condition x"):
            check(tf.constant(c), tf.constant(d))


def test_a_check_in_a_function_whose_result_nobody_reads():
    @tf.function
    def f(x):
        tf.debugging.assert_positive(x, message="x must be positive")
        return tf.constant(1.0)

    f(tf.constant(1.0))
    with pytest.raises(ValueError, match="x must be positive Condition x > 0"):
        f(tf.constant(-1.0))
    with tf.GradientTape() as tape, pytest.raises(ValueError, match="x must be positive"):
        x = tf.constant(-1.0)
        tape.watch(x)
        f(x)


def test_assert_shows_its_data():
    tf.Assert(tf.constant(True), [tf.constant(1)])
    with pytest.raises(ValueError, match=r"(?s)to be true. Summarized data: value:\n\[1 2\]"):
        tf.function(lambda x: tf.Assert(tf.reduce_all(x > 1), ["value:", x]))(tf.constant([1, 2]))


def test_near_and_finite_and_rank_and_shapes():
    tf.debugging.assert_near(1.0, 1.0 + 1e-7)
    with pytest.raises(ValueError, match="not equal to tolerance"):
        tf.debugging.assert_near(1.0, 1.1)
    with pytest.raises(ValueError, match="not finite"):
        tf.debugging.assert_all_finite(tf.constant([1.0, np.inf]))
    tf.debugging.assert_rank(tf.constant([1.0]), 1)
    with pytest.raises(ValueError, match="must be equal to 2"):
        tf.debugging.assert_rank(tf.constant([1.0]), 2)
    with pytest.raises(ValueError, match="must be at least 2"):
        tf.function(
            tf.debugging.assert_rank_at_least,
            input_signature=[tf.TensorSpec(None), tf.TensorSpec([], tf.int32)],
        )(tf.constant([1.0]), tf.constant(2))
    tf.debugging.assert_shapes([(tf.ones([2, 3]), ("N", 3)), (tf.ones([2]), ("N",))])
    with pytest.raises(ValueError, match="assert_shapes"):
        tf.debugging.assert_shapes([(tf.ones([2, 3]), ("N", "N"))])


def test_check_numerics_looks_at_value_and_gradient():
    x = tf.constant([1.0, 0.0])
    for wrap in (lambda f: f, tf.function):
        f = wrap(lambda x: tf.debugging.check_numerics(1.0 / x, "bad"))
        with pytest.raises(ValueError, match="bad : Tensor had Inf values"), np.errstate(divide="ignore"):
            f(x)
        assert f(tf.constant([1.0, 2.0])).numpy().tolist() == [1.0, 0.5]
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.sqrt(tf.debugging.check_numerics(x, "grad"))
    with (
        pytest.raises(ValueError, match=r"in gradient. grad : Tensor had"),
        np.errstate(divide="ignore", invalid="ignore"),
    ):
        tape.gradient(y, x, output_gradients=tf.constant([np.nan, 1.0]))


def test_a_shape_may_be_a_string_with_one_symbol_in_each_character():
    x, y = tf.ones([1, 2, 3, 2]), tf.ones([2, 3, 3])
    tf.debugging.assert_shapes([(x, "*NQ"), (y, "*ND"), (x, ".23."), (y, "2N.")])
    for wrong in ([(x, "N2")], [(x, "*NQ"), (y, "*QD")], [(y, "*N2")], [(tf.ones([2, 3]), "N*")]):
        with pytest.raises(ValueError, match="assert_shapes"):
            tf.debugging.assert_shapes(wrong)
