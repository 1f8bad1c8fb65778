"""`gradients` and `hessians` in traced functions, against TensorFlow's numbers."""

import numpy as np
import pytest

import graphad as tf

X = np.array([1.0, 2.0, 3.0], np.float32)


def traced(f, *args, **options):
    return tf.function(f, **options)(*args)


def check(found, *wanted):
    assert isinstance(found, list) and len(found) == len(wanted)
    for a, b in zip(found, wanted, strict=True):
        if b is None:
            assert a is None
        else:
            np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("jit", [None, True])
def test_gradients_to_third_order(jit):
    def third(x):
        first = tf.gradients(x**4, x)
        second = tf.gradients(first, [x])
        return [*first, *second, *tf.gradients(second[0], x)]

    check(traced(third, tf.constant(X), jit_compile=jit), 4 * X**3, 12 * X**2, 24 * X)


def test_upstream_gradients_stand_for_ones_where_they_are_none():
    check(
        traced(lambda x: tf.gradients([x * x, x], [x], grad_ys=[tf.constant([1.0, 0.0, 2.0]), None]), X),
        [3, 1, 13],
    )
    check(traced(lambda x: tf.gradients([x * x, tf.cast(x, tf.int32)], x), tf.constant(X)), 2 * X)


def test_stopped_tensors_are_constants_also_as_sources():
    def f(x):
        y = x * x
        z = y * x + y
        return tf.gradients(z, [x, y], stop_gradients=[y]) + tf.gradients(z, [x, y])

    check(traced(f, tf.constant(X)), X**2, X + 1, 3 * X**2 + 2 * X, X + 1)


def test_unconnected_sources():
    def f(x):
        y = x * x
        return tf.gradients(x, [y]), tf.gradients(x, y, unconnected_gradients="zero"), tf.gradients(y, x)

    none, zero, one = traced(f, tf.constant(X))
    check(none, None)
    check(zero, 0 * X)
    check(one, 2 * X)
    check(traced(lambda x: tf.gradients(x * x, x), tf.constant([1, 2])), None)


def test_captured_values_and_variables_are_sources():
    x, v = tf.constant(X), tf.Variable(X)
    check(traced(lambda: tf.gradients(x * x, x)), 2 * X)
    check(traced(lambda: tf.gradients(v * v * x, [v, x])), 2 * X * X, X * X)
    slices = traced(lambda: tf.gradients(tf.gather(v, [0, 0]), v))
    assert isinstance(slices[0], tf.IndexedSlices)
    check([tf.convert_to_tensor(slices[0])], [2, 0, 0])
    made = []

    @tf.function
    def f(x):
        if not made:
            made.append(tf.Variable(2.0))
        w = made[0]
        return tf.gradients(w * x * w, [w, x])

    check(f(tf.constant(3.0)), 12, 4)


def test_values_before_an_assignment_are_differentiated_as_they_were():
    v = tf.Variable(2.0)

    @tf.function
    def f():
        y = v * v
        v.assign(5.0)
        return [*tf.gradients(y, v), *tf.gradients(v * v, v)]

    check(f(), 4, 10)


def test_gradients_go_through_calls_loops_and_branches():
    def powers(x):
        y = x
        for _ in tf.range(3):
            y = y * x
        if tf.reduce_sum(y) > 0:
            y = 2 * y
        z = tf.function(lambda z: z**2)(y)
        first = tf.gradients(z, x)[0]
        return [first, *tf.gradients(first, x)]

    check(traced(powers, tf.constant(X)), 32 * X**7, 224 * X**6)


def test_a_call_with_effects_runs_once():
    calls, v = [], tf.Variable(0.0)

    @tf.function
    def effects(x):
        v.assign_add(1.0)
        tf.numpy_function(lambda a: calls.append(1), [x], [])
        return x * x * v

    def f(x):
        y = effects(x)
        first = tf.gradients(y, x)[0]
        return [y, first, *tf.gradients(first, x)]

    check(traced(f, tf.constant(X)), X**2, 2 * X, [2, 2, 2])
    assert len(calls) == 1 and v.numpy() == 1


def test_random_numbers_are_drawn_once():
    def f(x):
        noise = tf.random.normal([3])
        y = x * noise
        return noise, tf.gradients(y, x)[0]

    noise, gradient = traced(f, tf.constant(X))
    np.testing.assert_array_equal(noise, gradient)


def test_values_of_the_functions_around_are_sources():
    def in_a_branch(x):
        y = x * x
        return tf.cond(tf.reduce_sum(x) > 0, lambda: tf.gradients(y * x, [x, y]), lambda: [x, x])

    check(traced(in_a_branch, tf.constant(X)), 3 * X**2, X)

    @tf.function
    def outer(x):
        y = tf.function(lambda z: z * z)(x)

        @tf.function
        def inner():
            return tf.gradients(y, x) + tf.gradients(tf.gradients(y * y, x), y)

        return inner()

    found = outer(tf.constant(X))
    np.testing.assert_allclose(found[0], 2 * X)
    body = traced(
        lambda x: tf.while_loop(
            lambda i, s: i < 3, lambda i, s: (i + 1, s + tf.gradients(s * s, s)[0]), [tf.constant(0), x]
        ),
        tf.constant(X),
    )
    np.testing.assert_allclose(body[1], 27 * X)


