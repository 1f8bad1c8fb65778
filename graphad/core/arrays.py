"""Arrays made on the device of an operand: NumPy arrays on the CPU, the device's own arrays elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray


_HERE = (np.ndarray, np.generic)


def is_here(x: Any) -> bool:
    """Whether `x` is NumPy's."""
    return isinstance(x, _HERE)


def empty(shape: Any, dtype: Any, x: Any) -> np.ndarray:
    """An uninitialised array on the device of `x`."""
    made: np.ndarray = np.empty(shape, dtype) if isinstance(x, _HERE) else x.made("empty", shape, dtype)
    return made


def zeros(shape: Any, dtype: Any, x: Any) -> np.ndarray:
    """Zeros on the device of `x`."""
    made: np.ndarray = np.zeros(shape, dtype) if isinstance(x, _HERE) else x.made("zeros", shape, dtype)
    return made


def full(shape: Any, value: Array | DeviceArray | float, dtype: Any, x: Any) -> np.ndarray:
    """An array filled with `value`, on the device of `x`."""
    if isinstance(x, _HERE):
        return np.full(shape, value, dtype)
    out: np.ndarray = x.made("empty", shape, dtype)
    out[...] = value
    return out


def arange(start: int, stop: int, dtype: Any, x: Any) -> np.ndarray:
    """The integers from `start` to `stop` - 1, on the device of `x`."""
    made: np.ndarray = (
        np.arange(start, stop, dtype=dtype)
        if isinstance(x, _HERE)
        else x.made("arange", start, stop, 1, dtype)
    )
    return made


def are_below(numbers: Any, size: int) -> bool:
    """Whether integers are all from 0 to `size` - 1."""
    if not numbers.size:
        return True
    if not isinstance(numbers, _HERE) or numbers.dtype.kind not in "iu":  # those of a device, and symbols
        return bool(np.minimum.reduce(numbers, None) >= 0 and np.maximum.reduce(numbers, None) < size)
    # Without a sign a negative number is larger than any size.
    return bool(np.maximum.reduce(numbers.view(_UNSIGNED[numbers.dtype.itemsize]), None) < size)


_UNSIGNED = {dtype.itemsize: dtype for dtype in map(np.dtype, ("uint8", "uint16", "uint32", "uint64"))}


def here(x: Any, function: str) -> np.ndarray:
    """`x` as a NumPy value, for a function that no device has; its name is logged once."""
    return x if isinstance(x, _HERE) else x.for_host(function)  # type: ignore[return-value]


def where(kept: Any, x: Any) -> Any:
    """`x`, or its copy on the device of `kept`: a variable stays on the device on which it was made."""
    here = isinstance(x, _HERE)
    if here is isinstance(kept, _HERE):
        return x
    return kept.given(x) if here else x.host()


def contiguous(x: Any) -> np.ndarray:
    """The array in C order; the array itself if it is already in that order."""
    made: np.ndarray = np.ascontiguousarray(x) if isinstance(x, _HERE) else x.contiguous()
    return made


def copy(x: Array) -> np.ndarray:
    """A writable copy; a NumPy scalar becomes an array."""
    copied: np.ndarray = np.array(x) if isinstance(x, _HERE) else x.copy()
    return copied


def of_dtype(x: Any, dtype: Any) -> np.ndarray:
    """`x` in a dtype, itself if it has it; a NumPy scalar becomes an array."""
    made: np.ndarray = np.asarray(x, dtype) if isinstance(x, _HERE) else x.astype(dtype, copy=False)
    return made


def as_array(x: Any) -> np.ndarray:
    """`x`, as an array where it is a NumPy scalar."""
    array: np.ndarray = np.asarray(x) if isinstance(x, np.generic) else x
    return array


def special(name: str, x: Any) -> Any:
    """SciPy's function of that name by the library of the device of `x`; None on the CPU."""
    return None if isinstance(x, _HERE) else x.special(name)


def strided(x: Any, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
    """A read-only view with the given strides in bytes."""
    if type(x) is np.ndarray and x.flags.c_contiguous and x.size and x.dtype.kind != "V" and 0 not in shape:
        made: np.ndarray = np.ndarray(shape, x.dtype, x, 0, strides)  # a tenth of the time of `as_strided`
        made.flags.writeable = False
        return made
    if isinstance(x, _HERE):
        return np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)
    view: np.ndarray = x.strided(shape, strides)
    return view


def polynomial(factors: Sequence[float], z: Array) -> Array:
    """factors[0] + factors[1] z + ..."""
    y = np.full_like(z, factors[-1])
    for factor in factors[-2::-1]:
        y *= z
        y += factor
    return y
