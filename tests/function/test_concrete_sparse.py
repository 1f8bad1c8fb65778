"""Concrete functions of sparse tensors: what they are traced for, how that is printed, and which tensors they take."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

X = tf.SparseTensor([[0, 1], [2, 0]], [2.0, 3.0], [3, 2])


@tf.function
def doubled(x, names=("a",)):
    return {"sum": tf.sparse.reduce_sum(x), "twice": x * 2.0}


@pytest.mark.parametrize("shape", [[3, 2], [None, 2], [None, None]])
def test_a_tensor_may_have_more_known_sizes_than_the_trace(shape):
    concrete = doubled.get_concrete_function(tf.SparseTensorSpec(shape))
    for found in (concrete(X), concrete(x=X)):
        assert float(found["sum"]) == 5.0
        assert found["twice"].shape == [3, 2]
        np.testing.assert_array_equal(tf.sparse.to_dense(found["twice"]), [[0, 4], [0, 0], [6, 0]])


def test_a_tensor_of_another_shape_is_refused_with_both():
    concrete = doubled.get_concrete_function(tf.SparseTensorSpec([None, 3]))
    with pytest.raises(TypeError, match=r"argument 'x' is .*shape=\(3, 2\).* traced for .*shape=\(None, 3\)"):
        concrete(X)


def test_lists_of_sparse_tensors_and_slices_are_arguments():
    @tf.function
    def total(xs, rows):
        return tf.add_n([tf.sparse.reduce_sum(x) for x in xs]) + tf.reduce_sum(rows.values)

    rows = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([0]), tf.constant([3, 2]))
    concrete = total.get_concrete_function(
        [tf.SparseTensorSpec([None, 2]), tf.SparseTensorSpec([3, None])], rows
    )
    assert float(concrete([X, X], rows)) == 12.0


def test_signatures_show_the_specs():
    concrete = doubled.get_concrete_function(tf.SparseTensorSpec([None, 2]))
    spec = "SparseTensorSpec(TensorShape([None, 2]), tf.float32)"
    assert repr(concrete.structured_input_signature[0][0]) == spec
    assert concrete.structured_outputs["twice"] == tf.SparseTensorSpec([None, 2])
    assert f"x (POSITIONAL_OR_KEYWORD): {spec}\n" in concrete.pretty_printed_signature()


def test_a_dtype_and_its_name_have_a_trace_each():
    is_text = tf.function(lambda x: isinstance(x, str))
    assert [bool(is_text(x)) for x in ("float32", tf.float32, "float32")] == [True, False, True]
    assert is_text.experimental_get_tracing_count() == 2
