"""Remainders of many numbers have the bits that those of few have, which are the C library's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphad as tf

rng = np.random.default_rng(3)
COUNT = 20_000  # more than a block, the last of which is not full


def _pair(kind: str) -> tuple[np.ndarray, np.ndarray]:
    x, y = rng.standard_normal((2, COUNT))
    if kind == "integers":
        x, y = np.rint(100 * x), 1 + np.abs(np.rint(5 * y))
    elif kind == "just below integers":
        x, y = rng.integers(-(2**24), 2**24, (2, COUNT)).astype(np.float64)
        y = np.where(y == 0, 1, np.rint(y / 2**12) + 1)
    elif kind == "any size":
        x, y = x * 10.0 ** rng.integers(-38, 38, COUNT), y * 10.0 ** rng.integers(-38, 38, COUNT)
    elif kind == "ends":
        ends = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3e38, 1.0, -1.0]
        x[:100], y[:100] = np.repeat(ends, 10), np.tile(ends, 10)
    elif kind == "an infinity":
        y[17] = np.inf
    return x.astype(np.float32), y.astype(np.float32)


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "floormod": tf.math.floormod,
    "truncatemod": tf.truncatemod,
}


@pytest.mark.parametrize(
    "kind", ["normal", "integers", "just below integers", "any size", "ends", "an infinity"]
)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_many_remainders_have_the_bits_of_few(name: str, kind: str) -> None:
    x, y = _pair(kind)
    function = FUNCTIONS[name]
    for divisor in (y, y[1]):
        many = function(tf.constant(x), tf.constant(divisor)).numpy()
        parts = [
            function(
                tf.constant(x[k : k + 100]), tf.constant(divisor[k : k + 100] if divisor.ndim else divisor)
            )
            for k in range(0, COUNT, 100)
        ]
        few = np.concatenate([part.numpy() for part in parts])
        is_nan = np.isnan(few)
        np.testing.assert_array_equal(np.isnan(many), is_nan)
        np.testing.assert_array_equal(many[~is_nan].view(np.int32), few[~is_nan].view(np.int32))


@pytest.mark.parametrize("exponent", [28, 29, 32, 37])
def test_quotients_too_long_for_a_product_in_float64_leave_exact_remainders(exponent: int) -> None:
    rng = np.random.default_rng(exponent)
    y = rng.uniform(1, 2, 5000).astype(np.float32)
    x = (rng.uniform(1, 2, 5000) * 2.0**exponent).astype(np.float32)
    np.testing.assert_array_equal(tf.truncatemod(tf.constant(x), tf.constant(y)), np.fmod(x, y))
