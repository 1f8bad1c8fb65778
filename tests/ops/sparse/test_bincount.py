"""What `sparse.bincount` makes of bounds, of no values, and of values that are no integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


def test_a_bound_of_minus_one_is_none() -> None:
    y = tf.sparse.bincount([1, 2], maxlength=-1)
    assert y.dense_shape.numpy().tolist() == [3] and y.values.numpy().tolist() == [1, 1]


@pytest.mark.parametrize(("values", "axis", "shape"), [([], 0, [1]), (np.zeros((2, 0), int), -1, [2, 1])])
def test_counts_of_nothing_have_room_for_one_number(values: Any, axis: int, shape: list[int]) -> None:
    y = tf.sparse.bincount(values, axis=axis)
    assert y.dense_shape.numpy().tolist() == shape and y.values.shape == (0,)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: tf.sparse.bincount([0.5, 1.0]), TypeError, "sparse.bincount: values have dtype float32; an integer"),
        (lambda: tf.sparse.bincount(tf.sparse.from_dense([0.5])), TypeError, "values have dtype float32; an integer"),
        (lambda: tf.sparse.bincount([1, 2], maxlength=-2), ValueError, "maxlength is -2; it must be 0 or more"),
    ],
)  # fmt: skip
def test_what_cannot_be_counted_is_refused(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "traced"])
def test_values_of_a_sparse_tensor_of_any_rank_are_counted_together(run) -> None:
    x = np.array([[[0, 0, 0], [0, 1, 0]], [[2, 0, 2], [3, 3, 3]]])
    sparse = tf.sparse.from_dense(x)
    y = run(tf.sparse.bincount)(sparse)
    np.testing.assert_array_equal(tf.sparse.to_dense(y), np.bincount(x[x > 0]))
    weights = tf.sparse.map_values(lambda v: tf.cast(v, tf.float32), sparse)
    y = run(lambda s, w: tf.sparse.bincount(s, weights=w, minlength=6))(sparse, weights)
    np.testing.assert_array_equal(tf.sparse.to_dense(y), [0, 1, 4, 9, 0, 0])
    with pytest.raises(ValueError, match="rank 3; it must be 1 or 2"):
        tf.sparse.bincount(sparse, axis=-1)
