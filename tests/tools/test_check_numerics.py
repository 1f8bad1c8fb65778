"""`enable_check_numerics` names the op that made the first NaN or infinity, with the line, whatever runs it."""

from __future__ import annotations

import inspect
import threading

import numpy as np
import pytest

import graphad as tf
from graphad.core.levels import busy
from graphad.graph import evaluate as evaluation


@pytest.fixture
def checking():
    before = evaluation._runner
    tf.debugging.enable_check_numerics()
    yield
    tf.debugging.disable_check_numerics()
    assert busy() is None
    assert evaluation._runner is before or before.__name__ == "_run_first"


def line_of(program, text):
    lines, first = inspect.getsourcelines(program)
    return f"test_check_numerics.py:{first + next(i for i, line in enumerate(lines) if text in line)}"


def refused(program, *args):
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        program(*args)
    return str(raised.value)


def test_eager_ops_are_named_with_the_users_line(checking):
    def program():
        x = tf.constant([[3.0, 1.0, 2.0]]) - 1.0
        return tf.math.log(x)  # here

    said = refused(program)
    assert said.startswith(
        "log: it made 1 infinity among the 3 elements of its result, shape (1, 3), the first at [0, 1]; "
        "input 0 lies between 0 and 2; at "
    )
    assert line_of(program, "# here") in said
    assert "1 NaN as its result" in refused(lambda: tf.sqrt(tf.constant(-1.0)))
    assert "2 NaN and 1 infinity" in refused(lambda: tf.math.log(tf.constant([-1.0, 0.0, -2.0])))


def test_what_came_in_from_outside_is_told_apart(checking):
    said = refused(lambda: tf.constant([1.0, np.nan]) + 1.0)
    assert said.startswith("add: input 0 was not finite already, and no op that was looked at has made it")


@pytest.mark.parametrize("jit_compile", [True, False, None])
def test_functions_are_looked_into_also_when_compiled_before(jit_compile):
    @tf.function(jit_compile=jit_compile)
    def program(x):
        small = tf.math.log(x - 1.0)  # here
        return 1.0 / small  # 0 again

    x = tf.constant([1.0, 3.0])
    wanted = program(x)
    program(x)
    tf.debugging.enable_check_numerics()
    try:
        said = refused(program, x)
        assert (
            said.startswith("log: it made 1 infinity") and line_of(program.python_function, "# here") in said
        )
        np.testing.assert_array_equal(program(x + 1.5), 1.0 / np.log(np.float32([1.5, 3.5])))
    finally:
        tf.debugging.disable_check_numerics()
    np.testing.assert_array_equal(program(x), wanted)


def test_loops_branches_and_scans_are_looked_into(checking):
    @tf.function
    def loop(x):
        for _ in tf.range(5):
            x = x * 1e20  # grows
        return x

    assert line_of(loop.python_function, "# grows") in refused(loop, tf.constant(1.0))

    @tf.function
    def branch(x):
        if x > 0.0:
            y = tf.math.log(x - 1.0)  # there
        else:
            y = x
        return y

    assert branch(tf.constant(-1.0)) == -1.0
    assert line_of(branch.python_function, "# there") in refused(branch, tf.constant(1.0))
    assert "mul: it made 1 infinity" in refused(lambda: tf.foldl(lambda a, b: a * b, tf.fill([3], 1e20)))


def test_derivatives_are_looked_into(checking):
    v = tf.Variable(0.0)

    def eager():
        with tf.GradientTape() as tape:
            y = tf.sqrt(v)
        return tape.gradient(y, v)

    assert "div: it made 1 infinity" in refused(eager)
    assert "div: it made 1 infinity" in refused(tf.function(eager))

    compiled = tf.function(lambda: tf.sqrt(v), jit_compile=True)

    def outside():
        with tf.GradientTape() as tape:
            y = compiled()
        return tape.gradient(y, v)

    assert "div: it made 1 infinity" in refused(outside)


