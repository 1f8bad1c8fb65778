"""Datatype and dataspace messages: the kind of elements, and how many there are."""

from __future__ import annotations

from math import prod

from serialization.errors import CorruptModelError, LimitExceededError, UnsupportedModelError
from serialization.hdf5.cursor import Cursor, text_of
from serialization.wire.limits import LARGEST_DIM, Limits
from serialization.wire.record import Record

FIXED, FLOAT, STRING, OPAQUE, COMPOUND, ENUM, VARIABLE = 0, 1, 3, 5, 6, 8, 9
# strings in place, strings in a heap of the file, and bytes of which only an attribute says what they are
TEXT, POINTED, BARE = "text", "pointed", "bare"

# size, bits of the exponent, bits of the mantissa
_FLOATS = {(2, 5, 10): "float16", (2, 8, 7): "bfloat16", (4, 8, 23): "float32", (8, 11, 52): "float64"}


class Type(Record):
    """One kind of element: the name of its dtype, `TEXT`, `POINTED` or `BARE`, and how many bytes it takes."""

    name: str
    size: int


def type_of(cursor: Cursor, depth: int = 0) -> Type:
    """The element that a datatype message describes."""
    first = cursor.number(1)
    kind, version = first & 15, first >> 4
    bits = cursor.number(3)
    size = cursor.number(4)
    if not 1 <= version <= 4 or depth > 4:
        raise CorruptModelError(f"a datatype of version {version}.")
    if kind == FIXED:
        offset, precision = cursor.number(2), cursor.number(2)
        if bits & 1 or size not in (1, 2, 4, 8) or offset or precision != 8 * size:
            raise UnsupportedModelError("its integers are big-endian, or of odd sizes.")
        return Type(f"{'' if bits & 8 else 'u'}int{8 * size}", size)
    if kind == FLOAT:
        offset, precision = cursor.number(2), cursor.number(2)
        _, exponent, _, mantissa = cursor.take(4)
        cursor.skip(4)
        name = _FLOATS.get((size, exponent, mantissa))
        if bits & 0x41 or offset or precision != 8 * size or name is None:
            raise UnsupportedModelError("its floats are big-endian, or of odd sizes.")
        return Type(name, size)
    if kind == STRING:
        return Type(TEXT, size)
    if kind == OPAQUE:
        return Type(BARE, size)
    if kind == VARIABLE and bits & 15 == 1 and size == 16:
        return Type(POINTED, size)
    if kind == ENUM and bits & 0xFFFF == 2 and type_of(cursor, depth + 1) == Type("int8", 1):
        # what h5py makes of bool
        names = (
            [text_of(cursor.take(8)) for _ in range(2)] if version < 3 else [_short(cursor), _short(cursor)]
        )
        if names == ["FALSE", "TRUE"] and cursor.take(2) == b"\0\1":
            return Type("bool", 1)
    if kind == COMPOUND and size in (8, 16) and bits & 0xFFFF == 2:
        return Type({8: "complex64", 16: "complex128"}[_complex(cursor, version, size, depth)], size)
    raise UnsupportedModelError(f"its elements are of a kind (class {kind}) that is not an array of numbers.")


def _short(cursor: Cursor) -> str:
    name = b""
    while len(name) < 16:
        letter = cursor.take(1)
        if letter == b"\0":
            return text_of(name)
        name += letter
    raise CorruptModelError("a name without an end.")


def _complex(cursor: Cursor, version: int, size: int, depth: int) -> int:
    """The size of a complex number, which h5py writes as two floats called r and i."""
    for number, expected in enumerate("ri"):
        name = text_of(cursor.take(8)) if version < 3 else _short(cursor)
        offset = cursor.number(4 if version < 3 else 1)
        if version == 1:
            cursor.skip(28)
        part = type_of(cursor, depth + 1)
        if name != expected or offset != number * size // 2 or part.name != f"float{4 * size}":
            raise UnsupportedModelError("its elements are records.")
    return size


def shape_of(cursor: Cursor, limits: Limits) -> tuple[int, ...] | None:
    """The sizes that a dataspace message gives; None for a space without elements."""
    version, rank, _ = cursor.number(1), cursor.number(1), cursor.number(1)
    if version == 1:
        cursor.skip(5)
    elif version == 2:
        if cursor.number(1) == 2:
            return None
    else:
        raise CorruptModelError(f"a dataspace of version {version}.")
    if rank > limits.rank:
        raise LimitExceededError(f"rank {rank} where the limit 'rank' allows {limits.rank}.")
    shape = tuple(cursor.number(8) for _ in range(rank))
    if prod(shape) > LARGEST_DIM or max(shape, default=0) > LARGEST_DIM:
        raise LimitExceededError(f"{prod(shape)} elements; allowed are 2**47.")
    return shape
