"""Functions of several ops that are computed in one go for small tensors that nothing follows have the same bits as the ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp
from graphad.ops import directly as way

RNG = np.random.default_rng(11)
EDGES = np.array([0.0, -0.0, np.nan, 1.0, -1.0, np.inf, -np.inf, 0.5, 3e38, -2.5, 1e-40, 7.0])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "median": lambda x: gnp.median(x),
    "median of rows": lambda x: gnp.median(x, -1),
    "median of columns": lambda x: gnp.median(x, 0, keepdims=True),
    "median kept": lambda x: gnp.median(x, keepdims=True),
    "nan_to_num": lambda x: gnp.nan_to_num(x),
    "nan_to_num by another": lambda x: gnp.nan_to_num(x, nan=-2.5),
    "nan_to_num by zero below": lambda x: gnp.nan_to_num(x, nan=-0.0),
    "heaviside": lambda x: gnp.heaviside(x, x[::-1]),
    "heaviside of rows": lambda x: gnp.heaviside(x, x[0]),
    "top_k": lambda x: tf.math.top_k(x, 2),
    "top_k of none": lambda x: tf.math.top_k(x, 0),
    "top_k with wide indices": lambda x: tf.math.top_k(x, 3, index_type=tf.int64),
    "clip_by_norm": lambda x: tf.clip_by_norm(x, 1.5),
    "clip_by_norm of slices": lambda x: tf.clip_by_norm(tf.IndexedSlices(x, [0, 2, 1]), 0.5).values,
    "selu": lambda x: tf.nn.selu(x),
    "moments": lambda x: tf.nn.moments(x, [0]),
    "moments over all": lambda x: tf.nn.moments(x, [1, 0], keepdims=True),
    "kron": lambda x: gnp.kron(x, x[0]),
    "kron of three axes": lambda x: gnp.kron(x, gnp.reshape(x, [1, -1, 3])),
    "argmax": lambda x: tf.argmax(x, 1),
    "argmax of a vector": lambda x: tf.argmax(tf.reshape(x, [-1])),
    "argmin": lambda x: tf.argmin(x, 0, tf.int32),
    "cross": lambda x: tf.linalg.cross(x[:, :3], x[::-1, :3]),
    "cross with one row": lambda x: tf.linalg.cross(x[None, :, :3], x[0, :3]),
    "xlog1py": lambda x: tf.math.xlog1py(x, x[::-1]),
    "xlog1py of rows": lambda x: tf.math.xlog1py(x[:1], x[:, :1]),
    "average": lambda x: gnp.average(x, 0),
    "average and its weight": lambda x: gnp.average(x, -1, returned=True),
    "sum": lambda x: tf.reduce_sum(x, [-1, 0]),
    "max of columns": lambda x: tf.reduce_max(x, (0,), True),
}


def _parts(result: Any) -> list[Any]:
    return [part.numpy() for part in (result if isinstance(result, tuple) else (result,))]


def _arrays(dtype: Any) -> list[Any]:
    info = np.finfo(dtype)
    edges = np.where(np.isfinite(EDGES), np.clip(EDGES, info.min, info.max), EDGES)
    return [
        RNG.normal(size=(3, 4)).astype(dtype),
        RNG.normal(size=(3, 5)).astype(dtype),
        RNG.choice(edges, (3, 3)).astype(dtype),
        RNG.choice([0.0, -0.0, 1.0], (3, 4)).astype(dtype),
        np.zeros((3, 3), dtype),
    ]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_bits_are_those_of_the_ops(name, dtype):
    f = FUNCTIONS[name]
    for array in _arrays(dtype):
        x = tf.constant(array)
        with np.errstate(all="ignore"):
            short = _parts(f(x))
            with tf.GradientTape() as tape:
                tape.watch(x)
                long = _parts(f(x))
        for a, b in zip(short, long, strict=True):
            assert (a.dtype, a.shape, type(a)) == (b.dtype, b.shape, type(b))
            np.testing.assert_array_equal(a, b)
            if a.dtype.kind == "f":
                is_number = ~np.isnan(a)
                np.testing.assert_array_equal(np.signbit(a)[is_number], np.signbit(b)[is_number])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: gnp.median(x),
        lambda x: gnp.median(x, 1),
        lambda x: tf.math.top_k(x, 3),
        lambda x: tf.argmax(x, -1),
        lambda x: gnp.kron(x, x > 0),
    ],
)
def test_integers_are_as_under_a_trace(f):
    x = tf.constant(RNG.integers(-4, 5, (3, 4)))
    for a, b in zip(_parts(f(x)), _parts(tf.function(f)(x)), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["median", "nan_to_num", "heaviside", "top_k", "clip_by_norm", "selu"])
def test_they_take_the_short_way(name, monkeypatch):
    """Without it the rest of this file compares the ops with themselves."""
    taken = []
    found = way.unreported

    def counted(function: Any, *xs: Any, **options: Any) -> Any:
        taken.append(function)
        return found(function, *xs, **options)

    monkeypatch.setattr(way, "unreported", counted)
    FUNCTIONS[name](tf.constant(RNG.normal(size=(3, 4)).astype(np.float32)))
    assert taken


def test_what_does_not_fit_is_refused_as_before():
    x = tf.constant([[1.0, 2.0, 3.0]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="at least k columns"):
        tf.math.top_k(x, 4)
    with pytest.raises(tf.errors.InvalidArgumentError, match="axis 2"):
        gnp.median(x, 2)
    with pytest.raises(tf.errors.InvalidArgumentError):
        tf.reduce_sum(x, [0, 0])
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not broadcast"):
        tf.clip_by_norm(x, [[1.0], [2.0]])
    with pytest.raises(TypeError):
        tf.nn.selu(tf.constant([1, 2]))
