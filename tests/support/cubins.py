"""The resources of a cubin's kernel: registers, shared memory and stack, read from the tables of the ELF file."""

from __future__ import annotations

import struct
from typing import NamedTuple

# Attributes of `.nv.info`: registers and bytes of stack of a symbol, and each parameter of a kernel.
REGISTERS, FRAME, PARAMETER = 0x2F, 0x11, 0x17


class Resources(NamedTuple):
    """Of one kernel: registers of a thread, bytes of static shared memory of a block, bytes of stack of a thread."""

    registers: int
    shared: int
    stack: int
    parameters: int


def resources(code: bytes) -> Resources:
    """The resources of the only kernel of a cubin."""
    assert code[:4] == b"\x7fELF" and code[4] == 2
    (offset,) = struct.unpack_from("<Q", code, 40)
    size, count, names_at = struct.unpack_from("<HHH", code, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", code, offset + k * size) for k in range(count)]
    names = sections[names_at][4]

    def name(section: tuple[int, ...]) -> str:
        start = names + section[0]
        return code[start : code.index(b"\0", start)].decode()

    found = {name(section): section for section in sections}
    (text,) = [key for key in found if key.startswith(".text.")]
    kernel = text.removeprefix(".text.")
    registers = stack = parameters = 0
    for key, section in found.items():
        if key == ".nv.info":
            for attribute, value in _attributes(code[section[4] : section[4] + section[5]]):
                if attribute == REGISTERS:
                    registers = max(registers, struct.unpack("<II", value)[1])
                elif attribute == FRAME:
                    stack = max(stack, struct.unpack("<II", value)[1])
        elif key == f".nv.info.{kernel}":
            entries = _attributes(code[section[4] : section[4] + section[5]])
            parameters = sum(attribute == PARAMETER for attribute, _ in entries)
    shared = found.get(f".nv.shared.{kernel}")
    return Resources(registers, 0 if shared is None else shared[5], stack, parameters)


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    """(attribute, value) of each entry."""
    found, place = [], 0
    while place + 4 <= len(data):
        form, attribute, number = struct.unpack_from("<BBH", data, place)
        place += 4
        if form == 4:  # so many bytes follow
            found.append((attribute, data[place : place + number]))
            place += number
        else:
            found.append((attribute, struct.pack("<H", number)))
    return found
