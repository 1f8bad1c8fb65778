"""The memory layout of CPython and NumPy objects that the entry reads, probed and trusted only if every sample agrees.

An ndarray's data pointer, rank, sizes, dtype and flags, a NumPy scalar's value, a tuple's first item: the offsets are the same
in all known releases but not guaranteed, so `probe` compares them with Python's answers and returns None at the first
difference.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np

from graphad.kernels.record import Record


class Layout(Record):
    """Byte offsets inside CPython and NumPy objects."""

    kind: int  # an object's type
    item: int  # a tuple's first item
    data: int  # an ndarray's fields
    rank: int
    sizes: int
    dtype: int
    flags: int
    order: int  # a dtype's byte order character and number
    number: int


SIZES = (1, 2, 4, 8, 16)  # of elements that are copied and filled, in bytes
SCALARS = (
    "float32",
    "float64",
    "int32",
    "int64",
    "bool",
    "complex64",
    "complex128",
    "float16",
    "int8",
    "int16",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "longlong",
    "ulonglong",
)


def unsupported() -> str | None:
    """Why objects of this interpreter cannot be read directly; None when they can."""
    if sys.implementation.name != "cpython":
        return f"{sys.implementation.name} keeps objects elsewhere"
    if "free-threading" in sys.version:
        return "the free-threaded build has no lock that keeps an argument's memory in place"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or sys.byteorder != "little":
        return "only little-endian 64-bit platforms are served"
    return None


def _word(address: int) -> int:
    return ctypes.c_uint64.from_address(address).value


def _int(address: int) -> int:
    return ctypes.c_int32.from_address(address).value


def _samples() -> list[np.ndarray]:
    base = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    frozen = np.zeros(7)
    frozen.flags.writeable = False
    swapped = np.zeros(3, np.dtype(np.int32).newbyteorder())
    return [
        base,
        base[:, ::2, 1:],
        base.T,
        frozen,
        np.array(3),
        np.zeros((0, 4), bool),
        swapped,
        np.zeros(2, np.complex128),
    ]


def probe() -> Layout | None:
    """The layout of this process's objects, or None when it is not the expected one."""
    if unsupported() is not None:
        return None
    kind = 8
    samples = _samples()
    if any(_word(id(array) + kind) != id(np.ndarray) for array in samples):
        return None
    data = next(
        (
            offset
            for offset in range(16, 64, 8)
            if all(_word(id(array) + offset) == array.__array_interface__["data"][0] for array in samples)
        ),
        None,
    )
    item = next(
        (
            offset
            for offset in range(16, 48, 8)
            if all(_word(id(box) + offset) == id(box[0]) for box in ((samples, 1), (kind, 2, 3), ("a", data)))
        ),
        None,
    )
    if data is None or item is None:
        return None
    layout = Layout(kind, item, data, data + 8, data + 16, data + 40, data + 48, 26, 28)
    return layout if all(_agrees(layout, array) for array in samples) else None


def _agrees(layout: Layout, array: np.ndarray) -> bool:
    here, rank = id(array), array.ndim
    if _int(here + layout.rank) != rank or _word(here + layout.dtype) != id(array.dtype):
        return False
    if _int(here + layout.flags) & 0xFFF != array.flags.num & 0xFFF:
        return False
    sizes = _word(here + layout.sizes)
    # sizes and strides share one allocation: only then is it safe to look inside
    if rank:
        if _word(here + layout.sizes + 8) != sizes + 8 * rank:
            return False
        if tuple((ctypes.c_int64 * rank).from_address(sizes)) != array.shape:
            return False
    dtype = id(array.dtype)
    character = ctypes.c_char.from_address(dtype + layout.order).value.decode("latin-1")
    return character == array.dtype.byteorder and _int(dtype + layout.number) == array.dtype.num


def scalar_offset(kind: type[np.generic]) -> int | None:
    """Where a NumPy scalar of this type keeps its value; None when that cannot be told."""
    dtype = np.dtype(kind)
    if dtype.kind not in "biufcV" or dtype.itemsize > 16:
        return None
    patterns = (
        [bytes([1]), bytes([0])]
        if dtype.kind == "b"
        else [bytes(range(0x31, 0x31 + dtype.itemsize)), bytes(range(0x21, 0x21 + dtype.itemsize))]
    )
    values = [np.frombuffer(pattern, dtype)[0] for pattern in patterns]
    if any(type(value) is not kind for value in values):
        return None
    for offset in range(16, kind.__basicsize__ - dtype.itemsize + 1, 8):
        if all(
            ctypes.string_at(id(value) + offset, dtype.itemsize) == pattern
            for value, pattern in zip(values, patterns, strict=True)
        ):
            return offset
    return None


def scalar_table() -> list[tuple[type[np.generic], int]]:
    """(scalar type, offset of its value) of every standard scalar type that could be verified."""
    kinds = dict.fromkeys(getattr(np, "bool_" if name == "bool" else name) for name in SCALARS)
    return [(kind, offset) for kind in kinds if (offset := scalar_offset(kind)) is not None]
