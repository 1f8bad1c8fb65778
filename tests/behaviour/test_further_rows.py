"""Rows of the table of behaviours that no other file of tests is about."""

from __future__ import annotations

import functools
import logging

import numpy as np
import pytest

import graphad as tf
from graphad import layers


@pytest.mark.parametrize("ids", [[0, 2, 0], [[0, 2], [2, 1]]], ids=["vector", "matrix"])
def test_the_gradient_of_an_embedding_is_slices_with_repeats(ids):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.nn.embedding_lookup(table, ids) * 2.0
    slices = tape.gradient(y, table)
    assert isinstance(slices, tf.IndexedSlices)
    np.testing.assert_array_equal(slices.indices, np.ravel(ids))
    np.testing.assert_array_equal(slices.values, np.full((np.size(ids), 2), 2.0))
    times = np.bincount(np.ravel(ids), minlength=3)
    np.testing.assert_array_equal(tf.convert_to_tensor(slices), 2.0 * np.stack([times, times], 1))


def test_jacobians_computed_again_and_again_log_nothing(caplog, recwarn):
    x = tf.constant([[1.0, 2.0]])
    with caplog.at_level(logging.WARNING):
        for _ in range(12):
            with tf.GradientTape(persistent=True) as tape:
                tape.watch(x)
                y = x * x
            tape.jacobian(y, x)
            tape.batch_jacobian(y, x)
    assert not caplog.records
    assert not recwarn.list


@pytest.mark.parametrize("traced", [False, True], ids=["eager", "traced"])
def test_the_decorator_of_custom_gradients_may_be_called_first(traced):
    @tf.custom_gradient()
    def f(x):
        return x * 1.0, lambda g: g * 5.0

    x = tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = (tf.function(f) if traced else f)(x)
    assert (y.numpy(), tape.gradient(y, x).numpy()) == (3.0, 5.0)


def test_a_shape_of_unknown_rank_says_so():
    shape = tf.TensorSpec(None).shape
    assert (repr(shape), str(shape), shape.rank, bool(shape)) == (
        "TensorShape(None)",
        "<unknown>",
        None,
        False,
    )
    with pytest.raises(ValueError, match="Cannot take the length of shape with unknown rank"):
        len(shape)
    with pytest.raises(ValueError, match="as_list\\(\\) is not defined on an unknown TensorShape"):
        shape.as_list()


def test_what_a_partial_object_binds_is_seen_in_its_signature():
    def f(a, b, c=3.0):
        return a * b * c

    g = tf.function(functools.partial(f, 2.0, c=4.0))
    assert g(tf.constant(3.0)).numpy() == 24.0
    args, kwargs = g.get_concrete_function(tf.constant(1.0)).structured_input_signature
    assert args == (tf.TensorSpec([], tf.float32, name="b"),)
    assert kwargs == {"c": 4.0}
    assert "c (KEYWORD_ONLY): Literal[4.0]" in g.pretty_printed_concrete_signatures()
    with pytest.raises(TypeError, match="missing a required argument: 'b'"):
        g()


def test_what_a_module_lists_are_tuples():
    module = tf.Module()
    module.a, module.b = tf.Variable(1.0), tf.Variable(1.0, trainable=False)
    module.inner = tf.Module()
    listed = (
        module.variables,
        module.trainable_variables,
        module.non_trainable_variables,
        module.submodules,
    )
    assert [type(x) for x in listed] == [tuple] * 4
    assert [len(x) for x in listed] == [2, 1, 1, 1]


def test_shapes_are_compared_sliced_and_printed():
    shape = tf.TensorShape([7, 6, 5])
    assert shape == [7, 6, 5]
    assert shape == (7, 6, 5)
    assert (shape[0], shape[-1], shape.rank, len(shape), shape.num_elements()) == (7, 5, 3, 3, 210)
    assert isinstance(shape[1:], tf.TensorShape)
    assert shape[1:] == [6, 5]
    assert list(shape) == [7, 6, 5]
    assert shape + [3] == [7, 6, 5, 3]
    assert (str(shape), repr(shape)) == ("(7, 6, 5)", "TensorShape([7, 6, 5])")
    assert (str(tf.TensorShape([201])), str(tf.TensorShape([None, 2]))) == ("(201,)", "(None, 2)")
    assert tf.TensorShape([None, 2])[0] is None


def test_a_layer_without_weights_says_that_it_is_not_built():
    dense = layers.Dense(3)
    with pytest.raises(AttributeError, match=r"'Dense' object has no attribute 'kernel'.*not built yet"):
        dense.kernel
    dense(tf.ones([1, 2]))
    with pytest.raises(AttributeError, match=r"^'Dense' object has no attribute 'colonel'\.$"):
        dense.colonel
    assert not hasattr(dense, "_anything")


def test_a_call_that_fits_neither_way_names_the_function_once():
    concrete = tf.function(lambda x, n: x * n).get_concrete_function(tf.TensorSpec([2]), 3)
    with pytest.raises(TypeError) as caught:
        concrete(1.0)
    text = str(caught.value)
    assert ".." not in text
    assert not text.startswith("<lambda>: <lambda>")
    assert "has shape (); this concrete function was traced for (2,)" in text
