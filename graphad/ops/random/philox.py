"""Random bits from a key alone: Philox 4x64 with ten rounds, and random numbers made from them.

A key is two 64-bit words. Its stream is that of NumPy's `Philox`, which is fixed by its paper (Salmon et al., 2011), so the
same key gives the same bits on every machine. Element i of a draw depends on its position in the stream only.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import DTypeLike

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray


_TWO_PI = 2.0 * np.pi
TRIES = 64  # the most draws of a truncated normal; larger turns derive keys for other purposes


_own = threading.local()
_ZERO = np.zeros(4, np.uint64)


def stream(key: Array) -> Any:
    """The bit generator of a key, valid until the thread asks for another one."""
    source = getattr(_own, "source", None)
    if source is None:
        from numpy.random import Philox  # takes longer to import than most functions take to run

        source = _own.source = Philox(key=0)
    state = {"counter": _ZERO, "key": np.asarray(key, np.int64).view(np.uint64)}
    # Setting the state takes a sixth of the time of creating a generator.
    source.state = {
        "bit_generator": "Philox",
        "state": state,
        "buffer": _ZERO,
        "buffer_pos": 4,
        "has_uint32": 0,
        "uinteger": 0,
    }
    return source


def words(key: Array, count: int, bits: int) -> np.ndarray:
    """The first `count` words of 32 or 64 bits of the stream."""
    source = stream(key)
    if bits == 64:
        return np.asarray(source.random_raw(count))
    return source.random_raw((count + 1) // 2).astype("<u8", copy=False).view("<u4")[:count]  # type: ignore[no-any-return]


def uniform(key: Any, count: int, dtype: DTypeLike | None) -> np.ndarray:
    """Numbers k / 2^m with k from 0 to 2^m - 1, where m is the precision of the dtype (24 for float32, 53 for float64)."""
    return _unit(words(key, count, 64 if dtype == np.float64 else 32), dtype)


def _unit(bits: np.ndarray, dtype: Any) -> np.ndarray:
    """The numbers that words give, which are overwritten."""
    wide: Any
    whole: Any
    if bits.dtype.itemsize == 8:
        precision, wide, whole = 53, np.dtype(np.float64), np.int64
    else:
        precision = 24 if dtype == np.float32 else 11 if dtype == np.float16 else 8
        wide, whole = np.dtype(np.float32), np.int32
    bits >>= bits.dtype.type(8 * bits.dtype.itemsize - precision)
    numbers: np.ndarray = bits.view(whole).astype(wide)  # signed integers are converted several at once
    numbers *= wide.type(2.0**-precision)
    return numbers.astype(np.float64 if bits.dtype.itemsize == 8 else dtype, copy=False)


def normal(key: Array, count: int, dtype: Any) -> np.ndarray:
    """Standard normal numbers by the Box-Muller method: two of them from two words."""
    wide = dtype if dtype == np.float64 else np.dtype(np.float32)
    pairs = (count + 1) // 2
    bits = words(key, 2 * pairs, 64 if wide == np.float64 else 32)
    # 1 - u is above 0, where the logarithm is finite.
    radius, angle = _unit(bits[:pairs], wide), _unit(bits[pairs:], wide)
    np.subtract(wide.type(1.0), radius, out=radius)
    np.log(radius, out=radius)
    radius *= wide.type(-2.0)
    np.sqrt(radius, out=radius)
    angle *= wide.type(_TWO_PI)
    out = np.empty(2 * pairs, wide)
    for wave, half in ((np.cos, out[:pairs]), (np.sin, out[pairs:])):
        wave(angle, out=half)
        half *= radius
    return out[:count].astype(dtype, copy=False)


def truncated_normal(key: Array, count: int, dtype: DTypeLike | None) -> np.ndarray:
    """Standard normal numbers within two standard deviations: those outside are drawn again from the next stream."""
    out = normal(key, count, dtype)
    outside = np.flatnonzero(np.abs(out) > 2.0)
    for turn in range(1, TRIES):
        if not outside.size:
            break
        out[outside] = normal(derived(key, turn), outside.size, dtype)
        outside = outside[np.abs(out[outside]) > 2.0]
    return np.asarray(np.clip(out, -2.0, 2.0))


def integers(key: Any, count: int, low: DeviceArray | Array | None, high: Any, dtype: Any) -> np.ndarray:
    """Integers from low to high - 1; None for both gives every value of the dtype."""
    bits = words(key, count, 64)
    if low is None:
        return bits.astype(dtype)
    span = np.uint64(int(high) - int(low))
    if not span:
        return np.full(count, low, dtype)
    whole = bits // span  # by one number, which is quicker than its remainder
    whole *= span
    bits -= whole
    bits += np.uint64(int(low) % 2**64)
    return bits.view(dtype) if dtype == np.int64 else bits.astype(dtype)


def derived(key: Array, turn: int) -> np.ndarray:
    """A key derived from a key and a number: two words of a stream that no draw reads."""
    words = np.array([_signed(int(turn) << 32), _signed(-1 - int(turn))], np.int64)
    mixed = np.asarray(key, np.int64) ^ words
    return stream(mixed).random_raw(2).view(np.int64)  # type: ignore[no-any-return]


def key_of_seed(seed: int) -> np.ndarray:
    """The state of a generator that starts from a seed: the seed, and how many keys have been taken."""
    return np.array([_signed(seed), 0], np.int64)


def _signed(value: int) -> int:
    value %= 2**64
    return value - 2**64 if value >= 2**63 else value
