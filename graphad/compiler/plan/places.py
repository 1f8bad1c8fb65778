"""Where what a row points to lies, and what is known of a row before it has memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from graphad.compiler import rows as table
from graphad.compiler.rows import Pointer, Row
from graphad.core.errors import InternalError
from graphad.kernels.collapse import Loop
from graphad.kernels.record import Struct
from graphad.kernels.stages import Nest

ARGUMENT, ARENA, FIXED = "argument", "arena", "fixed"
RELEASE_NANOSECONDS = 20_000  # estimated work of a plan from which other Python threads may run meanwhile
ROUNDS = 64.0  # how often a loop is taken to run where that is not known, for estimates of time


class Place(NamedTuple):
    """Where something begins: byte `offset` of argument `number` or of the arena, or address `number` plus `offset`.

    Its storage is the bytes from `low` up to `high`, counted as the offset is. Each round of a loop in `strides` (pairs of a loop
    and bytes, the innermost loop first) moves all of it on.
    """

    kind: str
    number: int
    offset: int
    low: int
    high: int
    strides: tuple[tuple[Any, int], ...] = ()

    @staticmethod
    def of(kind: str, number: int, offset: int, size: int) -> Place:
        """The beginning of a storage of `size` bytes."""
        return Place(kind, number, offset, offset, offset + size, ())

    def shifted(self, offset: int) -> Place:
        return Place(self.kind, self.number, self.offset + offset, self.low, self.high, self.strides)

    def moved_by(self, loop: Any, size: int, rounds: int, backwards: bool, is_inside: bool = False) -> Place:
        """The slice of `size` bytes that round after round of a loop has to itself, `rounds` of them one behind the other."""
        if not is_inside:
            self.check(0, size * rounds)
        stride = -size if backwards else size
        return Place(
            self.kind,
            self.number,
            self.offset,
            self.offset,
            self.offset + size,
            ((loop, stride), *self.strides),
        )

    def check(self, first: int, end: int) -> None:
        """Raise InternalError unless the bytes from `first` to before `end`, counted from here, lie inside of the storage."""
        if first < end and not (self.low <= self.offset + first and self.offset + end <= self.high):
            raise InternalError(
                f"plan: a step reaches bytes {self.offset + first - self.low} to {self.offset + end - self.low} of a storage of "
                f"{self.high - self.low}; a graph claims a shape that is not what it computes"
            )


class Made(Struct):
    """A row, an estimate of its nanoseconds, which of its words move with the loop around it, and of what it is the kernel."""

    row: Row
    work: float
    moves: list[tuple[int, Place]] = []
    loop: Loop | Nest | None = None


def moves_of(
    loop: Any, tables: Sequence[Sequence[Made]]
) -> tuple[list[int], list[tuple[int, Place]], list[Pointer]]:
    """What moves from round to round of a loop over tables of rows.

    Returns: The words of its block, with nothing but the moves filled in; the places that words of it point to; its pointers into
    the tables.
    """
    found = [
        (t, r, word, place)
        for t, made in enumerate(tables)
        for r, each in enumerate(made)
        for word, place in each.moves
    ]
    words = [0] * (table.MOVE + table.MOVE_WORDS * len(found))
    words[table.MOVES] = len(found)
    places: list[tuple[int, Place]] = []
    pointers = []
    for k, (t, r, word, place) in enumerate(found):
        at = table.MOVE + table.MOVE_WORDS * k
        pointers.append(Pointer(at, t, r, word))
        strides = place.strides
        if strides[0][0] is loop:
            words[at + 2], strides = strides[0][1], strides[1:]
        # What only a loop further out moves is put in anew before each first round.
        places.append((at + 1, place._replace(strides=strides)))
    return words, places, pointers
