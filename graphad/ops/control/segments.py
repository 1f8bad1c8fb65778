"""Named segments of a sequence, such as the carries, invariants and xs among a loop's inputs.

places = Segments(carries=2, invariants=1, xs=1)
places.carries(values)      values[0:2]
places.xs[0]                3, the place of the first x
i in places.invariants      whether i is 2

The last segment may have no end: Segments(predicate=1, operands=None) is a predicate and whatever stands behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from graphad.core.errors import InternalError

T = TypeVar("T")


class Segment:
    """Consecutive positions, from `start` to before `end`, which is None for all that follow. Called with a sequence, it returns
    the items at these positions."""

    __slots__ = ("end", "start")

    def __init__(self, start: int, end: int | None) -> None:
        self.start = start
        self.end = end

    def __call__(self, values: Sequence[T]) -> Sequence[T]:
        return values[self.start : self.end]

    def __getitem__(self, k: int) -> int:
        """The position of its item k."""
        return self.start + k

    def number(self, place: int) -> int:
        """The item at a position; the reverse of `[]`."""
        return place - self.start

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.start, self._end()))

    def __contains__(self, place: int) -> bool:
        return self.start <= place and (self.end is None or place < self.end)

    def __len__(self) -> int:
        return self._end() - self.start

    def _end(self) -> int:
        if self.end is None:
            raise InternalError("a segment without an end has no number of items.")
        return self.end

    def __repr__(self) -> str:
        return f"Segment({self.start}, {self.end})"


class Segments:
    """Consecutive segments by name: `Segments(limit=1, carries=n)`; `total` is the number of positions, without those of a last
    segment that has no end."""

    def __init__(self, **counts: int | None) -> None:
        place = 0
        for name, count in counts.items():
            setattr(self, name, Segment(place, None if count is None else place + count))
            place += count or 0
        self.total = place

    def __getattr__(self, name: str) -> Segment:
        raise AttributeError(f"there is no segment {name!r}, only {', '.join(sorted(self.__dict__))}")
