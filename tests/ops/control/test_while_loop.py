"""`while_loop`: eager and traced agree, structures and dtypes are kept, and what may not change is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.graph.ir import Graph, Node
from graphad.ops.control.loop import Loop
from graphad.ops.math.compare import LESS
from graphad.trace.tracer import trace_flat
from tests.support.both import in_both


def both(f, *args):
    """The results of f eagerly and as a function, which must agree."""
    args = [tf.constant(a) for a in args]
    eager, traced = f(*args), tf.function(f)(*args)
    flat_eager, flat_traced = tf_leaves(eager), tf_leaves(traced)
    for a, b in zip(flat_eager, flat_traced, strict=True):
        assert a.dtype is b.dtype
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    return traced


def tf_leaves(x):
    from graphad.core.nest import flatten

    return flatten(x)[0]


def test_sum_of_integers():
    i, total = both(lambda n: tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0)), 10)
    assert (i.numpy(), total.numpy()) == (10, 45)


def test_no_steps_at_all():
    assert both(lambda n: tf.while_loop(lambda i: i < n, lambda i: i + 1, [5]), 3)[0].numpy() == 5


def test_loop_variables_keep_their_structure():
    def f(x):
        start = [tf.constant(0), {"a": x, "b": (x, x * 2)}]
        return tf.while_loop(
            lambda i, d: i < 3, lambda i, d: [i + 1, {"a": d["a"] + 1, "b": (d["b"][1], d["b"][0])}], start
        )

    out = both(f, 1.0)
    assert isinstance(out, list) and isinstance(out[1]["b"], tuple)
    assert out[1]["a"].numpy() == 4.0 and out[1]["b"][0].numpy() == 2.0


def test_maximum_iterations_ends_the_loop():
    def f(n):
        return tf.while_loop(lambda x: True, lambda x: (x * 2.0,), (tf.constant(1.0),), maximum_iterations=n)

    assert both(f, 5)[0].numpy() == 32.0


def test_a_python_number_adopts_the_dtype_of_its_variable():
    out = both(lambda x: tf.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, 0), (0, x)), 3.5)
    assert out[1].dtype is tf.float32 and out[1].numpy() == 0.0


def test_swapped_variables():
    a, b = both(
        lambda n: tf.while_loop(lambda i, a, b: i < n, lambda i, a, b: (i + 1, b, a + b), (0, 0, 1))[1:], 20
    )
    assert (a.numpy(), b.numpy()) == (6765, 10946)


def test_vectors_and_captured_values():
    w = tf.constant([[0.5, 0.1], [0.2, 0.7]])
    out = both(
        lambda x: tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, tf.linalg.matvec(w, y)), (0, x))[1],
        [1.0, 2.0],
    )
    np.testing.assert_allclose(out, np.linalg.matrix_power(w.numpy(), 4) @ [1.0, 2.0], rtol=1e-5)


def test_loop_in_cond_in_loop():
    def f(n):
        def body(i, total):
            def triangle():
                return tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), (0, 0))[1]

            return i + 1, total + tf.cond(i % 2 == 0, triangle, lambda: -i)

        return tf.while_loop(lambda i, total: i < n, body, (0, 0))[1]

    want = sum(sum(range(i)) if i % 2 == 0 else -i for i in range(9))
    assert both(f, 9).numpy() == want


def test_unknown_batch_size():
    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([], tf.int32)])
    def f(x, n):
        return tf.while_loop(
            lambda i, y: i < n, lambda i, y: (i + 1, y * x + tf.reduce_sum(x, 1, keepdims=True)), (0, x)
        )[1]

    for rows in (1, 2, 5):
        x = np.random.default_rng(rows).normal(size=(rows, 3)).astype(np.float32)
        want = x
        for _ in range(4):
            want = want * x + x.sum(1, keepdims=True)
        np.testing.assert_allclose(f(tf.constant(x), tf.constant(4)), want, rtol=1e-5)


def test_a_state_that_grows_needs_a_shape_invariant():
    def grow(x, **options):
        return tf.while_loop(
            lambda i, x: i < 3, lambda i, x: (i + 1, tf.concat([x, x[:1]], 0)), (0, x), **options
        )[1]

    with pytest.raises(
        ValueError, match=r"'x' has shape \(1,\) before the loop, but shape \(2,\) after one iteration"
    ):
        tf.function(grow)(tf.constant([1.0]))
    free = tf.function(lambda x: grow(x, shape_invariants=(tf.TensorShape([]), tf.TensorShape([None]))))
    np.testing.assert_array_equal(free(tf.constant([1.0])), [1.0] * 4)


def test_another_dtype_after_one_step_is_refused():
    def f(x):
        return tf.while_loop(lambda x: x < 3, lambda x: tf.cast(x, tf.float32), (x,))

    for run in (f, tf.function(f)):
        with pytest.raises(
            TypeError, match="'x' has dtype int32 before the loop, but dtype float32 after one iteration"
        ):
            run(tf.constant(0))


def test_another_structure_after_one_step_is_refused():
    def f(x):
        return tf.while_loop(lambda x, y: x < 3, lambda x, y: (x,), (x, x))

    for run in (f, tf.function(f)):
        with pytest.raises(TypeError, match="number of elements and the structure must be the same"):
            run(tf.constant(0))


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="'cond' must be callable"):
        tf.while_loop(1, lambda x: x, [1])
    with pytest.raises(TypeError, match="'body' must be callable"):
        tf.while_loop(lambda x: True, 1, [1])
    with pytest.raises(ValueError, match="'loop_vars' is empty"):
        tf.while_loop(lambda: True, lambda: (), [])


def test_assign_in_a_loop_keeps_program_order():
    v = tf.Variable(1.0)

    @tf.function
    def f(n):
        before = v + 0.0

        def body(i, seen):
            v.assign(v * 2.0)
            seen = seen + v
            v.assign_add(1.0)
            return i + 1, seen

        seen = tf.while_loop(lambda i, seen: i < n, body, (0, 0.0))[1]
        return before, seen, v + 0.0

    before, seen, after = f(tf.constant(3))
    # v: 1 -> 2 (+2) 3 -> 6 (+6) 7 -> 14 (+14) 15
    assert (before.numpy(), seen.numpy(), after.numpy(), v.numpy()) == (1.0, 22.0, 15.0, 15.0)


def test_reading_a_variable_before_the_loop_is_enough_where_nothing_writes():
    v = tf.Variable([1.0, 2.0])

    @tf.function
    def f(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * tf.reverse(v, [0])), (0, x))[1]

    graph = f.get_concrete_function(tf.TensorSpec([2])).graph
    (loop,) = [node.op for node in graph.nodes if node.op.name == "loop"]
    assert not loop.effects
    assert [node.op.name for node in loop.body.nodes if node.op.name in ("read", "reverse")] == []
    np.testing.assert_allclose(f(tf.constant([1.0, 1.0])), [8.0, 1.0])


def test_calls_in_a_body_are_opened_for_what_never_changes():
    v = tf.Variable(2.0)

    @tf.function
    def step(y):
        return y * v

    @tf.function
    def f(x):
        return tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, step(y)), (0, x))[1]

    assert f(tf.constant(1.0)).numpy() == 8.0
    with tf.GradientTape() as tape:
        y = f(tf.constant(1.0))
    assert tape.gradient(y, v).numpy() == 12.0


def test_unused_carries_are_pruned():
    from graphad.compiler.passes import dead

    @tf.function
    def f(x):
        return tf.while_loop(lambda i, y, z: i < 3, lambda i, y, z: (i + 1, y * 2.0, tf.exp(z)), (0, x, x))[1]

    graph = dead.run(f.get_concrete_function(tf.TensorSpec([])).graph)
    (loop,) = [node.op for node in graph.nodes if node.op.name == "loop"]
    assert loop.n_carry == 2
    assert "exp" not in [node.op.name for node in loop.body.nodes]


def test_errors_in_a_body_name_the_users_line():
    @tf.function
    def f(x):
        def body(i, x):
            tf.debugging.assert_less(i, 2)
            return i + 1, x

        return tf.while_loop(lambda i, x: i < 5, body, (0, x))[1]

    with pytest.raises(tf.errors.InvalidArgumentError, match="Condition x < y") as caught:
        f(tf.constant(1.0))
    assert any("test_while_loop.py" in note for note in caught.value.__notes__)


def test_back_prop_false_makes_a_constant():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.while_loop(lambda y: y < 10.0, lambda y: y * x, (x,), back_prop=False)[0]
    assert tape.gradient(y, x) is None


def test_random_numbers_differ_from_step_to_step():
    @tf.function
    def f(x):
        return tf.map_fn(lambda v: tf.random.normal([]) * v, x)

    x = tf.ones([6])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert len(set(y.numpy().tolist())) == 6
    np.testing.assert_array_equal(tape.gradient(y, x), y)  # the numbers of the forward run, not others


def test_unequal_structures_are_shown_with_dtypes_and_shapes():
    for run in (lambda f: f, tf.function):
        loop = run(lambda n: tf.while_loop(lambda i: i < n, lambda i: [(i, [1.0, 2.0])], [n - n]))
        with pytest.raises(
            TypeError, match=r"returned \[\(int32\(\), \[float32\(\), float32\(\)\]\)\], .* as \[int32\(\)\]"
        ):
            loop(tf.constant(3))


def test_what_the_answer_of_a_test_does_not_need_goes_with_the_inputs_that_only_it_reads() -> None:
    specs = [tf.TensorSpec([], tf.int32), tf.TensorSpec([], tf.float32)]
    test = trace_flat(lambda i, z: [i < 3], specs).graph
    unread = Node(LESS, (1, 1), test.size, [tf.TensorSpec([], tf.bool)], None)
    test = Graph(test.inputs, test.constants, [*test.nodes, unread], test.outputs, test.name)
    body = trace_flat(lambda i, z: [i + 1, z * 2.0], specs).graph
    op, inputs, _ = Loop(test, body, 2, 0, 0, False, None, -1).pruned([True, False, True])
    assert inputs == [0, 1]
    assert all(value >= 0 for node in op.test.nodes for value in node.inputs)
    assert op.eval(np.int32(9), np.int32(0))[0] == 3


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("shared", ["none", "vector", "number"])
def test_second_derivatives_of_a_state_that_grows_have_slices_as_it_has(shared: str, known: bool) -> None:
    """A cotangent of zeros for what the steps keep has their shapes, and not that of the largest."""
    start = {"none": None, "vector": [0.3, 0.2, -0.5], "number": 0.7}[shared]
    w = 0.0 if start is None else tf.Variable(start, dtype=tf.float64)

    def f(x: Any) -> Any:
        shapes = (tf.TensorShape([]), tf.TensorShape([None, 3]))
        step = lambda i, p: (i + 1, tf.concat([tf.sin(p * 1.5 + w), p[:1]], 0))  # noqa: E731
        return tf.while_loop(lambda i, p: i < 2, step, (0, x), shape_invariants=shapes)[1]

    def second(f: Any, x: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            slope = tf.reduce_sum(inner.gradient(y, x) * tf.sin(x))
        return outer.gradient(slope, x)

    specs = None if known else [tf.TensorSpec([None, 3], tf.float64)]
    for rows in (3, 1):
        x = tf.constant(np.linspace(-1.0, 1.0, 3 * rows).reshape(rows, 3))
        want = second(f, x)
        np.testing.assert_allclose(second(tf.function(f, input_signature=specs), x), want, 1e-12)
        np.testing.assert_allclose(tf.function(lambda x: second(f, x), input_signature=specs)(x), want, 1e-12)


def test_an_invariant_may_know_more_than_the_trace_does_of_the_first_value():
    """What it knows is checked when the shape is known."""

    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def f(x):
        def step(i, y):
            return i + 1, tf.concat([y, y[-1:]], 0)

        shapes = [tf.TensorShape([]), tf.TensorShape([None, 2])]
        y = tf.while_loop(lambda i, _: i < 3, step, (tf.constant(0), x), shape_invariants=shapes)[1]
        assert y.shape.as_list() == [None, 2]
        return y

    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(f(x), [[1, 2], [3, 4], [3, 4], [3, 4], [3, 4]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(f(x))
    np.testing.assert_array_equal(tape.gradient(y, x), [[1, 1], [4, 4]])
    with pytest.raises(ValueError, match=r"\(2, 3\)"):
        f(tf.ones([2, 3]))


def test_a_shape_invariant_of_another_dtype_is_refused():
    @tf.function
    def f():
        invariants = [tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.int32)]
        return tf.while_loop(
            lambda i, x: i < 3.0, lambda i, x: (i + 1.0, x), [0.0, tf.constant([1])], invariants
        )

    with pytest.raises(TypeError, match="has dtype float32, its shape invariant has dtype int32"):
        f()


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("shape", [(2,), (0,), (2, 2)])
def test_a_test_of_unknown_rank_that_is_no_scalar_is_refused_in_every_mode(shape: Any, jit: bool):
    @tf.function(input_signature=[tf.TensorSpec(None)], jit_compile=jit)
    def grown(x: Any) -> Any:
        return tf.while_loop(lambda x: x < 3.0, lambda x: (x + 1.0,), (x,))[0]

    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=f"with shape {re.escape(str(shape))} has .*reduce_all and tf.reduce_any make one truth value of many",
    ):
        grown(np.ones(shape, np.float32))
    assert grown(np.float32(1)) == 3.0 and np.array_equal(grown(np.ones((1, 1), np.float32)), [[3.0]])


def test_an_error_in_a_step_of_a_loop_is_in_the_words_of_the_op_and_its_shapes():
    def step(x: Any, i: Any, y: Any) -> Any:
        return i + 1, y + tf.reduce_max(tf.reduce_sum(x * y, axis=1))

    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec([], tf.int32)], jit_compile=False)
    def summed(x: Any, n: Any) -> Any:
        return tf.while_loop(lambda i, y: i < n, lambda i, y: step(x, i, y), (0, 1.0))[1]

    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"reduce_sum: axis 1 is out of range for .*\(4,\)"
    ):
        summed(np.ones(4, np.float32), 2)


@in_both
def test_shape_invariants_name_arrays_of_tensors_too(run):
    def squares(n):
        written = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
        full = tf.TensorArray(tf.int32, size=3)
        free = tf.TensorShape(None)
        _, x, written, full = tf.while_loop(
            lambda i, x, a, b: i < n,
            lambda i, x, a, b: (i + 1, tf.concat([x, [i]], 0), a.write(i, i * i), b.write(i, -i)),
            (0, tf.zeros([0], tf.int32), written, full),
            shape_invariants=(tf.TensorShape([]), tf.TensorShape([None]), free, free),
        )
        return x, written.stack(), full.stack()

    x, written, full = run(squares, tf.constant(3))
    assert (x.numpy().tolist(), written.numpy().tolist(), full.numpy().tolist()) == (
        [0, 1, 2],
        [0, 1, 4],
        [0, -1, -2],
    )


def test_back_prop_false_leaves_the_elements_of_an_array_apart():
    x = tf.constant([1.0, 2.0, 3.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        parts = tf.TensorArray(tf.float32, size=3, infer_shape=False)
        parts = tf.while_loop(
            lambda k, _: k < 3, lambda k, parts: (k + 1, parts.write(k, x[:k])), (0, parts), back_prop=False
        )[1]
        y = parts.concat()
    assert y.numpy().tolist() == [1.0, 1.0, 2.0]
    assert tape.gradient(y, x) is None
