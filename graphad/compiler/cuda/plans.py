"""Plans on a CUDA device: their rows are launches, products and loops, which one native call enqueues on the caller's stream.

A run writes the addresses of its arguments into the words of its launches and hands these to the driver, which copies them;
nothing waits for the device but a loop whose number of rounds is there. An instance belongs to one run at a time: the next
one, if it is on another stream, waits for what is on the stream of the one before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler import rows as table
from graphad.compiler.backend import Builder, Expected
from graphad.compiler.cuda import build, captures, epilogues, geometry, products, walk
from graphad.compiler.cuda.captures import BRANCH, ENDED, PRODUCT, REPEAT
from graphad.compiler.cuda.routines import ANSWER, CALL
from graphad.compiler.cuda.shared import MAX_DYNAMIC_SHARED_SIZE_BYTES, room
from graphad.compiler.cuda.written import Written
from graphad.compiler.rows import About, Row
from graphad.core.flags import flags
from graphad.core.frames import note_traced_line
from graphad.devices.array import DeviceArray
from graphad.devices.faults import DeviceError, told
from graphad.devices.library import address_of, library
from graphad.devices.streams import (
    WORKSPACE_BYTES,
    on,
    others,
    settled,
    wait_for,
    waited_for,
    workspace,
)

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

MISFIT = -3
TF32 = 3  # cuBLAS' CUBLAS_TF32_TENSOR_OP_MATH
_ONE: list[Any] = [np.ones(1, dtype) for dtype in products.DTYPES]
_ZERO: list[Any] = [np.zeros(1, dtype) for dtype in products.DTYPES]


class Plan(Builder):
    """Collects the rows of one native call."""

    def __init__(self, device: Cuda, arguments: int) -> None:
        self.device, self.arguments = device, arguments
        self.rows: list[Row] = []

    def add_row(self, row: Row) -> None:
        self.rows.append(row)

    def build(self, arena_bytes: int, release_lock: bool, guard: Sequence[Expected] | None) -> Image:
        return Image(self, arena_bytes, guard)


class Image:
    """The rows of a native call; each instance has its own memory."""

    def __init__(self, plan: Plan, arena_bytes: int, guard: Sequence[Expected] | None) -> None:
        self.device, self.rows, self.arena_bytes = plan.device, plan.rows, arena_bytes
        self.arguments = plan.arguments
        self.nodes = captures.nodes(plan.rows)
        self.has_products = any(_has(row, (PRODUCT, ENDED)) for row in plan.rows)
        self.has_routines = any(_has(row, (CALL,)) for row in plan.rows)
        self.checks = any(map(_checks, plan.rows))
        self.wanted = plan.device.wanted(guard or [(None, None)] * plan.arguments)

    def instance(self) -> Instance:
        return Instance(self)


class Memory:
    """The memory of an instance: its arena, counters that are 0 between launches, a word that is 0 while there is an answer."""

    def __init__(self, index: int, arena_bytes: int, counters: int) -> None:
        self.index = index
        self.arena = library().empty((max(arena_bytes, 1),), np.uint8)
        self.counters = library().zeros((1 + counters,), np.int32)
        self.verdict = self._next = int(self.counters.data.ptr)

    def counter(self) -> int:
        """The address of an unused counter."""
        self._next += 4
        return self._next


class Instance:
    """One set of memory for a native call."""

    def __init__(self, image: Image) -> None:
        self.image, self.index = image, image.device.index
        self._blocks = blocks = _Blocks(image)
        with on(self.index) as stream:
            memory = Memory(self.index, image.arena_bytes, _counters(image.rows))
            self._memory = memory
            rows = blocks.table(image.rows, memory)
            self._home: Any = stream  # to which its memory belongs
            self._stream: Any = stream  # of the run before; its counters are set to 0 on the first
        state = walk.new_state(image.has_products)
        self._addresses = (ctypes.c_int64 * max(image.arguments, 1))()
        patches = blocks.patches
        self._patches = (ctypes.c_int64 * max(len(patches), 1))(*patches)
        state[walk.TABLE], state[walk.ROWS] = rows
        state[walk.PATCHES] = ctypes.addressof(self._patches)
        state[walk.PATCH_COUNT] = len(patches) // walk.PATCH_WORDS
        state[walk.ADDRESSES] = ctypes.addressof(self._addresses)
        state[walk.VERDICT] = memory.verdict if image.checks else 0
        self._state, self._place, self._call = state, ctypes.addressof(state), walk.entry()
        self._captures = captures.Captures(image.nodes, state, blocks.loops, blocks.rows, blocks.replay)

    def run(self, *arguments: Any) -> int:
        """Enqueue all steps on the caller's stream; returns 0 or a status."""
        arrays, home, is_home = [], self._home, True
        places: list[Any] = []
        for x, kind in zip(arguments, self.image.wanted, strict=True):
            if type(x) is not DeviceArray:
                x = x.data  # once, since another thread may assign the variable at any moment
                if type(x) is not DeviceArray:
                    return MISFIT
            if kind is not None and (x.kind or x.described()) != kind:
                return MISFIT
            if x.stream is not home:
                is_home = False
            arrays.append(x)
            places.append(x.place or x.located())
        stream = settled(self.index)
        if stream is not None:
            return self._on(stream, () if is_home and stream is home else arrays, places)
        with on(self.index) as stream:
            return self._on(stream, arrays, places)

    def _on(self, stream: Any, arrays: Sequence[DeviceArray], places: list[Any]) -> int:
        """Enqueue all steps on a stream, which is that of the current block; `arrays` may be of another one."""
        strangers = others(stream, arrays) if arrays else ()
        if strangers or self._stream is not stream:
            for other in strangers if self._stream is stream else (*strangers, self._stream):
                wait_for(stream, other)
            self._stream = stream
        memory, is_rounded, status = 0, False, 0
        if self.image.has_products:
            memory, is_rounded = workspace(self.index, stream), flags.tensor_float_32
            key = (*places, memory, is_rounded)  # objects that a captured graph keeps alive
        else:
            key = tuple(places)
        if not self._captures.replays(key, stream):
            self._addresses[: len(places)] = places
            self._prepare(stream, memory, is_rounded)
            with _rounded(self._state[walk.HANDLE]) if is_rounded else nullcontext():
                status = self._captures.run(key, self.index, stream, self._call, self._place)
        if strangers or stream is not self._home:
            waited_for(stream, strangers if stream is self._home else (*strangers, self._home))
        return self._judged(status) if status else 0

    def _prepare(self, stream: Any, memory: int, is_rounded: bool) -> None:
        """Tell a walk its stream, and the libraries that it calls theirs."""
        state, cuda = self._state, library().cuda
        state[walk.STREAM], state[walk.ROUNDED] = stream.ptr, int(is_rounded)
        if memory:
            state[walk.HANDLE] = cuda.device.get_cublas_handle()
            state[walk.WORKSPACE], state[walk.WORKSPACE_BYTES] = memory, WORKSPACE_BYTES
        if self.image.has_routines:
            state[walk.SOLVER] = cuda.device.get_cusolver_handle()
            cuda.cusolver.setStream(state[walk.SOLVER], stream.ptr)

    def _judged(self, status: int) -> int:
        """A status of a loop. Raises: DeviceError: of the driver or a library, with the ops of the step and the user's line."""
        if status < walk.DRIVER:
            return status
        what, line = self._blocks.abouts[max(self._state[walk.FAILED], 0)]
        cuda, code = library().cuda, status & 0xFFFFFFFF
        homes = {walk.DRIVER: "driver", walk.BLAS: "cublas", walk.SOLVERS: "cusolver"}
        try:
            getattr(cuda, homes[status - code]).check_status(code)
            raise DeviceError(f"status {code}")
        except Exception as cause:  # CuPy's own, which know the names of statuses
            error = DeviceError(f"{what}: {told(code if status < walk.BLAS else 0, cause)}.")
            note_traced_line(error, line)
            raise error from cause

    def scalar(self, offset: int, dtype: np.dtype[Any]) -> _Scalar:
        """An object that copies the number at an offset of the arena to the host."""
        return _Scalar(self, offset, np.dtype(dtype))


