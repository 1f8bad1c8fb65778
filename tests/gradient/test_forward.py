"""Forward mode: derived from VJPs, through functions, loops and custom gradients, and refused where it does not exist."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.gradient.forward import dual_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.graph.evaluate import evaluate
from tests.support.memory import least_peak

X = np.random.default_rng(2).standard_normal(5)
V = np.random.default_rng(3).standard_normal(5)


def f(x):
    return tf.reduce_sum(tf.tanh(x) * tf.cumsum(x) + tf.where(x > 0.0, x * x, tf.exp(x)))


def reverse(f, x, v):
    t = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    return float(np.sum(tape.gradient(y, t).numpy() * v))


def forward(f, x, v):
    t = tf.constant(x)
    with tf.autodiff.ForwardAccumulator(t, tf.constant(v)) as accumulator:
        y = f(t)
    return float(accumulator.jvp(y))


def test_both_modes_agree():
    assert forward(f, X, V) == pytest.approx(reverse(f, X, V), rel=1e-12)


def test_through_a_function():
    assert forward(tf.function(f), X, V) == pytest.approx(reverse(f, X, V), rel=1e-12)


def test_inside_a_function():
    @tf.function
    def jvp(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as accumulator:
            y = f(x)
        return accumulator.jvp(y)

    assert float(jvp(X, V)) == pytest.approx(reverse(f, X, V), rel=1e-12)


def test_forward_over_reverse_gives_hessian_vector_products():
    x = tf.constant(X)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(V)) as accumulator:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        g = tape.gradient(y, x)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        slope = tf.reduce_sum(inner.gradient(y, x) * V)
    np.testing.assert_allclose(accumulator.jvp(g), outer.gradient(slope, x), rtol=1e-10)


def test_unknown_sizes_that_the_gradient_sums_over():
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64)])
    def f(x):
        return tf.sin(x) * tf.reduce_sum(x, 1, keepdims=True)

    x = np.linspace(0.1, 0.9, 6).reshape(2, 3)
    v = np.linspace(-1.0, 1.0, 6).reshape(2, 3)
    primal = tf.constant(x)
    with tf.autodiff.ForwardAccumulator(primal, tf.constant(v)) as acc:
        y = f(primal)
    total, total_dot = x.sum(1, keepdims=True), v.sum(1, keepdims=True)
    np.testing.assert_allclose(acc.jvp(y).numpy(), np.cos(x) * v * total + np.sin(x) * total_dot, rtol=1e-14)


def test_variables_and_unconnected_values():
    v = tf.Variable(X)
    with tf.autodiff.ForwardAccumulator(v, tf.constant(V)) as accumulator:
        y = v * v
        z = tf.constant(3.0)
    np.testing.assert_allclose(accumulator.jvp(y), 2 * X * V)
    assert accumulator.jvp(z) is None
    assert accumulator.jvp(z, unconnected_gradients="zero").numpy() == 0.0


def test_linear_custom_gradients_have_a_forward_mode():
    @tf.custom_gradient
    def twice_as_steep(x):
        return tf.sin(x), lambda up: up * 2.0 * tf.cos(x)

    np.testing.assert_allclose(
        forward(lambda x: tf.reduce_sum(twice_as_steep(x)), X, V), np.sum(2 * np.cos(X) * V)
    )


def test_nonlinear_custom_gradients_are_refused_by_name():
    @tf.custom_gradient
    def clipped_identity(x):
        return x, lambda up: tf.clip_by_norm(up, 0.5)

    with pytest.raises(tf.errors.NonlinearGradientError, match=r"clipped_identity.*not linear"):
        forward(lambda x: tf.reduce_sum(clipped_identity(x)), X, V)


def _root_or_line(q):
    return tf.where(q > 0.15, tf.sqrt(q - 0.15), q)


def _of_a_loop(q):
    return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.where(a > 0.15, a * a, a)), (0, q))[1]


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function, lambda f: tf.checkpoint(lambda q: f(q) * q)])
@pytest.mark.parametrize(
    "f",
    [
        _root_or_line,
        tf.function(_root_or_line),
        _of_a_loop,
        lambda q: tf.maximum(q * [0.2, 0.5, 1.0], 0.05),
        lambda q: tf.where(q > 0.15, tf.nn.softmax(q) / (q - 0.1), q),
    ],
)
def test_what_a_where_takes_does_not_make_a_recomputed_gradient_nonlinear(f, wrap):
    x, v = tf.constant([0.1, 0.2, 0.3], tf.float64), tf.constant([1.0, 2.0, 3.0], tf.float64)
    plain, again = wrap(f), wrap(tf.checkpoint(f))
    np.testing.assert_allclose(tf.jvp(again, (x,), (v,))[1], tf.jvp(plain, (x,), (v,))[1], rtol=1e-14)
    slopes = [tf.grad(lambda q, f=f: tf.reduce_sum(f(q) ** 2)) for f in (plain, again)]
    bends = [tf.jvp(slope, (x,), (v,))[1] for slope in slopes]
    np.testing.assert_allclose(bends[1], bends[0], rtol=1e-14)


def test_primals_and_tangents_must_fit():
    x = tf.constant(X)
    with pytest.raises(ValueError, match="shape"):
        tf.autodiff.ForwardAccumulator(x, tf.constant(V[:2]))
    with pytest.raises(ValueError, match="1 tangents for 2 primals"):
        tf.autodiff.ForwardAccumulator([x, x], [tf.constant(V)])


def test_dual_graph_gives_values_and_tangents():
    graph = tf.function(f).get_concrete_function(tf.TensorSpec([5], tf.float64)).graph
    dual, which = dual_of(graph, [True], TRANSFORMS)
    assert which == (True,)
    y, y_dot = evaluate(dual, [X, V])
    assert y == pytest.approx(float(f(tf.constant(X))))
    assert y_dot == pytest.approx(reverse(f, X, V), rel=1e-12)


def test_a_primal_given_twice_is_refused():
    x = tf.constant(3.0)
    with pytest.raises(ValueError, match="specified as a primal multiple times; give it once"):
        tf.autodiff.ForwardAccumulator([x, x], [tf.constant(1.0), tf.constant(2.0)])


def test_an_accumulator_holds_no_value_that_nobody_else_holds():
    import weakref

    x = tf.constant(X)
    references = []
    with tf.autodiff.ForwardAccumulator(x, tf.constant(V)) as accumulator:
        y = x
        for _ in range(50):
            y = tf.sin(y) * 1.01
            references.append(weakref.ref(y))
        before = len(accumulator._tangents)
        z = y * x
    assert sum(reference() is not None for reference in references) == 1  # y itself
    assert before < 5
    want = reverse_of_chain(x)
    np.testing.assert_allclose(accumulator.jvp(z), want, rtol=1e-10)
    own = weakref.ref(accumulator)
    del accumulator
    assert own() is None  # without the garbage collector


def reverse_of_chain(x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(50):
            y = tf.sin(y) * 1.01
        z = y * x
    return tape.gradient(z, x) * V  # elementwise, so the Jacobian is diagonal


def test_many_ops_under_an_accumulator_take_no_memory_that_grows():
    x = tf.constant(np.ones(1000))
    with tf.autodiff.ForwardAccumulator(x, tf.constant(np.ones(1000))) as accumulator:
        y = tf.sin(x)

        def work():
            nonlocal y
            for _ in range(500):
                y = tf.sin(y)

        assert least_peak(work, 500_000) < 500_000  # 8 MB if they were kept
    assert accumulator.jvp(y).shape == [1000]


def test_nested_accumulators_and_traces_keep_what_they_need():
    def second(x):
        one = tf.ones_like(x)
        with tf.autodiff.ForwardAccumulator(x, one) as outer:
            with tf.autodiff.ForwardAccumulator(x, one) as inner:
                y = tf.exp(tf.sin(x) * x)
            slope = inner.jvp(y)
        return outer.jvp(slope)

    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        with tf.GradientTape() as lower:
            lower.watch(x)
            y = tf.exp(tf.sin(x) * x)
        slope = lower.gradient(y, x)
    want = tape.gradient(slope, x)
    np.testing.assert_allclose(second(x), want, rtol=1e-9)
    np.testing.assert_allclose(tf.function(second)(x), want, rtol=1e-9)


def test_the_tangent_of_the_gradient_of_a_lookup_is_that_of_its_rows():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    for zero in ("none", "zero"):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(tf.gather(x, [0, 2, 0]) ** 3)
            slope = tape.gradient(y, x)
        dot = accumulator.jvp(slope, unconnected_gradients=zero)
        assert isinstance(slope, tf.IndexedSlices) and isinstance(dot, tf.IndexedSlices)
        np.testing.assert_allclose(tf.convert_to_tensor(dot), [[12.0, 24.0], [0.0, 0.0], [30.0, 36.0]])


def test_a_tangent_of_unknown_shape_fits_a_primal_whose_sizes_are_known() -> None:
    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float64), tf.TensorSpec(None, tf.float64)])
    def moved(x, v):
        with tf.autodiff.ForwardAccumulator(x, v) as acc:
            y = tf.sin(x)
        return acc.jvp(y)

    x, v = np.ones((2, 3)), np.full((2, 3), 2.0)
    np.testing.assert_allclose(moved(x, v), 2 * np.cos(x))
    with pytest.raises(tf.errors.InvalidArgumentError, match="shape"):
        moved(x, v[:, :2])


@pytest.mark.parametrize("f", [lambda a, p: tf.math.igammac(a, p), lambda a, p: tf.exp(a * tf.sin(p) - p)])
def test_an_outer_accumulator_sees_an_op_before_an_inner_one_uses_its_result(f):
    a, p, one = (tf.constant(x, tf.float64) for x in (1.7, 0.9, 1.0))

    def inner(a, p):
        with tf.autodiff.ForwardAccumulator(p, one) as acc:
            y = f(a, p)
        return acc.jvp(y)

    with tf.autodiff.ForwardAccumulator([a, p], [one, one]) as acc:
        y = inner(a, p)
    with tf.GradientTape() as tape:
        tape.watch([a, p])
        z = inner(a, p)
    np.testing.assert_allclose(acc.jvp(y), sum(tape.gradient(z, [a, p])), rtol=1e-12)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("way", ["stopped", "gradient inside"])
def test_a_paused_tape_returns_before_the_accumulators_inside_of_it(way):
    p, one = tf.constant(0.9, tf.float64), tf.constant(1.0, tf.float64)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(p)
        with tf.autodiff.ForwardAccumulator(p, one) as acc:
            if way == "stopped":
                with tape.stop_recording():
                    pass
            else:
                tape.gradient(tf.sin(p), p)
            y = tf.exp(tf.sin(p))
        slope = acc.jvp(y)
    wanted = tf.grad(tf.grad(lambda p: tf.exp(tf.sin(p))))(p)
    np.testing.assert_allclose(tape.gradient(slope, p), wanted, rtol=1e-12)


def test_a_function_that_checks_its_argument_has_a_tangent() -> None:
    @tf.function
    def f(x):
        tf.debugging.assert_positive(x)
        for i in tf.range(tf.size(x)):
            if x[i] > 2.0:
                return x[i] ** 2
            else:
                return x[i] ** 3

    for first, slope, curvature in ((3.0, 6.0, 2.0), (1.0, 3.0, 6.0)):
        x = tf.constant([first, 5.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as acc:
                y = f(x)
            tangent = acc.jvp(y)
        assert tangent.numpy() == slope and tape.gradient(tangent, x).numpy().tolist() == [curvature, 0.0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Condition x > 0 did not hold"):
        with tf.autodiff.ForwardAccumulator(-x, tf.ones_like(x)):
            f(-x)
