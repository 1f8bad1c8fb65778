"""Rows of a step table: what a device runs for a plan, in order, by address.

A row is a function and its block of 64-bit words. Separate records say which words are addresses: of an argument of the plan,
in its arena, or in the block of another row. All devices share this: on the CPU a row is a call of a native function, on a
device with a driver a launch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Argument(NamedTuple):
    """The word at `word` of a step is the address of argument `argument`, plus `offset` bytes."""

    word: int
    argument: int
    offset: int = 0


class Arena(NamedTuple):
    """The word at `word` of a step is an address in the instance's own workspace."""

    word: int
    offset: int


class Pointer(NamedTuple):
    """The word at `word` of a step is the address of word `inner` of row `row` of the step's table `table`."""

    word: int
    table: int
    row: int
    inner: int


class About(NamedTuple):
    """What errors of a row say: its ops, with the loops around them, and the user's line."""

    what: str
    line: str | None


class Row(NamedTuple):
    """One row of a plan, of a parallel region, or of a table that a step walks itself.

    `tables` are (word, rows): that word of the step is the address of a table of these rows. A row in a table whose `about` is
    None belongs to the step that walks the table.
    """

    function: int
    words: Sequence[int]
    arguments: Sequence[Argument] = ()
    arena: Sequence[Arena] = ()
    tables: Sequence[tuple[int, Sequence[Row]]] = ()
    pointers: Sequence[Pointer] = ()
    about: About | None = None


class Step(NamedTuple):
    """A library step: its function, its words, and which of them take the addresses of its operands, the target last."""

    function: int
    words: list[int]
    places: tuple[int, ...]


# Words of the block of a loop: it walks the table TEST, whose result is one byte, and the table BODY once for each round. The
# number of rounds is FIXED, or the integer at LIMIT (of LIMIT_BYTES bytes). MOST is the number of slices of the stacks, STEPS
# the number of rounds that the plan relies on, -1 for none. The number of rounds is stored at COUNT, a 32-bit integer.
(
    BODY,
    BODY_ROWS,
    TEST,
    TEST_ROWS,
    ANSWER,
    LIMIT,
    LIMIT_BYTES,
    FIXED,
    MOST,
    STEPS,
    REVERSE,
    COUNT,
    MOVES,
    POLL,
) = range(14)
# Then a (target, base, stride) for each of the MOVES: before the first round the word at `target` becomes `base` (its last slice
# when the loop runs backwards), after each round it advances by `stride`.
MOVE = 14
MOVE_WORDS = 3
TOO_LONG = 77  # status: more rounds than the stacks have slices
WRONG_STEPS = 78  # status: the limit differs from the number of steps that the loop was made for
