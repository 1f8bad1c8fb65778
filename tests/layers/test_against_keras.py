"""Layers give Keras' numbers: outputs, and gradients by weights and inputs, eagerly and in functions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.layers.against_keras import CASES, CELLS, DATA, MERGES, every


@functools.cache
def stored() -> dict[str, list[np.ndarray]]:
    with np.load(DATA) as kept:
        names = sorted(kept.files, key=lambda name: (name.rpartition("/")[0], int(name.rpartition("/")[2])))
        found: dict[str, list[np.ndarray]] = {}
        for name in names:
            found.setdefault(name.rpartition("/")[0], []).append(kept[name])
    return found


@functools.cache
def mine(is_compiled: bool) -> dict[str, list[np.ndarray]]:
    wraps: Any = tf.function if is_compiled else lambda f: f
    return every(tf, wraps)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("name", [*CASES, *MERGES, *CELLS])
def test_outputs_and_gradients_are_those_of_keras(name: str, is_compiled: bool) -> None:
    found, want = mine(is_compiled)[name], stored()[name]
    assert len(found) == len(want)
    for k, (y, z) in enumerate(zip(found, want, strict=True)):
        assert y.dtype == z.dtype, k
        np.testing.assert_allclose(y, z, rtol=2e-5, atol=2e-6, err_msg=str(k))
