"""Plans on a CUDA device: their rows are launches, products and loops, put one after another on the stream of the caller.

A run writes the addresses of its arguments into the words of its launches and hands these to the driver, which copies them;
nothing waits for the device but a loop whose number of rounds is there. An instance belongs to one run at a time: the next
one, if it is on another stream, waits for an event of the one before.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.compiler import rows as table
from graphad.compiler.backend import Builder
from graphad.compiler.cuda import build, geometry, products
from graphad.compiler.rows import Row
from graphad.core.errors import GraphadError
from graphad.core.tensor import Handle
from graphad.devices.array import DeviceArray
from graphad.devices.library import library

PRODUCT, REPEAT = -1, -2  # addresses of what is no kernel
MISFIT = -3


class DeviceError(GraphadError, RuntimeError):
    """The device or its driver refused a step of a plan."""


class Plan(Builder):
    """Collects the rows of one native call."""

    def __init__(self, device: Any, arguments: int) -> None:
        self.device, self.arguments = device, arguments
        self.rows: list[tuple[Row, str]] = []
        self._about = ""

    def about(self, what: str) -> None:
        self._about = what

    def add_row(self, row: Row) -> None:
        self.rows.append((row, self._about))

    def build(self, arena_bytes: int, release_lock: bool, guard: Any) -> Image:
        return Image(self, arena_bytes, guard)


class Image:
    """The rows of a native call, of which each instance has its own memory."""

    def __init__(self, plan: Plan, arena_bytes: int, guard: Any) -> None:
        self.device, self.rows, self.arena_bytes = plan.device, plan.rows, arena_bytes
        self.check: Callable[..., bool] | None = None if guard is None else plan.device.bind_check(guard)

    def instance(self) -> Instance:
        return Instance(self)


class Memory:
    """Where an instance keeps what its steps need: its arena, and counters that are 0 between launches."""

    def __init__(self, index: int, arena_bytes: int, counters: int) -> None:
        self.index = index
        with library().cuda.Device(index):
            self.arena = library().empty((max(arena_bytes, 1),), np.uint8)
            self.counters = library().zeros((max(counters, 1),), np.int32)
        self._next: int = self.counters.data.ptr

    def counter(self) -> int:
        """The address of one that nobody else has."""
        self._next += 4
        return self._next - 4


class Instance:
    """One set of memory for a native call."""

    def __init__(self, image: Image) -> None:
        self.image, self.index = image, image.device.index
        memory = Memory(self.index, image.arena_bytes, _counters([row for row, _ in image.rows]))
        self._memory = memory
        with library().cuda.Device(self.index):
            self._steps = [make(row, memory, about) for row, about in image.rows]
        self._stream: int | None = None
        self._event: Any = None

    def run(self, *arguments: Any) -> int:
        """Put all steps on the caller's stream: 0, or why not."""
        if self.image.check is not None and not self.image.check(*arguments):
            return MISFIT
        addresses = [(x.data if isinstance(x, Handle) else x).held.data.ptr for x in arguments]
        cuda = library().cuda
        with cuda.Device(self.index):
            stream = cuda.get_current_stream()
            if self._stream != stream.ptr:
                if self._event is not None:
                    stream.wait_event(self._event)
                self._stream = stream.ptr
            for step in self._steps:
                step.patch(addresses)
                status = step.run(stream.ptr)
                if status:
                    return status
            if stream.ptr:  # who is on the stream of all threads comes in turn anyway
                self._event = stream.record()
        return 0

    def scalar(self, offset: int, dtype: np.dtype[Any]) -> Any:
        """What gives a copy of the number at a place of the arena."""
        return _Scalar(self, offset, np.dtype(dtype))


class _Scalar:
    def __init__(self, instance: Instance, offset: int, dtype: np.dtype[Any]) -> None:
        self._instance, self._offset, self._dtype = instance, offset, dtype

    def __getitem__(self, key: Any) -> DeviceArray:
        memory = self._instance._memory
        with library().cuda.Device(memory.index):
            piece = memory.arena[self._offset : self._offset + self._dtype.itemsize]
            return DeviceArray(piece.view(self._dtype).reshape(()).copy(), memory.index)


class Step:
    """A row with words of its own."""

    def __init__(self, row: Row, memory: Memory, about: str, further: Sequence[int] = ()) -> None:
        self.about = about
        count = len(row.words) + len(further)
        self.words = (ctypes.c_int64 * max(count, 1))(*row.words, *further)
        self.arguments = row.arguments
        for place in row.arena:
            self.words[place.word] = memory.arena.data.ptr + place.offset

    def patch(self, addresses: Sequence[int]) -> None:
        """Let the words that are addresses of arguments be these."""
        for place in self.arguments:
            self.words[place.word] = addresses[place.argument] + place.offset

    def run(self, stream: int) -> int:
        raise NotImplementedError

    def failed(self, cause: Exception) -> DeviceError:
        return DeviceError(f"{self.about or 'plan'}: the device refused the step ({cause}).")


