"""Sparse tensors and slices are printed as the tensors they consist of are, and their dtypes are checked."""

import pytest

import graphad as tf


def test_sparse_tensors_and_slices_are_printed_with_their_tensors() -> None:
    x = tf.SparseTensor([[1]], [2.0], [3])
    assert (
        str(x)
        == repr(x)
        == (
            "SparseTensor(indices=tf.Tensor([[1]], shape=(1, 1), dtype=int64), "
            "values=tf.Tensor([2.], shape=(1,), dtype=float32), dense_shape=tf.Tensor([3], shape=(1,), dtype=int64))"
        )
    )
    assert str(tf.IndexedSlices(tf.constant([2.0]), tf.constant([1]))) == (
        "IndexedSlices(indices=tf.Tensor([1], shape=(1,), dtype=int32), values=tf.Tensor([2.], shape=(1,), dtype=float32))"
    )
    assert repr(tf.SparseTensorSpec([None, 3])) == "SparseTensorSpec(TensorShape([None, 3]), tf.float32)"


def test_tensors_without_values_are_printed_with_their_names() -> None:
    found = []

    @tf.function
    def f(x):
        found.extend([str(x), f"{x}", repr(x)])
        return x

    f(tf.ones([2]))
    text = 'Tensor("x:0", shape=(2,), dtype=float32)'
    assert found == [text, text, "<tf.Tensor 'x:0' shape=(2,) dtype=float32>"]


def test_dtypes_of_sparse_tensors_are_checked() -> None:
    x = tf.SparseTensor([[1]], [2.0], [3])
    tf.debugging.assert_type(x, tf.float32)
    with pytest.raises(TypeError, match="tensor must be of type int32; got float32"):
        tf.debugging.assert_type(x, tf.int32)
