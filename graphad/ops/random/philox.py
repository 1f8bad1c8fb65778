"""Random bits from a key alone: Philox 4x64 with ten rounds, and random numbers made from them.

A key is two 64-bit words. Its stream is that of NumPy's `Philox`, which is fixed by its paper (Salmon et al., 2011), so the
same key gives the same bits on every machine. Element i of a draw depends on its position in the stream only.

On the CPU NumPy computes the stream, and in a program that computes much the steps of compiled code do, in two thirds of the
time and with the same bits. For keys on another device, which may be stacks [..., 2], the rounds
of the paper are steps on arrays there; `blocks.py` has them as ops.
"""

from __future__ import annotations

import functools
import importlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import arrays
from graphad.core.annotations import DTypeLike
from graphad.core.dtypes import from_numpy
from graphad.core.errors import InvalidArgumentError
from graphad.kernels import forms
from graphad.kernels.scalars import mul_high
from graphad.ops.native_steps import by_step

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray


_TWO_PI = 2.0 * np.pi
TRIES = 64  # the most draws of a truncated normal; larger turns derive keys for other purposes


_own = threading.local()
_STATE = "graphad.ops.random.philox_state"  # which a few draws do without
_BEFORE_DIRECT = 32  # draws of a thread, after which keys are written where the generator has them
_ZERO = np.zeros(4, np.uint64)


def stream(key: Array) -> Any:
    """The bit generator of a key, valid until the thread asks for another one."""
    direct = getattr(_own, "direct", None)
    if direct is not None:
        return direct(key)
    source = getattr(_own, "source", None)
    if source is None:
        from numpy.random import Philox  # takes longer to import than most functions take to run

        source, _own.left = Philox(key=0), _BEFORE_DIRECT
        _own.source = source
    elif _own.left:
        _own.left -= 1
        if not _own.left:
            _own.direct = importlib.import_module(_STATE).setter(source)
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


_MANY = 4096  # numbers, for which it pays to ask


def _by_step(kind: str, key: Any, count: int, dtype: Any, *limits: Any) -> np.ndarray | None:
    """Many numbers of a kind of `Draw`, by the step of compiled code; None where NumPy is to draw them."""
    if count < _MANY:
        return None
    operands = (key, *[np.asarray(limit, dtype) for limit in limits])
    form = forms.Drawn(kind, from_numpy(np.dtype(dtype)))
    return by_step(form, operands, (count,), dtype, count)  # type: ignore[no-any-return]


MULTIPLIERS = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
STEPS = (
    np.uint64(0x9E3779B97F4A7C15),
    np.uint64(0xBB67AE8584CAA73B),
)  # of the two words of a key from round to round
ROUNDS = 10
WORDS = 4  # of 64 bits in a block


def blocks(counter: Any, first: Any, second: Any, high: Callable[[Any, Any], Any]) -> tuple[Any, ...]:
    """The four words of each block, for its number, counted from 1, and the words of the key: uint64 arrays or tensors.

    `high` gives the upper half of a product.
    """
    # After the first round, in which three of the words are 0.
    x0, x1, x2, x3 = first, None, high(counter, MULTIPLIERS[0]) ^ second, counter * MULTIPLIERS[0]
    for _ in range(ROUNDS - 1):
        first, second = first + STEPS[0], second + STEPS[1]
        upper, lower = high(x0, MULTIPLIERS[0]), x0 * MULTIPLIERS[0]
        x0, x1 = high(x2, MULTIPLIERS[1]) ^ (first if x1 is None else x1 ^ first), x2 * MULTIPLIERS[1]
        x2, x3 = upper ^ x3 ^ second, lower
    return x0, x1, x2, x3


