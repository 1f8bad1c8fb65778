"""Sets, patches, blocks, sparse tensors and sampled classes as `compat.v1` calls them; the numbers are TensorFlow's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf

older = tf.compat.v1
PICTURE = np.arange(32, dtype=np.float32).reshape(1, 4, 4, 2)
A = tf.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])
B = tf.sparse.from_dense([[-1.0, 3.0], [0.0, 0.0]])
NCE = [3.973710060119629, 3.728227138519287]
SOFTMAX = [1.7310724258422852, 0.8752858638763428]


def parts(x: Any) -> list[Any]:
    return [np.asarray(part).tolist() for part in (x.indices, x.values, x.dense_shape)]


@pytest.mark.parametrize("how", [lambda f: f, tf.function])
@pytest.mark.parametrize(
    ("x", "y", "out", "places"),
    [
        ([1, 2, 3, 4, 2, 6], [1, 3, 5], [2, 4, 2, 6], [1, 3, 4, 5]),
        ([1, np.nan, 2], [np.nan, 2], [1, np.nan], [0, 1]),
        ([1, 2], [], [1, 2], [0, 1]),
        ([], [1], [], []),
    ],
)
def test_what_is_in_no_other_list(how: Any, x: Any, y: Any, out: Any, places: Any) -> None:
    found = how(older.setdiff1d)(np.array(x, np.float32), np.array(y, np.float32))
    np.testing.assert_array_equal(found.out, out)
    np.testing.assert_array_equal(found.idx, places)
    assert found.idx.dtype == tf.int32
    assert older.setdiff1d([3, 1], [1], tf.int64).idx.dtype == tf.int64


def test_patches_and_blocks_are_those_of_newer_functions() -> None:
    options = {"strides": [1, 2, 2, 1], "rates": [1, 1, 1, 1], "padding": "VALID"}
    newer = tf.image.extract_patches(PICTURE, [1, 2, 2, 1], **options)
    np.testing.assert_array_equal(older.extract_image_patches(PICTURE, [1, 2, 2, 1], **options), newer)
    np.testing.assert_array_equal(
        older.image.extract_image_patches(PICTURE, sizes=[1, 2, 2, 1], **options), newer
    )
    with pytest.raises(TypeError, match="extract_image_patches: strides is missing"):
        older.extract_image_patches(PICTURE, [1, 2, 2, 1])
    blocks = older.space_to_batch(PICTURE, [[0, 0], [0, 0]], 2)
    np.testing.assert_array_equal(blocks, tf.space_to_batch(PICTURE, [2, 2], [[0, 0], [0, 0]]))
    np.testing.assert_array_equal(older.batch_to_space(blocks, [[0, 0], [0, 0]], 2), PICTURE)
    np.testing.assert_array_equal(
        older.batch_to_space(blocks, [[0, 1], [0, 0]], block_shape=[2, 2]), PICTURE[:, :3]
    )
    with pytest.raises(TypeError, match="space_to_batch: block_size or block_shape is missing"):
        older.space_to_batch(PICTURE, [[0, 0], [0, 0]])


def test_sparse_tensors_by_older_names() -> None:
    assert parts(older.sparse_add(A, B)) == [[[0, 0], [0, 1], [1, 1]], [0.0, 3.0, 2.0], [2, 2]]
    assert parts(older.sparse_add(A, B, thresh=0.5)) == [[[0, 1], [1, 1]], [3.0, 2.0], [2, 2]]
    assert parts(older.sparse_concat(1, [A, B])) == [
        [[0, 0], [0, 2], [0, 3], [1, 1]],
        [1.0, -1.0, 3.0, 2.0],
        [2, 4],
    ]
    wide = older.sparse_concat(0, [A, tf.sparse.from_dense([[1.0, 2.0, 3.0]])], expand_nonconcat_dim=True)
    assert parts(wide)[2] == [3, 3]
    assert np.asarray(older.sparse_reduce_sum(A, reduction_axes=[0], keep_dims=True)).tolist() == [[1.0, 2.0]]
    assert np.asarray(older.sparse_reduce_max(B, 1)).tolist() == [3.0, 0.0]
    assert parts(older.sparse_reduce_sum_sparse(A, 1)) == [[[0], [1]], [1.0, 2.0], [2]]
    assert parts(older.sparse_reduce_max_sparse(B, 1)) == [[[0]], [3.0], [2]]


def test_sampled_losses_and_pools_by_older_names() -> None:
    weights, x = np.arange(10, dtype=np.float32).reshape(5, 2) / 10, np.ones((2, 2), np.float32)
    labels, biases = [[0], [3]], np.zeros(5, np.float32)
    drawn = ([1, 2], np.full((2, 1), 0.5, np.float32), np.full((2,), 0.4, np.float32))
    given = (biases, labels, x, 2, 5, 1, drawn)
    np.testing.assert_allclose(older.nn.nce_loss(weights, *given), NCE, rtol=1e-5)
    for pieces in (weights, [weights]):
        np.testing.assert_allclose(older.nn.sampled_softmax_loss(pieces, *given), SOFTMAX, rtol=1e-5)
    halves = [weights[:3], weights[3:]]
    apart = older.nn.sampled_softmax_loss(halves, *given, partition_strategy="div")
    np.testing.assert_allclose(apart, SOFTMAX, rtol=1e-5)
    np.testing.assert_array_equal(older.nn.embedding_lookup(halves, [0, 4], "div"), weights[[0, 4]])
    in_turn = [weights[::2], weights[1::2]]
    np.testing.assert_allclose(older.nn.nce_loss(in_turn, *given), NCE, rtol=1e-5)
    pooled = older.nn.pool(PICTURE, [2, 2], "MAX", "VALID", [1, 1], [2, 2])
    np.testing.assert_array_equal(pooled, tf.nn.pool(PICTURE, [2, 2], "MAX", [2, 2]))
