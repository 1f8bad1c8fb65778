"""The pool of large results: bounded by the setting, emptied on request and when its shapes fall out of use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphad as tf
from graphad.compiler.plan import buffers
from graphad.compiler.plan.buffers import ResultPool

KIND = (1000, 100), np.dtype("float32")
SIZE = 400_000


@pytest.fixture(autouse=True)
def usual_budget() -> Iterator[None]:
    before = tf.config.pool_budget()
    yield
    tf.config.set_pool_budget(before)
    tf.config.empty_pool()


def test_an_array_is_used_again_only_when_nobody_refers_to_it() -> None:
    pool = ResultPool()
    first = pool.take(*KIND)
    where, view = first.ctypes.data, memoryview(first)[3:]
    del first
    assert pool.take(*KIND).ctypes.data != where
    view.release()
    del view
    assert pool.take(*KIND).ctypes.data == where


@pytest.mark.parametrize("arrays", [0, 1, 5])
def test_the_pool_holds_no_more_than_the_setting(arrays: int) -> None:
    tf.config.set_pool_budget(arrays * SIZE)
    pool = ResultPool()
    for rows in range(990, 1000):
        taken = [pool.take((rows, 100), KIND[1]) for _ in range(6)]
        assert pool.held <= arrays * SIZE
        del taken
    assert bool(pool.held) == bool(arrays)


def test_idle_arrays_make_room_for_others() -> None:
    tf.config.set_pool_budget(2 * SIZE)
    pool = ResultPool()
    for rows in (998, 999, 1000):
        pool.take((rows, 100), KIND[1])
    where = pool.take(*KIND).ctypes.data
    assert pool.take(*KIND).ctypes.data == where


def test_a_smaller_setting_takes_effect_at_once() -> None:
    f = tf.function(lambda x: x * 2.0, jit_compile=True)
    x = tf.ones([1000, 100])
    for _ in range(3):
        f(x)
    assert buffers.results.held >= SIZE
    kept = f(x)
    tf.config.set_pool_budget(0)
    assert buffers.results.held == 0
    np.testing.assert_array_equal(f(x), kept)
    assert buffers.results.held == 0


def test_the_pool_is_emptied_on_request_and_what_is_in_use_stays() -> None:
    f = tf.function(lambda x: x * 2.0, jit_compile=True)
    x = tf.ones([1000, 100])
    kept = f(x)
    tf.config.empty_pool()
    assert buffers.results.held == 0
    f(x + 1.0)
    np.testing.assert_array_equal(kept, np.full((1000, 100), 2.0))


def test_shapes_that_are_not_asked_for_any_more_are_let_go() -> None:
    now = [0.0]
    pool = ResultPool(lambda: now[0])
    pool.take((500, 100), KIND[1])
    pool.take(*KIND)
    now[0] = buffers.IDLE_SECONDS - 1.0
    where = pool.take(*KIND).ctypes.data
    now[0] = buffers.IDLE_SECONDS + 1.0
    assert pool.take(*KIND).ctypes.data == where
    assert pool.held == SIZE


@pytest.mark.parametrize("size", [-1, 1.5, "1", None])
def test_a_budget_is_a_whole_number_of_bytes(size: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="set_pool_budget"):
        tf.config.set_pool_budget(size)
