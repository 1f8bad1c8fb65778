"""Loads object code without LLVM, whose import would take longer than the rest of a warm start.

Code here is position-independent and all that it refers to is in the object itself, so loading means: place its sections one
after another, fill in the distances between them, copy the whole, and make it executable and read-only.
This works for ELF objects on 64-bit Linux on x86. For objects with other contents (writable data, other kinds of references),
and where the system forbids it, `load` returns None, and LLVM's linker is used.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Collection, Mapping

RELOCATABLE, X86_64 = 1, 62
PROGBITS, SYMTAB, RELA = 1, 2, 4
WRITE, ALLOC, TLS = 0x1, 0x2, 0x400
PC32, PLT32 = 2, 4  # both are distances from the reference; the second is of a call
PAGE = 4096
_SECTION, _SYMBOL, _RELOCATION = struct.Struct("<IIQQQQIIQQ"), struct.Struct("<IBBHQQ"), struct.Struct("<QQq")


class OtherKindError(ValueError):
    """An object of a kind that is not loaded here."""


def load(data: bytes, symbols: Collection[str], imports: Mapping[str, int]) -> dict[str, int] | None:
    """The addresses of an object's functions, which stay until the process ends; None: ask LLVM.

    Args:
      data: The object file.
      symbols: The functions wanted.
      imports: Addresses of the functions that it may call.
    """
    if not _supported():
        return None
    try:
        image, offsets = arrange(data, imports)
        wanted = {name: offsets[name] for name in symbols}
        base = _executable(bytes(image))
    except (OtherKindError, LookupError, OSError):
        return None
    return {name: base + offset for name, offset in wanted.items()}


def arrange(data: bytes, imports: Mapping[str, int]) -> tuple[bytearray, dict[str, int]]:
    """The bytes of an object as laid out in memory, page-aligned, and the offset of each global name.

    Raises: OtherKindError: the object is of another kind, or damaged.
    """
    try:
        return _arrange(data, imports)
    except (struct.error, LookupError, ValueError, OverflowError) as error:
        raise OtherKindError(f"object code: {error}") from error


def _arrange(data: bytes, imports: Mapping[str, int]) -> tuple[bytearray, dict[str, int]]:
    kind, machine = struct.unpack_from("<HH", data, 16)
    _require(data[:6] == b"\x7fELF\x02\x01" and (kind, machine) == (RELOCATABLE, X86_64))
    (start,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    _require(size == _SECTION.size)
    sections = [_SECTION.unpack_from(data, start + k * size) for k in range(count)]
    image, places = bytearray(), dict[int, int]()
    for k, (_, kind, flags, _, offset, length, _, _, align, _) in enumerate(sections):
        if flags & ALLOC and length:
            _require(kind == PROGBITS and not flags & (WRITE | TLS) and align <= PAGE)
            image += bytes(-len(image) % max(align, 1))
            places[k] = len(image)
            image += _part(data, offset, length)
    names: list[tuple[str, int | None]] = []  # of each symbol: its name, and its offset if it is defined here
    offsets, calls = dict[str, int](), dict[str, int]()
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind != SYMTAB:
            continue
        _require(not names)
        for name, info, _, section, value, _ in _SYMBOL.iter_unpack(_part(data, offset, length)):
            first = sections[link][4] + name
            text = data[first : data.index(b"\0", first)].decode()
            place = places[section] + value if section in places else None
            names.append((text, place))
            if info >> 4 and place is not None:  # global or weak
                offsets[text] = place
    for _, kind, _, _, offset, length, _, target, _, _ in sections:
        if kind != RELA or target not in places:
            continue
        for where, info, addend in _RELOCATION.iter_unpack(_part(data, offset, length)):
            how, (text, aim) = info & 0xFFFFFFFF, names[info >> 32]
            _require(how in (PC32, PLT32) and where + 4 <= sections[target][5])
            if aim is None:
                _require(how == PLT32)
                aim = calls.get(text)
                if aim is None:
                    aim = calls[text] = _jump(image, imports[text])
            here = places[target] + where
            struct.pack_into("<i", image, here, aim + addend - here)
    return image, offsets


def _jump(image: bytearray, address: int) -> int:
    """Append a jump to an address anywhere in memory; returns its offset."""
    image += bytes(-len(image) % 16)
    place = len(image)
    image += b"\xff\x25\0\0\0\0" + struct.pack("<Q", address)  # jmp [rip + 0]
    return place


def _part(data: bytes, offset: int, length: int) -> bytes:
    part = data[offset : offset + length]
    _require(len(part) == length)
    return part


def _require(holds: bool) -> None:
    if not holds:
        raise OtherKindError


def _supported() -> bool:
    return sys.platform == "linux" and os.uname().machine == "x86_64" and ctypes.sizeof(ctypes.c_void_p) == 8


def _executable(image: bytes) -> int:
    """The address of a copy that can be executed and not written. Raises: OSError: the system forbids it."""
    read, write, execute, private, anonymous = 1, 2, 4, 2, 32  # mmap(2) on Linux
    library = ctypes.CDLL(None, use_errno=True)
    mmap, protect, unmap = library.mmap, library.mprotect, library.munmap
    word, address = ctypes.c_size_t, ctypes.c_void_p
    mmap.restype = address
    mmap.argtypes = [address, word, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    protect.argtypes, unmap.argtypes = [address, word, ctypes.c_int], [address, word]
    base = mmap(None, len(image), read | write, private | anonymous, -1, 0)
    if base in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "mmap")
    ctypes.memmove(base, image, len(image))
    if protect(base, len(image), read | execute):
        unmap(base, len(image))
        raise OSError(ctypes.get_errno(), "mprotect")
    return int(base)
