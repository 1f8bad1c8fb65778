"""The CPU backend: kernels by Numba, the native runtime, NumPy's memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, SECOND, THIRD, WORK, Backend, Expected, Part, Walk
from graphad.compiler.cpu import build
from graphad.compiler.cpu.emit import HEAVY, emit
from graphad.compiler.cpu.functions import supported
from graphad.compiler.cpu.runtime import calls, entry, layout
from graphad.compiler.cpu.runtime.driver import NO_ANSWER
from graphad.compiler.cpu.runtime.plan_block import PlanBuilder
from graphad.compiler.plan import buffers
from graphad.compiler.rows import About, Arena, Row, Step
from graphad.compiler.source import Source
from graphad.core import dtypes
from graphad.core.dims import evaluate
from graphad.core.dtypes import as_dtype
from graphad.core.late import when_asked
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import (
    Accumulated,
    Applied,
    Band,
    Bounded,
    Convolved,
    Counted,
    Drawn,
    Factorised,
    Form,
    Holds,
    Indexed,
    Kernel,
    Library,
    Masked,
    Multiplied,
    Ordered,
    Pivoted,
    Placed,
    Rising,
    Rolled,
    Routine,
    Running,
    Searched,
    Transformed,
)
from graphad.kernels.stages import HI, LO, WORKSPACE, Nest, Stages

if TYPE_CHECKING:
    from graphad.compiler.cpu import stacks
    from graphad.compiler.cpu.runtime import (
        blas,
        branch,
        combining,
        convolved,
        counted,
        drawing,
        factorising,
        growing,
        indexing,
        lapack,
        masking,
        measuring,
        movement,
        multiplying,
        ordering,
        pivoting,
        placing,
        pool,
        repeat,
        rolling,
        searching,
        transforming,
        ufuncs,
    )
    from graphad.core.annotations import Array
    from graphad.core.spec import TensorSpec
else:
    # What is no kernel; a plan has little of it, and each would cost what it takes to read a module.
    for _name in (
        "blas branch combining convolved counted drawing factorising growing indexing lapack masking "
        "measuring movement multiplying ordering pivoting placing pool repeat rolling searching transforming ufuncs"
    ).split():
        globals()[_name] = when_asked(f"graphad.compiler.cpu.runtime.{_name}")
    stacks = when_asked("graphad.compiler.cpu.stacks")

PARALLEL_NANOSECONDS = 300_000  # estimated work above which the rows of a loop are shared among threads
ROW_NANOSECONDS = 40_000
MOST_ROWS = 32
BLOCK_ELEMENTS = (
    4096  # of the widest stage in one block of rows, so that values between stages stay in the cache
)
FEWEST_ELEMENTS = 256  # in a block of a chain, since each loop has a start-up cost for each block
CACHED_BYTES = 1 << 24  # of values between loops that fit the last-level cache
HELD_BYTES = 1 << 18  # of values held for a block of a chain, well within a core's second-level cache


class Cpu(Backend):
    """Compiled kernels and the native runtime of this process."""

    name = "cpu"
    is_host = has_stages = stages_add = has_blocks = True
    product_dtypes = frozenset(("float32", "float64"))
    copied = frozenset(layout.SIZES)
    has_routines_in_loops = has_calls = has_branches = has_growing = has_measures = True
    misfits = frozenset((entry.GUARD_MISS, entry.WRONG_TYPE, NO_ANSWER))

    def supported(self, form: Form) -> Form | None:
        return supported(form)

    def why_not(self, kernel: Kernel | Stages) -> str | None:
        for each in _kernels(kernel):
            reason = build.supports(each)
            if reason is not None:
                return reason
        return None

    def emit(self, kernel: Kernel | Stages) -> Source:
        return _staged(kernel) if isinstance(kernel, Stages) else emit(kernel)

    def find(self, kernel: Kernel | Stages) -> int | None:
        return build.find(self._given(kernel))

    def build(self, kernel: Kernel | Stages) -> int:
        return build.build(self._given(kernel))

    def request(self, kernel: Kernel | Stages, callback: Callable[[int | None, str | None], None]) -> bool:
        return build.request(self._given(kernel), callback)

    def _given(self, kernel: Kernel | Stages) -> Kernel | Source:
        return _staged(kernel) if isinstance(kernel, Stages) else kernel

    # launch rows

    def work(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> float:
        loops = loop.loops if isinstance(loop, Nest) else (loop,)
        return sum([15 + each.elements(numbers) * _nanoseconds(each.kernel) for each in loops])

    def block_rows(self, nest: Nest, numbers: Mapping[str, int]) -> int:
        return max(1, BLOCK_ELEMENTS // max(nest.inside(numbers), 1))

    def workspace(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> int:
        if not isinstance(loop, Nest):
            return loop.workspace(numbers)
        held = loop.held(numbers, self.block_rows(loop, numbers))
        return held.first + max(1, len(_ranges(loop, numbers, self.work(loop, numbers)))) * held.total

    def launch(
        self, builder: Any, loop: Loop | Nest, numbers: Mapping[str, int], row: Row, nanoseconds: float
    ) -> int:
        """One step; or a region whose rows are ranges of the kernel, if sharing them among threads pays."""
        ranges = _ranges(loop, numbers, nanoseconds)
        if len(ranges) < 2 or pool.thread_count() < 2:
            builder.add_row(row)
            return 0
        if isinstance(loop, Nest):
            low_word, high_word, end = LO, HI, evaluate(loop.rows, numbers)
            is_last, apart = loop.kernel.has_last, loop.held(numbers, self.block_rows(loop, numbers)).total
        else:
            layout = block_layout(loop.kernel)
            low_word, high_word, end = layout.lo, layout.hi, row.words[layout.extents[layout.split]]
            is_last, apart = loop.kernel.is_full_reduction, 0
        rows = []
        for k, (low, high) in enumerate(ranges):
            words = list(row.words)
            words[low_word], words[high_word] = low, high
            arena = [
                Arena(word, offset + (k * apart if word == WORKSPACE else 0)) for word, offset in row.arena
            ]
            rows.append(Row(row.function, words, row.arguments, arena if apart else row.arena))
        builder.add_region(pool.region_kernel(), rows, pool.control())
        if is_last:  # a final run with an empty range adds up partial results and runs the last stages
            words = list(row.words)
            words[low_word] = words[high_word] = end
            builder.add_step(row.function, words, row.arguments, row.arena)
        return 1

    def chain_rows(self, count: int, held: int, inside: int) -> int:
        if count * held <= CACHED_BYTES:
            return count
        fit = min(max(HELD_BYTES // max(held, 1), FEWEST_ELEMENTS // inside), BLOCK_ELEMENTS // inside)
        return fit // 64 * 64 or max(fit, 1)

    def ranges(self, count: int, nanoseconds: float) -> list[tuple[int, int]]:
        return _shares(count, 1, nanoseconds) or super().ranges(count, nanoseconds)

    def share(self, builder: Any, rows: Sequence[Row]) -> int:
        if len(rows) < 2 or pool.thread_count() < 2:
            return super().share(builder, rows)
        builder.add_region(pool.region_kernel(), rows, pool.control())
        return 1

    # library steps

    def copy(self, itemsize: int, shape: Sequence[int], target: Sequence[int], source: Sequence[int]) -> Step:
        words = movement.copy_words(itemsize, shape, target, source)
        return Step(movement.copy_kernel(itemsize), words, (movement.SOURCE, movement.TARGET))

    def fill(self, value: np.ndarray, shape: Sequence[int], target: Sequence[int]) -> Step:
        words = movement.fill_words(value, shape, target)
        return Step(movement.fill_kernel(value.dtype.itemsize), words, (movement.TARGET,))

    def products(
        self, dtype: str, a: Walk, b: Walk, c: Walk, is_shared: bool, has_sizes: bool = False
    ) -> list[Part]:
        return multiplying.parts(dtype, a, b, c, pool.thread_count() if is_shared else 1, has_sizes)

    def has_routine(self, form: Routine, dtypes: Sequence[str], ranks: Sequence[int]) -> bool:
        dtype = dtypes[0]
        if isinstance(form, Indexed):
            if dtypes[1] not in ("int32", "int64") or dtype == "string":
                return False
            return (
                dtype in indexing.ADDED
                if indexing.combines(form.way)
                else as_dtype(dtype).itemsize in self.copied
            )
        if isinstance(form, Placed):
            return placing.has(form, dtypes)
        if isinstance(form, Bounded):
            return placing.has_bounds(dtypes, ranks)
        if isinstance(form, Band):
            return as_dtype(dtype).itemsize in self.copied
        if isinstance(form, Running):
            return dtype in indexing.ADDED
        if isinstance(form, Ordered):
            return dtype in ordering.KINDS and form.dtype.name in ordering.PLACES
        if isinstance(form, Holds):
            return dtype == "bool"
        if isinstance(form, Searched):
            return dtype in searching.DTYPES and form.dtype.name in ordering.PLACES
        if isinstance(form, Rising):
            return dtype in ordering.PLACES
        if isinstance(form, Rolled):
            return dtypes[1] in ("int32", "int64") and dtype != "string"
        if isinstance(form, Counted):
            return dtype in counted.DTYPES
        if isinstance(form, Masked):
            return dtypes[1] == "bool" and dtype != "string" and as_dtype(dtype).itemsize in self.copied
        if isinstance(form, Drawn):
            return drawing.has(form.kind, form.dtype.name)
        if isinstance(form, Pivoted):
            return pivoting.has(dtype)
        if isinstance(form, Factorised):
            is_real = dtype in self.product_dtypes
            is_taken = is_real or dtype in ("complex64", "complex128")
            return is_taken and factorising.takes(form, dtype) and factorising.has(form)
        if isinstance(form, Applied):
            return ufuncs.has(form, tuple(dtypes))
        if isinstance(form, Accumulated):
            return combining.has(form.way, dtype)
        if isinstance(form, Multiplied):
            return min(ranks) > 1 and combining.has_products(dtype)
        if isinstance(form, Transformed):
            return transforming.has(form, dtype)
        if isinstance(form, Convolved):
            is_mean = form.way in ("means", "of_means")
            has_loops = dtype in self.product_dtypes and (not is_mean or convolved.has_means(dtype))
            return has_loops and bool(blas.tiles(dtype))
        if not isinstance(form, Library):
            return False
        if dtype not in self.product_dtypes or max(ranks) > 2 + lapack.BATCH_RANK:
            return False
        # One matrix with a stack of right-hand sides is factorised once for all; into a triangle each is put in.
        shared = form.name == "gesv" and not form.part and ranks[0] == 2 < ranks[1]
        return form.name in ("gesv", "potrf") and not shared and lapack.has_routines()

    def routine_workspace(self, form: Routine, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
        if isinstance(form, Indexed):
            return indexing.workspace(form, shapes[-1])
        if isinstance(form, Pivoted):
            return pivoting.workspace(dtype, shapes[0])
        if isinstance(form, Factorised):
            return factorising.workspace(form, *(shapes[:2] if form.name == "gesv" else shapes[:1]))
        if isinstance(form, Convolved):
            found = convolved.steps(form, dtype, shapes, True)
            return 0 if found is None else found.workspace
        if isinstance(form, Transformed):
            return transforming.workspace(form, dtype, shapes)
        if isinstance(form, Drawn):
            return drawing.workspace(form, shapes[0], shapes[-1])
        if isinstance(form, Ordered):
            return ordering.workspace(shapes[0][form.axis]) if form.way == "order" else 0
        return lapack.workspace(form.name, *shapes[-1][-2:]) if isinstance(form, Library) else 0

    def routine(
        self, form: Routine, dtypes: Sequence[str], walks: Sequence[Walk], is_shared: bool
    ) -> list[Part] | None:
        shapes = [shape for shape, _ in walks]
        if isinstance(form, Convolved):
            found = convolved.steps(form, dtypes[0], shapes, is_shared and pool.thread_count() > 1)
            return None if found is None else found.parts
        if isinstance(form, Pivoted):
            return pivoting.parts(dtypes[0], dtypes[-1], shapes[0])
        if isinstance(form, Factorised):
            return factorising.parts(form, dtypes[0], *(shapes[:2] if form.name == "gesv" else shapes[:1]))
        if isinstance(form, Applied):
            return ufuncs.parts(form, dtypes, shapes)
        if isinstance(form, Accumulated):
            return combining.parts(form, dtypes[0], shapes)
        if isinstance(form, Multiplied):
            return combining.products(form, dtypes[0], shapes)
        if isinstance(form, Placed):
            return placing.parts(form, dtypes, shapes)
        if isinstance(form, Bounded):
            return placing.bounds(dtypes, *shapes[-1])
        if isinstance(form, Transformed):
            return transforming.parts(form, dtypes[0], shapes)
        if isinstance(form, Indexed):
            sizes = [as_dtype(dtype).itemsize for dtype in dtypes]
            function, words = indexing.indexed(form, dtypes[0], sizes[0], sizes[1], shapes)
            places = {indexing.SOURCE: FIRST, indexing.INDICES: SECOND, indexing.TARGET: RESULT}
            places |= {indexing.UPDATES: THIRD} if indexing.puts(form.way) else {}
            places |= {indexing.SEEN: WORK} if form.way in indexing.GATHERED else {}
        elif isinstance(form, Band):
            function, words = indexing.band(form, as_dtype(dtypes[0]).itemsize, shapes[0])
            places = {indexing.B_SOURCE: FIRST, indexing.B_TARGET: RESULT}
        elif isinstance(form, Ordered):
            if 0 in shapes[1] and (form.way == "order" or shapes[0][form.axis]):
                return []
            function, words = ordering.ordered(form, dtypes[0], shapes)
            places = {ordering.SOURCE: FIRST, ordering.TARGET: RESULT}
            places |= {ordering.WORK: WORK} if form.way == "order" else {}
        elif isinstance(form, Drawn):
            # Limits are looked at for no numbers too.
            if 0 in (shapes[0] if form.kind == "integers" else shapes[-1]):
                return []
            name = form.dtype.name
            function = drawing.kernel(form.kind, name)
            words = drawing.words_of(form.kind, name, as_dtype(dtypes[0]).itemsize, shapes[0], shapes[-1])
            places = {drawing.KEYS: FIRST, drawing.TARGET: RESULT}
            places |= {drawing.LOW: SECOND, drawing.HIGH: THIRD} if len(walks) == 4 else {}
            places |= {drawing.WORK: WORK} if form.kind == "normal" else {}
        elif isinstance(form, Masked):
            if not shapes[0]:
                return None
            words = masking.words_of(form, shapes)
            function = masking.kernel(form.way, as_dtype(dtypes[0]).itemsize)
            places = {masking.SOURCE: FIRST, masking.MASK: SECOND, masking.TARGET: RESULT}
        elif isinstance(form, Holds):
            function, words = indexing.holds(shapes[0])
            places = {indexing.H_SOURCE: FIRST}
        elif isinstance(form, Searched):
            function = searching.kernel(dtypes[0], form.right)
            counts = math.prod(shapes[1][:-1]), shapes[0][-1], shapes[1][-1]
            words = [0, 0, 0, *counts, int(form.dtype.itemsize == 8)]
            places = {searching.SEQUENCES: FIRST, searching.VALUES: SECOND, searching.TARGET: RESULT}
        elif isinstance(form, Rising):
            function = searching.rising(dtypes[0])
            words = [0, 0, math.prod(shapes[0][:-1]), shapes[0][-1]]
            places = {searching.R_SOURCE: FIRST, searching.R_TARGET: RESULT}
        elif isinstance(form, Rolled):
            function, sizes = rolling.kernel(), [as_dtype(dtype).itemsize for dtype in dtypes]
            words = rolling.words_of(form.axis, sizes[0], sizes[1], shapes[0])
            places = {rolling.SOURCE: FIRST, rolling.SHIFT: SECOND, rolling.TARGET: RESULT}
        elif isinstance(form, Counted):
            function, words = counted.kernel(dtypes[0]), [0, 0, 0, 0, shapes[-1][0]]
            places = {
                counted.START: FIRST,
                counted.LIMIT: SECOND,
                counted.DELTA: THIRD,
                counted.TARGET: RESULT,
            }
        elif isinstance(form, Running):
            function, words = indexing.running(form, dtypes[0], shapes[0])
            places = {indexing.R_SOURCE: FIRST, indexing.R_TARGET: RESULT}
        else:
            assert isinstance(form, Library)  # as `has_routine` has said
            if not shapes[0][-1] or 0 in shapes[-1][:-2]:
                return []
            part = {"": lapack.WHOLE, "lower": lapack.LOWER, "upper": lapack.UPPER}[form.part]
            given = [walks[0], *walks[-2:]]
            words = lapack.words_of(form.name, given, form.adjoint, part)
            function = lapack.kernel("trtrs" if form.part else form.name, as_dtype(dtypes[0]).itemsize)
            places = {lapack.A: FIRST, lapack.Y: RESULT, lapack.WORK: WORK}
            places |= {lapack.B: SECOND} if len(walks) == 3 else {lapack.B: FIRST}
        return [Part(Step(function, words, tuple(places)), tuple([(k, 0) for k in places.values()]))]

    def call(self, made: calls.Sized, places: int, sizes: Sequence[int]) -> tuple[Step, object]:
        called = calls.Called(made, places, len(sizes))
        at = range(calls.OPERANDS, calls.OPERANDS + places)
        return Step(calls.kernel(), calls.words_of(called, sizes), tuple(at)), called

    def repeat(self) -> int:
        return repeat.kernel()

    def branch(self) -> int:
        return branch.kernel()

    def growing(
        self, slices: Sequence[calls.Shaped], walked: int, about: About
    ) -> tuple[list[int], Callable[[], object]]:
        return growing.words_of(slices, walked), lambda: growing.Stacks(slices, about)

    def part(self, itemsize: int) -> Step:
        return Step(growing.kernel(), [0, 0, 0, itemsize], (growing.P_PAIR, growing.P_LONG, growing.P_CELL))

    def leaving(
        self, cell: Array, spec: TensorSpec, shape: tuple[int, ...], is_nested: bool
    ) -> stacks.Leaving:
        return stacks.Leaving(cell, spec, shape, is_nested)

    def entering(
        self, cell: Array, dtype: np.dtype[Any], shape: tuple[int, ...], is_nested: bool
    ) -> stacks.Entering:
        return stacks.Entering(cell, dtype, shape, is_nested)

    def measure(self) -> int:
        return measuring.kernel()

    def poll(self) -> int:
        return repeat.poll()

    # memory

    def plan(self, arguments: int) -> PlanBuilder:
        return PlanBuilder(arguments)

    def constant(self, array: np.ndarray) -> tuple[int, Any]:
        return array.ctypes.data, array

    empty: Any = staticmethod(np.empty)  # without a call of Python, since plans ask for each result

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        return buffers.results.take(shape, dtype)

    def strided(self, root: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
        return buffers.strided(root, shape, strides, offset)

    def to_host(self, array: object) -> Any:
        return array

    def to_device(self, array: object) -> Any:
        return array

    # arguments

    def guard(self, expected: Sequence[Expected]) -> np.ndarray:
        return entry.make_guard(expected)

    def bind_check(self, guard: Array) -> Callable[..., Any]:
        return entry.bind_check(guard)

    def fitted(self, value: object) -> Any:
        if isinstance(value, np.ndarray) and value.ndim:
            plain = type(value) is np.ndarray and value.flags.c_contiguous and value.flags.aligned
            return value if plain else np.array(value, order="C")
        return value

    def register_holder(self, kind: type, attribute: str) -> bool:
        return entry.register_holder(kind, attribute)

    def prepare(self, found: Iterable[Any]) -> None:
        if dtypes.bfloat16 in found:
            entry.register_scalar(dtypes.bfloat16.numpy.type)


def _kernels(kernel: Kernel | Stages) -> list[Kernel]:
    return [stage.kernel for stage in kernel.stages] if isinstance(kernel, Stages) else [kernel]


def _nanoseconds(kernel: Kernel) -> float:
    """An estimate of the time that one element takes."""
    total = 0.05
    for statement in kernel.body:
        total += 0.9 if statement.fn in HEAVY else 0.06
    for access in (*kernel.inputs, *[store.access for store in kernel.outputs]):
        inner = access.strides[-1]
        total += 0.02 * access.dtype.itemsize if inner == "1" else 0.6 if inner == "s" else 0.0
    return total


def _ranges(loop: Loop | Nest, numbers: Mapping[str, int], nanoseconds: float) -> list[tuple[int, int]]:
    """Ranges of the split dimension, determined by the sizes only; none if sharing does not pay."""
    if isinstance(loop, Nest):
        return _shares(evaluate(loop.rows, numbers), loop.chunk(numbers), nanoseconds)
    chunk = loop.chunk(numbers)
    if loop.kernel.split == loop.kernel.rank - 1:
        chunk = -(-chunk // 64) * 64  # no two rows write to one cache line
    return _shares(loop.numbers(numbers)[loop.kernel.split], chunk, nanoseconds)


def _shares(extent: int, chunk: int, nanoseconds: float) -> list[tuple[int, int]]:
    """Ranges of the work, multiples of `chunk` except the last; none if sharing does not pay."""
    if nanoseconds < PARALLEL_NANOSECONDS:
        return []
    count = int(min(MOST_ROWS, max(8, nanoseconds // ROW_NANOSECONDS)))
    step = -(-extent // count)
    step = -(-step // chunk) * chunk
    return [(low, min(low + step, extent)) for low in range(0, extent, max(step, 1))]


def backend_of(device: str) -> Cpu:
    """The backend of "cpu"."""
    return _CPU


_CPU = Cpu()


def _staged(kernel: Stages) -> Source:
    from graphad.compiler.cpu.emit_stages import emit_stages  # many programs have no stages

    return emit_stages(kernel)
