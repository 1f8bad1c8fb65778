"""Forward mode through functions that write variables, print or draw numbers: they run once, with their tangents."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.errors import FailedPreconditionError


class Model:
    """What the programs write."""

    def __init__(self):
        self.v = tf.Variable(2.0, dtype=tf.float64)
        self.count = tf.Variable(0)


def writes(model, x):
    model.count.assign_add(1)
    return x * model.v * x


def writes_what_depends_on_the_primal(model, x):
    y = x * model.v
    model.v.assign(x * 3.0)
    return y * model.v * x


def writes_in_a_branch(model, x):
    y = tf.sin(x)
    if x > 1.0:
        model.count.assign_add(1)
        y = y * x
    else:
        model.v.assign_add(1.0)
    return y * model.v


def writes_in_each_step(model, x):
    y = x
    for k in tf.range(3):
        model.v.assign(model.v * 0.5)
        model.count.assign_add(k)
        y = y * x + model.v
    return y


def writes_while(model, x):
    y = x
    while y < 20.0:
        model.count.assign_add(1)
        y = y + x * y + 1.0
        if y > 10.0:
            model.v.assign_add(1.0)
    return y * model.v


def calls_what_writes(model, x):
    inner = tf.function(lambda z: writes_in_each_step(model, z * z))
    return inner(x) + inner(x * 0.5)


def keeps_rows(model, x):
    rows = tf.TensorArray(tf.float64, size=3)
    for k in tf.range(3):
        model.count.assign_add(1)
        rows = rows.write(k, x * tf.cast(k, tf.float64) * x)
    return tf.reduce_sum(rows.stack() * model.v)


def prints(model, x):
    tf.print("x", output_stream="file:///dev/null")
    return x * x * model.v


PROGRAMS = [
    writes,
    writes_what_depends_on_the_primal,
    writes_in_a_branch,
    writes_in_each_step,
    writes_while,
    calls_what_writes,
    keeps_rows,
    prints,
]


def forward(f, x, model, with_variable):
    primals = [x, model.v] if with_variable else [x]
    dots = [tf.constant(float(k + 1), tf.float64) for k in range(len(primals))]
    with tf.autodiff.ForwardAccumulator(primals, dots) as accumulator:
        y = f(model, x)
    return [y.numpy(), accumulator.jvp(y).numpy(), model.v.numpy(), model.count.numpy()]


def check(program, with_variable, jit):
    for x in (0.7, 1.4):
        wanted = forward(program, tf.constant(x, tf.float64), Model(), with_variable)
        model = Model()
        traced = tf.function(lambda x, model=model: program(model, x), jit_compile=jit)
        found = forward(lambda _, x, f=traced: f(x), tf.constant(x, tf.float64), model, with_variable)
        np.testing.assert_allclose(found, wanted, rtol=1e-13)


@pytest.mark.parametrize("with_variable", [False, True], ids=["tensor", "variable"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_function_with_effects_has_the_tangents_of_eager_code(program, with_variable):
    check(program, with_variable, None)


@pytest.mark.parametrize("program", [writes_in_a_branch, writes_in_each_step])
def test_compiled_functions_have_them_too(program):
    check(program, True, True)


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_tape_around_the_accumulator_differentiates_the_tangent(program):
    def slope_of_slope(traced):
        model = Model()
        x = tf.constant(1.4, tf.float64)
        f = tf.function(lambda x: program(model, x)) if traced else lambda x: program(model, x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
                y = f(x)
            dot = accumulator.jvp(y)
        return [dot.numpy(), tape.gradient(dot, x).numpy(), model.count.numpy()]

    np.testing.assert_allclose(slope_of_slope(True), slope_of_slope(False), rtol=1e-13)


def test_an_accumulator_around_another_has_the_second_derivative():
    model = Model()
    x = tf.constant(1.4, tf.float64)
    f = tf.function(lambda x: writes(model, x) * x)
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as outer:
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as inner:
            y = f(x)
        dot = inner.jvp(y)
    np.testing.assert_allclose([dot.numpy(), outer.jvp(dot).numpy()], [6.0 * 1.4**2, 12.0 * 1.4])
    assert model.count.numpy() == 1


def test_random_numbers_are_those_of_the_value():
    x = tf.ones([1000])
    f = tf.function(lambda x: tf.nn.dropout(x * x, 0.5))
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
        y = f(x)
    np.testing.assert_array_equal(accumulator.jvp(y), 2.0 * y)
    assert 300 < np.count_nonzero(y) < 700


def test_a_loaded_function_has_tangents_and_writes_once(tmp_path):
    class Counting(tf.Module):
        def __init__(self):
            super().__init__()
            self.model = tf.Module()
            self.model.v, self.model.count = tf.Variable(2.0, dtype=tf.float64), tf.Variable(0)

        @tf.function(input_signature=[tf.TensorSpec([], tf.float64)])
        def __call__(self, x):
            return writes_in_a_branch(self.model, x)

    tf.saved_model.save(Counting(), tmp_path / "m")
    loaded = tf.saved_model.load(tmp_path / "m")
    x = tf.constant(1.4, tf.float64)
    found = forward(lambda _, x: loaded(x), x, loaded.model, False)
    np.testing.assert_allclose(found, forward(writes_in_a_branch, x, Model(), False), rtol=1e-13)


def test_a_tape_inside_of_the_accumulator_is_refused_before_anything_is_written():
    model = Model()
    x = tf.constant(1.4, tf.float64)
    f = tf.function(lambda x: writes(model, x))
    with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)), tf.GradientTape() as tape:
        tape.watch(x)
        with pytest.raises(FailedPreconditionError, match="enter the tape around the accumulator"):
            f(x)
    assert model.count.numpy() == 0
