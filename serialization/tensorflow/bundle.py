"""A checkpoint of TensorFlow's: `prefix.index` says where each value is, `prefix.data-00000-of-00001` holds them.

There may be several data files, and a large value may be cut into parts that stand in any of them (`slices.py`).
Every length is checked against the size of the file; every value is checked against its checksum when it is read.
"""

from __future__ import annotations

import mmap
import os
from typing import Any

import numpy as np

from serialization.errors import (
    CorruptModelError,
    LimitExceededError,
    LoadError,
    MissingModelError,
    UnsupportedModelError,
    shown,
)
from serialization.tensorflow.crc import crc32c, masked
from serialization.tensorflow.proto import BYTES, FIXED32, VARINT, message, signed, text, varint
from serialization.tensorflow.slices import Extent, key_of, part_of, place_of
from serialization.tensorflow.table import entries_of
from serialization.wire.arrays import DTYPES, byte_count, from_bytes
from serialization.wire.files import Directory, read_exactly
from serialization.wire.limits import LARGEST_DIM, Limits
from serialization.wire.record import Record

INDEX = ".index"
STRING = "string"
# TensorFlow's numbers of dtypes
_DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: STRING, 8: "complex64", 9: "int64", 10: "bool",
    14: "bfloat16", 17: "uint16", 18: "complex128", 19: "float16", 22: "uint32", 23: "uint64",
}  # fmt: skip
_SHARDS = 10_000


class Entry(Record):
    """One value, or a part of one. `dtype` is None if graphad has no such dtype. `parts` are those of a value that was cut."""

    dtype: str | None
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    check: int
    parts: tuple[tuple[Extent, ...], ...] = ()


class Bundle:
    """A checkpoint, open.

    Attributes:
      entries: What it holds, by key.
    """

    def __init__(self, prefix: str, limits: Limits) -> None:
        self.prefix = prefix
        self._limits = limits
        self._shards: dict[int, Any] = {}
        try:
            index = _contents(prefix + INDEX, limits)
            listed = entries_of(index, limits)
            key, header = next(listed, (None, b""))
            if key != b"":
                raise CorruptModelError("it is not an index of a checkpoint: it has no header.")
            self._count = _header(header)
            self.entries: dict[str, Entry] = {}
            self._parts: dict[bytes, bytes] = {}
            for key, value in listed:
                if key.startswith(b"\0"):
                    self._parts[key] = value
                else:
                    name = text(key)
                    self.entries[name] = self._entry(name, value)
        except LoadError as error:
            error.file = error.file or prefix + INDEX
            raise

    def _entry(self, name: str, data: bytes) -> Entry:
        dtype = shard = offset = size = check = 0
        shape: tuple[int, ...] = ()
        parts = []
        try:
            for number, value in message(
                data, {1: VARINT, 2: BYTES, 3: VARINT, 4: VARINT, 5: VARINT, 6: FIXED32, 7: BYTES}
            ):
                if number == 2:
                    assert isinstance(value, bytes)
                    shape = _shape(value, self._limits)
                elif number == 7:
                    assert isinstance(value, bytes)
                    parts.append(part_of(value, self._limits))
                elif number == 1:
                    dtype = signed(value)
                elif number == 3:
                    shard = signed(value)
                elif number == 4:
                    offset = signed(value)
                elif number == 5:
                    size = signed(value)
                else:
                    check = signed(value)
            known = _DTYPES.get(dtype)
            if not 0 <= shard < self._count or offset < 0 or size < 0:
                raise CorruptModelError(f"{size} bytes at {offset} of part {shard} of {self._count}.")
            if known in DTYPES and not parts and size != byte_count(known, shape):
                raise CorruptModelError(f"{size} bytes for {known} of shape {shape}.")
        except LoadError as error:
            error.within(shown(name))
            raise
        return Entry(known, shape, shard, offset, size, check, tuple(parts))

    def array(self, name: str) -> np.ndarray[Any, Any]:
        """A value, checked, with memory of its own."""
        entry = self.entries[name]
        try:
            if entry.dtype is None or entry.dtype == STRING:
                raise UnsupportedModelError("graphad does not have its dtype.")
            if not entry.parts:
                return self._whole(entry)
        except LoadError as error:
            self._located(error, entry, name)
            raise
        return self._joined(name, entry)

    def _whole(self, entry: Entry) -> np.ndarray[Any, Any]:
        assert entry.dtype is not None
        data = self._bytes(entry)
        if masked(crc32c(data)) != entry.check:
            raise CorruptModelError("its bytes are damaged: their checksum does not match.")
        return from_bytes(entry.dtype, entry.shape, bytearray(data), 0)

    def _joined(self, name: str, entry: Entry) -> np.ndarray[Any, Any]:
        """A value that was cut. All is known to be there before it takes memory."""
        assert entry.dtype is not None
        try:
            found = []
            for part in entry.parts:
                place = place_of(part, entry.shape)
                data = self._parts.get(key_of(name, part))
                if data is None:
                    raise CorruptModelError(f"its part at {_shown(place)} is missing.")
                inner = self._entry(name, data)
                if inner.parts or inner.dtype != entry.dtype or inner.shape != _sizes(place):
                    raise CorruptModelError(
                        f"its part at {_shown(place)} is {inner.dtype} of shape {inner.shape}."
                    )
                found.append((place, inner))
            size = sum(inner.size for _, inner in found)
            if size != byte_count(entry.dtype, entry.shape) or size > sum(
                len(self._shard(shard)) for shard in {inner.shard for _, inner in found}
            ):
                raise CorruptModelError(f"{size} bytes in parts for {entry.dtype} of shape {entry.shape}.")
        except LoadError as error:
            error.file = error.file or self.prefix + INDEX
            error.within(shown(name))
            raise
        array = None
        covered = np.zeros(entry.shape, np.bool_)
        for place, inner in found:
            try:
                values = self._whole(inner)
            except LoadError as error:
                self._located(error, inner, name)
                raise
            array = np.empty(entry.shape, values.dtype) if array is None else array
            array[place] = values
            covered[place] = True
        if array is None or not covered.all():
            raise CorruptModelError(
                f"the parts of {shown(name)} lie one over the other.", file=self.prefix + INDEX
            )
        return array

    def string(self, name: str) -> bytes:
        """The one string that a value of dtype string is."""
        entry = self.entries[name]
        try:
            if entry.dtype != STRING or entry.shape or entry.parts:
                raise CorruptModelError("it is not a string.")
            if entry.size > self._limits.manifest_bytes:
                raise LimitExceededError(
                    f"{entry.size} bytes where the limit 'manifest_bytes' allows {self._limits.manifest_bytes}."
                )
            data = self._bytes(entry)
            size, start = varint(data, 0)
            if start + 4 + size != len(data):
                raise CorruptModelError(f"a string of {size} bytes in {len(data)}.")
            # the checksum covers the length as a number of 4 or 8 bytes, its own checksum, and the letters
            lengths = size.to_bytes(4 if size < 1 << 32 else 8, "little")
            inner = crc32c(lengths)
            found = data[start : start + 4]
            if (
                masked(inner) != int.from_bytes(found, "little")
                or masked(crc32c(data[start:], inner)) != entry.check
            ):
                raise CorruptModelError("its bytes are damaged: their checksum does not match.")
            return data[start + 4 :]
        except LoadError as error:
            self._located(error, entry, name)
            raise

    def _bytes(self, entry: Entry) -> bytes:
        shard = self._shard(entry.shard)
        if entry.offset + entry.size > len(shard):
            raise CorruptModelError(
                f"{entry.size} bytes at {entry.offset} of a file of {len(shard)}; it was cut short or replaced."
            )
        return bytes(shard[entry.offset : entry.offset + entry.size])

    def _shard(self, number: int) -> Any:
        shard = self._shards.get(number)
        if shard is None:
            shard = self._shards[number] = _mapped(self._path(number))
        return shard

    def _path(self, shard: int) -> str:
        return f"{self.prefix}.data-{shard:05d}-of-{self._count:05d}"

    def _located(self, error: LoadError, entry: Entry, name: str) -> None:
        error.file = error.file or self._path(entry.shard)
        error.within(shown(name))