class _Scalar:
    def __init__(self, instance: Instance, offset: int, dtype: np.dtype[Any]) -> None:
        self._instance, self._offset, self._dtype = instance, offset, dtype

    def __getitem__(self, key: object) -> DeviceArray:
        memory = self._instance._memory
        with on(memory.index):
            piece = memory.arena[self._offset : self._offset + self._dtype.itemsize]
            return DeviceArray(piece.view(self._dtype).reshape(()).copy(), memory.index)


class _Blocks:
    """The rows of an image as words that the native walk reads."""

    def __init__(self, image: Image) -> None:
        self.image, self.index = image, image.device.index
        self.patches: list[int] = []
        self.abouts = [About("plan", None)]
        self.loops: list[captures.Body] = []
        self.rows: captures.Table = 0, 0
        self.replay: captures.Replay | None = None
        self._keep: list[Any] = []

    def table(self, rows: Sequence[Row], memory: Memory) -> captures.Table:
        """A table of rows, behind which the host looks whether there is an answer, if some of them say so."""
        made = [self._row(row, memory, 0) for row in rows]
        self.rows = self._table(made)
        if not self.image.checks:
            return self.rows
        verdict = walk.addresses()["answer"], self._words([0, memory.verdict])[0], 1
        self.replay = self._replay(0, [verdict])
        return self._table([*made, verdict])

    def _table(self, made: Sequence[tuple[int, Any, int]], is_whole: bool = True) -> captures.Table:
        """A table of blocks; one that is walked by itself begins with what its products want."""
        words = [
            word for function, block, _ in made if function for word in (function, ctypes.addressof(block))
        ]
        if is_whole and self.image.has_products:
            words = [walk.addresses()["stream"], self._words([0])[1], *words]
        return self._words(words)[1], len(words) // 2

    def _words(self, words: Sequence[int]) -> tuple[Any, int]:
        """Words with an address, for as long as the instance is there."""
        block = (ctypes.c_int64 * max(len(words), 1))(*words)
        self._keep.append(block)
        return block, ctypes.addressof(block)

    def _row(self, row: Row, memory: Memory, around: int) -> tuple[int, Any, int]:
        """A row as the address of its function (0 for none), its block, and how many words stand before the row's own."""
        kind, about = walk.addresses(), around
        if row.about is not None:
            about = len(self.abouts)
            self.abouts.append(row.about)
        if row.function == PRODUCT:
            wide = row.words[products.WIDE]
            head = [about, walk.gemm(wide), _ONE[wide].ctypes.data, _ZERO[wide].ctypes.data]
            function = 0 if products.is_empty(row.words) else kind["product"]
            return function, self._block(head, row, memory), walk.PRODUCT_HEAD
        if row.function == ENDED:
            return kind["ended"], self._ended(row, memory, about), walk.ENDED_HEAD
        if row.function in (CALL, ANSWER):
            return kind["call" if row.function == CALL else "answer"], self._block([about], row, memory), 1
        if row.function in (REPEAT, BRANCH):
            function = kind["loop" if row.function == REPEAT else "branch"]
            return function, self._nested(row, memory, about), walk.LOOP_HEAD
        if not row.function:  # a rehearsal neither waits for kernels nor runs them
            return 0, self._block([about], row, memory), 1
        return self._launch(row, memory, about)

    def _block(self, head: Sequence[int], row: Row, memory: Memory, further: Sequence[int] = ()) -> Any:
        block, place = self._words([*head, *row.words, *further])
        for at in row.arena:
            block[len(head) + at.word] = memory.arena.data.ptr + at.offset
        for argument in row.arguments:
            self.patches += [place + 8 * (len(head) + argument.word), argument.argument, argument.offset]
        return block

    def _ended(self, row: Row, memory: Memory, about: int) -> Any:
        wide, described = row.words[epilogues.WIDE], epilogues.Description(row.words)
        # There is one: it was asked for when the row was made.
        algorithms = epilogues.algorithms(self.index, row.words) or ()
        self._keep += [described, algorithms]
        head = [about, address_of("cublasLtMatmul"), address_of("cublasLtMatmulDescSetAttribute")]
        head += [_ONE[wide].ctypes.data, _ZERO[wide].ctypes.data]
        head += [each.place for each in (*described.products, *described.layouts)]
        return self._block([*head, *map(ctypes.addressof, algorithms)], row, memory)

    def _launch(self, row: Row, memory: Memory, about: int) -> tuple[int, Any, int]:
        code = build.code_at(row.function)
        attributes = build.attributes_of(memory.index)
        shape = geometry.shape_of(code.kernel, row.words, attributes)
        further = [*shape.further, *([memory.counter()] if shape.has_counter else [])]
        further += [memory.verdict] if shape.checks else []
        function = code.function(memory.index, shape.is_narrow)
        if shape.asks:
            # As much as any launch of this kernel may want: the attribute belongs to the function, which plans share.
            assert not isinstance(code.kernel, Written)
            most = room(code.kernel, attributes)
            library().cuda.driver.funcSetAttribute(function, MAX_DYNAMIC_SHARED_SIZE_BYTES, most)
        blocks = min(shape.blocks, _resident(function, memory.index, shape)) if shape.blocks else 0
        head = [about, function, blocks, *shape.threads, shape.shared, 0]
        block = self._block(head, row, memory, further)
        first = ctypes.addressof(block) + 8 * walk.LAUNCH_HEAD
        block[walk.PARAMETERS] = self._words([first + 8 * k for k in range(len(row.words) + len(further))])[1]
        return (walk.addresses()["launch"] if blocks else 0), block, walk.LAUNCH_HEAD

    def _nested(self, row: Row, memory: Memory, about: int) -> Any:
        """The block of a loop or a branch, with the tables that it walks."""
        block = self._block([about], row, memory)
        inner = [[self._row(each, memory, about) for each in rows] for _, rows in row.tables]
        for (word, _), made in zip(row.tables, inner, strict=True):
            at = walk.LOOP_HEAD + word
            block[at : at + 2] = rows = self._table(made, False)
            if word == table.BODY and captures.has_own_body(row):
                self.loops.append(captures.Body(block, rows, self._table(made), self._replay(about)))
        for pointer in row.pointers:
            _, target, head = inner[pointer.table][pointer.row]
            block[walk.LOOP_HEAD + pointer.word] = ctypes.addressof(target) + 8 * (head + pointer.inner)
        return block

    def _replay(self, about: int, behind: Sequence[tuple[int, Any, int]] = ()) -> captures.Replay:
        """A step that replays what is captured later, in a table with what comes behind."""
        block, _ = self._words([about, 0])
        made = [(walk.addresses()["replay"], block, 1), *behind]
        return captures.Replay(block, self._table(made, False))


