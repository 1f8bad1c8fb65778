"""A sorted table of keys and values, as LevelDB writes it: blocks of prefix-compressed entries, an index of them, a footer.

file    = block* metaindex index footer
block   = entry* restart* count          (restart, count: 4 bytes each), perhaps compressed, then its kind (1 byte)
                                         and masked CRC-32C
entry   = shared, unshared, size (varints), the unshared bytes of the key, the value
footer  = two handles (offset and size as varints), zeros up to 40 bytes, a magic number of 8
"""

from __future__ import annotations

from collections.abc import Iterator

from serialization.errors import CorruptModelError, LimitExceededError, UnsupportedModelError
from serialization.tensorflow.crc import crc32c, masked
from serialization.tensorflow.proto import varint
from serialization.tensorflow.snappy import uncompressed
from serialization.wire.limits import Limits

_FOOTER = 48
_MAGIC = 0xDB4775248B80FB57
_TRAILER = 5
_PLAIN, _SNAPPY = 0, 1  # kinds of blocks


def entries_of(file: bytes, limits: Limits) -> Iterator[tuple[bytes, bytes]]:
    """The keys and values of a table, in order."""
    if len(file) < _FOOTER or int.from_bytes(file[-8:], "little") != _MAGIC:
        raise CorruptModelError("it is not a table: its last bytes are not those of one.")
    footer = file[-_FOOTER:]
    position = 0
    handles = []
    for _ in range(4):
        number, position = varint(footer[:40], position)
        handles.append(number)
    total = count = taken = 0
    left = limits.manifest_bytes  # of what blocks are when they are not compressed
    last: bytes | None = None
    for until, handle in _entries(_block(file, handles[2], handles[3], left)):
        total += len(until)
        _require_few(count, total, limits)
        offset, position = varint(handle, 0)
        size, _ = varint(handle, position)
        taken += size + _TRAILER
        if taken > len(file):
            raise CorruptModelError("its blocks lie one over the other.")
        block = _block(file, offset, size, left)
        left -= len(block)
        for key, value in _entries(block):
            if last is not None and key <= last:
                raise CorruptModelError("its keys are not in order.")
            last = key
            total += len(key)
            count += 1
            _require_few(count, total, limits)
            yield key, value


def _require_few(count: int, total: int, limits: Limits) -> None:
    """Raise if keys, those of the index too, are longer than allowed: a prefix shared by thousands takes no space in the file."""
    if total > limits.manifest_bytes or count > limits.tensors:
        raise LimitExceededError(
            f"{count} keys of {total} bytes where the limits 'tensors' and 'manifest_bytes' allow {limits.tensors} and "
            f"{limits.manifest_bytes}."
        )


def _block(file: bytes, offset: int, size: int, most: int) -> bytes:
    if offset + size + _TRAILER > len(file) - _FOOTER:
        raise CorruptModelError(f"a block at {offset} of {size} bytes in a file of {len(file)}.")
    end = offset + size
    if masked(crc32c(file[offset : end + 1])) != int.from_bytes(file[end + 1 : end + _TRAILER], "little"):
        raise CorruptModelError(f"bytes {offset} to {end} are damaged: their checksum does not match.")
    if file[end] == _SNAPPY:
        return uncompressed(file[offset:end], most)
    if file[end] != _PLAIN:
        raise UnsupportedModelError(
            f"a block is compressed in a way (kind {file[end]}) that checkpoints do not use."
        )
    return file[offset:end]


def _entries(block: bytes) -> Iterator[tuple[bytes, bytes]]:
    if len(block) < 4:
        raise CorruptModelError("a block without its end.")
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if end < 0:
        raise CorruptModelError(f"a block of {len(block)} bytes with {restarts} restarts.")
    position, key = 0, b""
    while position < end:
        shared, position = varint(block, position)
        unshared, position = varint(block, position)
        size, position = varint(block, position)
        if shared > len(key) or unshared + size > end - position:
            raise CorruptModelError("an entry reaches beyond its block.")
        key = key[:shared] + block[position : position + unshared]
        position += unshared
        yield key, block[position : position + size]
        position += size
