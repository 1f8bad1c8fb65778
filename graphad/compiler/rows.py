"""Rows of a step table: what a plan asks a device to run, one after another, by address.

A row is a function and its block of 64-bit words. Which of these words are addresses is said beside them: of an argument of the
plan, of its arena, of the block of another row. All devices share this: a row is a native function of its block on the CPU, a
launch on a device that has a driver.
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


class Row(NamedTuple):
    """One row of a plan, of a parallel region, or of a table that a step walks itself.

    `tables` are (word, rows): that word of the step is the address of a table of these rows.
    """

    function: int
    words: Sequence[int]
    arguments: Sequence[Argument] = ()
    arena: Sequence[Arena] = ()
    tables: Sequence[tuple[int, Sequence[Row]]] = ()
    pointers: Sequence[Pointer] = ()


class Step(NamedTuple):
    """A library step: its function, its words, and which of them take the addresses of its operands, the target last."""

    function: int
    words: list[int]
    places: tuple[int, ...]


# Words of the block of a loop: it walks the table TEST, whose answer is one byte, and the table BODY, once for each round.
# There are as many rounds as FIXED says, or as the integer at LIMIT (of LIMIT_BYTES) does; MOST is how many slices stacks have,
# STEPS how many rounds somebody relies on, -1 for none. COUNT is where the number of rounds is stored, a 32-bit integer.
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
WRONG_STEPS = 78  # status: another limit than the number of steps that the loop was made for
