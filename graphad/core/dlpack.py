"""DLPack for bfloat16, which NumPy can neither export nor import: the bits pass as 16-bit integers, and the dtype code in the
capsule is changed.

The layout of a capsule is that of the DLPack specification, versions 0.8 and 1.0.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from graphad.core.dtypes import bfloat16

_INTEGER, _BFLOAT = 1, 4  # codes of unsigned integers and of bfloat
# Byte offset of the dtype code, by the name of the capsule; the number of bits follows it.
_CODE = {b"dltensor": 20, b"dltensor_versioned": 52}


def exported(data: Any, **options: Any) -> Any:
    """The capsule of an array of any dtype."""
    if data.dtype.kind != "V":
        return data.__dlpack__(**options)
    capsule = data.view(np.uint16).__dlpack__(**options)
    _type_of(capsule)[0] = _BFLOAT
    return capsule


_FLAGS, _READ_ONLY = (
    24,
    1,
)  # byte offset of the flags in a versioned capsule, and the flag of memory that must not be written to


def read_only(capsule: object) -> Any:
    """The same capsule of version 1.0 or later, marked as read-only."""
    flags = ctypes.c_uint64.from_address(_pointer(capsule, b"dltensor_versioned") + _FLAGS)
    flags.value |= _READ_ONLY
    return capsule


def is_elsewhere(x: Any) -> bool:
    """Whether the memory that an object exports is a CUDA device's."""
    where = getattr(x, "__dlpack_device__", None)
    return where is not None and int(where()[0]) in _CUDA


_CUDA = (2, 13)  # device types: memory of a device, and memory that it manages


def imported(x: object) -> np.ndarray:
    """An array that shares the memory of an object with `__dlpack__`."""
    source = _Source(x)
    found: np.ndarray = np.from_dlpack(source)
    return found.view(bfloat16.numpy) if source.is_bfloat16 else found


class _Source:
    """What NumPy reads instead of x."""

    def __init__(self, x: Any) -> None:
        self._x, self.is_bfloat16 = x, False

    def __dlpack__(self, **options: Any) -> Any:
        capsule = self._x.__dlpack__(**options)
        kind = _type_of(capsule)
        if tuple(kind) == (_BFLOAT, 16):
            self.is_bfloat16, kind[0] = True, _INTEGER
        return capsule

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()


def _type_of(capsule: object) -> Any:
    """Code and bits of the dtype in a capsule, which may be changed."""
    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, (ctypes.py_object,)
    name = name_of(capsule)
    if name not in _CODE:
        raise BufferError(f"__dlpack__: a capsule named {name!r} is not a DLPack capsule.")
    return (ctypes.c_uint8 * 2).from_address(_pointer(capsule, name) + _CODE[name])


def _pointer(capsule: object, name: bytes) -> int:
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    found: int = pointer_of(capsule, name)
    return found
