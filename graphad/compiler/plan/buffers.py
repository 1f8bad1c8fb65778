"""Storage: one arena per instance, shared by values that do not live at the same time, and a pool for large results.

A value lives from the step that writes it to the last step that reads it, both included, so no step ever reads and writes the
same bytes unless its kernel was made for that.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import forks
from graphad.core.flags import flags
from graphad.core.owners import COUNTS_ARE_EXACT
from graphad.kernels.record import Record

if TYPE_CHECKING:
    from graphad.core.annotations import Array


ALIGNMENT = 64
POOLED = 1 << 18  # bytes from which a result comes from the pool: fresh pages cost more than the work
KEPT_PER_KIND = 4
IDLE_SECONDS = 30.0


class Life(Record):
    """Bytes that are needed from step `first` to step `last`."""

    size: int
    first: int
    last: int


def place(lives: Sequence[Life]) -> tuple[list[int], int]:
    """An offset for each, so that values that live at the same time do not overlap, and the total bytes; best fit."""
    import heapq  # for native plans only

    order = sorted(range(len(lives)), key=lambda k: (lives[k].first, -lives[k].size))
    offsets = [0] * len(lives)
    free: list[tuple[int, int]] = []  # (offset, size), by offset
    busy: list[tuple[int, int, int]] = []  # a heap of (last, offset, size)
    total = 0
    for k in order:
        life = lives[k]
        ended = []
        while busy and busy[0][0] < life.first:
            ended.append(heapq.heappop(busy)[1:])
        if ended:
            free = _joined([*free, *ended])
        size = max(-(-life.size // ALIGNMENT), 1) * ALIGNMENT
        fits = [hole for hole in free if hole[1] >= size]
        if fits:
            hole = min(fits, key=lambda hole: hole[1])
            free.remove(hole)
            offset = hole[0]
            if hole[1] > size:
                free = _joined([*free, (offset + size, hole[1] - size)])
        elif free and sum(free[-1]) == total:
            offset = free.pop()[0]  # the last hole reaches the end: grow it
            total = offset + size
        else:
            offset, total = total, total + size
        offsets[k] = offset
        heapq.heappush(busy, (life.last, offset, size))
    return offsets, total


def _joined(holes: list[tuple[int, int]]) -> list[tuple[int, int]]:
    out: list[tuple[int, int]] = []
    for offset, size in sorted(holes):
        if out and sum(out[-1]) == offset:
            out[-1] = (out[-1][0], out[-1][1] + size)
        else:
            out.append((offset, size))
    return out


def strided(root: Array, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
    """A read-only view of contiguous memory."""
    if 0 in shape:
        return np.empty(shape, root.dtype)
    flat = np.asarray(root).reshape(-1)
    view = np.lib.stride_tricks.as_strided(
        flat[offset // root.dtype.itemsize :], shape, strides, writeable=False
    )
    return view if shape else view[()]


class _Row:
    """The arrays of one shape and dtype, and the time of the last request."""

    __slots__ = ("arrays", "asked")

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.asked = 0.0


class ResultPool:
    """Large result arrays for reuse once they are unreferenced, up to `flags.pool_bytes` in all.

    An array is free when the pool holds the only reference: views, buffers and exports all keep one. Where reference counts
    cannot be trusted (no GIL), every array is fresh. Shapes that were not requested for a while are released when the next
    large result is.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._kept: dict[tuple[Any, ...], _Row] = {}
        self._bytes = 0
        self._clock = clock
        self._swept = clock()
        self._lock = forks.lock()
        alone = [np.empty(0)]
        self._free = sys.getrefcount(alone[0])  # the reference of the list and that of the call

    @property
    def held(self) -> int:
        """Bytes of all arrays that it refers to, those in use included."""
        return self._bytes

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An unreferenced array with unspecified content."""
        if not COUNTS_ARE_EXACT:
            return np.empty(shape, dtype)
        key = (shape, dtype)
        with self._lock:
            now = self._clock()
            if now - self._swept > IDLE_SECONDS:
                self._swept = now
                self._forget(lambda row, k: now - row.asked > IDLE_SECONDS)
            row = self._kept.get(key)
            if row is None:
                row = self._kept[key] = _Row()
            row.asked = now
            arrays = row.arrays
            for k in range(len(arrays)):
                if sys.getrefcount(arrays[k]) == self._free:
                    return arrays[k]
            made = np.empty(shape, dtype)
            if len(arrays) < KEPT_PER_KIND and made.nbytes <= flags.pool_bytes:
                if self._bytes + made.nbytes > flags.pool_bytes:
                    self._forget(self._is_free)
                    self._kept[key] = row
                if self._bytes + made.nbytes <= flags.pool_bytes:
                    row.arrays.append(made)
                    self._bytes += made.nbytes
            return made

    def _is_free(self, row: _Row, k: int) -> bool:
        return sys.getrefcount(row.arrays[k]) == self._free

    def _forget(self, is_gone: Callable[[_Row, int], bool]) -> None:
        """Release the arrays that a test of (row, position) selects."""
        for key, row in list(self._kept.items()):
            gone = [k for k in range(len(row.arrays)) if is_gone(row, k)]
            for k in reversed(gone):
                self._bytes -= row.arrays[k].nbytes
                del row.arrays[k]
            if not row.arrays:
                del self._kept[key]

    def trim(self) -> None:
        """Release arrays until the pool fits the current setting."""
        with self._lock:
            for is_gone in (self._is_free, lambda row, k: True):
                if self._bytes > flags.pool_bytes:
                    self._forget(is_gone)

    def clear(self) -> None:
        """Release everything; arrays that are in use stay with their users."""
        with self._lock:
            self._kept.clear()
            self._bytes = 0


results = ResultPool()
