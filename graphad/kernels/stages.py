"""Loops over the same rows as one kernel: for each block of rows, each of its stages runs over the block.

A value that only other stages read is held for one block of rows in a small workspace, so that it stays in the cache. Each
stage is a `Kernel` whose split dimension is the rows, alone or merged with dimensions inside a row: its results, and its order
of summation, are those of a separate kernel. A sum of all rows continues from block to block what its chunk has so far. Stages
that reduce over the rows otherwise, or read such a sum, come last: they run once, when all rows are done.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

from graphad.core.dims import Size, evaluate
from graphad.core.errors import InternalError
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import Kernel
from graphad.kernels.record import Record, digest_of

OUTSIDE = -1
# Words of the block: the range of rows (2), the workspace, the rows of a block, all rows, and for held values their start in
# the workspace and their bytes for a block of rows.
LO, HI, WORKSPACE, BLOCK, ROWS, BEFORE, HELD = range(7)
FIRST = 7  # then for each stage the words of its kernel, and the elements of its split dimension in a row


class Stage(Record):
    """One kernel of several.

    Attributes:
      kernel: Its loop.
      made: For each operand, inputs first, the number of the stages' value that it is; OUTSIDE for all others.
      is_last: It runs once over all rows, after the others.
    """

    kernel: Kernel
    made: tuple[int, ...]
    is_last: bool = False

    @property
    def adds(self) -> bool:
        """Whether it adds up all rows, block by block."""
        return self.kernel.is_full_reduction and not self.is_last


class Stages(Record):
    """Stages in the order in which they run. `held`, by value: whether it is kept only for a block of rows."""

    stages: tuple[Stage, ...]
    held: tuple[bool, ...]

    @property
    def has_last(self) -> bool:
        """Whether there is something to do after all rows are done."""
        return any(stage.is_last or stage.adds for stage in self.stages)

    @property
    def contracts(self) -> bool:
        return any(stage.kernel.contracts for stage in self.stages)

    def text(self) -> str:
        """The canonical text; see `Kernel.text`."""
        lines = [f"stages {len(self.stages)} held {' '.join(str(int(held)) for held in self.held)}"]
        for stage in self.stages:
            lines.append(f"stage {' '.join(map(str, stage.made))}{' last' if stage.is_last else ''}")
            lines.append(stage.kernel.text().rstrip())
        return "\n".join(lines) + "\n"

    def digest(self) -> str:
        """sha256 of the canonical text."""
        return digest_of(self)


class Bases(Record):
    """The first word of each stage, and the number of words."""

    stages: tuple[int, ...]
    scales: tuple[int, ...]
    count: int


@functools.lru_cache(maxsize=1024)
def bases_of(kernel: Stages) -> Bases:
    """The layout of the block of a kernel with stages."""
    stages, scales, position = [], [], FIRST
    for stage in kernel.stages:
        stages.append(position)
        position += block_layout(stage.kernel).count
        scales.append(position)
        position += 1
    return Bases(tuple(stages), tuple(scales), position)


class Held(Record):
    """The layout of held values in the workspace of a block of rows.

    `offsets` are in bytes, by value; 0 for values that are not held. The bytes before `first` are for stages that add up all
    rows; a block takes `total` bytes.
    """

    offsets: tuple[int, ...]
    first: int
    total: int
    last: tuple[int, ...]  # the start of each stage's own workspace


class Nest(Record):
    """A kernel with stages and the numbers of one use of it.

    Attributes:
      loops: The loops of the stages.
      rows: The number of rows.
      scales: For each stage, the elements of its split dimension in a row.
      sizes: For each value, the elements of a row.
    """

    kernel: Stages
    loops: tuple[Loop, ...]
    rows: Size
    scales: tuple[Size, ...]
    sizes: tuple[Size, ...]

    def words(self, numbers: Mapping[str, int], block: int) -> list[int]:
        """The argument block for all rows, `block` of them at a time; the words of the stages' kernels are 0."""
        rows, bases = evaluate(self.rows, numbers), bases_of(self.kernel)
        found = [0] * bases.count
        found[HI], found[BLOCK], found[ROWS] = rows, block, rows
        for word, scale in zip(bases.scales, self.scales, strict=True):
            found[word] = evaluate(scale, numbers)
        return found

    def chunk(self, numbers: Mapping[str, int]) -> int:
        """The number of rows that the range must begin at a multiple of, and end at one, or at the last row."""
        stages = zip(self.loops, self.kernel.stages, strict=True)
        return math.lcm(*[loop.chunk(numbers) for loop, stage in stages if stage.adds])

    def inside(self, numbers: Mapping[str, int]) -> int:
        """The elements of a row that the widest stage visits."""
        rows = max(evaluate(self.rows, numbers), 1)
        stages = zip(self.loops, self.kernel.stages, strict=True)
        return max([loop.elements(numbers) // rows for loop, stage in stages if not stage.is_last])

    def held(self, numbers: Mapping[str, int], block: int) -> Held:
        """The workspace layout for blocks of this many rows."""
        first, last = 0, []
        for loop in self.loops:
            last.append(first)
            first += _aligned(loop.workspace(numbers))
        end, offsets = first, []
        for k, (size, is_held) in enumerate(zip(self.sizes, self.kernel.held, strict=True)):
            offsets.append(end if is_held else 0)
            if is_held:
                end += _aligned(block * evaluate(size, numbers) * self.itemsize(k))
        return Held(tuple(offsets), first, end - first, tuple(last))

    def itemsize(self, value: int) -> int:
        """Bytes of one element of a value."""
        for stage in self.kernel.stages:
            count = len(stage.kernel.inputs)
            for j, store in enumerate(stage.kernel.outputs):
                if stage.made[count + j] == value:
                    return store.access.dtype.itemsize
        raise InternalError(f"stages: none of them produces value {value}")

    def elements(self, numbers: Mapping[str, int]) -> int:
        """How many elements all stages visit."""
        return sum(loop.elements(numbers) for loop in self.loops)


def _aligned(size: int) -> int:
    return -(-size // 64) * 64