def test_what_nobody_reads_is_not_looked_at(checking):
    @tf.function
    def program(x):
        tf.math.log(x)
        return x + 1.0

    assert program(tf.constant(0.0)) == 1.0


def test_integers_masks_and_chosen_numbers_pass(checking):
    x = tf.constant([1, 2**31 - 1]) + 1
    assert x[1] < 0
    assert tf.reduce_any(tf.math.is_nan(tf.constant([np.nan]))).numpy()
    assert tf.where(tf.math.is_nan(tf.constant(np.nan)), 0.0, tf.constant(1.0)) == 0.0


SMOOTH = """abs acos asin asinh atan atanh cos cosh digamma erf erfc exp expm1 lgamma log log1p log_sigmoid reciprocal
rsqrt sigmoid sin sinc sinh softplus softsign sqrt square tan tanh""".split()


@pytest.mark.parametrize("name", SMOOTH)
def test_ops_make_nothing_infinite_on_the_way_where_their_results_are_finite(checking, name):
    op = getattr(tf.math, name)
    x = tf.constant([0.2, 0.7], tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = op(x)
        g = tape.gradient(y, x)
    assert np.isfinite(y.numpy()).all() and np.isfinite(outer.gradient(g, x).numpy()).all()


@pytest.mark.parametrize("at", [0.0, -1.0])
def test_powers_norms_and_softmax_have_finite_ways_at_their_edges(checking, at):
    x = tf.constant([at, 2.0])

    @tf.function
    def program(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(
                x**2.0 + tf.nn.softmax(x) + tf.nn.relu(x) + tf.nn.elu(x)
            ) + tf.math.divide_no_nan(1.0, x[0])
        return tape.gradient(y, x)

    assert np.isfinite(program(x).numpy()).all()


def test_a_model_is_trained_as_without(checking):
    def trained():
        tf.random.set_seed(3)
        net = tf.keras.Sequential([tf.keras.layers.Dense(4, activation="tanh"), tf.keras.layers.Dense(1)])
        adam = tf.optimizers.Adam(0.1)

        @tf.function
        def step(x, y):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(tf.square(net(x) - y))
            adam.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
            return loss

        x = tf.reshape(tf.linspace(-1.0, 1.0, 8), [8, 1])
        return [float(step(x, tf.sin(3.0 * x))) for _ in range(4)]

    checked = trained()
    tf.debugging.disable_check_numerics()
    np.testing.assert_allclose(trained(), checked, rtol=1e-5)


def test_switching_twice_and_other_threads_change_nothing(checking):
    tf.debugging.enable_check_numerics()
    found = []

    def elsewhere():
        f = tf.function(lambda x: tf.math.log(x))
        found.append(f(tf.constant(0.0)).numpy())
        found.append(tf.math.log(tf.constant(0.0)).numpy())
        tf.debugging.disable_check_numerics()

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert found == [-np.inf, -np.inf]
    refused(lambda: tf.math.log(tf.constant(0.0)))
    tf.debugging.disable_check_numerics()
    tf.debugging.disable_check_numerics()
    assert tf.math.log(tf.constant(0.0)) == -np.inf


def test_it_is_refused_while_a_function_is_traced():
    @tf.function
    def program(x):
        tf.debugging.enable_check_numerics()
        return x

    with pytest.raises(
        tf.errors.FailedPreconditionError, match="enable_check_numerics: a function is being traced"
    ):
        program(tf.ones([2]))


def test_tapes_and_checks_end_in_any_order():
    tape = tf.GradientTape()
    v = tf.Variable(2.0)
    with tape:
        tf.debugging.enable_check_numerics()
        y = v * v
    refused(lambda: tf.math.log(tf.constant(0.0)))
    assert tape.gradient(y, v) == 4.0
    with tf.GradientTape() as tape:
        tf.debugging.disable_check_numerics()
        y = tf.math.log(v - 2.0)
    assert tape.gradient(y, v) == np.inf
    assert busy() is None
