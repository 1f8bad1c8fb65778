"""Windows that are larger than their image: what lies in the padding takes no time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops.nn.pooling_ops import AvgPool, AvgPoolGrad, MaxPool
from graphad.ops.nn.windows import add_windows, padded_shape, unpadded

WINDOWS = [((30, 2), (1, 1), (1, 1)), ((9, 14), (2, 3), (2, 1)), ((12, 9), (3, 1), (3, 4))]


@pytest.mark.parametrize("padding", ["SAME", ((60, 3), (0, 60))])
@pytest.mark.parametrize(("window", "strides", "dilations"), WINDOWS)
def test_large_windows_give_what_their_part_in_the_image_gives(
    padding: Any, window: Any, strides: Any, dilations: Any
) -> None:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2, 5, 4, 3))
    largest, mean = (kind(window, strides, padding, dilations) for kind in (MaxPool, AvgPool))
    assert largest.near(x.shape) is not largest
    within = largest.within()
    np.testing.assert_array_equal(largest.eval(x), largest.parts(x, -np.inf).max(within, initial=-np.inf))
    with np.errstate(all="ignore"):
        count = mean.parts(np.ones_like(x), 0).sum(within)
        y = mean.eval(x)
        np.testing.assert_allclose(y, mean.parts(x, 0).sum(within) / count, rtol=1e-12)
        g = rng.standard_normal(y.shape)
        slope = AvgPoolGrad(window, strides, padding, dilations, x.shape).eval(g)
        pads, share = mean.pads_for(x.shape), np.expand_dims(g / count, within)
        parts = np.broadcast_to(share, (*g.shape[:-1], *window, 3))
        whole = add_windows(parts, padded_shape(x.shape, pads), strides, dilations)
    np.testing.assert_allclose(slope, unpadded(whole, x.shape, pads), rtol=1e-12)
    assert y.shape == mean.infer(tf.constant(x).spec).dims


@pytest.mark.parametrize("jit", [False, True])
def test_a_window_of_a_billion_elements_takes_no_longer_than_one_as_large_as_the_image(jit: bool) -> None:
    x = tf.constant(np.arange(1.0, 9.0).reshape(1, 8, 1))

    def slope(x: Any, pool: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = pool(x, 2**31 - 1, 1, "SAME")
        return y, tape.gradient(y, x)

    for pool, value in ((tf.nn.max_pool1d, 8.0), (tf.nn.avg_pool1d, 4.5)):
        f = tf.function(lambda x, pool=pool: slope(x, pool), jit_compile=jit)
        for y, g in (slope(x, pool), f(x)):
            np.testing.assert_array_equal(y, np.full((1, 8, 1), value))
            np.testing.assert_allclose(np.sum(g), 8.0)
