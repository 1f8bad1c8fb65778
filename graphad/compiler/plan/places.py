"""Places that rows point to, and rows before they have memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from graphad.compiler import rows as table
from graphad.compiler.backend import Backend
from graphad.compiler.rows import Pointer, Row
from graphad.compiler.units import Unit
from graphad.core.errors import InternalError
from graphad.core.light import NamedTuple, Protocol
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import Kernel
from graphad.kernels.record import Struct
from graphad.kernels.sites import Site
from graphad.kernels.stages import Nest, Stages

if TYPE_CHECKING:
    from graphad.compiler.plan.repeat import RepeatMaker


ARGUMENT, ARENA, FIXED, CELL = "argument", "arena", "fixed", "cell"
RELEASE_NANOSECONDS = 20_000  # estimated work above which a plan lets other Python threads run
Address = Callable[[Kernel | Stages], int]
ROUNDS = 64.0  # assumed steps of a loop of unknown length, for estimates of time


class Place(NamedTuple):
    """An address: byte `offset` of argument `number` or of the arena, or address `number` plus `offset`, or `offset` behind the
    address in the cell at byte `number` of the arena (see `rows`).

    Its storage is the bytes from `low` up to `high`, counted like the offset. Each round of a loop in `strides` (pairs of a
    loop and bytes, the innermost loop first) advances it.
    """

    kind: str
    number: int
    offset: int
    low: int
    high: int
    strides: tuple[tuple[Any, int], ...] = ()

    @staticmethod
    def of(kind: str, number: int, offset: int, size: int) -> Place:
        """The start of a storage of `size` bytes."""
        return Place(kind, number, offset, offset, offset + size, ())

    def shifted(self, offset: int) -> Place:
        return Place(self.kind, self.number, self.offset + offset, self.low, self.high, self.strides)

    def moved_by(
        self, loop: RepeatMaker, size: int, rounds: int, backwards: bool, is_inside: bool = False
    ) -> Place:
        """The slice of `size` bytes of each round of a loop; `rounds` slices are contiguous."""
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
                f"{self.high - self.low}; the graph declares a shape that differs from what it computes"
            )


class Made(Struct):
    """A row, its estimated nanoseconds, the words that move with the enclosing loop, and its kernel; `apart`: it may run in
    parallel with neighbours that may."""

    row: Row
    work: float
    moves: list[tuple[int, Place]] = []
    loop: Loop | Nest | None = None
    apart: bool = False


class Binding(Struct):
    """What the scopes of one native segment share, those of its loops and branches too.

    Attributes:
      address: Where kernels are.
      keep: What rows point to.
      room: The numbers for which there is room, where those of a scope are others (`measured.py`).
      is_made_again: That of the schedule.
      shared: What rows for all sizes that the run may find share.
      sizes: The numbers without those that the run finds.
      found: The places in the arena of these.
    """

    address: Address
    keep: list[Any]
    room: Mapping[str, int]
    is_made_again: bool = False
    shared: dict[Any, Any] = {}
    sizes: Mapping[str, int] = {}
    found: Mapping[str, int] = {}


class Surroundings(Protocol):
    """What the rows of a chain need from the scope around them; see `steps.Scope`."""

    backend: Backend
    numbers: Mapping[str, int]
    binding: Binding
    is_shared: bool

    def size(self, dim: Any) -> int: ...
    def place(self, site: Site) -> Place: ...
    def words(self, unit: Unit, loop: Loop) -> tuple[list[int], list[tuple[int, Site]]]: ...
    def filled(
        self, function: int, words: list[int], sites: Sequence[tuple[int, Place]], work: float
    ) -> Made: ...


def moves_of(
    loop: object, tables: Sequence[Sequence[Made]]
) -> tuple[list[int], list[tuple[int, Place]], list[Pointer]]:
    """The moves between rounds of a loop over tables of rows.

    Returns: The words of its block, with only the moves filled in; the places that its words point to; its pointers into the
    tables.
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
            if place.kind == CELL and not strides:
                words[at + 1] = place.offset
                places.append((at + 3, Place.of(ARENA, 0, place.number, table.CELL_BYTES)))
                continue
        # A place that only an outer loop moves is set again before each first round.
        places.append((at + 1, place._replace(strides=strides)))
    return words, places, pointers
