"""The symbols of an object file, read from its own tables: ELF, Mach-O and COFF, 64-bit and little-endian.

A kernel defines one symbol and needs none; anything else would tie cached code to a process, so it is refused.
"""

from __future__ import annotations

import struct

from graphad.core.errors import GraphadError
from graphad.kernels.record import Record

ALLOWED = frozenset(("_GLOBAL_OFFSET_TABLE_", ""))


class ObjectError(GraphadError, ValueError):
    """Object code that is damaged, of an unknown format, or refers to symbols that a kernel must not need."""


class Symbols(Record):
    """Names that an object file offers and names that it needs."""

    defined: frozenset[str]
    undefined: frozenset[str]


def read_symbols(data: bytes) -> Symbols:
    """The global symbols of an object file. Raises: ObjectError: it cannot be read."""
    try:
        if data[:4] == b"\x7fELF":
            return _elf(data)
        if data[:4] == b"\xcf\xfa\xed\xfe":
            return _macho(data)
        if data[:2] in (b"\x64\x86", b"\x64\xaa"):
            return _coff(data)
    except (struct.error, IndexError, ValueError) as error:
        raise ObjectError(f"object code: damaged symbol table ({error})") from error
    raise ObjectError(f"object code: unknown format, it begins with {data[:4]!r}")


def check_kernel(data: bytes, symbol: str) -> bytes:
    """Returns the object. Raises: ObjectError: it does not define exactly `symbol`, or it needs another symbol."""
    symbols = read_symbols(data)
    missing = symbols.undefined - ALLOWED
    if missing:
        raise ObjectError(f"object code: needs {', '.join(sorted(missing))}; a kernel may need nothing")
    if symbols.defined != {symbol}:
        raise ObjectError(
            f"object code: defines {', '.join(sorted(symbols.defined)) or 'nothing'} instead of {symbol}"
        )
    return data


def _name(data: bytes, start: int) -> str:
    return data[start : data.index(b"\0", start)].decode()


def _elf(data: bytes) -> Symbols:
    if data[4] != 2 or data[5] != 1:
        raise ObjectError("object code: not a 64-bit little-endian ELF file")
    (offset,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, offset + k * size) for k in range(count)]
    defined, undefined = set[str](), set[str]()
    for _, kind, _, _, start, length, link, _, _, entry in sections:
        if kind != 2:  # SHT_SYMTAB
            continue
        names = sections[link][4]
        for place in range(start + entry, start + length, entry):
            name, info, _, section = struct.unpack_from("<IBBH", data, place)
            if info >> 4 != 0:  # global or weak
                (undefined if section == 0 else defined).add(_name(data, names + name))
    return Symbols(frozenset(defined), frozenset(undefined))


def _macho(data: bytes) -> Symbols:
    (commands,) = struct.unpack_from("<I", data, 16)
    defined, undefined, place = set[str](), set[str](), 32
    for _ in range(commands):
        kind, size = struct.unpack_from("<II", data, place)
        if kind == 2:  # LC_SYMTAB
            start, count, names, _ = struct.unpack_from("<IIII", data, place + 8)
            for entry in range(start, start + 16 * count, 16):
                name, bits, _, _, _ = struct.unpack_from("<IBBHQ", data, entry)
                if bits & 1 and not bits & 0xE0:  # external, no debugging entry
                    text = _name(data, names + name).removeprefix("_")
                    (undefined if bits & 0x0E == 0 else defined).add(text)
        place += size
    return Symbols(frozenset(defined), frozenset(undefined))


def _coff(data: bytes) -> Symbols:
    start, count = struct.unpack_from("<II", data, 8)
    names = start + 18 * count
    defined, undefined, k = set[str](), set[str](), 0
    while k < count:
        place = start + 18 * k
        raw = data[place : place + 8]
        value, section, _, storage, extra = struct.unpack_from("<IhHBB", data, place + 8)
        name = (
            _name(data, names + struct.unpack("<I", raw[4:])[0])
            if raw[:4] == b"\0\0\0\0"
            else raw.rstrip(b"\0").decode()
        )
        if storage == 2 and name != "_fltused":  # external; the marker that floats are used is not a function
            (undefined if section == 0 and value == 0 else defined).add(name)
        k += 1 + extra
    return Symbols(frozenset(defined), frozenset(undefined))
