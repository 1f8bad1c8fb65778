"""Arrays that each step of a `while_loop` writes one element into: the loop stacks the elements, and does not carry the array."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

X = np.linspace(-1, 1, 6, dtype="float32")


def _array(size=0, dynamic=True):
    return tf.TensorArray(tf.float32, size=size, dynamic_size=dynamic, element_shape=[])


def grows(x, n):
    step = lambda i, s, a: (i + 1, tf.sin(s) + x[i], a.write(i, s * x[i]))  # noqa: E731
    _, s, a = tf.while_loop(lambda i, s, a: i < n, step, (0, tf.constant(0.5), _array()))
    return s, a.stack()


def appends(x, n):
    step = lambda i, v: (i + 1, {"s": v["s"] * x[i], "a": v["a"].write(v["a"].size(), v["s"])})  # noqa: E731
    start = {"s": tf.constant(2.0), "a": _array(1).write(0, x[0])}
    _, v = tf.while_loop(lambda i, v: i < n, step, (0, start))
    return v["s"], v["a"].stack()


def fills(x, n):
    step = lambda i, a, b: (i + 1, a.write(i, x[i] * x[i]), b.write(i, x[i] + 1.0))  # noqa: E731
    _, a, b = tf.while_loop(lambda i, a, b: i < n, step, (0, _array(6, False), _array(6, False)))
    return a.stack()[:n], b.stack()[:n]


def limited(x, n):
    step = lambda i, a: (i + 1, a.write(i, x[i] * 3.0))  # noqa: E731
    _, a = tf.while_loop(lambda i, a: True, step, (0, _array()), maximum_iterations=n)
    return (a.stack(),)


def stops(x, n):
    """The condition, not the counter, ends it."""
    step = lambda i, s, a: (i + 1, s + x[i] * x[i] + 0.1, a.write(i, s))  # noqa: E731
    _, s, a = tf.while_loop(lambda i, s, a: i < n and s < 2.0, step, (0, tf.constant(0.0), _array()))
    return s, a.stack()


PROGRAMS = [grows, appends, fills, limited, stops]


def _with_gradient(program):
    def found(x, n):
        with tf.GradientTape() as tape:
            tape.watch(x)
            values = program(x, n)
            loss = tf.add_n([tf.reduce_sum(tf.sin(y)) for y in values])
        return [*values, tape.gradient(loss, x)]

    return found


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("n", [0, 1, 5])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_loop_that_stacks_its_elements_agrees_with_eager_code(program, n, jit):
    run = _with_gradient(program)
    expected = run(tf.constant(X), n)
    for given in (n, tf.constant(n)):
        for a, b in zip(expected, tf.function(run, jit_compile=jit)(tf.constant(X), given), strict=True):
            if a is None or b is None:
                assert n == 0 or a is b
                continue
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("program", "arrays"), [(grows, 1), (appends, 1), (fills, 2), (limited, 1), (stops, 1)]
)
def test_the_array_is_not_carried(program, arrays):
    concrete = tf.function(program).get_concrete_function(tf.TensorSpec([6]), tf.TensorSpec([], tf.int32))
    (loop,) = [node.op for node in concrete.graph.nodes if node.op.name == "loop"]
    assert loop.n_ys == arrays
    assert all(spec.dims == () for spec in loop.operands.carries(loop.body.inputs))


def test_an_array_that_a_step_reads_or_writes_elsewhere_is_carried():
    def sums(x, n):
        step = lambda i, a: (i + 1, a.write(i, a.read(i - 1) + x[i]))  # noqa: E731
        start = tf.TensorArray(tf.float32, 1, dynamic_size=True, clear_after_read=False, element_shape=[])
        return tf.while_loop(lambda i, a: i < n, step, (1, start.write(0, x[0])))[1].stack()

    def turned(x, n):
        step = lambda i, a: (i + 1, a.write(n - 1 - i, x[i]))  # noqa: E731
        return tf.while_loop(lambda i, a: i < n, step, (0, _array(6, False)))[1].stack()

    x, n = tf.constant(X), tf.constant(6)
    np.testing.assert_allclose(tf.function(sums)(x, n), np.cumsum(X), rtol=1e-6)
    np.testing.assert_array_equal(tf.function(turned)(x, n), X[::-1])


def test_a_fixed_array_that_is_too_short_is_refused():
    @tf.function
    def fill(n):
        step = lambda i, a: (i + 1, a.write(i, 1.0))  # noqa: E731
        return tf.while_loop(lambda i, a: i < n, step, (0, _array(3, False)))[1].stack()

    assert fill(tf.constant(2)).numpy().tolist() == [1, 1, 0]
    with pytest.raises(ValueError):
        fill(tf.constant(4))
