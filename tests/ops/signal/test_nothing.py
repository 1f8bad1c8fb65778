"""Spectra of signals without elements, as TensorFlow has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf


@pytest.mark.parametrize(
    ("name", "shape", "wanted"),
    [
        ("rfft", (0,), (0,)), ("rfft", (0, 4), (0, 3)), ("rfft", (2, 0), (2, 0)), ("rfft2d", (0, 3), (0, 2)),
        ("rfft2d", (3, 0), (3, 0)), ("irfft", (0,), (0,)), ("irfft", (0, 3), (0, 4)), ("irfft", (2, 0), (2, 0)),
        ("irfft2d", (0, 0), (0, 0)), ("irfft2d", (3, 0), (3, 0)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("run", [lambda f: f, tf.function], ids=["eager", "traced"])
@pytest.mark.parametrize("wide", [False, True])
def test_nothing_has_an_empty_spectrum(name: str, shape: Any, wanted: Any, run: Any, wide: bool) -> None:
    inverse = name.startswith("i")
    kinds = ("complex64", "complex128") if inverse else ("float32", "float64")
    results = ("float32", "float64") if inverse else ("complex64", "complex128")
    x = tf.constant(np.zeros(shape, kinds[wide]))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = run(getattr(tf.signal, name))(x)
    assert y.shape == wanted and y.dtype.name == results[wide]
    slope = tape.gradient(y, x)
    assert slope.shape == shape and slope.dtype == x.dtype
