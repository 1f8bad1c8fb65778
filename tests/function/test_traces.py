"""How a function finds the trace for a call among many."""

from __future__ import annotations

import gc

import pytest

import graphad as tf
from graphad.function import traces


@pytest.fixture
def compared(monkeypatch):
    """The leaves of traces that are compared with those of calls."""
    seen = []
    accepts = traces.accepts
    monkeypatch.setattr(traces, "accepts", lambda a, b: seen.append((a, b)) or accepts(a, b))
    return seen


def test_traces_for_other_values_shapes_and_objects_are_not_compared_with_a_call(compared):
    @tf.function
    def scaled(x, factor, holder):
        return x * factor

    holders = [type("Holder", (), {})() for _ in range(3)]
    for size in range(1, 6):
        for factor in range(4):
            for holder in holders:
                scaled(tf.ones([size]), factor, holder)
    assert scaled.experimental_get_tracing_count() == 60
    assert not compared
    scaled.get_concrete_function(tf.TensorSpec([None]), 7, holders[0])
    assert float(scaled(tf.ones([9]), 7, holders[0])[0]) == 7.0
    assert scaled.experimental_get_tracing_count() == 61
    assert len(compared) == 3  # the three arguments of the one trace that may fit


def test_the_most_specific_of_the_traces_that_fit_serves_a_call():
    @tf.function
    def rank_known(x):
        return tf.constant(-1 if x.shape.rank is None else sum(n is None for n in x.shape))

    for shape in ([2, 4], [None, 3], [None, None], None):
        rank_known.get_concrete_function(tf.TensorSpec(shape))
    shapes = [[2], [5, 5], [5, 3], [2, 4], [2, 3, 4]]
    assert [int(rank_known(tf.ones(shape))) for shape in shapes] == [-1, 2, 1, 0, -1]
    assert rank_known.experimental_get_tracing_count() == 4


def test_traces_of_objects_that_are_gone_are_forgotten_with_the_next_trace():
    class Holder:
        pass

    @tf.function
    def scaled(x, holder):
        return x * holder.factor

    kept = None
    for factor in range(5):
        holder = Holder()
        holder.factor = float(factor)
        assert float(scaled(tf.constant(1.0), holder)) == factor
        kept = kept or holder
    del holder
    gc.collect()
    scaled(tf.constant([1.0]), kept)
    assert len(scaled.concrete_functions) == 2
    kept.factor = 7.0
    assert float(scaled(tf.constant(1.0), kept)) == 0.0  # its trace is still there
    assert scaled.experimental_get_tracing_count() == 6


def test_a_concrete_function_needs_no_graph_that_keeps_it():
    concrete = tf.function(lambda x: x * 2).get_concrete_function(tf.TensorSpec([]))
    concrete.add_to_graph()
    concrete.add_gradient_functions_to_graph()

    @tf.function
    def calls(x):
        concrete.add_to_graph()
        return concrete(x) + 1

    assert calls(tf.constant(3.0)).numpy() == 7
