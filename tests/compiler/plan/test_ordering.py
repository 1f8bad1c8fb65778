"""Sorts, the largest few, extremes and their places, and extremes of segments are steps of a plan's native call on the CPU, with
the bits and the errors of the eager op."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.tools.explain import explain

_rng = np.random.default_rng(3)
_DTYPES = [np.float32, np.float64, np.int32, np.int64, np.uint8]


def mixed(*shape: int, dtype: Any, has_ties: bool) -> Any:
    """Numbers of the whole range, or with many ties; floats with NaN, infinities and both zeros."""
    kind, info = np.dtype(dtype).kind, None if np.dtype(dtype).kind == "f" else np.iinfo(dtype)
    if info is not None:
        low, high = (0, 5) if has_ties else (info.min, info.max)
        return _rng.integers(low, high, shape).astype(dtype)
    x = _rng.normal(size=shape) * 5
    x = (np.round(x) if has_ties else x).astype(dtype)
    flat = x.reshape(-1)
    for value in (np.nan, -0.0, np.inf, -np.inf) if kind == "f" else ():
        flat[_rng.integers(0, x.size, max(1, x.size // 10))] = value
    return x


def agrees(function: Any, *arrays: Any) -> None:
    given = [tf.constant(x) for x in arrays]
    f = tf.function(function, jit_compile=True)
    for _ in range(2):
        wants, found = tf.nest.flatten(function(*given)), tf.nest.flatten(f(*given))
        for want, got in zip(wants, found, strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            assert got.numpy().tobytes() == want.numpy().tobytes()
    units = explain(f)(*given).units
    assert "routine" in units and "host" not in units, units


@pytest.mark.parametrize("n", [1, 48, 49, 700])
@pytest.mark.parametrize("has_ties", [False, True])
@pytest.mark.parametrize("dtype", _DTYPES)
def test_sorts_and_the_places_of_extremes(dtype: Any, has_ties: bool, n: int) -> None:
    def everything(x: Any, axis: int) -> list[Any]:
        found = [tf.argsort(x, axis=axis, direction=d) for d in ("ASCENDING", "DESCENDING")]
        if axis == len(x.shape) - 1:
            found.append(tf.sort(x))
        for index in (tf.int32, tf.int64):
            found += [tf.argmax(x, axis, output_type=index), tf.argmin(x, axis, output_type=index)]
        return found

    for shape, axis in (((n,), 0), ((3, n), 1), ((2, n, 3), 1)):
        agrees(lambda x, axis=axis: everything(x, axis), mixed(*shape, dtype=dtype, has_ties=has_ties))


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint8, tf.int16, tf.uint16, tf.uint32, tf.uint64])
def test_places_of_other_dtypes_have_their_width(dtype: tf.DType) -> None:
    def places(x: Any) -> list[Any]:
        found = [tf.argmax(x, 1, output_type=dtype), tf.argmin(x, 1, output_type=dtype)]
        return [*found, tf.math.top_k(x, 3, index_type=dtype).indices]

    x = mixed(7, 40, dtype=np.float32, has_ties=True)
    for want, found in zip(
        places(tf.constant(x)), tf.function(places, jit_compile=True)(tf.constant(x)), strict=True
    ):
        assert found.dtype is dtype
        assert found.numpy().tolist() == want.numpy().tolist()


@pytest.mark.parametrize("k", [1, 5, 48, 49, 100])
@pytest.mark.parametrize("dtype", _DTYPES)
def test_the_largest_few(dtype: Any, k: int) -> None:
    for has_ties in (False, True):
        x = mixed(3, 100, dtype=dtype, has_ties=has_ties)
        agrees(lambda x: tf.math.top_k(x, k, index_type=tf.int64), x)
        agrees(lambda x: tf.math.top_k(tf.sort(x), k), x)


def test_places_of_extremes_among_nan_and_infinities() -> None:
    for row in ([np.nan] * 40, [np.nan, *[np.inf] * 20], [np.nan, *[-np.inf] * 39], [0.0, -0.0] * 20):
        agrees(lambda x: (tf.argmax(x, 0), tf.argmin(x, 0)), np.array(row, np.float32))
    agrees(lambda x: (tf.argmax(x, 0), tf.argmin(x, 0)), np.arange(37) % 3 == 1)


@pytest.mark.parametrize("tail", [(), (3,), (2, 5)])
@pytest.mark.parametrize("dtype", _DTYPES[:-1])
def test_extremes_of_segments(dtype: Any, tail: tuple[int, ...]) -> None:
    x = mixed(50, *tail, dtype=dtype, has_ties=False)
    if x.dtype.kind == "f":
        x[x == 0] = 1.0
    for ids in (_rng.integers(-1, 9, 50), np.sort(_rng.integers(0, 9, 50)), np.zeros(50, np.int64)):
        for f in (tf.math.unsorted_segment_max, tf.math.unsorted_segment_min):
            agrees(lambda x, i, f=f: f(x, i, 12), x, ids.astype(np.int32))
    both = _rng.integers(0, 4, (2, 25))
    batched = tf.function(
        lambda x, i: tf.vectorized_map(lambda z: tf.math.unsorted_segment_max(*z, 5), (x, i))
    )
    given = tf.constant(x.reshape(2, 25, *tail)), tf.constant(both)
    assert batched(*given).numpy().tobytes() == batched.python_function(*given).numpy().tobytes()


def test_the_gradient_of_an_attention_over_segments() -> None:
    def f(e: Any, ids: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(e)
            most = tf.gather(tf.math.unsorted_segment_max(e, ids, 6), ids)
            y = tf.reduce_sum((e - most) ** 2)
        return y, tape.gradient(y, e)

    e, ids = tf.constant(_rng.normal(size=40).astype(np.float32)), tf.constant(_rng.integers(0, 6, 40))
    for want, got in zip(f(e, ids), tf.function(f, jit_compile=True)(e, ids), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_what_has_no_answer_is_the_op_s_error() -> None:
    vector = tf.TensorSpec([None])

    @tf.function(jit_compile=True, input_signature=[vector, tf.TensorSpec([], tf.int32)])
    def largest(x: Any, k: Any) -> Any:
        return tf.math.top_k(x * 2.0, k).values + 1.0

    @tf.function(jit_compile=True, input_signature=[vector])
    def first(x: Any) -> Any:
        return tf.argmax(x * 2.0, 0) + 1

    @tf.function(jit_compile=True, input_signature=[vector, tf.TensorSpec([None], tf.int32)])
    def most(x: Any, ids: Any) -> Any:
        return tf.math.unsorted_segment_max(x * 2.0, ids, 3) + 1.0

    x = tf.constant([1.0, 3.0, 2.0])
    assert largest(x, 2).numpy().tolist() == [7.0, 5.0] and largest(x, 0).shape == (0,)
    assert first(x).numpy() == 2 and most(x, [0, 2, 2]).numpy()[2] == 7.0
    for call, words in (
        (lambda: largest(x, 4), "at least k columns"),
        (lambda: first(tf.zeros([0])), "is empty"),
        (lambda: most(x, [0, 3, 1]), "segment_ids holds 3"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            call()
    assert most(tf.zeros([0]), tf.zeros([0], tf.int32)).numpy()[0] == np.finfo(np.float32).min


def test_rounds_that_keep_the_best_are_one_native_loop() -> None:
    def f(h: Any, scores: Any) -> Any:
        for _ in tf.range(5):
            every = tf.reshape(h[:, None] * h[None, :] + scores[:, None], [-1])
            scores, at = tf.math.top_k(every, 4)
            h = tf.gather(h, at // 4) * 0.5 + tf.cast(at % 4, tf.float32)
        return h, scores

    given = tf.constant([0.5, 1.0, -2.0, 3.0]), tf.zeros([4])
    compiled = tf.function(f, jit_compile=True)
    for want, got in zip(f(*given), compiled(*given), strict=True):
        assert want.numpy().tobytes() == got.numpy().tobytes()
    units = explain(compiled)(*given).units
    assert "repeat" in units and "host" not in units, units
