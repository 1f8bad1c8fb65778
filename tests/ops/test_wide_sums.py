"""Sums of many numbers are accumulated in a wider dtype: in float16 and bfloat16 the result is that of float64, rounded.

A running sum of ones stays at 2048 in float16 and at 256 in bfloat16; every sum here is some thousands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.ops import accumulate

N = 5000
EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
ZEROS = np.zeros(N, np.int32)


def _numbers(*shape: int, seed: int = 0) -> np.ndarray:
    """Around 1, of few bits, so that every dtype holds them as they are."""
    return np.random.default_rng(seed).integers(24, 40, shape) / 32.0


# name: (function, shapes of the inputs, factor on the tolerance for functions of several steps). Gradients by way of a logarithm
# that was rounded are as exact as that.
CASES: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...], float]] = {
    "reduce_sum": (tf.reduce_sum, ((N,),), 1),
    "reduce_sum of columns": (lambda x: tf.reduce_sum(x, 0), ((N, 3),), 1),
    "reduce_sum of rows": (lambda x: tf.reduce_sum(x, 1), ((3, N),), 1),
    "reduce_mean": (tf.reduce_mean, ((N,),), 1),
    "reduce_mean of columns": (lambda x: tf.reduce_mean(x, 0), ((N, 3),), 1),
    "reduce_prod": (lambda x: tf.reduce_prod(x / x + 0.0), ((N,),), 1),
    "reduce_logsumexp": (lambda x: tf.reduce_logsumexp(x, 0), ((N, 2),), 16),
    "reduce_variance": (lambda x: tf.math.reduce_variance(x * 3.0, 0), ((N, 2),), 16),
    "reduce_std": (lambda x: tf.math.reduce_std(x * 3.0, 0), ((N, 2),), 16),
    "reduce_euclidean_norm": (lambda x: tf.math.reduce_euclidean_norm(x, 0), ((N, 2),), 4),
    "norm": (lambda x: tf.norm(x, axis=0), ((N, 2),), 4),
    "norm 1": (lambda x: tf.norm(x, 1, 0), ((N, 2),), 4),
    "l2_normalize": (lambda x: tf.linalg.l2_normalize(x, 0), ((N, 2),), 16),
    "global_norm": (lambda x, y: tf.linalg.global_norm([x, y]), ((N,), (N,)), 8),
    "moments": (lambda x: tf.nn.moments(x * 3.0, [0]), ((N, 2),), 16),
    "count_nonzero": (lambda x: tf.math.count_nonzero(x, dtype=x.dtype), ((N,),), 1),
    "cumsum": (lambda x: tf.cumsum(x), ((N, 2),), 1),
    "cumsum of rows, backwards": (lambda x: tf.cumsum(x, 1, reverse=True, exclusive=True), ((2, N),), 1),
    "cumprod": (lambda x: tf.math.cumprod(x / x), ((N,),), 1),
    "cumulative_logsumexp": (lambda x: tf.math.cumulative_logsumexp(x), ((N,),), 40),
    "segment_sum": (lambda x: tf.math.segment_sum(x, ZEROS), ((N, 2),), 1),
    "segment_mean": (lambda x: tf.math.segment_mean(x, ZEROS), ((N, 2),), 2),
    "unsorted_segment_sum": (lambda x: tf.math.unsorted_segment_sum(x, ZEROS, 2), ((N, 2),), 1),
    "unsorted_segment_mean": (lambda x: tf.math.unsorted_segment_mean(x, ZEROS, 2), ((N, 2),), 2),
    "scatter_nd": (lambda x: tf.scatter_nd(ZEROS[:, None], x, [2, 2]), ((N, 2),), 1),
    "scatter_nd of the whole": (lambda x: tf.scatter_nd(np.zeros((N, 0), np.int32), x, [2]), ((N, 2),), 1),
    "tensor_scatter_nd_add": (
        lambda x, y: tf.tensor_scatter_nd_add(x, ZEROS[:, None], y),
        ((2, 2), (N, 2)),
        1,
    ),
    "add_n": (lambda x: tf.add_n([x] * 40), ((3,),), 1),
    "matmul": (tf.matmul, ((2, N), (N, 3)), 1),
    "matmul of stacks": (lambda x, y: tf.matmul(x, y, transpose_b=True), ((2, 2, N), (2, 3, N)), 1),
    "matvec": (tf.linalg.matvec, ((2, N), (N,)), 1),
    "tensordot": (lambda x, y: tf.tensordot(x, y, [[0, 2], [0, 1]]), ((40, 2, 50), (40, 50, 3)), 1),
    "einsum": (lambda x, y: tf.einsum("abc,abd->cd", x, y), ((50, 60, 2), (50, 60, 3)), 1),
    "einsum of one": (lambda x: tf.einsum("abc->b", x), ((50, 2, 60),), 1),
    "trace": (lambda x: tf.linalg.trace(x), ((600, 600),), 1),
    "softmax": (lambda x: tf.nn.softmax(x, 0) * 1000.0, ((N, 2),), 2),
    "log_softmax": (lambda x: tf.nn.log_softmax(x, 0), ((N, 2),), 16),
    "softmax_cross_entropy": (
        lambda x, y: tf.nn.softmax_cross_entropy_with_logits(y / 500.0, x),
        ((2, N), (2, N)),
        16,
    ),
    "sparse_softmax_cross_entropy": (
        lambda x: tf.nn.sparse_softmax_cross_entropy_with_logits([1, 2], x),
        ((2, N),),
        16,
    ),
    "avg_pool2d": (lambda x: tf.nn.avg_pool2d(x, 64, 1, "VALID"), ((1, 64, 65, 2),), 1),
    "conv2d": (lambda x, k: tf.nn.conv2d(x, k, 1, "VALID"), ((1, 40, 41, 2), (40, 40, 2, 2)), 1),
    "broadcast": (lambda x: tf.broadcast_to(x, [N, 3]), ((3,),), 1),
    "bias": (lambda x, b: x + b, ((N, 2), (2,)), 1),
    "bias of columns": (lambda x, b: x * 1.0 + b, ((2, N), (2, 1)), 1),
    "tile": (lambda x: tf.tile(x, [N, 1]), ((1, 2),), 1),
    "repeat": (lambda x: tf.repeat(x, [N, 2], axis=0), ((2, 2),), 1),
    "gather": (lambda x: tf.gather(x, ZEROS), ((2, 2),), 1),
    "gather of columns": (lambda x: tf.gather(x, ZEROS, axis=1), ((2, 2),), 1),
    "gather_nd": (lambda x: tf.gather_nd(x, ZEROS[:, None]), ((2, 2),), 1),
    "pad reflect": (lambda x: tf.pad(x, [[1, 1], [1, 1]], "REFLECT"), ((3, 4),), 1),
    "where": (lambda x: tf.where(np.ones((N, 2), bool), x, 0.0), ((2,),), 1),
    "stack of one": (lambda x: tf.stack([x] * 30), ((3,),), 1),
}


def _tensors(shapes: Any, dtype: Any) -> list[Any]:
    return [tf.constant(_numbers(*shape, seed=k), dtype) for k, shape in enumerate(shapes)]


def _results(f: Callable[..., Any], xs: list[Any], run: str) -> list[np.ndarray]:
    """The outputs and the gradients of their sum."""

    def whole(*xs: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            outputs = _flat(f(*xs))
        gradients = tape.gradient(outputs, list(xs))
        return [*outputs, *[tf.convert_to_tensor(g) for g in gradients if g is not None]]

    if run == "eager":
        found = whole(*xs)
    else:
        found = tf.function(whole, jit_compile=run == "native")(*xs)
    return [np.asarray(y.numpy()) for y in found]


def _flat(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("run", ["eager", "tier 0", "native"])
@pytest.mark.parametrize("name", list(CASES))
def test_sums_of_narrow_numbers_are_those_of_float64_rounded(name: str, run: str, dtype: str) -> None:
    if dtype == "bfloat16":
        pytest.importorskip("ml_dtypes")
    f, shapes, slack = CASES[name]
    narrow = getattr(tf, dtype)
    wanted = _results(f, _tensors(shapes, tf.float64), "eager")
    found = _results(f, _tensors(shapes, narrow), run)
    assert len(found) == len(wanted)
    for y, want in zip(found, wanted, strict=True):
        assert y.dtype == narrow.numpy
        assert y.shape == want.shape
        y = y.astype(np.float64)
        limit = slack * EPSILON[dtype] * (1.1 * np.abs(want) + (1e-3 if slack < 16 else 1.0))
        worst = np.max(np.abs(y - want) - limit, initial=-np.inf)
        assert worst <= 0, f"{y.ravel()[:4]}, float64 gives {want.ravel()[:4]}"


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(("axes", "keepdims"), [(None, False), ((0,), False), ((1,), True), ((0, -1), False)])
def test_sums_of_ones_in_one_place_are_those_of_ones(dtype: str, axes: Any, keepdims: bool) -> None:
    for shape in ((40, 50, 3), (2000,)):
        if axes is None or len(shape) > 1:
            one = np.broadcast_to(np.dtype(dtype).type(1), shape)
            found, want = (accumulate.summed(x, axes, keepdims) for x in (one, one.copy()))
            assert found.dtype == want.dtype and np.shape(found) == np.shape(want)
            assert np.array_equal(found, want) and type(found) is type(want)
