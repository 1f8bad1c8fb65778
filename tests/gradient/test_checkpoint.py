"""What `checkpoint` takes from outside of its function has a gradient, as if nothing were run again."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
import serialization.saved_model as saved_model

WAYS = {"plain": lambda f: f, "checkpoint": tf.checkpoint}
X, Z = np.array([0.4, -0.3], np.float64), np.array([0.7, 1.2], np.float64)


def _inside_a_tape(wrap, x, z):
    w = tf.sin(z) * x
    return wrap(lambda a: tf.exp(a * w) * z)(x * x)


def _an_argument_too(wrap, x, z):
    return wrap(lambda a, b: a * b * x * z)(x, z * x)


def _nested(wrap, x, z):
    def outer(a):
        inner = tf.cos(a * z)
        return wrap(lambda b: b * inner * x * z)(a + z)

    return wrap(outer)(tf.sin(x))


def _in_a_branch(wrap, x, z):
    w = z * x
    f = wrap(lambda a: tf.cond(tf.reduce_sum(a) < 10.0, lambda: a * w * tf.sin(z), lambda: a))
    return f(x)


def _in_a_loop(wrap, x, z):
    w = x + z
    f = wrap(lambda a: a * w + tf.sin(z))
    return tf.while_loop(lambda n, a: n < 3, lambda n, a: (n + 1, f(a)), [0, x])[1]


def _with_a_loop(wrap, x, z):
    w = x + z
    step = wrap(lambda a: tf.while_loop(lambda n, a: n < 3, lambda n, a: (n + 1, a * w), [0, a])[1])
    return step(x * z)


def _in_rows(wrap, x, z):
    return tf.vectorized_map(lambda row: wrap(lambda a: tf.sin(a * z) * row)(row * row), tf.stack([x, x * z]))


def _on_a_capture_from_rows(wrap, x, z):
    def row_of(row):
        w = row * z
        return wrap(lambda a: a * w * w)(x)

    return tf.vectorized_map(row_of, tf.stack([x, tf.sin(x)]))


def _calls_a_function(wrap, x, z):
    w = z * x

    @tf.function
    def part(a):
        return a * a * w

    return wrap(lambda a: part(a) * z)(x)


def _only_a_capture(wrap, x, z):
    return wrap(lambda: tf.sin(x) * z * z)()


def _a_custom_gradient_inside(wrap, x, z):
    @tf.custom_gradient
    def twice(a):
        return a * a, lambda up: 4.0 * a * up

    return wrap(lambda a: twice(a * z) * x)(x)


PROGRAMS = [
    _inside_a_tape, _an_argument_too, _nested, _in_a_branch, _in_a_loop, _with_a_loop, _in_rows, _on_a_capture_from_rows,
    _calls_a_function, _only_a_capture, _a_custom_gradient_inside,
]  # fmt: skip


def _derivatives(program, wrap, x, z):
    with tf.GradientTape(persistent=True) as third:
        third.watch([x, z])
        with tf.GradientTape(persistent=True) as outer:
            outer.watch([x, z])
            with tf.GradientTape() as inner:
                inner.watch([x, z])
                y = program(wrap, x, z)
            first = inner.gradient(y, [x, z])
            total = tf.reduce_sum(first[0] * first[1]) + tf.reduce_sum(first[1])
        second = outer.gradient(total, [x, z])
        slope = tf.reduce_sum(second[0]) * tf.reduce_sum(second[1])
    return [y, *first, *second, *third.gradient(slope, [x, z])]


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_tensors_from_outside_have_their_gradients_at_all_orders(program, traced, unknown):
    if unknown and not traced:
        pytest.skip("sizes are known where nothing is traced")
    found = {}
    for name, wrap in WAYS.items():

        def body(x, z, wrap=wrap):
            return _derivatives(program, wrap, x, z)

        spec = tf.TensorSpec([None] if unknown else [2], tf.float64)
        run = tf.function(body, input_signature=[spec] * 2) if traced else body
        found[name] = run(tf.constant(X), tf.constant(Z))
    for plain, again in zip(*found.values(), strict=True):
        np.testing.assert_allclose(again, plain, rtol=1e-9)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_tape_outside_of_the_function_sees_what_is_taken_from_outside(program):
    found = []
    for wrap in WAYS.values():
        f = tf.function(lambda x, z, wrap=wrap: program(wrap, x, z))
        found.append(_derivatives(lambda _, x, z, f=f: f(x, z), wrap, tf.constant(X), tf.constant(Z)))
    for plain, again in zip(*found, strict=True):
        np.testing.assert_allclose(again, plain, rtol=1e-9)


@pytest.mark.parametrize("traced", [False, True])
def test_an_eager_tensor_that_a_function_captures_has_its_gradient(traced):
    z = tf.constant(Z)
    f = tf.checkpoint(lambda a: tf.sin(a) * z)
    f = tf.function(f) if traced else f
    x = tf.constant(X)
    f(x)  # traced while nobody follows z
    with tf.GradientTape() as tape:
        tape.watch([x, z])
        y = f(x)
    of_x, of_z = tape.gradient(y, [x, z])
    np.testing.assert_allclose(of_x, np.cos(X) * Z, rtol=1e-12)
    np.testing.assert_allclose(of_z, np.sin(X), rtol=1e-12)


@pytest.mark.parametrize("program", PROGRAMS)
def test_forward_mode_and_jacobians_see_what_is_taken_from_outside(program):
    x, z, dot = tf.constant(X), tf.constant(Z), tf.constant([0.3, -2.0], tf.float64)
    found = []
    for wrap in WAYS.values():
        if program is not _a_custom_gradient_inside:
            with tf.autodiff.ForwardAccumulator([x, z], [dot, dot * 2.0]) as forward:
                y = program(wrap, x, z)
            found.append([forward.jvp(y)])
        else:
            found.append([])
        with tf.GradientTape(persistent=True) as tape:
            tape.watch([x, z])
            y = program(wrap, x, z)
        found[-1] += tape.jacobian(y, [x, z])
    for plain, again in zip(*found, strict=True):
        np.testing.assert_allclose(again, plain, rtol=1e-9)


@pytest.mark.parametrize("program", PROGRAMS)
def test_what_is_taken_from_outside_survives_a_file(program, tmp_path):
    found = []
    for name, wrap in WAYS.items():
        model = tf.Module()
        model.v = tf.Variable(Z)
        spec = tf.TensorSpec([None], tf.float64)
        model.f = tf.function(
            lambda x, m=model, wrap=wrap: program(wrap, x, m.v * 1.0), input_signature=[spec]
        )
        saved_model.save(
            model, str(tmp_path / name), options=saved_model.SaveOptions(experimental_custom_gradients=True)
        )
        loaded = saved_model.load(str(tmp_path / name))
        x = tf.constant(X)
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = loaded.f(x)
            first = tape.gradient(y, [x, loaded.v])
            total = tf.reduce_sum(first[0]) * tf.reduce_sum(first[1])
        found.append([y, *first, *outer.gradient(total, [x, loaded.v])])
    for plain, again in zip(*found, strict=True):
        np.testing.assert_allclose(again, plain, rtol=1e-9)


@pytest.mark.parametrize("traced", [False, True])
def test_what_is_made_inside_is_not_kept(traced):
    """The entries of the tape are those of the checkpoint alone."""
    entries = []

    def body(x, z):
        with tf.GradientTape() as tape:
            tape.watch([x, z])
            y = tf.checkpoint(lambda a: tf.sin(tf.exp(tf.cos(a * z)) * z))(x)
            entries.append(len(tape.entries))
        return tape.gradient(y, z)

    (tf.function(body) if traced else body)(tf.constant(X), tf.constant(Z))
    assert entries == [1]


def test_rows_of_a_checkpoint_are_not_recorded_one_by_one():
    entries = []
    x, z = tf.constant(X), tf.constant(Z)
    with tf.GradientTape() as tape:
        tape.watch([x, z])
        tf.vectorized_map(tf.checkpoint(lambda row: tf.sin(tf.exp(tf.cos(row * z)) * z)), tf.stack([x, x]))
        entries.append([entry[0].name for entry in tape.entries])
    assert not {"sin", "exp", "cos"} & set(entries[0])
