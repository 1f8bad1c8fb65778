"""What is traced goes with the last reference to it: nothing waits for the garbage collector."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import graphad as tf


@pytest.fixture(autouse=True)
def no_collection():
    """Without the collector only counted references free anything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Scaler:
    def __init__(self):
        self.weight = tf.Variable(2.0)

    @tf.function
    def scaled(self, x):
        return self.weight * x


def test_a_function_and_what_it_captured():
    def made():
        captured = tf.Variable(tf.ones(3))
        function = tf.function(lambda x: captured * x)
        with tf.GradientTape() as tape:
            y = function(tf.constant(2.0))
        tape.gradient(y, captured)
        return weakref.ref(function), weakref.ref(captured)

    references = made()
    assert [reference() for reference in references] == [None, None]


def test_an_object_with_a_traced_method():
    scaler = Scaler()
    scaler.scaled(tf.constant(2.0))
    references = weakref.ref(scaler), weakref.ref(scaler.scaled), weakref.ref(scaler.weight)
    del scaler
    assert [reference() for reference in references] == [None, None, None]


def test_a_tape_with_its_entries():
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = x * x
    tape.gradient(y, x)
    references = weakref.ref(tape), weakref.ref(x)
    del tape, x, y
    assert [reference() for reference in references] == [None, None]


def test_a_trace_that_outlives_its_function_takes_other_shapes():
    function = tf.function(lambda x: x * tf.cast(tf.shape(x)[0], tf.float32))
    concrete = function.get_concrete_function(tf.constant([1.0]))
    reference = weakref.ref(function)
    del function
    assert reference() is None
    np.testing.assert_array_equal(concrete(tf.constant([1.0, 2.0])), [2.0, 4.0])
    np.testing.assert_array_equal(concrete(tf.constant([1.0, 2.0, 3.0])), [3.0, 6.0, 9.0])


def test_the_trace_of_a_method_takes_other_shapes_as_long_as_the_object_lives():
    scaler = Scaler()
    concrete = scaler.scaled.get_concrete_function(tf.constant([1.0]))
    np.testing.assert_array_equal(concrete(tf.constant([1.0, 2.0])), [2.0, 4.0])
