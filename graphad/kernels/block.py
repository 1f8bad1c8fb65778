"""The argument block of a kernel: what its words mean, the memory that each operand's walk touches, and the shared parts of full
reductions.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

from graphad.core.dims import Size
from graphad.kernels.forms import CONTIGUOUS, STRIDED, Access, Kernel
from graphad.kernels.record import Record


class Walk(Record):
    """The memory that a kernel touches in one operand, in terms of the words of its block, for checks without the kernel.

    It touches elements of `itemsize` bytes: a run whose length is in the word `extent` (1 if `extent` is 0), repeated along
    each pair of words (extent, stride) in `strided`.
    """

    itemsize: int
    extent: int
    strided: tuple[tuple[int, int], ...]

    def reach(self, words: Sequence[int]) -> tuple[int, int]:
        """The first byte and the byte after the last, relative to the start, if no extent is 0."""
        first = 0
        last = words[self.extent] if self.extent else 1
        for extent, stride in self.strided:
            span = (words[extent] - 1) * words[stride]
            if span < 0:
                first += span
            else:
                last += span
        return first * self.itemsize, last * self.itemsize

    def along(self, words: Mapping[int, Size]) -> tuple[list[Size], list[Size]]:
        """Extents and strides, in elements, of the walked axes, the innermost last."""
        extents: list[Size] = [words[extent] for extent, _ in self.strided]
        strides: list[Size] = [words[stride] for _, stride in self.strided]
        return ([*extents, words[self.extent]], [*strides, 1]) if self.extent else (extents, strides)


class Layout(Record):
    """The meaning of the words of the argument block. All strides are in elements; `split` is the dimension that lo and hi
    divide."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    extents: tuple[int, ...]
    # by (operand, dim): inputs first, then outputs; only run-time strides have a word
    strides: dict[tuple[int, int], int]
    scalars: tuple[int, ...]
    lo: int
    hi: int
    workspace: int
    split: int
    count: int
    walks: tuple[Walk, ...]  # by operand


@functools.lru_cache(maxsize=4096)
def block_layout(kernel: Kernel) -> Layout:
    """The order of the words: lo, hi, workspace, inputs, outputs, extents, strides, scalars."""
    position = 3

    def take(count: int) -> tuple[int, ...]:
        nonlocal position
        position += count
        return tuple(range(position - count, position))

    inputs, outputs, extents = take(len(kernel.inputs)), take(len(kernel.outputs)), take(kernel.rank)
    accesses = [*kernel.inputs, *(store.access for store in kernel.outputs)]
    strided = [
        (k, d) for k, access in enumerate(accesses) for d, s in enumerate(access.strides) if s == STRIDED
    ]
    strides = dict(zip(strided, take(len(strided)), strict=True))
    scalars = take(len(kernel.scalars))
    walks = tuple([_walk(k, access, extents, strides) for k, access in enumerate(accesses)])
    return Layout(inputs, outputs, extents, strides, scalars, 0, 1, 2, kernel.split, position, walks)


def _walk(operand: int, access: Access, extents: Sequence[int], strides: dict[tuple[int, int], int]) -> Walk:
    extent = 0
    strided = []
    for d, kind in enumerate(access.strides):
        if kind == CONTIGUOUS:
            extent = extents[d]
        elif kind == STRIDED:
            strided.append((extents[d], strides[operand, d]))
    return Walk(access.dtype.itemsize, extent, tuple(strided))


CHUNK = 65536  # elements of a full reduction in one partial result


def chunk_rows(kernel: Kernel, extents: Sequence[int]) -> int:
    """The number of steps of the split dimension that lo and hi must be multiples of (hi may also be the extent).

    It depends on the sizes only, so that the result of a full reduction does not depend on the number of threads.
    """
    if not kernel.is_full_reduction:
        return 1
    inner = 1
    for extent in extents[1:]:
        inner *= extent
    return max(1, CHUNK // max(inner, 1))


def workspace_bytes(kernel: Kernel, extents: Sequence[int]) -> int:
    """Bytes that the workspace word must point to: the partial results of a full reduction, else none.

    One workspace serves all ranges of a run: run them in any order, then once with lo = hi = extent, which combines the
    partial results. A run of the whole range 0..extent combines them itself.
    """
    if not kernel.is_full_reduction:
        return 0
    rows = chunk_rows(kernel, extents)
    return 8 * len([s for s in kernel.outputs if s.combine is not None]) * max(1, -(-extents[0] // rows))
