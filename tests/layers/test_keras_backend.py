"""What `keras.backend` has besides arithmetic, whose numbers `tests/oracle/older.py` compares: variables, shapes, refusals."""

import numpy as np
import pytest

import graphad as tf

K = tf.keras.backend
X = np.float32([[1, 2, 3], [4, 5, 6]])


def test_arrays_are_made_in_the_default_dtype():
    assert [
        x.dtype.name for x in (K.constant([1, 2]), K.variable([1, 2]), K.zeros(2), K.ones(2), K.eye(2))
    ] == ["float32"] * 5
    assert K.constant(3, "int32", (2,)).numpy().tolist() == [3, 3]
    assert K.arange(-3).shape == (0,)
    assert K.arange(2.0, 4.0).dtype == tf.float32
    assert K.arange(2, 7, 2, "float64").numpy().tolist() == [2, 4, 6]


def test_variables_are_read_and_written():
    v = K.variable(X)
    assert K.update(v, X + 1) is v
    K.update_add(v, X)
    K.update_sub(v, np.ones_like(X))
    np.testing.assert_array_equal(K.get_value(v), 2 * X)
    K.moving_average_update(v, X, 0.75)
    np.testing.assert_allclose(v, 1.75 * X)
    K.batch_set_value([(v, X.astype("int64"))])
    np.testing.assert_array_equal(K.batch_get_value([v])[0], X)
    K.set_value(v, 0 * X)
    assert not K.eval(v).any()
    assert K.get_value(3) == 3


def test_shapes_are_told_of_tensors_variables_and_symbols():
    assert K.int_shape(X) == K.int_shape(K.variable(X)) == (2, 3)
    assert (K.ndim(X), K.count_params(K.variable(X)), K.dtype(tf.constant(X))) == (2, 6, "float32")
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def traced(x):
        seen.append((K.int_shape(x), K.ndim(x)))
        return K.batch_flatten(K.repeat(x, 2))

    assert traced(X).shape == (2, 6)
    assert seen == [((None, 3), 2)]


def test_sparse_tensors_are_told_and_made_dense():
    s = tf.sparse.from_dense(X)
    assert K.is_sparse(s)
    assert not K.is_sparse(X)
    np.testing.assert_array_equal(K.eval(s), X)
    np.testing.assert_array_equal(K.dot(s, X.T), X @ X.T)
    np.testing.assert_array_equal(K.eval(K.concatenate([s, s], 0)), np.concatenate([X, X]))
    labels = K.ctc_label_dense_to_sparse([[1, 2, 3], [4, 5, 6]], [2, 1])
    assert tf.sparse.to_dense(labels).numpy().tolist() == [[1, 2, 0], [4, 0, 0]]


def test_random_numbers_follow_the_seeds():
    def drawn():
        np.random.seed(3)
        tf.random.set_seed(1)
        return [
            f([4, 5]).numpy()
            for f in (K.random_normal, K.random_uniform, K.truncated_normal, K.random_bernoulli)
        ]

    for one, other in zip(drawn(), drawn(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert set(K.random_bernoulli([200], 0.5).numpy().tolist()) == {0.0, 1.0}
    assert K.random_uniform_variable([3], 1, 2).dtype == tf.float32


def test_gradients_are_those_of_a_traced_function():
    x = tf.constant(X)
    found = tf.function(lambda x: K.gradients(K.sum(K.square(x)), [x])[0])(x)
    np.testing.assert_array_equal(found, 2 * X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = K.sum(x * next(K.stop_gradient([x])))
    np.testing.assert_array_equal(tape.gradient(y, x), X)


def test_uids_count_by_prefix():
    first = K.get_uid("of this test")
    assert (K.get_uid("of this test"), K.get_uid("of this test, too")) == (first + 1, 1)
    assert (K.backend(), K.image_data_format()) == ("tensorflow", "channels_last")


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: K.batch_dot(X, X[0]), r"y \(3,\); two axes or more are needed"),
        (lambda: K.batch_dot(X, X, 0), "an axis of each but the first"),
        (lambda: K.batch_dot(X, X, [1, [1]]), "one integer or two"),
        (lambda: K.batch_dot(X, X[:, :2]), "the sizes of their axes differ, 3 and 2"),
        (lambda: K.batch_dot(X, X[:1]), "the sizes of their batch differ, 2 and 1"),
        (lambda: K.bias_add(X[None], X.T), r"bias has shape \(3, 2\)|sizes"),
        (lambda: K.softmax(X[0]), "two axes or more are needed"),
        (lambda: K.repeat(X[0], 2), "two axes are needed"),
        (
            lambda: K.conv2d(X[None, :, :, None], np.ones((1, 1, 1, 1), "f"), padding="both"),
            "'same' or 'valid'",
        ),
        (lambda: K.pool2d(X[None, :, :, None], (1, 1), pool_mode="sum"), "'max' or 'avg'"),
        (lambda: K.spatial_2d_padding(X[None, :, :, None], (1, 1, 1)), "2 pairs of integers"),
        (lambda: K.temporal_padding(X[None], (1,)), "a pair of integers"),
        (lambda: K.resize_images(X[None, :, :, None], 2, 2, "last"), "'channels_first' or None"),
        (lambda: K.resize_images(X[None, :, :, None], 2, 2, "channels_last", "cubic"), "is one of nearest"),
        (lambda: K.switch(X[None] > 0, X, X), "3 axes, the values 2"),
        (lambda: K.categorical_crossentropy(X, X[:, :2]), r"target has shape \(2, 3\), output \(2, 2\)"),
        (lambda: K.pool2d(X[None, :, :, None], (1, 1, 1)), "one number or 2 of them"),
    ],
)
def test_what_does_not_fit_is_told(call, told):
    with pytest.raises(ValueError, match=told):
        call()


def test_kernels_with_channels_first_give_the_same_numbers():
    x, k = (np.random.default_rng(3).normal(size=s).astype("f") for s in ((2, 6, 5, 3), (3, 2, 3, 4)))
    y = K.conv2d(K.permute_dimensions(x, [0, 3, 1, 2]), k, (2, 1), "same", "channels_first")
    np.testing.assert_array_equal(y, K.permute_dimensions(K.conv2d(x, k, (2, 1), "same"), [0, 3, 1, 2]))
