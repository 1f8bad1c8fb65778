"""A device whose memory the host cannot access: NumPy arrays behind handles, at device addresses.

NumPy runs kernels, copies, products and loops on the memory at the addresses of a plan. An address that is not the device's,
such as a host address, is a `DeviceFault`; so is reading a device array in a Python step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphad.compiler import rows as table
from graphad.compiler.backend import Backend, Builder, Expected, Part, Walk
from graphad.compiler.rows import Row, Step
from graphad.compiler.source import Source
from graphad.core.tensor import Handle
from graphad.kernels import forms, scalars, stages
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop
from graphad.kernels.forms import BROADCAST, CONTIGUOUS, IN, SCALAR, TMP, Access, Kernel
from graphad.kernels.stages import Nest, Stages, bases_of

MISFIT = -3
FIRST = 1 << 52  # no address of the host is as high
REDUCTIONS: dict[str, np.ufunc] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
    "and": np.logical_and,
    "or": np.logical_or,
}


class DeviceFault(Exception):
    """An address was used on the wrong side."""


class DeviceArray:
    """A handle of memory on the device, in C order."""

    __slots__ = ("_memory", "address", "dtype", "shape")

    def __init__(self, memory: np.ndarray, address: int, shape: tuple[int, ...], dtype: Any) -> None:
        self._memory, self.address, self.shape, self.dtype = memory, address, shape, np.dtype(dtype)

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise DeviceFault("the host looked into an array of the device")

    def values(self) -> np.ndarray:
        """The values, as the device sees them."""
        count = int(np.prod(self.shape, dtype=int)) * self.dtype.itemsize
        return self._memory[:count].view(self.dtype).reshape(self.shape)

    def reshape(self, shape: tuple[int, ...]) -> DeviceArray:
        return DeviceArray(self._memory, self.address, shape, self.dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def copy(self) -> DeviceArray:
        return DeviceArray(self._memory.copy(), self.address, self.shape, self.dtype)

    def __getitem__(self, index: Any) -> DeviceArray:
        if index != () or self.shape:
            raise DeviceFault(f"the host took {index} of an array of the device")
        return self


class _Block:
    """A row with its own memory."""

    def __init__(self, row: Row, arena: int) -> None:
        self.function, self.words, self.arguments = row.function, list(row.words), row.arguments
        for place in row.arena:
            self.words[place.word] = arena + place.offset
        self.tables = [[_Block(inner, arena) for inner in rows] for _, rows in row.tables]
        self.targets = {p.word: (self.tables[p.table][p.row].words, p.inner) for p in row.pointers}

    def patch(self, addresses: Sequence[int]) -> None:
        for place in self.arguments:
            self.words[place.word] = addresses[place.argument] + place.offset
        for rows in self.tables:
            for inner in rows:
                inner.patch(addresses)


class _Instance:
    def __init__(self, plan: _Plan) -> None:
        self.plan, device = plan, plan.device
        self.arena = device.empty((plan.arena_bytes,), np.uint8)
        self.blocks = [_Block(row, self.arena.address) for row in plan.rows]

    def run(self, *arguments: Any) -> int:
        device = self.plan.device
        arrays = [x.data if isinstance(x, Handle) else x for x in arguments]
        if self.plan.guard is not None and not device.bind_check(self.plan.guard)(*arguments):
            return MISFIT
        for x in arrays:
            if not isinstance(x, DeviceArray):
                raise DeviceFault(f"a native call was given a {type(x).__name__}")
        for block in self.blocks:
            block.patch([x.address for x in arrays])
        return device.walk(self.blocks)

    def scalar(self, offset: int, dtype: np.dtype[Any]) -> Any:
        device, address = self.plan.device, self.arena.address + offset

        class Scalar:
            def __getitem__(self, index: Any) -> DeviceArray:
                return device.to_device(device.at(address, dtype, (), ()))

        return Scalar()


class _Plan(Builder):
    """The rows of one native call, and its image."""

    def __init__(self, device: FakeDevice, arguments: int) -> None:
        self.device, self.arguments = device, arguments
        self.rows: list[Row] = []

    def add_row(self, row: Row) -> None:
        self.rows.append(row)

    def build(self, arena_bytes: int, release_lock: bool, guard: Any) -> _Plan:
        self.arena_bytes, self.guard = arena_bytes, guard
        return self

    def instance(self) -> _Instance:
        return _Instance(self)


class FakeDevice(Backend):
    """A device implemented with NumPy. `steps` counts the steps that it ran, `copies` the transfers from and to the host."""

    name = "fake"
    is_host = False
    has_stages = True
    product_dtypes = frozenset(("float32", "float64"))
    copied = frozenset((1, 2, 4, 8, 16))
    misfits = frozenset((MISFIT,))

    def __init__(self) -> None:
        self.steps = self.copies = 0
        self._memory: dict[int, np.ndarray] = {}  # by address
        self._next = FIRST
        self._functions: list[Callable[[_Block], int]] = []
        self._kernels: dict[Kernel | Stages, int] = {}

    # memory

    def empty(self, shape: tuple[int, ...], dtype: Any) -> DeviceArray:
        size = int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize
        raw = np.full(size + 64, 0xCB, np.uint8)  # not 0, so that unwritten memory shows
        memory = raw[-raw.ctypes.data % 64 :][:size]
        address, self._next = self._next, self._next + size // 256 * 256 + 512
        self._memory[address] = memory
        return DeviceArray(memory, address, shape, dtype)

    take = empty

    def at(self, address: int, dtype: Any, shape: Sequence[int], strides: Sequence[int]) -> np.ndarray:
        """The array at an address, with strides in bytes; it must lie within one allocation."""
        dtype = np.dtype(dtype)
        if 0 in shape:
            return np.empty(shape, dtype)
        spans = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        low, high = sum(min(s, 0) for s in spans), sum(max(s, 0) for s in spans) + dtype.itemsize
        for start, memory in self._memory.items():
            if start <= address + low and address + high <= start + len(memory):
                rest = memory[address - start :]
                whole = np.lib.stride_tricks.as_strided(rest[: dtype.itemsize].view(dtype), shape, strides)
                return whole if not low else np.lib.stride_tricks.as_strided(whole, shape, strides)
        side = "the host's" if address < FIRST else "outside of what it holds"
        raise DeviceFault(f"a step of the device reaches address {address:#x}, which is {side}")

    def constant(self, array: np.ndarray) -> tuple[int, Any]:
        made = self.to_device(array)
        return made.address, made

    def strided(
        self, root: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> DeviceArray:
        return self.to_device(self.at(root.address + offset, root.dtype, shape, strides))

    def to_host(self, array: Any) -> Any:
        self.copies += 1
        if not isinstance(array, DeviceArray):
            raise DeviceFault(f"a {type(array).__name__} was brought to the host")
        return array.values().copy()[()] if not array.shape else array.values().copy()

    def to_device(self, array: Any) -> DeviceArray:
        self.copies += 1
        if isinstance(array, DeviceArray):
            raise DeviceFault("an array of the device was brought there")
        made = self.empty(np.shape(array), array.dtype)
        made.values()[...] = array
        return made

    # what it supports, and its code

    def supported(self, form: Any) -> Any:
        source = form.source if isinstance(form, forms.Reduce) else form
        if isinstance(source, forms.Map):
            dtypes = [*source.inputs, *[statement.dtype for statement in source.body]]
            if source.scalars or any(dtype.is_complex for dtype in dtypes):
                return None
        return form

    def why_not(self, kernel: Kernel | Stages) -> str | None:
        return None

    def emit(self, kernel: Kernel | Stages) -> Source:
        return Source(kernel.text(), kernel.digest())

    def find(self, kernel: Kernel | Stages) -> int | None:
        return self.build(kernel)

    def build(self, kernel: Kernel | Stages) -> int:
        if kernel not in self._kernels:
            run = self._run_stages if isinstance(kernel, Stages) else self._run_kernel
            self._kernels[kernel] = self._function(lambda block: run(kernel, block.words))  # type: ignore[operator]
        return self._kernels[kernel]

    def request(self, kernel: Kernel | Stages, callback: Callable[[int | None, str | None], None]) -> bool:
        callback(self.build(kernel), None)
        return True

    def _function(self, run: Callable[[_Block], Any]) -> int:
        self._functions.append(lambda block: run(block) or 0)
        return len(self._functions)

    def walk(self, blocks: Sequence[_Block]) -> int:
        for block in blocks:
            self.steps += 1
            status = self._functions[block.function - 1](block)
            if status:
                return status
        return 0

    # launches

    def work(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> float:
        return float(loop.elements(numbers))

    def block_rows(self, nest: Nest, numbers: Mapping[str, int]) -> int:
        return 3

    def workspace(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> int:
        if not isinstance(loop, Nest):
            return 0
        held = loop.held(numbers, self.block_rows(loop, numbers))
        return held.first + held.total

    def launch(
        self, builder: Any, loop: Loop | Nest, numbers: Mapping[str, int], row: Row, nanoseconds: float
    ) -> int:
        builder.add_row(row)
        return 0

    def _run_stages(self, kernel: Stages, words: Sequence[int]) -> None:
        rows, block, bases = words[stages.ROWS], words[stages.BLOCK], bases_of(kernel)
        for low in range(0, rows, block):
            for k, stage in enumerate(kernel.stages):
                if not stage.is_last:
                    self._run_stage(kernel, k, words, low, min(low + block, rows))
        for k, stage in enumerate(kernel.stages):
            if stage.is_last:
                self._run_kernel(stage.kernel, words[bases.stages[k] : bases.scales[k]])

    def _run_stage(self, kernel: Stages, k: int, words: Sequence[int], low: int, high: int) -> None:
        """A stage over a block of rows as if these were all rows: pointers point to the start of the block."""
        stage, bases = kernel.stages[k], bases_of(kernel)
        layout, scale = block_layout(stage.kernel), words[bases.scales[k]]
        mine = list(words[bases.stages[k] : bases.scales[k]])
        mine[layout.extents[0]] = (high - low) * scale
        accesses = [*stage.kernel.inputs, *[store.access for store in stage.kernel.outputs]]
        for operand, (access, word) in enumerate(
            zip(accesses, (*layout.inputs, *layout.outputs), strict=True)
        ):
            value, kind = stage.made[operand], access.strides[0]
            step = 0 if kind == BROADCAST else 1 if kind == CONTIGUOUS else mine[layout.strides[operand, 0]]
            if value != stages.OUTSIDE and kernel.held[value]:
                mine[word] += words[stages.WORKSPACE]
            else:
                mine[word] += low * scale * step * access.dtype.itemsize
        self._run_kernel(stage.kernel, mine)

    def _run_kernel(self, kernel: Kernel, words: Sequence[int]) -> None:
        layout = block_layout(kernel)
        extents = [words[word] for word in layout.extents]
        kept = [d for d in range(kernel.rank) if d not in kernel.reduced]
        count = len(kernel.inputs)

        def operand(k: int, address: int, access: Access, dims: Sequence[int]) -> np.ndarray:
            steps = []
            for d in dims:
                kind = access.strides[d]
                step = 0 if kind == BROADCAST else 1 if kind == CONTIGUOUS else words[layout.strides[k, d]]
                steps.append(step * access.dtype.itemsize)
            return self.at(address, access.dtype.numpy, [extents[d] for d in dims], steps)

        every = range(kernel.rank)
        values: dict[forms.Ref, Any] = {}
        for k, access in enumerate(kernel.inputs):
            values[IN, k] = operand(k, words[layout.inputs[k]], access, every)
        for k, dtype in enumerate(kernel.scalars):
            pattern = np.array([words[layout.scalars[k]]], np.int64).view(np.uint8)
            values[SCALAR, k] = pattern[: dtype.itemsize].view(dtype.numpy)[0]
        for k, s in enumerate(kernel.body):
            values[TMP, k] = scalars.apply(s.fn, [values[ref] for ref in s.args], s.dtype)
        found = []
        for store in kernel.outputs:
            value = np.broadcast_to(values[store.ref], extents)
            if store.combine is not None:
                start = np.asarray(scalars.identity_of(store.combine, store.access.dtype)).astype(value.dtype)
                wide = np.float64 if store.combine == "add" and value.dtype == np.float32 else value.dtype
                value = REDUCTIONS[store.combine].reduce(
                    value, axis=kernel.reduced, initial=start, dtype=wide
                )
            found.append(np.array(value))
        for j, (store, value) in enumerate(zip(kernel.outputs, found, strict=True)):
            dims = every if store.combine is None else kept
            operand(count + j, words[layout.outputs[j]], store.access, dims)[...] = value

    # library steps

    def copy(self, itemsize: int, shape: Sequence[int], target: Sequence[int], source: Sequence[int]) -> Step:
        def run(block: _Block) -> None:
            found = self.at(block.words[0], f"V{itemsize}", shape, source).copy()
            self.at(block.words[1], f"V{itemsize}", shape, target)[...] = found

        return Step(self._function(run), [0, 0], (0, 1))

    def fill(self, value: np.ndarray, shape: Sequence[int], target: Sequence[int]) -> Step:
        def run(block: _Block) -> None:
            self.at(block.words[0], value.dtype, shape, target)[...] = value

        return Step(self._function(run), [0], (0,))

    def products(
        self, dtype: str, a: Walk, b: Walk, c: Walk, is_shared: bool, has_sizes: bool = False
    ) -> list[Part]:
        def run(block: _Block) -> None:
            x, y, z = (self.at(at, dtype, *walk) for at, walk in zip(block.words, (a, b, c), strict=True))
            z[...] = x @ y

        return [Part(Step(self._function(run), [0, 0, 0], (0, 1, 2)), ((0, 0), (1, 0), (2, 0)))]

    def repeat(self) -> int:
        return self._function(self._loop)

    def _loop(self, block: _Block) -> int:
        words = block.words
        limit = words[table.FIXED]
        if words[table.LIMIT]:
            limit = int(self.at(words[table.LIMIT], f"i{words[table.LIMIT_BYTES]}", (), ()))
        rounds, most, steps = max(limit, 0), words[table.MOST], words[table.STEPS]
        if steps >= 0 and rounds != steps:
            return table.WRONG_STEPS
        if most >= 0 and limit > most:
            return table.TOO_LONG
        moves = []
        for k in range(words[table.MOVES]):
            at = table.MOVE + table.MOVE_WORDS * k
            held, inner = block.targets[at]
            held[inner] = words[at + 1] - (max(limit - 1, 0) * words[at + 2] if words[table.REVERSE] else 0)
            moves.append((held, inner, words[at + 2]))
        count = 0
        while count < rounds:
            if words[table.ANSWER]:
                status = self.walk(block.tables[1])
                if status or not self.at(words[table.ANSWER], np.uint8, (), ()):
                    break
            status = self.walk(block.tables[0])
            if status:
                return status
            for held, inner, stride in moves:
                held[inner] += stride
            count += 1
        self.at(words[table.COUNT], np.int32, (), ())[...] = count
        return 0

    def poll(self) -> int:
        return 0

    def plan(self, arguments: int) -> _Plan:
        return _Plan(self, arguments)

    # arguments

    def guard(self, expected: Sequence[Expected]) -> Any:
        return list(expected)

    def bind_check(self, guard: Any) -> Callable[..., bool]:
        def check(*arguments: Any) -> bool:
            for argument, (dtype, shape) in zip(arguments, guard, strict=True):
                x = argument.data if isinstance(argument, Handle) else argument
                if not isinstance(x, DeviceArray) or dtype not in (None, x.dtype):
                    return False
                if shape is not None and tuple(shape) != x.shape:
                    return False
            return True

        return check

    def fitted(self, value: Any) -> Any:
        return value

    def register_holder(self, kind: type, attribute: str) -> None:
        pass

    def prepare(self, dtypes: Iterable[Any]) -> None:
        pass
