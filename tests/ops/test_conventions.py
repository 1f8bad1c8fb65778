"""What arguments may be besides tensors: empty lists of indices, arrays of 0 and 1 for truth values, None for a default."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

WAYS = pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "function"])
Run = Callable[[Any], Any]


@WAYS
@pytest.mark.parametrize(
    ("call", "want"),
    [
        (lambda: tf.gather([1, 2], []), np.zeros(0, np.int32)),
        (lambda: tf.gather([[1, 2]], [[]], batch_dims=1), np.zeros((1, 0), np.int32)),
        (lambda: tf.gather_nd([1, 2], [[], []]), np.array([[1, 2], [1, 2]], np.int32)),
        (lambda: tf.nn.embedding_lookup(tf.ones([3, 2]), []), np.zeros((0, 2), np.float32)),
        (lambda: tf.one_hot([], 3), np.zeros((0, 3), np.float32)),
        (lambda: tf.scatter_nd([[]], [[1, 2, 3]], [3]), np.array([1, 2, 3], np.int32)),
        (lambda: tf.math.segment_sum(tf.ones([0, 2]), []), np.zeros((0, 2), np.float32)),
        (lambda: tf.math.unsorted_segment_sum(tf.ones([0]), [], 2), np.zeros(2, np.float32)),
        (lambda: tf.math.unsorted_segment_max(tf.ones([0], tf.int32), [], 1), np.array([-(2**31)], np.int32)),
        (lambda: tf.repeat(tf.ones([0]), []), np.zeros(0, np.float32)),
        (lambda: tf.dynamic_partition(tf.ones([0]), [], 2)[1], np.zeros(0, np.float32)),
        (lambda: tf.math.invert_permutation([]), np.zeros(0, np.int32)),
        (lambda: tf.sequence_mask([]), np.zeros((0, 0), bool)),
        (
            lambda: tf.nn.sparse_softmax_cross_entropy_with_logits([], tf.ones([0, 3])),
            np.zeros(0, np.float32),
        ),
    ],
)
def test_a_list_without_numbers_is_a_list_of_indices(
    run: Run, call: Callable[[], tf.Tensor], want: np.ndarray
) -> None:
    found = run(call)().numpy()
    assert found.dtype == want.dtype
    np.testing.assert_array_equal(found, want)


def test_an_empty_tensor_or_array_of_floats_is_no_index():
    for wrong in (tf.zeros([0]), np.zeros(0), [1.0]):
        with pytest.raises(TypeError, match=r"^gather: indices have dtype float"):
            tf.gather([1, 2], wrong)


@WAYS
@pytest.mark.parametrize("kind", [np.int32, np.int64, np.uint8, np.float32])
def test_arrays_of_0_and_1_are_truth_values(run: Run, kind: type) -> None:
    x, y = np.array([0, 1, 1], kind), np.array([0, 0, 1], kind)
    for call, want in (
        (lambda: tf.logical_and(x, y), [False, False, True]),
        (lambda: tf.logical_or(x, tf.constant([False, False, False])), [False, True, True]),
        (lambda: tf.math.logical_xor(tf.constant([True, True, True]), y), [True, True, False]),
        (lambda: tf.logical_not(x), [True, False, False]),
        (lambda: tf.reduce_any(x), True),
        (lambda: tf.reduce_all(x, axis=0), False),
        (lambda: tf.constant(x, tf.bool), [False, True, True]),
    ):
        found = run(call)()
        assert found.dtype is tf.bool
        assert found.numpy().tolist() == want


def test_a_list_without_numbers_is_a_list_of_truth_values():
    assert not bool(tf.reduce_any([]))
    assert bool(tf.reduce_all([[], []]))
    assert tf.logical_not([]).dtype is tf.bool
    assert tf.where([], [1], [2]).numpy().tolist() == []


def test_other_numbers_are_no_truth_values():
    for call in (
        lambda: tf.logical_not(np.array([0, 2])),
        lambda: tf.reduce_any(np.array([0.5])),
        lambda: tf.logical_and([0, 1], [1, 1]),
        lambda: tf.reduce_all(tf.constant([0, 1])),
    ):
        with pytest.raises(TypeError, match="bool"):
            call()


def test_none_is_the_default_of_batch_dims_and_of_the_axis_of_counts():
    x = tf.constant([[1, 2, 3], [4, 5, 6]])
    assert tf.gather(x, [2, 0], axis=1, batch_dims=None).numpy().tolist() == [[3, 1], [6, 4]]
    counts = tf.sparse.bincount([[1, 2], [2, 5]], axis=None)
    assert counts.indices.numpy().tolist() == [[1], [2], [5]]
    assert counts.values.numpy().tolist() == [1, 2, 1]
    many = tf.sparse.bincount(np.ones((2, 1, 3), np.int64), axis=None)
    assert many.values.numpy().tolist() == [6]
    with pytest.raises(ValueError, match=r"sparse.bincount: values have rank 3"):
        tf.sparse.bincount(np.ones((2, 1, 3), np.int64), axis=-1)


@WAYS
def test_dots_of_a_result_stand_for_no_axis_where_no_operand_has_any(run: Run) -> None:
    assert float(run(lambda: tf.einsum("->...", tf.constant(3.0)))()) == 3.0
    assert float(run(lambda: tf.einsum("ij->...", tf.ones([2, 3])))()) == 6.0
    x = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(run(lambda: tf.einsum("ij->...j", x))().numpy(), x.sum(0))


@WAYS
def test_a_permutation_holds_each_number_once(run: Run) -> None:
    """The inverse of [0, 0] used to be [1, 0]."""
    f = run(tf.math.invert_permutation)
    assert f(tf.constant([2, 0, 1])).numpy().tolist() == [1, 2, 0]
    with pytest.raises(ValueError, match=r"invert_permutation: x is .*each of 0 to n - 1 once"):
        f(tf.constant([0, 0]))
    for wrong in ([0, 2], [-1, 0]):
        with pytest.raises(ValueError, match="is not in"):
            f(tf.constant(wrong))


@WAYS
def test_the_length_of_rows_is_one_number(run: Run) -> None:
    """A vector used to add an axis."""
    f = run(tf.sequence_mask)
    assert f(tf.constant([1, 2]), tf.constant(2)).shape == (2, 2)
    for wrong in (tf.constant([10]), [10, 20], np.array([3, 3])):
        with pytest.raises(ValueError, match=r"^sequence_mask: `maxlen` must be scalar, it has shape"):
            tf.sequence_mask([1, 2], wrong)


def test_boxes_name_their_images_in_a_vector():
    with pytest.raises(
        ValueError, match=r"^crop_and_resize: box_indices must be rank 1, a vector; it has shape"
    ):
        tf.image.crop_and_resize(tf.ones([2, 2, 2, 2]), tf.ones([0, 4]), tf.ones([0, 1], tf.int32), [1, 1])


@WAYS
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_boxes_are_finite_and_may_be_far_away(run: Run, method: str) -> None:
    """The error of a NaN was one of an index of the op within."""
    image = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
    crop = run(lambda boxes: tf.image.crop_and_resize(image, boxes, [0], [3, 2], method))
    far = crop(tf.constant([[-1e20, 0.0, 1e20, 1.0]])).numpy()
    assert far.ravel().tolist() == [0.0, 0.0, 0.0, 3.0, 0.0, 0.0]
    for wrong in (np.nan, np.inf, -np.inf):
        with pytest.raises(
            ValueError, match=r"crop_and_resize: the boxes are .*their numbers must be finite"
        ):
            crop(tf.constant([[0.0, 0.0, wrong, 1.0]]))


def test_without_a_seed_draws_differ():
    tf.random.set_seed(1)
    first = tf.random.uniform([8]).numpy()
    for seed in (1, None):
        tf.random.set_seed(seed)
        assert np.array_equal(tf.random.uniform([8]).numpy(), first) == (seed == 1)
    tf.random.set_seed(1)


def test_what_a_function_returns_is_named():
    for call in (tf.numpy_function, tf.py_function):
        with pytest.raises(TypeError, match=r"_function: Missing required argument: 'Tout'"):
            call(lambda x: x, [1.0])


def test_ranks_are_integers():
    """1.5 used to be a rank of 1."""
    tf.debugging.assert_rank_in(tf.ones([2]), (0, 1))
    for wrong in ((0.5, 1.5), ([1], 2)):
        with pytest.raises(TypeError, match=r"^assert_rank_in: rank must be an integer, got"):
            tf.debugging.assert_rank_in(tf.ones([2]), wrong)
