"""Parts of a value that was cut: what the index says of them, and the keys under which they are.

A part is a start and a length for each axis. Its key is the count 0, the value's name, the rank, and these numbers, written so
that keys sort as what they say does:

text    = its bytes in UTF-8 with 00 as 00 ff, then 00 01
count   = how many bytes follow (1 byte), then they, the most significant first
number  = 7 bits for each byte, with sign; leading bits say how many bytes there are, inverted for negative numbers
"""

from __future__ import annotations

from serialization.errors import CorruptModelError, LimitExceededError
from serialization.tensorflow.proto import BYTES, VARINT, message, signed
from serialization.wire.limits import LARGEST_DIM, Limits

WHOLE = -1  # the length of an axis that is not cut
Extent = tuple[int, int]


def part_of(data: bytes, limits: Limits) -> tuple[Extent, ...]:
    """Start and length for each axis, (0, WHOLE) where it is not cut."""
    extents = []
    for _, inner in message(data, {1: BYTES}):
        assert isinstance(inner, bytes)
        start, length = 0, WHOLE
        for number, value in message(inner, {1: VARINT, 2: VARINT}):
            if number == 1:
                start = signed(value)
            else:
                length = signed(value)
                if length < 0:
                    raise CorruptModelError(f"a part of length {length}.")
        if not 0 <= start <= LARGEST_DIM or length > LARGEST_DIM:
            raise CorruptModelError(f"a part from {start} on of length {length}.")
        extents.append((0, WHOLE) if length == WHOLE else (start, length))
        if len(extents) > limits.rank:
            raise LimitExceededError(f"rank {len(extents)} where the limit 'rank' allows {limits.rank}.")
    return tuple(extents)


def place_of(part: tuple[Extent, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The place of a part in its value. Raises: CorruptModelError: the part lies outside of the value."""
    if len(part) != len(shape):
        raise CorruptModelError(f"a part of rank {len(part)} of a value of shape {shape}.")
    place = []
    for (start, length), size in zip(part, shape, strict=True):
        end = size if length == WHOLE else start + length
        if end > size:
            raise CorruptModelError(f"a part from {start} to {end} of an axis of size {size}.")
        place.append(slice(start, end))
    return tuple(place)


def key_of(name: str, part: tuple[Extent, ...]) -> bytes:
    """The key of a part."""
    text = name.encode().replace(b"\0", b"\0\xff")
    key = _count(0) + text + b"\0\1" + _count(len(part))
    return key + b"".join(_number(x) for extent in part for x in extent)


def _count(x: int) -> bytes:
    size = (x.bit_length() + 7) // 8
    return bytes((size,)) + x.to_bytes(size, "big")


def _number(x: int) -> bytes:
    size = (x if x >= 0 else ~x).bit_length() // 7 + 1
    # size ones and a zero at the front; flipped into the sign bits that are there, they are right for both signs
    header = ((1 << size) - 1) << (8 * size - size)
    return ((x & ((1 << 8 * size) - 1)) ^ header).to_bytes(size, "big")