def _sizes(place: tuple[slice, ...]) -> tuple[int, ...]:
    return tuple(along.stop - along.start for along in place)


def _shown(place: tuple[slice, ...]) -> str:
    return "[" + ", ".join(f"{along.start}:{along.stop}" for along in place) + "]"


def _header(data: bytes) -> int:
    """The number of shards."""
    shards = 1
    for number, value in message(data, {1: VARINT, 2: VARINT}):
        if number == 1:
            shards = signed(value)
        elif value:
            raise UnsupportedModelError("its numbers are big-endian.")
    if not 0 <= shards <= _SHARDS:
        raise LimitExceededError(f"{shards} parts; allowed are {_SHARDS}.")
    return shards


def _shape(data: bytes, limits: Limits) -> tuple[int, ...]:
    sizes = []
    for number, value in message(data, {2: BYTES, 3: VARINT}):
        if number == 3:
            if value:
                raise CorruptModelError("a value of unknown rank.")
            continue
        assert isinstance(value, bytes)
        size = 0
        for _, inner in message(value, {1: VARINT}):
            size = signed(inner)
        if not 0 <= size <= LARGEST_DIM:
            raise CorruptModelError(f"size {size} in a shape.")
        sizes.append(size)
        if len(sizes) > limits.rank:
            raise LimitExceededError(f"rank {len(sizes)} where the limit 'rank' allows {limits.rank}.")
    return tuple(sizes)


def _contents(path: str, limits: Limits) -> bytes:
    descriptor, size = _opened(path)
    try:
        if size > limits.manifest_bytes:
            raise LimitExceededError(
                f"the file has {size} bytes where the limit 'manifest_bytes' allows {limits.manifest_bytes}.",
                file=path,
            )
        return bytes(read_exactly(descriptor, size))
    finally:
        os.close(descriptor)


def _mapped(path: str) -> Any:
    """The bytes of a file, mapped: they stay when the file is removed."""
    descriptor, size = _opened(path)
    try:
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_READ) if size else b""
    finally:
        os.close(descriptor)


def _opened(path: str) -> tuple[int, int]:
    directory, name = os.path.split(path)
    try:
        with Directory(directory or os.curdir, follow=True) as opened:
            return opened.open(name)
    except (FileNotFoundError, NotADirectoryError):
        raise MissingModelError(f"{path}: the file is missing; the checkpoint is not complete.") from None
    except LoadError as error:
        error.file = path
        raise