class Launch(Step):
    """A kernel."""

    def __init__(self, row: Row, memory: Memory, about: str) -> None:
        code = build.code_at(row.function)
        shape = geometry.shape_of(code.kernel, row.words)
        further = [*shape.further, *([memory.counter()] if shape.has_counter else [])]
        super().__init__(row, memory, about, further)
        self.blocks, self.threads, self.shared = shape.blocks, shape.threads, shape.shared
        self.function = code.function(memory.index, shape.is_narrow)
        if self.blocks:
            self.blocks = min(self.blocks, _resident(self.function, memory.index, shape))
        first = ctypes.addressof(self.words)
        self._parameters = (ctypes.c_void_p * len(self.words))(
            *[first + 8 * k for k in range(len(self.words))]
        )
        self._place = ctypes.addressof(self._parameters)
        self._call = library().cuda.driver.launchKernel

    def run(self, stream: int) -> int:
        if not self.blocks:
            return 0
        try:
            self._call(
                self.function, self.blocks, 1, 1, *self.threads, 1, self.shared, stream, self._place, 0
            )
        except Exception as cause:  # the driver's errors are CuPy's own
            raise self.failed(cause) from cause
        return 0


class Product(Step):
    """A matrix product."""

    def run(self, stream: int) -> int:
        try:
            products.run(self.words, stream)
        except Exception as cause:  # cuBLAS' errors are CuPy's own
            raise self.failed(cause) from cause
        return 0


class Loop(Step):
    """Rounds of a table of steps, until a number or a test of them says that it is over."""

    def __init__(self, row: Row, memory: Memory, about: str) -> None:
        super().__init__(row, memory, about)
        self.tables = [[make(inner, memory, about) for inner in rows] for _, rows in row.tables]
        self.targets = {p.word: (self.tables[p.table][p.row].words, p.inner) for p in row.pointers}
        self._count = np.zeros((), np.int32)

    def patch(self, addresses: Sequence[int]) -> None:
        super().patch(addresses)
        for steps in self.tables:
            for step in steps:
                step.patch(addresses)

    def run(self, stream: int) -> int:
        words = self.words
        limit = int(words[table.FIXED])
        if words[table.LIMIT]:
            limit = int(_read(words[table.LIMIT], f"i{words[table.LIMIT_BYTES]}", stream))
        rounds, most, steps = max(limit, 0), words[table.MOST], words[table.STEPS]
        if steps >= 0 and rounds != steps:
            return table.WRONG_STEPS
        if most >= 0 and limit > most:
            return table.TOO_LONG
        moves = []
        for k in range(words[table.MOVES]):
            at = table.MOVE + table.MOVE_WORDS * k
            held, inner = self.targets[at]
            held[inner] = words[at + 1] - (max(limit - 1, 0) * words[at + 2] if words[table.REVERSE] else 0)
            moves.append((held, inner, words[at + 2]))
        count = 0
        while count < rounds:
            if words[table.ANSWER]:
                status = _walk(self.tables[1], stream)
                if status:
                    return status
                if not _read(words[table.ANSWER], "u1", stream):
                    break
            status = _walk(self.tables[0], stream)
            if status:
                return status
            for held, inner, stride in moves:
                held[inner] += stride
            count += 1
        self._count[...] = count
        runtime = library().cuda.runtime
        runtime.memcpyAsync(
            words[table.COUNT], self._count.ctypes.data, 4, runtime.memcpyHostToDevice, stream
        )
        return 0


def make(row: Row, memory: Memory, about: str) -> Step:
    """A row as what runs it."""
    if row.function == PRODUCT:
        return Product(row, memory, about)
    if row.function == REPEAT:
        return Loop(row, memory, about)
    if not row.function:  # who rehearses a plan does not wait for its kernels, and does not run it
        return Step(row, memory, about)
    return Launch(row, memory, about)


def _walk(steps: Sequence[Step], stream: int) -> int:
    for step in steps:
        status = step.run(stream)
        if status:
            return status
    return 0


def _counters(rows: Sequence[Row]) -> int:
    return sum(1 + sum(_counters(inner) for _, inner in row.tables) for row in rows)


def _resident(function: int, index: int, shape: geometry.Shape) -> int:
    """How many blocks of a kernel a device runs at once."""
    threads = shape.threads[0] * shape.threads[1]
    each = library().cuda.driver.occupancyMaxActiveBlocksPerMultiprocessor(function, threads, shape.shared)
    return max(1, int(each)) * int(library().cuda.Device(index).attributes["MultiProcessorCount"])


def _read(address: int, dtype: str, stream: int) -> Any:
    """The number at an address, when all that comes before on the stream is done."""
    found, runtime = np.zeros((), dtype), library().cuda.runtime
    runtime.memcpyAsync(found.ctypes.data, address, found.itemsize, runtime.memcpyDeviceToHost, stream)
    runtime.streamSynchronize(stream)
    return found[()]
