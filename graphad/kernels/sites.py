"""Locations of values: storage walked with strides. Ops that only move elements describe their results with these.

The outputs of such an op are sites of its inputs (`views`), or a new array assembled from parts (`parts_of`): each is copied to
the location that strides describe, the rest is filled. Shapes are definite, sizes may be symbols.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.core.dims import Dim, Size
from graphad.kernels.record import Record

if TYPE_CHECKING:
    from graphad.core.annotations import Array

ZERO = 1_000_003  # replaces size 0 in classification, so that empty batches need no kernel of their own


class Site(Record):
    """Where a value lives: the storage of value `root`, walked from `offset` with `strides`, all in elements."""

    root: int
    shape: tuple[Size, ...]
    strides: tuple[Size, ...]
    offset: Size = 0

    @property
    def is_plain(self) -> bool:
        """Whether it is C order from the start."""
        return same_size(self.offset, 0) and all(
            map(same_walk, self.shape, self.strides, row_strides(self.shape))
        )

    def without(self, axis: int, k: int, shape: Sequence[Size]) -> Site:
        """Slice `k` along an axis, which is removed; `shape` is the remaining shape."""
        strides = (*self.strides[:axis], *self.strides[axis + 1 :])
        return Site(self.root, tuple(shape), strides, self.offset + k * self.strides[axis])

    def piece(self, axis: int, start: Size, shape: Sequence[Size]) -> Site:
        """A part of this shape that begins at `start` along an axis."""
        return Site(self.root, tuple(shape), self.strides, self.offset + start * self.strides[axis])


class Part(Record):
    """`source` (a site, or a number for every element) goes where `target` says."""

    source: Site | Array | int
    target: Site


def reach(extents: Sequence[Size], strides: Sequence[Size], size: int = 1) -> tuple[Size, Size]:
    """The first position that a walk touches and the one after the last, relative to its start; innermost axes come last.

    Args:
      extents: Numbers or symbolic sizes; for symbols the result holds if no extent is 0.
      strides: Strides in positions.
      size: Positions that one element takes.
    Raises: UndecidedSize: the sign of a stride depends on the value of a symbol.
    """
    first: Size = 0
    end: Size = size
    for extent, stride in zip(reversed(extents), reversed(strides)):
        if isinstance(extent, int) and extent <= 0:
            return 0, 0
        if same_size(stride, end):  # contiguous rows: the same sum with less work
            end = extent * end
        elif stride < 0:
            first += (extent - 1) * stride
        else:
            end += (extent - 1) * stride
    return first, end


def same_walk(size: Dim | int, a: Dim | int, b: Dim | int) -> bool:
    """Whether two strides walk an axis of this size alike; the stride of an axis of size 1 means nothing."""
    return same_size(size, 1) or same_size(a, b)


def same_size(a: Size, b: Size) -> bool:
    """Whether two sizes are certainly equal; never pins a symbol."""
    if isinstance(a, Dim) or isinstance(b, Dim):
        return isinstance(a, Dim) and isinstance(b, Dim) and a.terms == b.terms
    return bool(a == b)


def row_strides(shape: Sequence[Size]) -> tuple[Size, ...]:
    """Strides in elements of a C-ordered array."""
    strides: list[Size] = []
    step: Size = 1
    for size in reversed(shape):
        strides.append(step)
        step = step * (ZERO if same_size(size, 0) else size)
    return tuple(reversed(strides))
