"""CRC-32C (Castagnoli), on many lanes at once.

The register after some bytes is linear over GF(2) in the register before and in the bytes. So the data are cut into lanes of
equal length, NumPy runs them side by side, two bytes a step, and neighbours are joined by the operator that shifts a register
over as many zero bytes: `crc(a + b) = shift(crc(a), len(b)) ^ crc(b)`, with registers that start at 0.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

_POLYNOMIAL = 0x82F63B78  # reflected
_LANE = 256  # bytes
_MOST_LANES = 1 << 14
_MASK_DELTA = 0xA282EAD8


def crc32c(data: bytes, crc: int = 0) -> int:
    """The checksum of some bytes; `crc` is that of the bytes before them."""
    register = crc ^ 0xFFFFFFFF
    view = memoryview(data).cast("B")
    while len(view) >= 2 * _LANE:
        lanes = min(_MOST_LANES, 1 << (len(view) // _LANE).bit_length() - 1)
        register = _shifted(register, lanes * _LANE) ^ _of_lanes(view[: lanes * _LANE], lanes)
        view = view[lanes * _LANE :]
    table = _byte_table()
    for byte in view:
        register = table[(register ^ byte) & 255] ^ register >> 8
    return register ^ 0xFFFFFFFF


def masked(crc: int) -> int:
    """A checksum in its masked form in files, since CRCs of data with embedded CRCs are weak."""
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def _of_lanes(view: memoryview, lanes: int) -> int:
    """The register after these bytes, from 0."""
    steps = np.ascontiguousarray(np.frombuffer(view, "<u2").reshape(lanes, _LANE // 2).T)
    table = _pair_table()
    registers = np.zeros(lanes, np.uint32)
    for step in steps:
        registers = table[(registers ^ step) & 0xFFFF] ^ (registers >> 16)
    size = _LANE
    while len(registers) > 1:
        tables = _shift_tables(size)
        left, right = registers[::2], registers[1::2]
        moved = (
            tables[0][left & 255]
            ^ tables[1][left >> 8 & 255]
            ^ tables[2][left >> 16 & 255]
            ^ tables[3][left >> 24]
        )
        registers = moved ^ right
        size *= 2
    return int(registers[0])


@cache
def _byte_table() -> list[int]:
    table = []
    for register in range(256):
        for _ in range(8):
            register = register >> 1 ^ (_POLYNOMIAL if register & 1 else 0)
        table.append(register)
    return table


@cache
def _pair_table() -> np.ndarray[Any, Any]:
    """The register after two bytes, the first one low, from 0."""
    table = np.array(_byte_table(), np.uint32)
    first = table[np.arange(65536) & 255]
    combined: np.ndarray = table[(first ^ np.arange(65536, dtype=np.uint32) >> 8) & 255] ^ first >> 8
    return combined


def _shifted(register: int, size: int) -> int:
    """The register after `size` zero bytes, a power of two times a byte."""
    tables = _shift_tables(size)
    parts = (int(tables[k][register >> 8 * k & 255]) for k in range(4))
    result = 0
    for part in parts:
        result ^= part
    return result


@cache
def _shift_tables(size: int) -> np.ndarray[Any, Any]:
    """[4, 256]: what the bytes of a register become after `size` zero bytes, a power of two."""
    if size == 1:
        columns = [_byte_table()[1 << bit & 255] ^ (1 << bit) >> 8 for bit in range(32)]
    else:
        half = _shift_tables(size // 2)
        columns = [1 << bit for bit in range(32)]
        for _ in range(2):
            columns = [
                int(half[0][x & 255] ^ half[1][x >> 8 & 255] ^ half[2][x >> 16 & 255] ^ half[3][x >> 24])
                for x in columns
            ]
    tables = np.zeros((4, 256), np.uint32)
    for k in range(4):
        for bit in range(8):
            tables[k] ^= np.where(np.arange(256) >> bit & 1, np.uint32(columns[8 * k + bit]), np.uint32(0))
    return tables
