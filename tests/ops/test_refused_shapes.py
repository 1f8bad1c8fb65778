"""Shapes and structures that do not fit are refused, with the class of error that their kind has."""

import numpy as np
import pytest

import graphad as tf
from graphad.errors import InvalidArgumentError


def test_a_shape_is_not_made_of_floats():
    with pytest.raises(TypeError, match="sizes are integers"):
        tf.convert_to_tensor(tf.TensorShape([1, 2]), tf.float32)
    assert tf.convert_to_tensor(tf.TensorShape([1, 2]), tf.int64).numpy().tolist() == [1, 2]


def test_a_scalar_has_no_diagonal_tensor():
    with pytest.raises(InvalidArgumentError, match="scalar"):
        tf.linalg.tensor_diag(0.0)
    assert tf.linalg.tensor_diag([2.0]).shape == [1, 1]


def test_sizes_are_a_vector():
    with pytest.raises(InvalidArgumentError, match="vector of integers"):
        tf.fill([[0, 1], [2, 3]], 1.0)


@pytest.mark.parametrize("block", [[0, 0], [-1, 2], [[1], [1]]])
def test_blocks_have_sizes_of_at_least_one(block):
    x = np.ones((4, 2, 2, 1), np.float32)
    for move in (tf.batch_to_space, tf.space_to_batch):
        with pytest.raises(InvalidArgumentError, match="at least 1"):
            move(x, block, [[0, 0], [0, 0]])


@pytest.mark.parametrize("data", [np.zeros((1, 2)), np.zeros((3, 2)), np.zeros((2, 2, 2))])
def test_stitched_slices_have_the_shape_of_their_indices(data):
    with pytest.raises(InvalidArgumentError, match="dynamic_stitch"):
        tf.dynamic_stitch([[0], [1, 2]], [np.zeros((1, 2)), data])


def test_map_fn_returns_the_structure_of_its_signature():
    x = np.array([1, 2, 3])
    for run in (lambda f: f(), lambda f: tf.function(f)()):
        with pytest.raises(TypeError, match="nested structure"):
            run(lambda: tf.map_fn(lambda y: (y, -y), x, fn_output_signature=[tf.int64, tf.int64]))
        kept = run(lambda: tf.map_fn(lambda y: (y, -y), x, fn_output_signature=(tf.int64, tf.int64)))
        assert kept[1].numpy().tolist() == [-1, -2, -3]


@pytest.mark.parametrize("axis", [[[1]], [3.5], [5]])
def test_the_axis_of_a_norm_is_named_as_that(axis):
    with pytest.raises((TypeError, ValueError), match=r"^norm: "):
        tf.norm(np.eye(2), axis=axis)


@pytest.mark.parametrize(("axis", "error"), [(None, TypeError), (0, ValueError)])
def test_one_weight_is_no_weight_for_each_element(axis, error):
    for module in (tf.experimental.numpy, np):
        with pytest.raises(error):
            module.average(np.ones([2, 3]), axis=axis, weights=np.ones([]))
        assert module.average(np.array(3.0), weights=2.0) == 3
