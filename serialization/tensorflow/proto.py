"""The part of protocol buffers that checkpoints need: the checked fields of a message."""

from __future__ import annotations

from collections.abc import Iterator

from serialization.errors import CorruptModelError

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
Field = tuple[int, int, "int | bytes"]


def varint(data: bytes, position: int) -> tuple[int, int]:
    """An unsigned number of up to 64 bits, seven a byte, and where it ends."""
    value = shift = 0
    while True:
        if position >= len(data) or shift > 63:
            raise CorruptModelError("a number ends in the middle, or has more than 64 bits.")
        byte = data[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value >> 64:
                raise CorruptModelError("a number has more than 64 bits.")
            return value, position
        shift += 7


def fields(data: bytes) -> Iterator[Field]:
    """Number, wire type and value of each field: an int, or the bytes of a string or inner message."""
    position = 0
    while position < len(data):
        tag, position = varint(data, position)
        number, wire = tag >> 3, tag & 7
        if not 0 < number < 1 << 29:
            raise CorruptModelError(f"field {number} of a message.")
        if wire == VARINT:
            value, position = varint(data, position)
            yield number, wire, value
            continue
        if wire == BYTES:
            size, position = varint(data, position)
        elif wire in (FIXED32, FIXED64):
            size = 4 if wire == FIXED32 else 8
        else:
            raise CorruptModelError(f"wire type {wire} of field {number}.")
        if size > len(data) - position:
            raise CorruptModelError(f"field {number} has {size} bytes where {len(data) - position} are left.")
        part = data[position : position + size]
        position += size
        yield number, wire, part if wire == BYTES else int.from_bytes(part, "little")


def message(data: bytes, kinds: dict[int, int]) -> Iterator[tuple[int, int | bytes]]:
    """The fields that `kinds` names, with the wire type that it says; others are left out."""
    for number, wire, value in fields(data):
        kind = kinds.get(number)
        if kind is None:
            continue
        if kind != wire:
            raise CorruptModelError(f"field {number} has wire type {wire} where {kind} belongs.")
        yield number, value


def signed(value: int | bytes) -> int:
    """A number as an int64 that was written as it is."""
    assert isinstance(value, int)
    return value - (1 << 64) if value >> 63 else value


def text(value: int | bytes) -> str:
    assert isinstance(value, bytes)
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise CorruptModelError("a string that is not UTF-8.") from None
