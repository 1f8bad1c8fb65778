"""The launch geometry of a kernel: threads of a block, blocks of the grid, parts of a reduction, shared memory.

Everything that affects bits (threads of a reducing block, parts of a result) is a function of sizes only. The number of blocks
may vary, since any number covers all of the work.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from graphad.compiler.cuda.emit import lanes, takes_parts
from graphad.compiler.cuda.shared import THREADS, UNASKED, WARP, declared, room, threads_of
from graphad.compiler.cuda.written import Written
from graphad.core.light import NamedTuple
from graphad.kernels import stages
from graphad.kernels.block import block_layout
from graphad.kernels.forms import Kernel
from graphad.kernels.stages import Nest, Stages, bases_of

TILE = (32, 8)  # of a sum over columns: results side by side, and threads for each result
EACH = 4  # elements that a thread of a row takes before there are more threads
PIECE = 4096  # elements of a result's part at least
COLUMN_PIECE = 256
ENOUGH = 1024  # blocks that keep a device busy, and that a large one runs all at once
NARROW = 1 << 30  # elements and steps below which positions have 32 bits
PARAMETER_BYTES = 4000  # of a launch, what every driver takes


class Shape(NamedTuple):
    """One launch.

    Attributes:
      blocks: The number of blocks with work.
      threads: The threads of a block in x and y.
      shared: Bytes of dynamic shared memory of a block.
      further: Words after those of the argument block; the address of a counter follows them.
      asks: Whether the driver has to be asked for that much shared memory.
      has_counter: Whether it takes the address of a counter.
      checks: Whether it takes the address of the word that says that there is no answer.
      is_narrow: Whether positions fit 32 bits.
    """

    blocks: int
    threads: tuple[int, int]
    shared: int = 0
    further: tuple[int, ...] = ()
    has_counter: bool = False
    checks: bool = False
    is_narrow: bool = True
    asks: bool = False


def shape_of(kernel: Kernel | Stages | Written, words: Sequence[int], attributes: Mapping[str, int]) -> Shape:
    """The launch of a kernel with these words on a device with these attributes."""
    if isinstance(kernel, Written):
        n, most = words[:2]
        return Shape(-(-n // THREADS), (THREADS, 1), checks=kernel.checks, is_narrow=most < NARROW)
    if isinstance(kernel, Stages):
        return _of_stages(kernel, words, room(kernel, attributes))
    layout = block_layout(kernel)
    extents = [words[word] for word in layout.extents]
    kept, reduced = counts(kernel, extents)
    narrow = is_narrow(kernel, words)
    if not takes_parts(kernel):
        return Shape(-(-kept // (THREADS * lanes(kernel))), (THREADS, 1), is_narrow=narrow)
    parts, most = parts_of(kernel, extents), threads_of(kernel)
    if kernel.rank - 1 in kernel.reduced:
        return Shape(kept * parts, (row_threads(reduced, most), 1), 0, (parts,), True, is_narrow=narrow)
    tile = TILE[0], min(TILE[1], most // TILE[0])
    return Shape(-(-kept // tile[0]) * parts, tile, 0, (parts,), True, is_narrow=narrow)


def counts(kernel: Kernel, extents: Sequence[int]) -> tuple[int, int]:
    """How many results a kernel has, and how many elements each takes in."""
    kept = math.prod([n for d, n in enumerate(extents) if d not in kernel.reduced])
    return kept, math.prod([extents[d] for d in kernel.reduced])


def parts_of(kernel: Kernel, extents: Sequence[int]) -> int:
    """How many parts each result of a reduction is cut into."""
    kept, reduced = counts(kernel, extents)
    piece = PIECE
    if kernel.rank - 1 not in kernel.reduced:
        kept, piece = -(-kept // TILE[0]), COLUMN_PIECE
    if kept >= ENOUGH // 2 or reduced <= piece or not kept:
        return 1
    return min(-(-reduced // piece), ENOUGH // kept)


def row_threads(length: int, most: int) -> int:
    """Threads for a row: a warp for a short one, a whole block for a long one."""
    threads = WARP
    while threads < most and threads * EACH < length:
        threads *= 2
    return threads


def is_narrow(kernel: Kernel, words: Sequence[int]) -> bool:
    """Whether all positions of a kernel with these words fit 32 bits, those of its threads included."""
    layout = block_layout(kernel)
    if math.prod([words[word] for word in layout.extents]) >= NARROW:
        return False
    for walk in layout.walks:
        first, end = walk.reach(words)
        if max(-first, end) >= NARROW * walk.itemsize:
            return False
    return True


def workspace(kernel: Kernel, extents: Sequence[int]) -> int:
    """Bytes for the parts of results."""
    if not takes_parts(kernel):
        return 0
    parts = parts_of(kernel, extents)
    sums = len([store for store in kernel.outputs if store.combine is not None])
    return 0 if parts == 1 else 8 * sums * counts(kernel, extents)[0] * parts


def stage_blocks(rows: int) -> int:
    """Blocks of a kernel with stages at most, each of which holds one row at a time."""
    return max(1, min(rows, ENOUGH))


def nest_workspace(nest: Nest, numbers: Mapping[str, int], attributes: Mapping[str, int]) -> int:
    """Bytes of values between stages, if they do not fit shared memory."""
    held = nest.held(numbers, 1)
    if held.total <= room(nest.kernel, attributes):
        return held.first
    return held.first + stage_blocks(nest.words(numbers, 1)[stages.ROWS]) * held.total


def _of_stages(kernel: Stages, words: Sequence[int], most: int) -> Shape:
    bases, rows = bases_of(kernel), words[stages.ROWS]
    widest, narrow = 1, rows < NARROW
    for k, stage in enumerate(kernel.stages):
        mine = words[bases.stages[k] : bases.scales[k]]
        narrow = narrow and is_narrow(stage.kernel, mine)
        if not stage.is_last:
            elements = math.prod([mine[word] for word in block_layout(stage.kernel).extents])
            widest = max(widest, elements // max(rows, 1))
    held = words[stages.HELD]
    is_shared = held <= most
    further = (0 if is_shared else held,)
    threads, shared = threads_of(kernel), held if is_shared else 0
    asks = shared + declared(kernel, threads) > UNASKED
    return Shape(
        stage_blocks(rows),
        (row_threads(widest, threads), 1),
        shared,
        further,
        True,
        is_narrow=narrow,
        asks=asks,
    )
