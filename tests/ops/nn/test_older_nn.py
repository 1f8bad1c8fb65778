"""`compat.v1.nn` takes TensorFlow 1's arguments for convolutions, pools and layers; the newer functions compute them."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf

v1 = tf.compat.v1
R = np.random.RandomState(0)
X = tf.constant(R.randn(2, 6, 6, 4))
K = tf.constant(R.randn(3, 3, 4, 5))
K2 = tf.transpose(K, [0, 1, 3, 2])
M = tf.constant(R.randn(3, 4))
W = tf.constant(R.randn(4, 2))
IDS = tf.SparseTensor([[0, 0], [0, 1], [1, 0]], [3, 1, 2], [2, 2])
SAMES = {
    "conv2d": (
        lambda: v1.nn.conv2d(X, filter=K, strides=[1, 2, 2, 1], padding="SAME", use_cudnn_on_gpu=False),
        lambda: tf.nn.conv2d(X, K, 2, "SAME"),
    ),
    "conv2d by place": (
        lambda: v1.nn.conv2d(X, K, [1, 1, 1, 1], "VALID", True, "NHWC", [1, 2, 2, 1], "name"),
        lambda: tf.nn.conv2d(X, K, 1, "VALID", dilations=2),
    ),
    "conv1d": (lambda: v1.nn.conv1d(X[0], K[0], 2, "SAME"), lambda: tf.nn.conv1d(X[0], K[0], 2, "SAME")),
    "conv3d": (
        lambda: v1.nn.conv3d(X[None], K[None], [1] * 5, "SAME"),
        lambda: tf.nn.conv3d(X[None], K[None], 1, "SAME"),
    ),
    "convolution": (
        lambda: v1.nn.convolution(X, K, "SAME", dilation_rate=[2, 2], name="name"),
        lambda: tf.nn.convolution(X, K, padding="SAME", dilations=2),
    ),
    "conv2d_transpose": (
        lambda: v1.nn.conv2d_transpose(X, K2, [2, 12, 12, 5], [1, 2, 2, 1]),
        lambda: tf.nn.conv2d_transpose(X, K2, [2, 12, 12, 5], 2),
    ),
    "depthwise_conv2d": (
        lambda: v1.nn.depthwise_conv2d(X, K, [1, 1, 1, 1], "VALID", [2, 2]),
        lambda: tf.nn.depthwise_conv2d(X, K, [1, 1, 1, 1], "VALID", dilations=[2, 2]),
    ),
    "separable_conv2d": (
        lambda: v1.nn.separable_conv2d(X, K, tf.ones([1, 1, 20, 2], tf.float64), [1] * 4, "VALID"),
        lambda: tf.nn.separable_conv2d(X, K, tf.ones([1, 1, 20, 2], tf.float64), [1] * 4, "VALID"),
    ),
    "max_pool": (
        lambda: v1.nn.max_pool(value=X, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME"),
        lambda: tf.nn.max_pool(X, 2, 2, "SAME"),
    ),
    "avg_pool": (
        lambda: v1.nn.avg_pool(X, [1, 3, 3, 1], [1, 1, 1, 1], "VALID"),
        lambda: tf.nn.avg_pool(X, 3, 1, "VALID"),
    ),
    "embedding_lookup": (lambda: v1.nn.embedding_lookup([W], [1, 3], "mod"), lambda: tf.gather(W, [1, 3])),
    "embedding_lookup in pieces": (
        lambda: v1.nn.embedding_lookup([W[0::3], W[1::3], W[2::3]], [[1, 3], [0, 2]]),
        lambda: tf.gather(W, [[1, 3], [0, 2]]),
    ),
    "embedding_lookup_sparse": (
        lambda: v1.nn.embedding_lookup_sparse([W[0::2], W[1::2]], IDS, None, "mod", "name", "sum"),
        lambda: tf.nn.embedding_lookup_sparse(W, IDS, None, "sum"),
    ),
    "safe_embedding_lookup_sparse": (
        lambda: v1.nn.safe_embedding_lookup_sparse([W[:2], W[2:]], IDS, None, "sum", 1, "name", "div"),
        lambda: tf.nn.safe_embedding_lookup_sparse(W, IDS, None, "sum", 1),
    ),
    "crelu": (lambda: v1.nn.crelu(M, "name"), lambda: tf.nn.crelu(M)),
    "space_to_depth": (lambda: v1.space_to_depth(X, 2, "name"), lambda: tf.nn.space_to_depth(X, 2)),
    "depth_to_space": (lambda: v1.nn.depth_to_space(X, 2), lambda: tf.nn.depth_to_space(X, 2)),
    "weighted_cross_entropy_with_logits": (
        lambda: v1.nn.weighted_cross_entropy_with_logits(targets=M, logits=M, pos_weight=2.0),
        lambda: tf.nn.weighted_cross_entropy_with_logits(M, M, 2.0),
    ),
    "weighted_moments": (
        lambda: v1.nn.weighted_moments(M, [0], tf.abs(M), keep_dims=True)[1],
        lambda: tf.nn.weighted_moments(M, [0], tf.abs(M), keepdims=True)[1],
    ),
    "relu_layer": (lambda: v1.nn.relu_layer(M, W, [1.0, -1.0]), lambda: tf.nn.relu(M @ W + [1.0, -1.0])),
}


@pytest.mark.parametrize("case", SAMES)
def test_older_arguments_give_what_the_newer_function_gives(case: str) -> None:
    older, newer = SAMES[case]
    np.testing.assert_array_equal(older(), newer())


def test_what_is_missing_or_given_twice_is_named() -> None:
    with pytest.raises(TypeError, match="conv2d: filters is missing, which may also be called filter"):
        v1.nn.conv2d(X, strides=1, padding="SAME")
    with pytest.raises(TypeError, match="conv2d: filters and filter are the same argument"):
        v1.nn.conv2d(X, K, 1, "SAME", filters=K)


def test_variables_are_scattered_into_by_functions() -> None:
    want = np.arange(12.0).reshape(4, 3)
    v = tf.Variable(want)
    v1.scatter_update(v, [0, 1], np.ones([2, 3]))
    want[:2] = 1
    v1.scatter_add(v, [[2], [2]], np.full([2, 1, 3], 4.0))
    want[2] += 8
    v1.scatter_mul(v, [0, 3], 2.0)
    want[[0, 3]] *= 2
    v1.scatter_sub(v, 3, [1.0, 1.0, 1.0])
    want[3] -= 1
    v1.scatter_max(v, [1], [[0.0, 5.0, 0.0]])
    want[1, 1] = 5
    np.testing.assert_array_equal(v1.scatter_nd_add(v, [[0, 0], [1, 1]], [7.0, 1.0]), v)
    want[0, 0], want[1, 1] = want[0, 0] + 7, 6
    np.testing.assert_array_equal(v, want)


def test_other_functions_of_tensorflow_1() -> None:
    np.testing.assert_array_equal(v1.sparse_to_dense([0, 2], [4], 1), [1, 0, 1, 0])
    dense = v1.sparse_to_dense([[0, 1], [1, 0]], [2, 2], [5.0, 6.0], -1.0)
    np.testing.assert_array_equal(dense, [[-1, 5], [6, -1]])
    for places, sizes in (([2, 0], [4]), ([1, 1], [4]), ([[0, 1], [0, 1]], [2, 2])):
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="not in row-major order, or one is repeated"
        ):
            v1.sparse_to_dense(places, sizes, 1)
    np.testing.assert_array_equal(
        v1.sparse_to_dense([2, 0], [4], [1, 2], validate_indices=False), [2, 0, 1, 0]
    )
    x = tf.constant([[3.0, 4.0], [0.0, 12.0]])
    np.testing.assert_allclose(v1.clip_by_average_norm(x, 1.0), x * 4 / 13, rtol=1e-6)
    np.testing.assert_array_equal(v1.clip_by_average_norm(x, 100.0), x)
    assert v1.multinomial(tf.zeros([2, 3]), 5).shape == (2, 5)
    assert v1.random_poisson([1.0, 2.0], [4]).shape == (4, 2)
    assert v1.tuple([x, None])[1] is None
    np.testing.assert_array_equal(v1.arg_max(x, 1), [1, 1])
    np.testing.assert_array_equal(v1.arg_min(x, dimension=0), [1, 0])


def test_pieces_of_a_table_fit_their_strategy() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="piece k % 2"):
        v1.nn.embedding_lookup([W[:1], W[1:]], [0], "mod")
    with pytest.raises(tf.errors.InvalidArgumentError, match="partition_strategy"):
        v1.nn.embedding_lookup([W[:2], W[2:]], [0], "other")
