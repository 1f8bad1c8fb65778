"""Reading payload files: mapped copy-on-write, checked chunk by chunk when a tensor is first asked for.

Mapping 200 MB takes microseconds, checking it tens of milliseconds; so a large file is checked where and when
it is read. Nothing unchecked is handed out unless the caller says `verify=False`.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from serialization.errors import CorruptModelError, LimitExceededError, LoadError
from serialization.wire.arrays import (
    CHUNK_BYTES,
    TensorRecord,
    byte_count,
    chunk_count,
    from_bytes,
    plan_layout,
)
from serialization.wire.files import Directory, read_exactly
from serialization.wire.limits import DEFAULT_LIMITS, Limits
from serialization.wire.threads import side_by_side

Verify = bool | Literal["lazy"]

MAPPED_FROM = 64 << 10  # smaller files are read: one system call instead of a mapping and its faults
CHECKED_AT_LOAD = 1 << 20


class Payload:
    """One payload file, open and mapped; its header has been compared, its chunks are checked on demand."""

    def __init__(
        self,
        directory: Directory,
        name: str,
        tensors: Sequence[TensorRecord],
        checks: bytes,
        sha256: bytes | None,
        verify: Verify,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.file = os.path.join(directory.path, name)
        self._checks = checks
        self._sha256 = sha256
        layout = plan_layout(tensors)
        self._offsets = layout.offsets
        self._tensors = tensors
        self.size = layout.size
        # a byte per chunk, set once the chunk has been found right
        self._checked = bytearray(chunk_count(layout.size)) if verify is not False else None
        try:
            self._data = _contents(directory, name, layout.size)
            if memoryview(self._data)[: len(layout.header)] != layout.header:
                raise CorruptModelError(
                    "the header is not the one that belongs to its tensors: it is damaged."
                )
            if verify is True:
                if layout.size > limits.payload_bytes:
                    raise LimitExceededError(
                        f"{layout.size} bytes to verify where the limit 'payload_bytes' allows {limits.payload_bytes}."
                    )
                self.check_all()
            elif verify and layout.size <= CHECKED_AT_LOAD:
                self.check(0, layout.size)
        except LoadError as error:
            error.file = error.file or self.file
            raise

    def array(self, index: int) -> np.ndarray[Any, Any]:
        """The tensor of that index, checked; writable, with no effect on the file."""
        tensor, start = self._tensors[index], self._offsets[index]
        try:
            self.check(start, start + byte_count(tensor.dtype, tensor.shape))
            return from_bytes(tensor.dtype, tensor.shape, self._data, start)
        except LoadError as error:
            error.file = self.file
            error.within(tensor.name)
            raise

    def check(self, start: int, stop: int) -> None:
        """Check the chunks that hold these bytes, unless they have been, or nobody wants it."""
        if self._checked is None or start == stop:
            return
        chunks = range(start // CHUNK_BYTES, chunk_count(stop))
        if self._checked.count(1, chunks.start, chunks.stop) == len(chunks):
            return
        # two threads may check the same chunk: no harm, and no lock that a forked child could find held
        todo = [chunk for chunk in chunks if not self._checked[chunk]]
        # a thread for two chunks at least; zlib lets go of the interpreter
        groups = [todo[k : k + 2] for k in range(0, len(todo), 2)]
        found = side_by_side(lambda group: [chunk for chunk in group if self._is_damaged(chunk)], groups)
        wrong = {chunk for group in found for chunk in group}
        for chunk in todo:
            if chunk in wrong:
                break
            self._checked[chunk] = 1
        if wrong:
            first = min(wrong) * CHUNK_BYTES
            raise CorruptModelError(
                f"bytes {first} to {min(first + CHUNK_BYTES, self.size) - 1} are damaged: their checksum does not match."
            )

    def is_checked(self, index: int) -> bool:
        """Whether asking for the tensor of that index costs no checking."""
        tensor, start = self._tensors[index], self._offsets[index]
        stop = start + byte_count(tensor.dtype, tensor.shape)
        if self._checked is None or start == stop:
            return True
        chunks = range(start // CHUNK_BYTES, chunk_count(stop))
        return self._checked.count(1, chunks.start, chunks.stop) == len(chunks)

    def check_all(self) -> None:
        """Check every byte, with SHA-256 where the manifest has it."""
        if self._checked is None:
            self._checked = bytearray(chunk_count(self.size))
        self.check(0, self.size)
        if self._sha256 is not None and hashlib.sha256(self._data).digest() != self._sha256:
            raise CorruptModelError("its SHA-256 is not the one in the manifest.")
        for index, tensor in enumerate(self._tensors):
            if tensor.dtype == "bool":
                self.array(index)

    def _is_damaged(self, chunk: int) -> bool:
        start = chunk * CHUNK_BYTES
        with memoryview(self._data) as data:
            found = zlib.crc32(data[start : start + CHUNK_BYTES])
        return found.to_bytes(4, "little") != self._checks[4 * chunk : 4 * chunk + 4]


def _contents(directory: Directory, name: str, size: int) -> bytearray | mmap.mmap:
    descriptor, found = directory.open(name)
    try:
        if found != size:
            raise CorruptModelError(
                f"the file has {found} bytes, its tensors need {size}; it was cut short or replaced."
            )
        if size < MAPPED_FROM:
            return read_exactly(descriptor, size)
        return mmap.mmap(descriptor, size, access=mmap.ACCESS_COPY)
    finally:
        os.close(descriptor)


class LazyArrays(Mapping[str, np.ndarray[Any, Any]]):
    """The stored tensors of a model by name: each is checked when it is first asked for, then kept."""

    def __init__(self, payloads: Sequence[Payload], tensors: Sequence[Sequence[TensorRecord]]) -> None:
        self._payloads = tuple(payloads)
        self._places = {
            tensor.name: (payload, index)
            for payload, group in zip(payloads, tensors, strict=True)
            for index, tensor in enumerate(group)
        }
        self._arrays: dict[str, np.ndarray[Any, Any]] = {}

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        array = self._arrays.get(name)
        if array is None:
            payload, index = self._places[name]
            # two threads may both get here; the first array stays, so that there is one identity
            array = self._arrays.setdefault(name, payload.array(index))
        return array

    def is_ready(self, name: str) -> bool:
        """Whether the tensor has been checked, or needs no check."""
        payload, index = self._places[name]
        return payload.is_checked(index)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def verify(self) -> None:
        """Check every byte of every payload now; raises CorruptModelError naming file and bytes."""
        for payload in self._payloads:
            try:
                payload.check_all()
            except LoadError as error:
                error.file = payload.file
                raise
