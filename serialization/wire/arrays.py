"""Payload files: safetensors whose header is computed, never parsed, and whose bytes are checked in chunks.

A payload's layout (offsets, padding, header, size) is a function of the names, dtypes and shapes in it, so a file that
disagrees with its manifest simply fails to compare equal.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from serialization.errors import (
    CorruptModelError,
    LimitExceededError,
    SaveError,
    UnsupportedModelError,
    shown,
)
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from serialization.wire.record import Record

CHUNK_BYTES = 4 << 20
PAYLOAD_BYTES = 64 << 20
ALIGNMENT = 64
ALIGNED_FROM = 1024

# name: bytes per element, name in a safetensors header, extra axis there (complex numbers as pairs)
DTYPES: dict[str, tuple[int, str, tuple[int, ...]]] = {
    "bool": (1, "BOOL", ()),
    "int8": (1, "I8", ()),
    "int16": (2, "I16", ()),
    "int32": (4, "I32", ()),
    "int64": (8, "I64", ()),
    "uint8": (1, "U8", ()),
    "uint16": (2, "U16", ()),
    "uint32": (4, "U32", ()),
    "uint64": (8, "U64", ()),
    "float16": (2, "F16", ()),
    "bfloat16": (2, "BF16", ()),
    "float32": (4, "F32", ()),
    "float64": (8, "F64", ()),
    "complex64": (8, "F32", (2,)),
    "complex128": (16, "F64", (2,)),
}


class TensorRecord(Record):
    """One tensor of a payload: the data that its layout depends on."""

    name: str
    dtype: str
    shape: tuple[int, ...]


class Layout(Record):
    """The layout of a payload file."""

    header: bytes
    offsets: tuple[int, ...]  # in the file, one per tensor
    gaps: tuple[tuple[int, int], ...]  # offset in the file and size of each padding tensor
    size: int


def byte_count(dtype: str, shape: Sequence[int]) -> int:
    """Bytes of an array, in Python integers, since a product in int64 could overflow.

    Raises: CorruptModelError: no array has that shape. An empty one too has strides, which must fit an int64.
    """
    width = DTYPES[dtype][0]
    if 0 in shape and width * prod([size for size in shape if size]) >= 1 << 63:
        raise CorruptModelError(f"no array of {dtype} has the shape {list(shape)}, though it would be empty.")
    return width * prod(shape)


def plan_layout(tensors: Sequence[TensorRecord]) -> Layout:
    """The layout that FORMAT.md, section 4, gives these tensors."""
    parts: list[str] = []
    starts: list[int] = []
    gaps: list[tuple[int, int]] = []
    end = 0
    for name, dtype, shape in tensors:
        itemsize, code, axis = DTYPES[dtype]
        size = byte_count(dtype, shape)
        alignment = ALIGNMENT if size >= ALIGNED_FROM else itemsize
        gap = -end % alignment
        if gap:
            parts.append(_entry(f"__pad__{len(gaps)}", "U8", (gap,), end, end + gap))
            gaps.append((end, gap))
            end += gap
        parts.append(_entry(name, code, (*shape, *axis), end, end + size))
        starts.append(end)
        end += size
    text = ("{" + ",".join(parts) + "}").encode()
    text += b" " * (-(8 + len(text)) % ALIGNMENT)
    data = 8 + len(text)
    return Layout(
        len(text).to_bytes(8, "little") + text,
        tuple(data + start for start in starts),
        tuple((data + start, size) for start, size in gaps),
        data + end,
    )


def _entry(name: str, code: str, shape: tuple[int, ...], start: int, end: int) -> str:
    sizes = ",".join(map(str, shape))
    return f'"{_escaped(name)}":{{"dtype":"{code}","shape":[{sizes}],"data_offsets":[{start},{end}]}}'


def _escaped(name: str) -> str:
    if name.isascii() and name.isprintable() and '"' not in name and "\\" not in name:
        return name
    special = {'"': '\\"', "\\": "\\\\"}
    return "".join(special.get(c) or (c if c >= " " else f"\\u{ord(c):04x}") for c in name)


def partition(tensors: Iterable[TensorRecord]) -> list[tuple[TensorRecord, ...]]:
    """The tensors as groups, one per payload file, in the order in which a writer stores them."""

    def place(tensor: TensorRecord) -> tuple[int, int]:
        size = byte_count(tensor.dtype, tensor.shape)
        if size >= ALIGNED_FROM:
            return (0 if size % ALIGNMENT == 0 else 1), 0
        return 2, -DTYPES[tensor.dtype][0]

    groups: list[list[TensorRecord]] = []
    room = 0
    for tensor in sorted(tensors, key=place):
        size = byte_count(tensor.dtype, tensor.shape)
        if not groups or size > room:
            groups.append([])
            room = PAYLOAD_BYTES
        groups[-1].append(tensor)
        room -= size
    return [tuple(group) for group in groups]


def check_tensor(tensor: TensorRecord, limits: Limits = DEFAULT_LIMITS) -> None:
    """Refuse a name the header cannot carry. (dtype and sizes are the codec's to check.)"""
    if not tensor.name or tensor.name.startswith("__"):
        raise CorruptModelError(f"tensor name {shown(tensor.name)} is empty or starts with two underscores.")
    if len(tensor.shape) > limits.rank:
        raise LimitExceededError(f"rank {len(tensor.shape)} where the limit 'rank' allows {limits.rank}.")


def payload_name(size: int, checks: bytes) -> str:
    """The name of the payload file of this size with these chunk checks."""
    return hashlib.sha256(size.to_bytes(8, "little") + checks).hexdigest()[:32] + ".safetensors"


def chunk_count(size: int) -> int:
    return -(-size // CHUNK_BYTES)


class Checker:
    """CRC-32 of each chunk, and SHA-256 if asked for, of bytes that arrive in order."""

    def __init__(self, sha256: bool = False) -> None:
        self._sha256 = hashlib.sha256() if sha256 else None
        self._checks = bytearray()
        self._crc = 0
        self._room = CHUNK_BYTES
        self.size = 0

    def update(self, data: memoryview) -> None:
        if self._sha256 is not None:
            self._sha256.update(data)
        self.size += len(data)
        while len(data):
            part = data[: self._room]
            self._crc = zlib.crc32(part, self._crc)
            self._room -= len(part)
            data = data[len(part) :]
            if not self._room:
                self._close_chunk()

    def finish(self) -> tuple[bytes, bytes | None]:
        """The checks of all chunks, and the digest or None."""
        if self._room < CHUNK_BYTES:
            self._close_chunk()
        return bytes(self._checks), self._sha256.digest() if self._sha256 is not None else None

    def _close_chunk(self) -> None:
        self._checks += self._crc.to_bytes(4, "little")
        self._crc, self._room = 0, CHUNK_BYTES


def payload_pieces(layout: Layout, arrays: Sequence[np.ndarray[Any, Any]]) -> Iterator[memoryview]:
    """The bytes of a payload file in order, straight from the arrays."""
    yield memoryview(layout.header)
    gaps = dict(layout.gaps)
    end = len(layout.header)
    for offset, array in zip(layout.offsets, arrays, strict=True):
        if offset != end:
            yield memoryview(bytes(gaps[end]))
        for data in storable_pieces(array):
            yield data
            offset += len(data)
        end = offset


def dtype_name(dtype: np.dtype[Any]) -> str:
    """The name of a NumPy dtype (in either byte order) in a file."""
    name = dtype.name
    if (dtype.kind in "OSUVMmT" and name != "bfloat16") or name not in DTYPES:
        raise SaveError(f"arrays of dtype {dtype} have no place in a model; allowed are {', '.join(DTYPES)}.")
    return name


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The NumPy dtype of a name in a file."""
    if name == "bfloat16":
        try:
            from ml_dtypes import bfloat16
        except ImportError:
            raise UnsupportedModelError(
                "the model holds bfloat16 values, which need the package ml_dtypes; install graphad[bfloat16]."
            ) from None
        element: np.dtype[Any] = np.dtype(bfloat16)
        return element
    return np.dtype(name)


def storable_pieces(array: np.ndarray[Any, Any]) -> Iterator[memoryview]:
    """The elements of `array` as a file holds them, in parts no larger than a chunk where they have to be copied."""
    plain = array.flags.c_contiguous and array.dtype == array.dtype.newbyteorder("<")
    if plain or array.nbytes <= CHUNK_BYTES:
        yield storable_bytes(array)
    elif len(array) == 1:
        yield from storable_pieces(array[0])
    else:
        rows = max(1, CHUNK_BYTES * len(array) // array.nbytes)
        for start in range(0, len(array), rows):
            yield from storable_pieces(array[start : start + rows])


def storable_bytes(array: np.ndarray[Any, Any]) -> memoryview:
    """The elements of `array` as a file holds them; a view where that is how they lie in memory."""
    little = array.dtype.newbyteorder("<")
    plain = np.ascontiguousarray(array, dtype=little)
    # ravel first: a view as bytes needs an axis, and zero-size arrays need care with memoryview.cast
    return plain.reshape(-1).view(np.uint8).data


def from_bytes(dtype: str, shape: Sequence[int], data: Any, offset: int = 0) -> np.ndarray[Any, Any]:
    """The array whose elements are in `data` (any buffer) from `offset` on; a view wherever the machine allows.

    Raises: CorruptModelError: a bool is neither 0 nor 1, or no array has that shape.
    """
    element = numpy_dtype(dtype)
    count = prod(shape)
    if byte_count(dtype, shape) == 0:
        return np.zeros(shape, element)
    if dtype == "bool":
        raw = np.frombuffer(data, np.uint8, count, offset)
        if raw.max() > 1:
            raise CorruptModelError("a bool tensor holds bytes other than 0 and 1.")
        return raw.view(np.bool_).reshape(shape)
    array = np.frombuffer(data, element.newbyteorder("<"), count, offset)
    return array.astype(element, copy=False).reshape(shape)
