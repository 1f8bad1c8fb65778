"""The state of NumPy's Philox generator, written in place.

`Philox.state` takes a dictionary apart, which takes longer than a few draws. The generator tells where its state is, for
programs in C: a struct of two pointers, to counter and key, of a position, a buffer and half of a word. That it looks so is
tried with numbers before it is used.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

_WORDS = 8  # counter, key, position, buffer of four, half of a word and whether it is there
_PLACE, _HALF = 2, 7
_END = 4  # the position behind the buffer: the next number begins a block


def setter(source: Any) -> Callable[[Any], Any] | None:
    """A function that sets a generator to the start of the stream of a key, and returns it; None where its state is kept
    otherwise."""
    found = _words(source)
    if found is None:
        return None
    state, counter, own_key = found
    signed = own_key.view(np.int64)

    def start(key: Any) -> Any:
        if key.shape != signed.shape:  # which would be broadcast; the op's `infer` says what is wrong
            raise ValueError(f"a key of shape {key.shape}")
        signed[:] = key
        counter.fill(0)
        state[_PLACE] = _END
        state[_HALF] = 0
        return source

    return start


def _words(source: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Struct, counter and key of a generator as arrays in place."""
    is_known = sys.implementation.name == "cpython" and sys.byteorder == "little" and sys.maxsize > 1 << 32
    if not is_known:
        return None
    first, size = id(source), type(source).__basicsize__

    def inside(address: int, count: int) -> np.ndarray | None:
        """Words of the generator's own memory."""
        if not first <= address <= first + size - 8 * count or address % 8:
            return None
        found: np.ndarray = np.frombuffer(
            memoryview((ctypes.c_uint64 * count).from_address(address)), np.uint64
        )
        return found

    state = inside(source.ctypes.state_address, _WORDS)
    if state is None:
        return None
    counter, key = inside(int(state[0]), 4), inside(int(state[1]), 2)
    if counter is None or key is None:
        return None
    numbers = np.arange(11, 23, dtype=np.uint64) << np.uint64(33)
    source.state = {
        "bit_generator": "Philox",
        "state": {"counter": numbers[:4], "key": numbers[4:6]},
        "buffer": numbers[6:10],
        "buffer_pos": 3,
        "has_uint32": 1,
        "uinteger": 5,
    }
    is_so = (
        np.array_equal(counter, numbers[:4])
        and np.array_equal(key, numbers[4:6])
        and np.array_equal(state[3:7], numbers[6:10])
        and int(state[_PLACE]) & 0xFFFFFFFF == 3
        and int(state[_HALF]) == 1 | 5 << 32
    )
    return (state, counter, key) if is_so else None
