"""Rows of a step table: what a device runs for a plan, in order, by address.

A row is a function and its block of 64-bit words. Separate records say which words are addresses: of an argument of the plan,
in its arena, or in the block of another row. All devices share this: on the CPU a row is a call of a native function, on a
device with a driver a launch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.light import NamedTuple


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


class Owned(NamedTuple):
    """The word at `word` of a step is the address of the object that `make()` gives, one for each instance, which keeps it."""

    word: int
    make: Callable[[], object]


class About(NamedTuple):
    """The context that errors of a row name: its ops, with the loops around them, and the user's line."""

    what: str
    line: str | None


class Patch(NamedTuple):
    """The word at `word` of a step is the address of word `inner` of another row of the plan: the one at `path[0]`, or one in its
    tables, each the number of a table and of a row."""

    word: int
    path: tuple[Any, ...]
    inner: int


class Row(NamedTuple):
    """One row of a plan, of a parallel region, or of a table that a step walks itself.

    `tables` are (word, rows): that word of the step is the address of a table of these rows. A row in a table whose `about` is
    None belongs to the step that walks the table. `owned` are objects of Python that it calls. `finds` is the symbol of a size
    that it finds and adds to other words, those of `patches`.
    """

    function: int
    words: Sequence[int]
    arguments: Sequence[Argument] = ()
    arena: Sequence[Arena] = ()
    tables: Sequence[tuple[int, Sequence[Row]]] = ()
    pointers: Sequence[Pointer] = ()
    about: About | None = None
    owned: Sequence[Owned] = ()
    finds: str = ""
    patches: Sequence[Patch] = ()


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
    STACKS,
) = range(15)
# Then a (target, base, stride, cell) for each of the MOVES: before the first round the word at `target` becomes `base` (its last
# slice when the loop runs backwards), after each round it advances by `stride`. Where `cell` is not 0, `base` is counted from the
# address that is there.
MOVE = 15
MOVE_WORDS = 4
TOO_LONG = 77  # status: more rounds than the stacks have slices
WRONG_STEPS = 78  # status: the limit differs from the number of steps that the loop was made for

# Words of a row that finds the size of a slice: its bounds, each a number or the address of one of so many bytes (0: a number);
# the size of the axis, the step (0: LOW is the address of a mask of so many elements), the size that was found last, and where to
# store it (or null). Then for each of GROUPS products of sizes: the power of this one in it, the addresses of the other factors
# (or null), and for each of COUNT words that depend on the product its address, and by how much it grows with the product.
(
    M_LOW,
    M_LOW_BYTES,
    M_HIGH,
    M_HIGH_BYTES,
    M_EXTENT,
    M_STEP,
    M_LAST,
    M_NUMBER,
    M_GROUPS,
) = range(9)
MEASURED, MEASURED_WORDS = 9, 2
GROUP_FACTORS = 3
GROUP_POWER, GROUP_COUNT, GROUP_FACTOR = range(3)
GROUP = GROUP_FACTOR + GROUP_FACTORS

# A stack of which only the run knows how many slices it has is found by a cell of words in the workspace: the address of its
# first slice and the number of its slices. If its slices are stacks of several lengths, they are pairs of numbers: the first
# slice, and how many, of one long stack, whose address is at CELL_LONG. CELL_WRITTEN is how many of them have been written.
CELL_ADDRESS, CELL_SLICES, CELL_LONG, CELL_WRITTEN = range(4)
CELL_BYTES = 32
PAIR_BYTES = 16

# At word STACKS of a loop's block, if that is not 0, begins what it needs for such stacks: the functions of the interpreter, and
# the object that makes room. CAPACITY is for how many slices there is room; WANTED, for how many there has to be; END, the most
# rounds there are. There are NEED slices, or as many as the limit, or as there were rounds, or as the cell at LIKE has. Slices
# that no round writes are zeros; with TESTED there may be some although the limit says no. Where slices are added to those of
# earlier runs, USED points to how many there are, and PAIR to where the pair for this run belongs. FIRST and SLICES are those of
# this run.
(
    S_API,
    S_OWNER,
    S_CAPACITY,
    S_WANTED,
    S_END,
    S_NEED,
    S_LIKE,
    S_TESTED,
    S_USED,
    S_PAIR,
    S_FIRST,
    S_SLICES,
    S_GROWN,
    S_WALKED,
) = range(14)
# Then for each of the GROWN stacks its memory, the bytes of a slice, its cell, and where else its address belongs (or 0), and the
# cell of each of those that are WALKED.
GROW = 14
GROW_WORDS = 4
G_MEMORY, G_BYTES, G_CELL, G_LONG = range(4)
NEED_LIMIT, NEED_ROUNDS = -1, -2
