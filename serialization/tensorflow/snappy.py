"""Blocks in Snappy's format, which TensorFlow's tables had until 2.4.

block   = size (varint), element*
element = a tag (1 byte), whose two low bits tell the kind, then
          0: a literal; its size less 1 stands in the other six bits, 60 to 63 of them mean in the next 1 to 4 bytes
          1: a copy of 4 to 11 bytes (three bits) from up to 2047 bytes back (three bits and the next byte)
          2, 3: a copy of 1 to 64 bytes (six bits) from as far back as the next 2 or 4 bytes say
A copy may reach into the bytes that it makes: they repeat.
"""

from __future__ import annotations

from serialization.errors import CorruptModelError, LimitExceededError
from serialization.tensorflow.proto import varint


def uncompressed(block: bytes, most: int) -> bytes:
    """The bytes that a block stands for, of which `most` are allowed."""
    size, position = varint(block, 0)
    if size > most:
        raise LimitExceededError(
            f"a compressed block of {size} bytes where the limit 'manifest_bytes' leaves {most}."
        )
    made = bytearray()
    while position < len(block):
        tag = block[position]
        position += 1
        kind, rest = tag & 3, tag >> 2
        width = max(rest - 59, 0) if kind == 0 else (1, 2, 4)[kind - 1]
        after = int.from_bytes(block[position : position + width], "little")
        if position + width > len(block):
            raise CorruptModelError("a compressed block ends in the middle of an element.")
        position += width
        if kind == 0:
            count = (after if width else rest) + 1
            part = block[position : position + count]
            if len(part) < count:
                raise CorruptModelError(
                    f"a literal of {count} bytes where a compressed block has {len(part)} left."
                )
            position += count
        else:
            count, back = (4 + (rest & 7), (rest >> 3) << 8 | after) if kind == 1 else (rest + 1, after)
            if not 0 < back <= len(made):
                raise CorruptModelError(f"a copy from {back} bytes back where {len(made)} have been made.")
            start = len(made) - back
            part = bytes(made[start : start + count])
            part = (part * -(-count // len(part)))[:count]
        made += part
        if len(made) > size:
            break
    if len(made) != size:
        raise CorruptModelError(f"a compressed block does not have the {size} bytes that it claims.")
    return bytes(made)