def test_tapes_inside_and_outside_see_through_them():
    def inside(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            z = tf.exp(x)
            y = tf.gradients(z**3, x)[0]
        return [tape.gradient(y, x)]

    check(traced(inside, tf.constant(X)), 9 * np.exp(3 * X))
    x = tf.constant(X)
    f = tf.function(lambda x: tf.gradients(x**3, x)[0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x), 6 * X)


def test_custom_gradients_are_used():
    @tf.custom_gradient
    def f(x):
        return x * x, lambda dy: dy * 7

    check(traced(lambda x: tf.gradients(f(x), x), tf.constant(X)), [7, 7, 7])


@pytest.mark.parametrize("dims", [(3,), (2, 2)])
def test_hessians(dims):
    x = np.arange(1.0, 1 + np.prod(dims), dtype=np.float32).reshape(dims)
    wanted = np.zeros((x.size, x.size), np.float32)
    np.fill_diagonal(wanted, 6 * x.ravel())
    wanted = wanted.reshape(dims * 2)
    check(traced(lambda x: tf.hessians(tf.reduce_sum(x**3), x), tf.constant(x)), wanted)
    check(traced(lambda x: tf.hessians([x**3], [x]), tf.constant(x)), wanted)
    f = tf.function(
        lambda x: tf.hessians(x**3, x), input_signature=[tf.TensorSpec([None] * len(dims), tf.float32)]
    )
    check(f(x), wanted)


def test_hessians_of_several_sources_and_of_linear_ones():
    found = traced(
        lambda x, y: tf.hessians(tf.reduce_sum(x**2) * y, [x, y]), tf.constant(X), tf.constant(2.0)
    )
    check(found, 4 * np.eye(3), 0)
    with pytest.raises(ValueError, match=r"hessians: None values not supported: ys do not depend on xs\[1\]"):
        traced(lambda x, y: tf.hessians(tf.reduce_sum(x), [x, y]), tf.constant(X), tf.constant(1.0))


def test_a_function_with_gradients_is_saved(tmp_path):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        def slope(self, x):
            y = x
            for _ in tf.range(3):
                y = y * x
            return tf.gradients(y, x)

    tf.saved_model.save(Model(), tmp_path / "m")
    check(list(tf.saved_model.load(tmp_path / "m").slope(X)), 4 * X**3)


@pytest.mark.parametrize("name", ["gradients", "hessians"])
def test_without_a_function_the_tape_is_named(name):
    x = tf.constant(X)
    with pytest.raises(
        RuntimeError, match=f"tf.{name} is not supported when eager execution is enabled. Use tf.GradientTape"
    ):
        getattr(tf, name)(x * x, x)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: tf.gradients(None, x), TypeError, r"gradients: ys\[0\] is None"),
        (lambda x: tf.gradients(x, [x, 3.0]), TypeError, r"gradients: xs\[1\] is 3.0 of type float"),
        (
            lambda x: tf.gradients(x, x, grad_ys=[x, x]),
            ValueError,
            "Length mismatch. Passed 2 grad_ys for 1 ys",
        ),
        (lambda x: tf.gradients(x, x, grad_ys=[x[:2]]), ValueError, r"has shape \(2,\), its target \(3,\)"),
        (lambda x: tf.gradients(x, x, unconnected_gradients="no"), ValueError, "'none' or 'zero'"),
        (
            lambda x: tf.vectorized_map(lambda r: tf.gradients(r * r, r)[0], x),
            ValueError,
            "inside vectorized_map",
        ),
    ],
)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        traced(call, tf.constant(X))


@pytest.mark.parametrize("inside", [lambda f: f, tf.function], ids=["plain", "function"])
@pytest.mark.parametrize("mode", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("steps", [0, 3])
def test_a_gradient_function_asks_for_gradients_of_what_its_function_computed(inside, mode, steps) -> None:
    @tf.function
    @tf.custom_gradient
    def clipped(x):
        if steps:
            y, _ = tf.while_loop(
                lambda z, i: i < steps, lambda z, i: (tf.sin(z) * z, i + 1), [x, tf.constant(0)]
            )
        else:
            y = tf.sin(x) * x

        @inside
        def grad(upstream):
            return tf.clip_by_value(tf.gradients(y, [x], upstream)[0], -1.0, 1.0)

        return y, grad

    def value(x):
        y = x
        for _ in range(steps or 1):
            y = np.sin(y) * y
        return y

    @mode
    def derivative(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = clipped(x)
        return y, tape.gradient(y, x)

    x = np.array([0.3, 0.9, 2.5])
    y, slope = derivative(tf.constant(x))
    step = 1e-6
    np.testing.assert_allclose(y, value(x))
    np.testing.assert_allclose(
        slope, np.clip((value(x + step) - value(x - step)) / (2 * step), -1, 1), atol=1e-6
    )
    assert abs(float(slope[2])) == 1
