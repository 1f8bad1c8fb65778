"""Keys that are written into NumPy's generator give its numbers, and nothing is written where it keeps them otherwise."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.random import Philox

from graphad.ops.random import philox
from graphad.ops.random.philox_state import setter

_KEYS = [np.array(key) for key in ([0, 0], [1, 2], [-5, 7], [2**62, -(2**63)])] + [
    np.array([-3, 4], np.int32)
]


def _numbers() -> list[Any]:
    return [
        philox.words(key, n, bits).tolist() for key in _KEYS for bits in (32, 64) for n in (1, 2, 3, 5, 9)
    ]


def test_the_numbers_of_a_thread_stay_the_same_after_many_draws() -> None:
    found: list[Any] = []

    def draw() -> None:
        first = _numbers()[:20]
        while getattr(philox._own, "direct", None) is None:
            philox.stream(_KEYS[0])
        found.extend([first, _numbers()])

    thread = threading.Thread(target=draw)  # which has drawn nothing before
    thread.start()
    thread.join()
    first, later = found
    assert first == later[:20]
    for key, numbers in zip(_KEYS, later[5 + 4 :: 10], strict=True):
        source = Philox(key=0)
        source.state = {
            **source.state,
            "state": {"counter": np.zeros(4, np.uint64), "key": key.astype(np.int64).view(np.uint64)},
        }
        assert numbers == source.random_raw(9).tolist()


def test_a_key_is_set_in_the_middle_of_a_block_and_of_a_word() -> None:
    source = Philox(key=3)
    start = setter(source)
    assert start is not None
    wanted = start(_KEYS[1]).random_raw(8).tolist()
    source.random_raw(3)
    np.random.Generator(source).integers(0, 10, dtype=np.uint32)  # leaves half of a word
    assert start(_KEYS[1]).random_raw(8).tolist() == wanted
    assert source.state["has_uint32"] == 0


class _Elsewhere(Philox):  # type: ignore[misc]
    """A generator that says that its state is somewhere else."""

    address = 0

    @property
    def ctypes(self) -> Any:
        return SimpleNamespace(state_address=self.address)


@pytest.mark.parametrize("offset", [-8, 1, 8, 16, 10_000])
def test_other_places_are_left_alone(offset: int) -> None:
    source = _Elsewhere(key=0)
    _Elsewhere.address = Philox.ctypes.__get__(source).state_address + offset
    assert setter(source) is None
    _Elsewhere.address = 0
    assert setter(source) is None


def test_a_state_of_another_look_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Philox(key=0)
    size = ctypes.sizeof(ctypes.c_uint64)
    assert size == 8
    monkeypatch.setattr("graphad.ops.random.philox_state._HALF", 3)
    assert setter(source) is None
