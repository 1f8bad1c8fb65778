"""Threads of a block use what others write only behind a barrier, in blocks of one and of several warps."""

from __future__ import annotations

import numpy as np
import pytest

import graphad as tf
from tests.compiler.test_backend import CASES
from tests.devices import fake_driver
from tests.devices.test_plans import there
from tests.support.races import Races

pytestmark = pytest.mark.fake_device


@pytest.mark.parametrize("threads", [8, 64])
@pytest.mark.parametrize("name", CASES)
def test_kernels_of_programs_have_no_races(name: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    shape = (4, threads // 4)
    monkeypatch.setattr(fake_driver, "threads_of", lambda x, y: shape if y > 1 else (threads, 1))
    races = Races()
    monkeypatch.setattr(fake_driver, "watch", races)
    function, values = CASES[name]
    if max(np.size(x) for x in values) > 1000:
        values = [x[:2, :70] if x.ndim == 2 else x[:70] for x in values]
    f = tf.function(lambda *xs: function(*xs), jit_compile=True)
    for y in tf.nest.flatten(f(*[there(x) for x in values])):
        y.numpy()
    assert not races.found, races.found[:3]
    assert races.uses


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_reductions_in_parts_have_no_races(axis: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fake_driver, "threads_of", lambda x, y: (8, 2) if y > 1 else (64, 1))
    races = Races()
    monkeypatch.setattr(fake_driver, "watch", races)
    x = np.random.default_rng(0).normal(size=(1200, 4) if axis == 0 else (2, 5000)).astype(np.float32)
    f = tf.function(lambda x: (tf.reduce_sum(x, axis), tf.reduce_max(x, axis)), jit_compile=True)
    total, most = f(there(x))
    np.testing.assert_allclose(total.numpy(), x.sum(axis, dtype=np.float64), rtol=1e-4, atol=1e-3)
    np.testing.assert_array_equal(most.numpy(), x.max(axis))
    assert not races.found, races.found[:3]


def test_without_barriers_races_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from graphad.compiler.cuda.emit import Printer

    plain = Printer.rows_tree

    def unguarded(self: Printer, tid: str, threads: str) -> None:
        before, add = self.out.add, self.out.add
        self.out.add = lambda line: None if "syncthreads" in line else add(line)  # type: ignore[method-assign]
        plain(self, tid, threads)
        self.out.add = before  # type: ignore[method-assign]

    monkeypatch.setattr(Printer, "rows_tree", unguarded)
    monkeypatch.setattr(fake_driver, "threads_of", lambda x, y: (64, 1))
    races = Races()
    monkeypatch.setattr(fake_driver, "watch", races)
    f = tf.function(lambda x: tf.reduce_sum(x * 1.25, 1), jit_compile=True)
    f(there(np.ones((2, 333), np.float32))).numpy()
    assert races.found
