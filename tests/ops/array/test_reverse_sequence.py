"""`reverse_sequence`: every pair of axes, and lengths and axes that do not fit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.random.default_rng(3).standard_normal((2, 3, 4))


def reversed_by_hand(x: np.ndarray, lengths: list[int], along: int, rows: int) -> np.ndarray:
    out = x.copy()
    for b, n in enumerate(lengths):
        row = np.take(x, b, rows)
        axis = along - (rows < along)
        head, tail = np.split(row, [n], axis)
        place: list[Any] = [slice(None)] * x.ndim
        place[rows] = b
        out[tuple(place)] = np.concatenate([np.flip(head, axis), tail], axis)
    return out


@pytest.mark.parametrize(("along", "rows"), list(itertools.permutations(range(3), 2)))
def test_each_pair_of_axes_counted_from_either_end_is_what_python_does_row_by_row(
    along: int, rows: int
) -> None:
    lengths = [int(n) for n in np.random.default_rng(along).integers(0, X.shape[along] + 1, X.shape[rows])]
    want = reversed_by_hand(X, lengths, along, rows)
    compiled = tf.function(tf.reverse_sequence, jit_compile=True)
    for a, b in itertools.product((along, along - 3), (rows, rows - 3)):
        for run in (tf.reverse_sequence, compiled):
            found = run(tf.constant(X), tf.constant(lengths), seq_axis=a, batch_axis=b)
            np.testing.assert_array_equal(found, want)


def test_the_gradient_is_reversed_the_same_way() -> None:
    x, w = tf.Variable(X), np.random.default_rng(4).standard_normal(X.shape)
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(w * tf.reverse_sequence(x, [2, 3], seq_axis=-2))
    np.testing.assert_array_equal(tape.gradient(y, x), reversed_by_hand(w, [2, 3], 1, 0))


def test_unknown_sizes_and_none_at_all() -> None:
    f = tf.function(
        lambda x, n: tf.reverse_sequence(x, n, 1, 0),
        input_signature=[tf.TensorSpec([None, None], tf.float64), tf.TensorSpec([None], tf.int64)],
    )
    np.testing.assert_array_equal(f(X[0], [4, 0, 2]), reversed_by_hand(X[0], [4, 0, 2], 1, 0))
    assert f(np.zeros((0, 3)), np.zeros(0, np.int64)).shape == (0, 3)
    assert tf.reverse_sequence(np.zeros((2, 0)), [0, 0], 1).shape == (2, 0)


@pytest.mark.parametrize(
    ("lengths", "axes", "python", "words"),
    [
        ([1, 2], (7, 0), IndexError, "axis 7 is out of range for input with shape"),
        ([1, 2], (1, -9), IndexError, "axis -9 is out of range"),
        ([1, 2], (1, 1), ValueError, "seq_axis and batch_axis are both 1"),
        ([1, 2], (-3, 0), ValueError, "seq_axis and batch_axis are both 0"),
        ([1, 2], ("a", 0), TypeError, "axis must be an integer, got 'a'"),
        ([1, 4], (1, 0), ValueError, r"seq_lengths holds \[1 4\]; each must be from 0 to .*, 3"),
        ([-1, 2], (1, 0), ValueError, r"seq_lengths holds \[-1 2\]"),
        ([2**32, 1], (1, 0), ValueError, "seq_lengths holds"),
        ([1, 2, 3], (1, 0), ValueError, "one length for each of the 2 indices of axis 0"),
        (1, (1, 0), ValueError, r"seq_lengths has shape \(\)"),
        ([1.5, 2.0], (1, 0), TypeError, "seq_lengths .*float32; an integer"),
    ],
)
def test_what_does_not_fit_is_refused(
    lengths: Any, axes: tuple[Any, Any], python: type[Exception], words: str
) -> None:
    for run in (tf.reverse_sequence, tf.function(tf.reverse_sequence, jit_compile=True)):
        with pytest.raises(python, match=f"reverse_sequence: .*{words}") as caught:
            run(tf.constant(X), lengths, *axes)
        assert isinstance(caught.value, tf.errors.GraphadError)


def test_a_scalar_has_no_axes() -> None:
    with pytest.raises(IndexError, match="a scalar has no axes"):
        tf.reverse_sequence(3.0, [1], 0)