def words(key: Any, count: int, bits: int) -> Any:
    """The first `count` words of 32 or 64 bits of the stream."""
    if not arrays.is_here(key):
        return _words_of_arrays(key, count, bits)
    source = stream(key)
    if bits == 64:
        return np.asarray(source.random_raw(count))
    return source.random_raw((count + 1) // 2).astype("<u8", copy=False).view("<u4")[:count]


def _words_of_arrays(key: Array | DeviceArray, count: int, bits: int) -> Any:
    """[..., count] words of the streams of keys [..., 2], as steps on arrays."""
    each = WORDS * 64 // bits
    pair: Any = key.astype(np.int64).view(np.uint64)
    counter: Any = arrays.arange(1, 1 + -(-count // each), np.uint64, key)
    found: Any = np.stack(blocks(counter, pair[..., :1], pair[..., 1:], mul_high), -1)
    flat = found if bits == 64 else found.view(np.uint32)  # the lower half comes first
    return flat.reshape((*key.shape[:-1], each * counter.size))[..., :count]


def one_uniform(key: np.ndarray, dtype: np.dtype[Any]) -> Any:
    """The number of `uniform(key, 1, dtype)` as a NumPy scalar, for float32 and float64: integers of so few bits are floats."""
    word = stream(key).random_raw()
    if dtype.itemsize == 8:
        return np.float64((word >> 11) * _UNIT[8])
    return np.float32(((word & 0xFFFFFFFF) >> 8) * _UNIT[4])


_UNIT = {8: 2.0**-53, 4: 2.0**-24}


def uniform(key: Any, count: int, dtype: DTypeLike | None) -> np.ndarray:
    """Numbers k / 2^m with k from 0 to 2^m - 1, where m is the precision of the dtype (24 for float32, 53 for float64)."""
    found = _by_step("uniform", key, count, dtype)
    if found is not None:
        return found
    return _unit(words(key, count, 64 if dtype == np.float64 else 32), dtype)


def _unit(bits: np.ndarray, dtype: Any) -> np.ndarray:
    """The numbers that words give, which are overwritten."""
    shift, whole, wide, unit, last = _format(bits.dtype.itemsize, dtype)
    bits >>= shift
    numbers: np.ndarray = bits.view(whole).astype(wide)  # signed integers are converted several at once
    numbers *= unit
    return numbers if last is None else numbers.astype(last)


@functools.cache
def _format(size: int, dtype: Any) -> tuple[Any, ...]:
    """How words of so many bytes become numbers: how far they are shifted, as which integers they are read and in which dtype
    they are computed, what a one at the end is worth, and the dtype of the result, None if it is that one.
    """
    if size == 8:
        return np.uint64(64 - 53), np.dtype(np.int64), np.dtype(np.float64), np.float64(2.0**-53), None
    precision = 24 if dtype == np.float32 else 11 if dtype == np.float16 else 8
    last = None if dtype == np.float32 else np.dtype(dtype)
    return (
        np.uint32(32 - precision),
        np.dtype(np.int32),
        np.dtype(np.float32),
        np.float32(2.0**-precision),
        last,
    )


def normal(key: Any, count: int, dtype: Any) -> np.ndarray:
    """Standard normal numbers by the Box-Muller method: two of them from two words."""
    found = _by_step("normal", key, count, dtype)
    if found is not None:
        return found
    wide = _wide(dtype)
    radius, angle = _uniform_pairs(key, count, wide)
    _to_polar(radius, angle)
    pairs = radius.shape[-1]
    out = arrays.empty((*radius.shape[:-1], 2 * pairs), wide, radius)
    for wave, half in ((np.cos, out[..., :pairs]), (np.sin, out[..., pairs:])):
        wave(angle, out=half)
        half *= radius
    return out[..., :count].astype(dtype, copy=False)


def _wide(dtype: Any) -> np.dtype[Any]:
    """The dtype in which normal numbers are computed."""
    return _WIDE if dtype == _WIDE else _NARROW


_WIDE, _NARROW = np.dtype(np.float64), np.dtype(np.float32)


def _uniform_pairs(key: Any, count: int, wide: Any) -> tuple[Any, Any]:
    """The uniform numbers behind the radii and the angles of `count` normal ones."""
    pairs = (count + 1) // 2
    numbers = _unit(words(key, 2 * pairs, 64 if wide.itemsize == 8 else 32), wide)
    return numbers[..., :pairs], numbers[..., pairs:]


def _to_polar(radius: Any, angle: Any) -> None:
    """Radii and angles from uniform numbers, in place. 1 - u is above 0, where the logarithm is finite."""
    one, minus_two, two_pi = _POLAR[radius.dtype.itemsize]
    np.subtract(one, radius, out=radius)
    np.log(radius, out=radius)
    radius *= minus_two
    np.sqrt(radius, out=radius)
    angle *= two_pi


_POLAR = {kind().itemsize: (kind(1.0), kind(-2.0), kind(_TWO_PI)) for kind in (np.float32, np.float64)}


def truncated_normal(key: Any, count: int, dtype: DTypeLike | None) -> np.ndarray:
    """Standard normal numbers within two standard deviations: those outside are drawn again from the next stream."""
    draw = normal if arrays.is_here(key) else _normal_as_here
    out = draw(key, count, dtype)
    outside = np.flatnonzero(np.abs(out) > 2.0)
    here = key if arrays.is_here(key) else key.host()
    for turn in range(1, TRIES):
        if not outside.size:
            break
        again = derived(here, turn)
        out[outside] = draw(again if arrays.is_here(key) else key.given(again), outside.size, dtype)
        outside = outside[np.abs(out[outside]) > 2.0]
    clipped = arrays.as_array(np.clip(out, -2.0, 2.0))
    return clipped.astype(out.dtype, copy=False)  # of bfloat16 NumPy makes float32


def _normal_as_here(key: Any, count: int, dtype: Any) -> Any:
    """`normal` on a device, for `truncated_normal`.

    Which numbers are drawn again, and with them all later ones, must not depend on the last bits of the device's logarithm and
    cosine. So the few that may be on either side of the bound are computed here.
    """
    out, wide = normal(key, count, dtype), _wide(dtype)
    close: Any = np.flatnonzero(np.abs(np.abs(out) - dtype.type(2.0)) < dtype.type(_CLOSE[dtype.itemsize]))
    if close.size:
        pairs = (count + 1) // 2
        at = np.where(close < pairs, close, close - pairs)
        radius, angle = [x[at].host() for x in _uniform_pairs(key, count, wide)]
        _to_polar(radius, angle)
        found = np.where(close.host() < pairs, np.cos(angle), np.sin(angle)) * radius
        out[close] = key.given(found.astype(dtype))
    return out


_CLOSE = {2: 2.0**-8, 4: 2.0**-16, 8: 2.0**-40}  # more than the errors of a device, by the bytes of a number


def integers(key: Any, count: int, low: Any, high: Any, dtype: Any) -> Any:
    """Integers from low to high - 1; None for both gives every value of the dtype."""
    if low is not None and high < low:
        raise InvalidArgumentError(f"random.uniform: Need minval < maxval, got {low} >= {high}.")
    limits = () if low is None else (low, high)
    found = _by_step("integers" if limits else "bits", key, count, dtype, *limits)
    if found is not None:
        return found
    bits = words(key, count, 64)
    if low is None:
        return bits.astype(dtype)
    span = np.uint64(int(high) - int(low))
    if not span:
        return arrays.full((*key.shape[:-1], count), low, dtype, key)
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


_MANY_KEYS = (
    64  # numbers of keys from which the rounds as steps on arrays are quicker than a generator for each
)


_PART = 1 << 14  # turns whose words stay in the cache


def derived_keys(key: Any, first: int, count: int) -> np.ndarray:
    """The keys derived with `count` turns from `first` on, [..., count, 2], from each of a stack of keys [..., 2]."""
    if arrays.is_here(key) and key.size * count < _MANY_KEYS:
        made = [derived(one, first + k) for one in np.reshape(key, (-1, 2)) for k in range(count)]
        return np.array(made, np.int64).reshape((*key.shape[:-1], count, 2))
    if count > _PART and arrays.is_here(key):
        starts = range(0, count, _PART)
        return np.concatenate([derived_keys(key, first + k, min(_PART, count - k)) for k in starts], -2)
    turns = np.arange(first, first + count, dtype=np.int64)
    mixed = key.astype(np.int64)[..., None, :] ^ np.stack([turns << 32, -1 - turns], -1)
    found: np.ndarray = _words_of_arrays(mixed, 2, 64).view(np.int64)
    return found


def key_of_seed(seed: int) -> np.ndarray:
    """The state of a generator that starts from a seed: the seed, and how many keys have been taken."""
    return np.array([_signed(seed), 0], np.int64)


def _signed(value: int) -> int:
    value %= 2**64
    return value - 2**64 if value >= 2**63 else value
