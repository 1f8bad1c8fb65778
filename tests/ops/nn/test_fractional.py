"""Pools of windows of two sizes: what comes out is what the windows that they say hold."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import graphad as tf

X = np.random.default_rng(3).normal(size=(2, 13, 10, 3))
POOLS = {"max": (tf.nn.fractional_max_pool, np.max), "avg": (tf.nn.fractional_avg_pool, np.mean)}


def pooled(summary: Any, x: Any, rows: Any, columns: Any, overlapping: bool) -> np.ndarray:
    """Window by window."""
    further = int(overlapping)
    return np.stack(
        [
            np.stack(
                [
                    summary(x[:, top : bottom + further, left : right + further], axis=(1, 2))
                    for left, right in pairwise(columns)
                ],
                1,
            )
            for top, bottom in pairwise(rows)
        ],
        1,
    )


@pytest.mark.parametrize("overlapping", [False, True], ids=["apart", "overlapping"])
@pytest.mark.parametrize("pseudo_random", [False, True], ids=["random", "pseudo"])
@pytest.mark.parametrize("ratio", [1.0, 1.3, 2.0, 2.5, (1.7, 1.1), (1.0, 1.44, 1.73, 1.0)], ids=str)
@pytest.mark.parametrize("name", POOLS)
def test_windows_hold_what_they_say(name: str, ratio: Any, pseudo_random: bool, overlapping: bool) -> None:
    pool, summary = POOLS[name]
    ratios = np.broadcast_to(ratio if np.size(ratio) < 4 else ratio[1:3], 2)
    for seed in range(1, 9):
        found = pool(tf.constant(X), ratio, pseudo_random, overlapping, seed)
        for starts, length, each in zip(found[1:], X.shape[1:3], ratios, strict=True):
            starts = starts.numpy()
            assert starts.dtype == np.int64
            assert (starts[0], starts[-1], len(starts)) == (0, length, int(length / each) + 1)
            assert set(np.diff(starts)) <= {length // (len(starts) - 1), length // (len(starts) - 1) + 1}
        want = pooled(summary, X, *[s.numpy() for s in found[1:]], overlapping)
        np.testing.assert_allclose(found.output, want, rtol=1e-12)


@pytest.mark.parametrize("jit", [None, False, True], ids=["eager", "numpy", "compiled"])
@pytest.mark.parametrize("name", POOLS)
def test_derivatives_are_those_of_the_windows(name: str, jit: bool | None) -> None:
    pool, summary = POOLS[name]

    def gradient(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = pool(x, 1.6, seed=5)
            y = tf.reduce_sum(tf.sin(found.output))
        return tape.gradient(y, x), found[1], found[2]

    run = gradient if jit is None else tf.function(gradient, jit_compile=jit)
    slope, rows, columns = (part.numpy() for part in run(tf.constant(X)))
    direction = np.random.default_rng(4).normal(size=X.shape)
    ends = [np.sin(pooled(summary, X + s * 1e-6 * direction, rows, columns, False)).sum() for s in (1, -1)]
    np.testing.assert_allclose((slope * direction).sum(), (ends[0] - ends[1]) / 2e-6, rtol=1e-6)


def test_integers_and_equal_elements() -> None:
    x = tf.constant(np.arange(16).reshape(1, 4, 4, 1))
    assert tf.nn.fractional_max_pool(x, 2.0).output.numpy().ravel().tolist() == [5, 7, 13, 15]
    assert tf.nn.fractional_avg_pool(x, 2.0).output.numpy().ravel().tolist() == [2, 4, 10, 12]


@pytest.mark.parametrize(
    ("shape", "ratio", "message"),
    [
        ((1, 4, 4, 1), 0.5, "pooling_ratio is 0.5"),
        ((1, 4, 4, 1), (2.0, 1.0, 1.0, 1.0), "with 1 at both ends"),
        ((1, 4, 4, 1), 9.0, "leaves nothing of a size of 4"),
        ((4, 4, 1), 2.0, r"\[batch, height, width, channels\] is needed"),
    ],
)
def test_what_cannot_be_pooled_is_refused(shape: Any, ratio: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.nn.fractional_max_pool(tf.ones(shape), ratio)


def test_sizes_must_be_known() -> None:
    spec = tf.TensorSpec([None, None, 4, 1], tf.float32)
    with pytest.raises(ValueError, match="height and width of value must be known"):
        tf.function(lambda x: tf.nn.fractional_max_pool(x, 2.0), input_signature=[spec])(
            tf.ones([1, 4, 4, 1])
        )
