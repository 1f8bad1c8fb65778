"""Stacking, turning and reversing small tensors at once gives what the ops give, and the same errors."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from graphad.core import bind as door
from graphad.core.bind import bind
from graphad.ops.array.join import Stack
from graphad.ops.array.transpose import Reverse


@pytest.fixture(autouse=True)
def short_ways(monkeypatch):
    monkeypatch.setattr(door, "VERIFY", False)  # under which the other tests run, by the long ways


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "complex64", "bfloat16"])
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0)])
def test_stacks_along_every_axis(dtype, shape):
    xs = [tf.cast(tf.constant(np.arange(np.prod(shape)).reshape(shape) + k), dtype) for k in range(3)]
    for axis in range(-len(shape) - 1, len(shape) + 1):
        y = tf.stack(xs, axis)
        assert y.dtype == dtype
        assert y.numpy().tolist() == np.stack([x.numpy() for x in xs], axis).tolist()


def test_what_does_not_fit_a_stack_is_named():
    with pytest.raises(ValueError, match="stack"):
        tf.stack([tf.ones([2]), tf.ones([3])])
    with pytest.raises(ValueError, match="stack"):
        tf.stack([tf.ones([2]), tf.ones([2])], 2)
    with pytest.raises(TypeError, match="stack"):
        tf.stack([tf.ones([2]), tf.ones([2], "float64")])
    assert tf.stack([1, 2.5]).numpy().tolist() == [1.0, 2.5] and tf.stack([]).shape == (0,)


def test_permutations_as_lists_and_tuples():
    x = np.arange(24).reshape(2, 3, 4)
    for perm in (
        [2, 0, 1],
        (2, 0, 1),
        [-1, 0, -2],
        np.array([2, 0, 1]),
        tf.constant([2, 0, 1]),
        [np.int64(2), 0, 1],
    ):
        assert tf.transpose(x, perm).numpy().tolist() == x.transpose(2, 0, 1).tolist()
    for perm in ([0, 1], [0, 0, 1], [0, 1, 3], []):
        with pytest.raises(ValueError, match="perm"):
            tf.transpose(x, perm)


def test_reversed_axes():
    x = np.arange(12).reshape(3, 4)
    for axes in ([0], [1], [-1], [0, 1], []):
        assert tf.reverse(x, axes).numpy().tolist() == np.flip(x, axes).tolist() if axes else x.tolist()
    with pytest.raises(ValueError, match="reverse"):
        tf.reverse(x, [2])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("wrong", [-1, 3, -(2**31)])
def test_an_index_outside_is_found_among_many(dtype, wrong):
    indices = np.zeros(50, dtype)
    assert tf.gather([5.0, 6.0, 7.0], indices).numpy().tolist() == [5.0] * 50
    indices[17] = wrong
    with pytest.raises(ValueError, match=rf"indices\[17\] = {wrong} is not in \[0, 3\)"):
        tf.gather([5.0, 6.0, 7.0], indices)
    assert tf.gather([5.0, 6.0, 7.0], np.zeros(0, dtype)).shape == (0,)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
def test_a_label_outside_is_found_in_every_dtype(dtype):
    logits, labels = np.zeros((4, 3), np.float32), np.array([0, 1, 2, 1], dtype)
    found = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    np.testing.assert_allclose(found, np.log(3.0), 1e-6)
    for wrong in (-1, 3) if dtype != "uint8" else (255, 3):
        labels[2] = wrong
        with pytest.raises(ValueError, match=f"label value of {wrong} which is outside"):
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)


def test_ops_with_axes_from_the_end():
    x = np.arange(24.0).reshape(2, 3, 4)
    for axis in (-1, -2, -3):
        assert np.array_equal(bind(Stack(axis), tf.constant(x), tf.constant(-x)), np.stack([x, -x], axis))
        assert np.array_equal(bind(Reverse((axis,)), tf.constant(x)), np.flip(x, axis))
