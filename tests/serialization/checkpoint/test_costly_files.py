"""Small files of other libraries that would take hours to read are refused, or cost no more than their bytes."""

from __future__ import annotations

import pytest

from serialization.errors import CorruptModelError, LimitExceededError
from serialization.hdf5.cursor import Cursor
from serialization.tensorflow.crc import crc32c, masked
from serialization.tensorflow.table import entries_of
from serialization.wire.limits import DEFAULT_LIMITS, Limits

EMPTY = b"\0\0\0\0"  # a block without entries: the number of its restarts


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def stored(block: bytes) -> bytes:
    return block + b"\0" + masked(crc32c(block + b"\0")).to_bytes(4, "little")


def table(index: bytes) -> bytes:
    """A table of one block, which is empty, and an index."""
    first = stored(EMPTY)
    footer = varint(0) + varint(len(EMPTY)) + varint(len(first)) + varint(len(index))
    return first + stored(index) + footer.ljust(40, b"\0") + 0xDB4775248B80FB57.to_bytes(8, "little")


def index_of(length: int, count: int) -> bytes:
    """So many entries whose keys begin with the same letters, all for the first block."""
    handle = varint(0) + varint(len(EMPTY))
    start = varint(0) + varint(length) + varint(len(handle)) + b"a" * length + handle
    return start + (varint(length - 1) + varint(1) + varint(len(handle)) + b"b" + handle) * count + EMPTY


def test_keys_of_an_index_count_with_what_they_share() -> None:
    """Two million keys of thirty megabytes each fit into a file of sixty, and each would be copied."""
    limits = Limits(manifest_bytes=1 << 20)
    assert list(entries_of(table(index_of(1 << 12, 1 << 7)), limits)) == []
    with pytest.raises(LimitExceededError, match="0 keys of 1052672 bytes where the limits 'tensors'"):
        list(entries_of(table(index_of(1 << 12, 1 << 8)), limits))
    with pytest.raises(LimitExceededError):
        list(entries_of(table(index_of(1 << 20, 1 << 13)), DEFAULT_LIMITS))


class Unread(bytes):
    def __getitem__(self, key: object) -> bytes:  # type: ignore[override]
        raise AssertionError("bytes that are skipped were copied")


def test_what_is_skipped_in_an_hdf5_file_is_not_copied() -> None:
    """A million strings may lie behind one large object of a heap, which each of them skips."""
    cursor = Cursor(Unread(100))
    cursor.skip(60)
    assert cursor.left == 40
    for size in (41, -1):
        with pytest.raises(CorruptModelError, match=f"{size} bytes at 60 of 100"):
            cursor.skip(size)