@contextmanager
def _rounded(handle: int) -> Iterator[None]:
    """A block whose products of float32 are in TF32; the handle is CuPy's, which sets its own modes."""
    cublas = library().cuda.cublas
    cublas.setMathMode(handle, TF32)
    try:
        yield
    finally:
        cublas.setMathMode(handle, cublas.CUBLAS_DEFAULT_MATH)


def _has(row: Row, functions: Sequence[int]) -> bool:
    return row.function in functions or any(
        _has(inner, functions) for _, rows in row.tables for inner in rows
    )


def _checks(row: Row) -> bool:
    """Whether a row says, in a word that is read at the end of the run, that there is no answer."""
    if row.function > 0:
        kernel = build.code_at(row.function).kernel
        return isinstance(kernel, Written) and kernel.checks
    return any(_checks(inner) for _, rows in row.tables for inner in rows)


def _counters(rows: Sequence[Row]) -> int:
    return sum(1 + sum(_counters(inner) for _, inner in row.tables) for row in rows)


def _resident(function: int, index: int, shape: geometry.Shape) -> int:
    """The number of blocks of a kernel that a device runs at once."""
    threads = shape.threads[0] * shape.threads[1]
    each = library().cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, shape.shared)
    return max(1, int(each)) * int(build.attributes_of(index)["MultiProcessorCount"])
