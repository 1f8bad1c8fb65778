"""Shared by steps of written kernels: launches, and the workspace of sorts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler.backend import WORK, Part, Walk
from graphad.compiler.cuda.written import Written, bits_code
from graphad.compiler.cuda.written_texts import POINTERS
from graphad.compiler.rows import Step
from graphad.compiler.source import NAMES
from graphad.core.dtypes import as_dtype

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

TILE = 1024  # elements that are compared with each other
PIECE = 32  # elements that one thread walks over at least
THREADS = 1 << 16  # that keep a device busy
INDICES = frozenset(("int32", "int64"))
NUMBERS = frozenset(("float16", "bfloat16", "float32", "float64", "int32", "int64"))
WORD = 8  # bytes of a number in the workspace
_ALIGNMENT = 256
Place = tuple[int, int]  # what it is, and bytes behind it


def has_bits(dtype: str, most: int) -> bool:
    return dtype != "string" and as_dtype(dtype).itemsize <= most


def moved_code(code: str) -> str:
    """The code of unsigned integers with the bits of elements, or of their halves."""
    return f"u{8 * min(as_dtype(NAMES[code]).itemsize, WORD)}"


def ends_of(code: str) -> tuple[int, int]:
    """Of floats: all bits but the sign, and those of the infinite one."""
    bits = int(bits_code(code)[1:])
    infinity = np.full((), np.inf, as_dtype(NAMES[code]).numpy).view(f"i{bits // 8}")
    return (1 << (bits - 1)) - 1, int(infinity)


def line_of(axis: int, shape: Sequence[int]) -> tuple[int, int, int]:
    """Outer, along an axis, inner."""
    axis %= len(shape)
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def piece_of(lines: int, count: int) -> int:
    """Elements of a piece of each of so many lines: as many pieces as one thread may walk over, and a device has threads for."""
    cuts = max(min(count // PIECE, math.isqrt(count), THREADS // lines), 1)
    return -(-count // cuts)


class Work:
    """Where two pairs of keys and places begin, and so many further numbers."""

    def __init__(self, count: int, further: int) -> None:
        each = -(-WORD * count // _ALIGNMENT) * _ALIGNMENT
        self.pairs = [((WORK, 2 * k * each), (WORK, (2 * k + 1) * each)) for k in range(2)]
        self.rest = 4 * each
        self.total = self.rest + WORD * further


class Launches:
    """Collects the steps of one routine."""

    def __init__(self, backend: Cuda, codes: Sequence[str], walks: Sequence[Walk]) -> None:
        self.backend, self.codes, self.walks = backend, codes, walks
        self.shapes = [shape for shape, _ in walks]
        self.made: list[Part] = []

    def launch(self, kernel: Written, n: int, most: int, places: Sequence[Place], *sizes: int) -> None:
        """A launch for `n` positions, if there are any; the sizes are the text's."""
        if n:
            pointers = len(POINTERS[kernel.way])
            assert (len(places), len(sizes)) == (pointers, len(kernel.sizes))
            words = [n, max(n, most), *[0] * pointers, *sizes]
            step = Step(self.backend.build(kernel), words, tuple(range(2, 2 + pointers)))
            self.made.append(Part(step, tuple(places)))

    def sort(self, work: Work, rows: int, length: int) -> tuple[Place, Place]:
        """Where the keys of sequences are in order, which are those of the first pair before, and the places that they had."""
        n = rows * length
        (k, o), (k2, o2) = work.pairs
        self.launch(Written("rank"), n, n, [k, k2, o2], length, TILE)
        width = TILE
        while width < length:
            k, o, k2, o2 = k2, o2, k, o
            # 3 * n bounds the ends of runs before the kernel cuts them.
            self.launch(Written("merge"), n, 3 * n, [k, o, k2, o2], length, width)
            width *= 2
        return k2, o2
