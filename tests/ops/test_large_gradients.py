"""Gradients of large arrays take fewer passes where nothing follows them, and where they begin with ones in one place: the same
bits as the steps that a second tape sees.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
import graphad.numpy as gnp

RNG = np.random.default_rng(23)
SIZE = 5000


def _numbers(dtype: Any, positive: bool = False) -> np.ndarray:
    x = RNG.standard_normal(SIZE).astype(dtype)
    x[:8] = [0.0, -0.0, 1.0, -1.0, 6.0, np.inf, -np.inf, np.nan]
    return np.abs(x) + dtype(0.5) if positive else x


_OF_ONE: dict[str, Callable[[Any], Any]] = {
    "abs": tf.abs,
    "clip": lambda x: gnp.clip(x, -1, 1),
    "clip_by_value": lambda x: tf.clip_by_value(x, -1.0, 1.0),
    "cumprod": lambda x: tf.math.cumprod(tf.reshape(x, [50, 100]), 1),
    "cumprod, exclusive": lambda x: tf.math.cumprod(tf.reshape(x, [50, 100]), 0, exclusive=True),
    "cumprod, reverse": lambda x: tf.math.cumprod(tf.reshape(x, [50, 100]), 1, reverse=True),
    "cumprod of a vector": lambda x: tf.math.cumprod(x[:40]),
    "degrees": gnp.rad2deg,
    "frexp": lambda x: gnp.frexp(x)[0],
    "identity": tf.identity,
    "ldexp": lambda x: gnp.ldexp(x, np.arange(SIZE) % 30 - 15),
    "leaky_relu": tf.nn.leaky_relu,
    "reciprocal": tf.math.reciprocal,
    "relu6": tf.nn.relu6,
    "scalar_mul": lambda x: tf.math.scalar_mul(-3.5, x),
    "square": tf.square,
}
_OF_TWO: dict[str, Callable[[Any, Any], Any]] = {
    "cross": lambda x, y: tf.linalg.cross(tf.reshape(x[:4998], [-1, 3]), tf.reshape(y[:4998], [-1, 3])),
    "cross of NumPy": lambda x, y: gnp.cross(tf.reshape(x[:4998], [-1, 3]), tf.reshape(y[:4998], [-1, 3])),
    "divide": tf.divide,
    "fmax": gnp.fmax,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "pow": tf.pow,
    "pow of positive numbers": lambda x, y: tf.pow(tf.abs(x) + 0.5, y),
    "pow by a row": lambda x, y: tf.pow(tf.abs(tf.reshape(x, [50, 100])) + 0.5, y[:100]),
    "xdivy": tf.math.xdivy,
    "xdivy without zeros": lambda x, y: tf.math.xdivy(tf.abs(x) + 0.5, y),
    "where": lambda x, y: tf.where(tf.range(SIZE) % 3 == 0, x, y),
}


def _gradients(call: Callable[..., Any], xs: list[Any], ones: bool, seen: bool) -> list[np.ndarray]:
    def first() -> list[Any]:
        with tf.GradientTape() as tape:
            tape.watch(xs)
            y = call(*xs)
        return tape.gradient(y, xs, None if ones else tf.constant(_bar(y)))

    if not seen:
        return [g.numpy() for g in first()]
    with tf.GradientTape() as outer:
        outer.watch(xs)
        found = first()
    return [g.numpy() for g in found]


def _bar(y: Any) -> np.ndarray:
    bar: np.ndarray = (np.arange(y.numpy().size) % 7 - 3).reshape(y.shape.as_list()).astype(y.numpy().dtype)
    return bar


@pytest.mark.parametrize("name", [*_OF_ONE, *_OF_TWO])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_passes_give_the_bits_of_the_steps(name: str, dtype: Any) -> None:
    positive = "cumprod" in name
    xs = [tf.constant(_numbers(dtype, positive)) for _ in range(1 if name in _OF_ONE else 2)]
    call = {**_OF_ONE, **_OF_TWO}[name]
    for ones in (True, False):
        short, long = _gradients(call, xs, ones, False), _gradients(call, xs, ones, True)
        for a, b in zip(short, long, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def test_a_gradient_of_ones_can_be_written_to_by_nobody_else() -> None:
    x = tf.constant(_numbers(np.float32))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.math.scalar_mul(2.0, x)
    g = tape.gradient(y, x).numpy()
    assert g.flags.c_contiguous
    np.testing.assert_array_equal(g, np.full(SIZE, 2, np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_inverses_of_larger_matrices_are_those_of_numpy(dtype: Any) -> None:
    x = RNG.standard_normal((70, 70)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        x += (1j * RNG.standard_normal((70, 70))).astype(dtype)
    found = tf.linalg.inv(x).numpy()
    assert found.dtype == dtype
    assert found.flags.c_contiguous
    want = np.linalg.inv(x.astype(np.result_type(dtype, np.float64)))
    size = np.abs(want).max()
    tolerance = 2e-7 if np.dtype(dtype) in (np.dtype(np.float32), np.dtype(np.complex64)) else 1e-11
    np.testing.assert_allclose(found, want, rtol=0, atol=tolerance * size)
    with pytest.raises(tf.errors.InvalidArgumentError, match="singular"):
        tf.linalg.inv(np.ones((70, 70), dtype))
    assert np.isnan(tf.linalg.inv(np.full((70, 70), np.nan, dtype)).numpy()).any()
