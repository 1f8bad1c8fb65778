"""Rows of stages are held in shared memory as far as a device gives it, and reductions share what a block has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphad as tf
from tests.devices import fake_cupy, fake_driver
from tests.devices.test_plans import close, there


def softmax_of(columns: int) -> tuple[list[int], Any]:
    """What is asked for in shared memory by a softmax of two rows, and what is launched."""
    fake_driver._asked.clear()
    x = np.random.default_rng(0).normal(size=(2, columns)).astype(np.float32)
    f = tf.function(lambda x: tf.nn.softmax(x), jit_compile=True)
    e = np.exp(x - x.max(1, keepdims=True))
    close(f(there(x)), e / e.sum(1, keepdims=True))
    return list(fake_driver._asked.values()), f


def test_short_rows_ask_for_nothing_and_long_ones_for_more() -> None:
    assert softmax_of(3000)[0] == []
    (asked,) = softmax_of(20_000)[0]
    assert 80_000 < asked <= fake_driver.OPT_IN


def test_rows_that_do_not_fit_are_held_in_the_workspace(monkeypatch: pytest.MonkeyPatch) -> None:
    assert softmax_of(30_000)[0] == []
    monkeypatch.setattr(fake_cupy.Device, "attributes", {"MultiProcessorCount": 2})
    assert softmax_of(20_000)[0] == [], "this device gives no more than 48 KB"


def test_a_loop_of_many_reductions_runs() -> None:
    x = np.random.default_rng(1).normal(size=(6, 40)).astype(np.float32)

    def f(x: Any) -> Any:
        return [tf.reduce_sum(x * float(k + 1), 1) for k in range(30)]

    found = tf.function(f, jit_compile=True)(there(x))
    assert max(fake_driver._fixed_shared(text) for text in fake_driver.launches) > 30 * 8 * 100
    for k, y in enumerate(found):
        close(y, (x * (k + 1)).sum(1))
