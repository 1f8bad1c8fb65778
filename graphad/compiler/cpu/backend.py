"""The CPU behind the seam: kernels by Numba, steps and entry of the runtime, memory that is NumPy's."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphad.compiler.backend import Backend, Expected, Walk
from graphad.compiler.cpu import build
from graphad.compiler.cpu.emit import HEAVY, emit
from graphad.compiler.cpu.functions import supported
from graphad.compiler.cpu.runtime import blas, blas_text, entry, movement, pool, repeat
from graphad.compiler.cpu.runtime.plan_block import PlanBuilder
from graphad.compiler.plan import buffers
from graphad.compiler.rows import Row, Step
from graphad.compiler.source import Source
from graphad.core import dtypes
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import Kernel, block_layout

PARALLEL_NANOSECONDS = 300_000  # estimated work of a loop from which its rows are shared among threads
ROW_NANOSECONDS = 40_000
MOST_ROWS = 32


class Cpu(Backend):
    """Compiled kernels and the native runtime of this process."""

    name = "cpu"
    is_host = True
    product_dtypes = frozenset(("float32", "float64"))
    copied = frozenset(movement.SIZES)
    misfits = frozenset((entry.GUARD_MISS, entry.WRONG_TYPE))

    def supported(self, form: Any) -> Any:
        return supported(form)

    def why_not(self, kernel: Kernel) -> str | None:
        return build.supports(kernel)

    def emit(self, kernel: Kernel) -> Source:
        return emit(kernel)

    def find(self, kernel: Kernel) -> int | None:
        return build.find(kernel)

    def build(self, kernel: Kernel) -> int:
        return build.build(kernel)

    def request(self, kernel: Kernel, callback: Callable[[int | None, str | None], None]) -> bool:
        return build.request(kernel, callback)

    # launch rows

    def nanoseconds(self, kernel: Kernel) -> float:
        total = 0.05
        for statement in kernel.body:
            total += 0.9 if statement.fn in HEAVY else 0.06
        for access in (*kernel.inputs, *[store.access for store in kernel.outputs]):
            inner = access.strides[-1]
            total += 0.02 * access.dtype.itemsize if inner == "1" else 0.6 if inner == "s" else 0.0
        return total

    def workspace(self, loop: Loop, numbers: Mapping[str, int]) -> int:
        return loop.workspace(numbers)

    def launch(
        self, builder: Any, loop: Loop, numbers: Mapping[str, int], row: Row, nanoseconds: float
    ) -> int:
        """One step, or a region whose rows are ranges of the kernel where sharing these among threads is worth it."""
        ranges = _ranges(loop, numbers, nanoseconds)
        if len(ranges) < 2:
            builder.add_row(row)
            return 0
        layout = block_layout(loop.kernel)
        rows = []
        for low, high in ranges:
            words = list(row.words)
            words[layout.lo], words[layout.hi] = low, high
            rows.append(Row(row.function, words, row.arguments, row.arena))
        builder.add_region(pool.region_kernel(), rows, pool.control())
        if loop.kernel.is_full_reduction:  # a run of an empty range adds the partial results up
            words = list(row.words)
            words[layout.lo] = words[layout.hi] = words[layout.extents[layout.split]]
            builder.add_step(row.function, words, row.arguments, row.arena)
        return 1

    # library steps

    def copy(self, itemsize: int, shape: Sequence[int], target: Sequence[int], source: Sequence[int]) -> Step:
        words = movement.copy_words(itemsize, shape, target, source)
        return Step(movement.copy_kernel(itemsize), words, (movement.SOURCE, movement.TARGET))

    def fill(self, value: np.ndarray, shape: Sequence[int], target: Sequence[int]) -> Step:
        words = movement.fill_words(value, shape, target)
        return Step(movement.fill_kernel(value.dtype.itemsize), words, (movement.TARGET,))

    def product(self, dtype: str, a: Walk, b: Walk, c: Walk) -> Step | None:
        words = blas.matmul_words(dtype, a, b, c)
        return None if words is None else Step(blas.kernel(), words, (blas_text.A, blas_text.B, blas_text.C))

    def repeat(self) -> int:
        return repeat.kernel()

    def poll(self) -> int:
        return repeat.poll()

    # memory

    def plan(self, arguments: int) -> PlanBuilder:
        return PlanBuilder(arguments)

    def constant(self, array: np.ndarray) -> tuple[int, Any]:
        return array.ctypes.data, array

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return np.empty(shape, dtype)

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return buffers.results.take(shape, dtype)

    def strided(self, root: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Any:
        return buffers.strided(root, shape, strides, offset)

    def to_host(self, array: Any) -> Any:
        return array

    def to_device(self, array: Any) -> Any:
        return array

    # arguments

    def guard(self, expected: Sequence[Expected]) -> np.ndarray:
        return entry.make_guard(expected)

    def bind_check(self, guard: Any) -> Callable[..., Any]:
        return entry.bind_check(guard)

    def register_holder(self, kind: type, attribute: str) -> Any:
        return entry.register_holder(kind, attribute)

    def prepare(self, found: Iterable[Any]) -> None:
        if dtypes.bfloat16 in found:
            entry.register_scalar(dtypes.bfloat16.numpy.type)


def _ranges(loop: Loop, numbers: Mapping[str, int], nanoseconds: float) -> list[tuple[int, int]]:
    """Ranges of the split dimension, fixed by the sizes alone; none where one thread does it all."""
    if nanoseconds < PARALLEL_NANOSECONDS or pool.thread_count() < 2:
        return []
    extent = loop.numbers(numbers)[loop.kernel.split]
    chunk = loop.chunk(numbers)
    count = int(min(MOST_ROWS, max(8, nanoseconds // ROW_NANOSECONDS)))
    step = -(-extent // count)
    step = -(-step // chunk) * chunk
    if loop.kernel.split == loop.kernel.rank - 1:
        step = -(-step // 64) * 64  # no two rows write to one cache line
    return [(low, min(low + step, extent)) for low in range(0, extent, step)]


BACKEND = Cpu()
