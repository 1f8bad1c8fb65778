"""What users of TensorFlow rely on in tapes, Jacobians and custom gradients, beside what the other files here hold."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf


def rows_of(values):
    """Rows 2 and 0 of a matrix with three rows."""
    return tf.IndexedSlices(values, tf.constant([2, 0]), tf.constant([3, 2]))


# -- slices as what is watched, differentiated, and differentiated with respect to ----------------------------------------


def test_watching_slices_watches_their_values():
    values = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    slices = rows_of(values)
    with tf.GradientTape() as tape:
        tape.watch(slices)
        y = values * values
    np.testing.assert_array_equal(tape.gradient(y, values), 2 * values.numpy())


def test_the_gradient_of_slices_is_that_of_the_sum_of_their_values():
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        slices = rows_of(x * x)
        dense = tf.convert_to_tensor(slices)
    np.testing.assert_array_equal(tape.gradient(slices, x), tape.gradient(dense, x))
    np.testing.assert_array_equal(tape.gradient([slices, x], x), 2 * x.numpy() + 1)


def test_the_gradient_with_respect_to_slices_is_slices_of_the_same_rows():
    slices = rows_of(tf.constant([[1.0, 2.0], [3.0, 4.0]]))
    other = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(slices)
        y = tf.reduce_sum(tf.convert_to_tensor(slices) ** 2)
    got = tape.gradient(y, {"slices": slices, "other": other}, unconnected_gradients="zero")
    assert isinstance(got["slices"], tf.IndexedSlices)
    np.testing.assert_array_equal(got["slices"].indices, [2, 0])
    np.testing.assert_array_equal(got["slices"].values, [[2.0, 4.0], [6.0, 8.0]])
    assert got["other"].numpy() == 0.0


@pytest.mark.parametrize("wrap", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_second_derivatives_through_the_slices_of_a_lookup(wrap):
    table = tf.Variable([[1.0], [2.0], [3.0]])

    def second():
        with tf.GradientTape() as outer:
            with tf.GradientTape() as tape:
                y = tf.reduce_sum(tf.gather(table, [0, 2, 0]) ** 3)
            slices = tape.gradient(y, table)
        assert isinstance(slices, tf.IndexedSlices)
        return tf.convert_to_tensor(outer.gradient(slices, table))

    np.testing.assert_array_equal(wrap(second)(), [[12.0], [0.0], [18.0]])


def test_slices_leave_a_function_as_slices():
    table = tf.Variable(tf.ones([4, 2]))

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            y = tf.reduce_sum(tf.gather(table, [1, 3, 1]))
        return {"slices": tape.gradient(y, table), "y": y}

    got = step()["slices"]
    assert isinstance(got, tf.IndexedSlices)
    assert got.shape == (4, 2)
    np.testing.assert_array_equal(got.indices, [1, 3, 1])
    np.testing.assert_array_equal(tf.convert_to_tensor(got)[:, 0], [0.0, 2.0, 0.0, 1.0])
    short = tf.function(lambda: tf.IndexedSlices(tf.ones([1]), tf.constant([0])))()
    assert short.dense_shape is None
    with pytest.raises(ValueError, match="dense_shape is not known"):
        tf.convert_to_tensor(short)


def test_a_variable_read_in_a_traced_function_has_slices_as_its_gradient():
    table, other = tf.Variable(tf.ones([4, 2])), tf.Variable(tf.ones([4, 2]))
    kinds = []

    @tf.function
    def step():
        with tf.GradientTape(persistent=True) as tape:
            y = tf.reduce_sum(tf.gather(table, [1, 3]) * tf.gather(other, [0, 0])) + tf.reduce_sum(other)
        kinds.extend(type(g) for g in tape.gradient(y, [table, other]))
        dense = tape.jacobian(y, table)
        table.assign_sub(0.5 * tf.convert_to_tensor(tape.gradient(y, table)))
        return dense

    np.testing.assert_array_equal(step()[:, 0], [0.0, 1.0, 0.0, 1.0])
    assert kinds[0] is tf.IndexedSlices
    assert kinds[1] is not tf.IndexedSlices  # added to what is dense
    np.testing.assert_array_equal(table[:, 0], [1.0, 0.5, 1.0, 0.5])


def test_slices_say_where_they_are():
    slices = rows_of(tf.ones([2, 2]))
    assert slices.device == slices.values.device
    assert slices.get_shape() == (3, 2)


# -- modes and counts ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["ZERO", "nothing", None, 1])
def test_an_unknown_mode_for_unconnected_gradients_is_shown_as_it_was_given(mode):
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
    with pytest.raises(ValueError, match=f"Unknown value for unconnected_gradients: {mode!r};"):
        tape.gradient(x, x, unconnected_gradients=mode)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = x * 2.0
    with pytest.raises(ValueError, match=f"Unknown value for unconnected_gradients: {mode!r};"):
        accumulator.jvp(y, unconnected_gradients=mode)


def test_forward_mode_takes_the_mode_by_name_or_as_an_enum():
    x, other = tf.constant(1.0), tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as accumulator:
        y = other * 2.0
    assert accumulator.jvp(y) is None
    assert accumulator.jvp(y, unconnected_gradients=tf.UnconnectedGradients.NONE) is None
    for mode in ("zero", tf.UnconnectedGradients.ZERO):
        assert accumulator.jvp([y], unconnected_gradients=mode)[0].numpy() == 0.0


@pytest.mark.parametrize("name", ["jacobian", "batch_jacobian"])
@pytest.mark.parametrize("count", [-1, 0, 1])
def test_vectorised_jacobians_refuse_fewer_than_two_at_once(name, count):
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match=f"exception while vectorizing the {name} computation"):
        getattr(tape, name)(y, x, parallel_iterations=count)
    with pytest.raises(TypeError, match="'parallel_iterations' must be a positive integer"):
        getattr(tape, name)(y, x, parallel_iterations="2")


@pytest.mark.parametrize("name", ["jacobian", "batch_jacobian"])
def test_a_bad_mode_of_a_jacobian_is_said_to_be_met_while_vectorising(name):
    x = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(
        ValueError, match=f"vectorizing the {name} .* Unknown value for unconnected_gradients: 'no'"
    ):
        getattr(tape, name)(y, x, unconnected_gradients="no")


def test_arguments_passed_by_keyword_are_named_where_gradients_are_too_many():
    @tf.custom_gradient
    def double(x):
        return 2.0 * x, lambda upstream: 2.0 * upstream

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = double(x=x)
    with pytest.raises(
        ValueError,
        match=r"expected to return 0 gradients, but returned 1 .*Keyword arguments are constants: x\.",
    ):
        tape.gradient(y, x)


def test_too_few_output_gradients_are_refused():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        targets = [x * x, 3.0 * x]
    with pytest.raises(ValueError, match="1 output_gradients for 2 targets; give one for each target"):
        tape.gradient(targets, x, output_gradients=[tf.constant(1.0)])


@pytest.mark.parametrize("given", [7, 7.0, np.float32(7.0), np.float64(7.0), np.array(7.0, "float32")])
def test_what_a_rule_gives_becomes_a_tensor(given):
    @tf.custom_gradient
    def double(x):
        return 2.0 * x, lambda upstream: given

    x = tf.constant(3.0)
    for f in (double, tf.function(double)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        found = tape.gradient(y, x)
        assert (found.numpy(), found.dtype) == (7.0, tf.float32)
