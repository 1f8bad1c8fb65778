"""Pools, patches and convolutions along any number of axes: one op for one to four, eagerly, compiled, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import graphad as tf
from graphad.core.bind import bind
from graphad.ops.nn.convolution_ops import Convolution
from graphad.ops.nn.pooling_ops import AvgPool, MaxPool
from graphad.ops.nn.windows import Patches

SIZES = {1: 11, 2: 7, 3: 5, 4: 4}
WINDOW = 2


def windows(x: np.ndarray, rank: int) -> np.ndarray:
    """All windows of x [batch, ..., channels], [batch, places..., channels, window...]."""
    return sliding_window_view(x, (WINDOW,) * rank, tuple(range(1, rank + 1)))


def formulas(rank: int) -> dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]]:
    """op on a tensor, and the same for an array."""
    once, inside = (1,) * rank, tuple(range(-rank, 0))
    kernel = np.linspace(-1, 1, WINDOW**rank * 3 * 4).reshape((WINDOW,) * rank + (3, 4))

    def convolved(x: np.ndarray) -> np.ndarray:
        return np.tensordot(windows(x, rank), kernel, ((*inside, -rank - 1), (*range(rank), rank)))

    return {
        "max_pool": (
            lambda x: bind(MaxPool((WINDOW,) * rank, once, "VALID", once), x),
            lambda x: windows(x, rank).max(inside),
        ),
        "avg_pool": (
            lambda x: bind(AvgPool((WINDOW,) * rank, once, "VALID", once), x),
            lambda x: windows(x, rank).mean(inside),
        ),
        "convolution": (lambda x: bind(Convolution(once, "VALID", once), x, tf.constant(kernel)), convolved),
        "patches": (
            lambda x: bind(Patches((WINDOW,) * rank, once, "VALID", once), x),
            lambda x: np.moveaxis(windows(x, rank), rank + 1, -1),
        ),
    }


@pytest.mark.parametrize("op", ["max_pool", "avg_pool", "convolution", "patches"])
@pytest.mark.parametrize("rank", sorted(SIZES))
def test_windows_over_any_number_of_axes(rank: int, op: str) -> None:
    of_tensor, of_array = formulas(rank)[op]
    rng = np.random.default_rng(rank)
    x, direction = rng.standard_normal((2, 2, *[SIZES[rank]] * rank, 3))
    compiled = tf.function(of_tensor, jit_compile=True)
    np.testing.assert_allclose(of_tensor(tf.constant(x)), of_array(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(compiled(tf.constant(x)), of_array(x), rtol=1e-12, atol=1e-12)
    for f in (of_tensor, compiled):
        given = tf.constant(x)
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = tf.reduce_sum(tf.sin(f(given)))
        slope = float(tf.reduce_sum(tape.gradient(total, given) * direction))
        ahead, behind = (np.sin(of_array(x + step * direction)).sum() for step in (1e-6, -1e-6))
        assert slope == pytest.approx((ahead - behind) / 2e-6, rel=1e-6, abs=1e-6)
