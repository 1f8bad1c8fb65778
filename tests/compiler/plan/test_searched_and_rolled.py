"""Insertion positions, shifts that the run knows, and what is taken along inner axes: native rows with the bits of eager code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.compiler.plan.test_measured import in_python
from tests.support.bits import assert_same_bits

_rng = np.random.default_rng(21)


def compare(f: Callable[..., Any], *given: Any) -> None:
    """The compiled function has the bits of the eager one, and no step in Python."""
    tensors = [tf.constant(x) for x in given]
    compiled = tf.function(f, jit_compile=True)
    found, wanted = compiled(*tensors), f(*tensors)
    pairs = zip(found, wanted, strict=True) if isinstance(found, tuple | list) else [(found, wanted)]
    for a, b in pairs:
        assert_same_bits(a.numpy(), b.numpy())
    assert not in_python(compiled, *tensors)


SEQUENCES = {
    "sorted": lambda x: np.sort(x, -1),
    "repeated": lambda x: np.sort(np.round(x), -1),
    "one": lambda x: x[..., :1],
    "none": lambda x: x[..., :0],
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("name", SEQUENCES)
def test_insertion_positions(name: str, dtype: Any) -> None:
    for rows in ((), (3,), (2, 2)):
        sequence = SEQUENCES[name](_rng.normal(size=(*rows, 17)) * 4).astype(dtype)
        values = np.concatenate(
            [_rng.normal(size=(*rows, 40)) * 4, sequence, sequence[..., ::-1]], -1
        ).astype(dtype)
        for side in ("left", "right"):
            for index in (tf.int32, tf.int64):
                compare(lambda a, v: tf.searchsorted(a, v, side, index) + 1, sequence, values)  # noqa: B023
                compare(lambda a, v: tf.searchsorted(a, v[..., :0], side, index) + 1, sequence, values)  # noqa: B023


def test_insertion_positions_in_what_is_not_sorted_are_in_range() -> None:
    """Which of them is not told; NumPy's differ between its releases."""
    sequence, values = (tf.constant(_rng.normal(size=n)) for n in (17, 40))
    found = tf.function(lambda a, v: tf.searchsorted(a, v) + 1, jit_compile=True)(sequence, values).numpy()
    assert found.min() >= 1 and found.max() <= 18


def test_insertion_positions_of_special_values() -> None:
    sequence = np.array([-np.inf, -1, -0.0, 0.0, 2, np.inf, np.nan, np.nan], np.float32)
    values = np.array([np.nan, 0.0, -0.0, -np.inf, np.inf, 1, 3, np.nan, -2], np.float32)
    for side in ("left", "right"):
        compare(lambda a, v: tf.searchsorted(a, v, side) + 1, sequence, values)  # noqa: B023


def test_interpolation_with_its_gradient() -> None:
    def f(x: Any, places: Any, values: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch((x, values))
            k = tf.clip_by_value(tf.searchsorted(places, x), 1, 19)
            a, b, u, v = (tf.gather(of, at) for of in (places, values) for at in (k - 1, k))
            y = u + (v - u) * (x - a) / (b - a)
        return y, *tape.gradient(y, (x, values))

    places = np.sort(_rng.normal(size=20)).astype(np.float32)
    compare(f, _rng.normal(size=30).astype(np.float32), places, _rng.normal(size=20).astype(np.float32))


@pytest.mark.parametrize("dtype", [np.float32, np.int64, np.bool_, np.complex128, np.float16])
@pytest.mark.parametrize("shape", [(7,), (3, 5), (2, 3, 4), (4, 0), (1, 1)])
def test_shifts(shape: tuple[int, ...], dtype: Any) -> None:
    x = (_rng.normal(size=shape) * 3).astype(dtype)
    for axis in range(len(shape)):
        f = tf.function(lambda x, s: tf.roll(x, s, axis), jit_compile=True)  # noqa: B023
        for shift in (0, 1, -1, 3, -8, 100, -100):
            for kind in (np.int32, np.int64):
                assert_same_bits(f(x, kind(shift)).numpy(), np.roll(x, shift, axis))
        assert not in_python(f, tf.constant(x), tf.constant(1))
    axes = [0, len(shape) - 1, 0]
    compare(lambda x, s: tf.roll(x, s, axes), x, np.array([2, -1, 5], np.int32))


def test_a_shift_in_each_round_with_its_gradient() -> None:
    def f(x: Any, n: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x
            for i in tf.range(n):
                y = 3 * tf.roll(y, i, 1) + tf.roll(x * x, [-i, i], [0, 1])
        return y, tape.gradient(y, x)

    compare(f, _rng.integers(-9, 9, (4, 6)).astype(np.float32), np.int32(5))


@pytest.mark.parametrize("axis", [0, 1, 2, -3, -2])
def test_orders_along_inner_axes(axis: int) -> None:
    x = np.round(_rng.normal(size=(5, 6, 7)) * 3).astype(np.float32)  # with equal elements

    def f(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.sort(x * 2, axis, "DESCENDING")
            value = y * y
        return y, tf.argsort(x, axis), tape.gradient(value, x)

    compare(f, x)
    compare(f, x[:, :0])
