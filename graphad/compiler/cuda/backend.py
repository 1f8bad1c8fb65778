"""The backend of a CUDA device: kernels by numba-cuda, products by cuBLAS, memory and streams by CuPy.

Its arrays are `DeviceArray`s, which evals accept, so that a step in Python runs on the device too, as far as CuPy has the
functions. Nothing here imports CuPy or a driver before a device is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.backend import Backend, Expected, Part, Walk
from graphad.compiler.cuda import (
    build,
    complexes,
    epilogues,
    geometry,
    in_turn,
    indexed,
    ordered,
    placed,
    products,
    routines,
    walk,
)
from graphad.compiler.cuda.captures import BRANCH, ENDED, PRODUCT, REPEAT
from graphad.compiler.cuda.compile import why_unavailable
from graphad.compiler.cuda.emit import has_function, supports
from graphad.compiler.cuda.plans import Plan
from graphad.compiler.cuda.shared import arrays, threads_of
from graphad.compiler.endings import Ending
from graphad.compiler.rows import Row, Step
from graphad.compiler.source import Source
from graphad.core.dtypes import as_dtype
from graphad.core.tensor import Handle
from graphad.devices.array import DeviceArray, device_array, kind_of
from graphad.devices.library import library
from graphad.devices.streams import on, settled
from graphad.kernels import forms
from graphad.kernels.block import block_layout
from graphad.kernels.collapse import Loop, Operand, collapse
from graphad.kernels.forms import Form, Kernel, Map, Reduce
from graphad.kernels.stages import Nest, Stages, bases_of

if TYPE_CHECKING:
    from graphad.devices.interface import Stream

MISFIT = -3
LAUNCH_NANOSECONDS = 3000.0
_BITS = {1: "uint8", 2: "uint16", 4: "uint32", 8: "uint64"}
_WORD = 8  # bytes


class AnyShape:
    """Equal to the kinds of all arrays in C order of a device and a dtype."""

    def __init__(self, index: int, dtype: np.dtype[Any]) -> None:
        self._begin = index, dtype.num

    def __eq__(self, kind: object) -> bool:
        return isinstance(kind, tuple) and kind[:2] == self._begin and bool(kind[-1])

    __hash__ = None  # type: ignore[assignment]  # kinds that differ equal it


class Cuda(Backend):
    """One device of this process."""

    is_host = False
    has_stages = has_endings = has_routines_in_loops = has_branches = True
    expands = True
    runs_evals = True
    product_dtypes = frozenset(products.DTYPES)
    copied = frozenset((*_BITS, 2 * _WORD))
    misfits = frozenset((MISFIT, walk.NO_ANSWER))

    def __init__(self, index: int) -> None:
        self.index, self.name = index, f"cuda:{index}"
        # Numbers of two words on the device, with their addresses.
        self._pairs: dict[bytes, tuple[int, Any]] = {}

    # what it supports

    def supported(self, form: Form) -> Form | None:
        maps = [form] if isinstance(form, Map) else [form.source] if isinstance(form, Reduce) else []
        for m in maps:
            dtypes = [*m.inputs, *m.scalars, *[statement.dtype for statement in m.body]]
            if any(dtype.is_complex for dtype in dtypes):
                assert isinstance(form, Map | Reduce)
                return complexes.supported(form)
            if m.scalars:
                return None
            if not all(has_function(s.fn, m.dtype_of(s.args[-1])) for s in m.body):
                return None
        return form

    def why_not(self, kernel: Kernel | Stages) -> str | None:
        kernels = [stage.kernel for stage in kernel.stages] if isinstance(kernel, Stages) else [kernel]
        count = bases_of(kernel).count if isinstance(kernel, Stages) else block_layout(kernel).count
        if 8 * (count + 2) > geometry.PARAMETER_BYTES:
            return f"a kernel with {count} words of arguments is more than a launch takes"
        if not threads_of(kernel):
            return f"a kernel of {len(arrays(kernel))} reductions wants more shared memory than a block has"
        return next((reason for each in kernels if (reason := supports(each)) is not None), None)

    # emit and compile

    def emit(self, kernel: Kernel | Stages) -> Source:
        return build.text_of(kernel)

    def find(self, kernel: build.AnyKernel) -> int | None:
        return build.find(kernel, build.processor_of(self.index))

    def build(self, kernel: build.AnyKernel) -> int:
        return build.build(kernel, build.processor_of(self.index))

    def request(self, kernel: Kernel | Stages, callback: Callable[[int | None, str | None], None]) -> bool:
        reason = why_unavailable()
        if reason is not None:
            callback(None, reason)
            return True
        return build.request(kernel, build.processor_of(self.index), callback)

    # launch rows

    def work(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> float:
        return LAUNCH_NANOSECONDS + 0.005 * loop.elements(numbers)

    def block_rows(self, nest: Nest, numbers: Mapping[str, int]) -> int:
        return 1

    def workspace(self, loop: Loop | Nest, numbers: Mapping[str, int]) -> int:
        if isinstance(loop, Nest):
            return geometry.nest_workspace(loop, numbers, build.attributes_of(self.index))
        return geometry.workspace(loop.kernel, loop.numbers(numbers))

    def launch(
        self, builder: Any, loop: Loop | Nest, numbers: Mapping[str, int], row: Row, nanoseconds: float
    ) -> int:
        builder.add_row(row)
        return 0

    # library steps

    def copy(self, itemsize: int, shape: Sequence[int], target: Sequence[int], source: Sequence[int]) -> Step:
        if itemsize == 2 * _WORD:  # two words beside each other, as kernels have no larger ones
            shape, target, source = (*shape, 2), (*target, _WORD), (*source, _WORD)
        dtype = as_dtype(_BITS[min(itemsize, _WORD)])
        itemsize = dtype.itemsize
        walks = [Operand(tuple(shape), tuple([n // itemsize for n in steps])) for steps in (source, target)]
        loop = collapse(forms.identity_map(dtype), tuple(shape), walks[:1], outputs=walks[1:])
        layout = block_layout(loop.kernel)
        return Step(self.build(loop.kernel), loop.words(), (*layout.inputs, *layout.outputs))

    def fill(self, value: np.ndarray, shape: Sequence[int], target: Sequence[int]) -> Step:
        if value.dtype.itemsize == 2 * _WORD:
            both = np.ravel(value).view(np.uint64)
            if both[0] != both[1]:
                return self._spread(both, shape, target)
            value, shape, target = both[:1].reshape(()), (*shape, 2), (*target, _WORD)
        dtype = as_dtype(_BITS[value.dtype.itemsize])
        walk = Operand(tuple(shape), tuple([n // value.dtype.itemsize for n in target]))
        form = Map((), (dtype,), (), ((forms.SCALAR, 0),))
        loop = collapse(form, tuple(shape), [], outputs=[walk])
        numbers = loop.words(scalars=[forms.scalar_word(np.asarray(value).view(dtype.numpy), dtype)])
        return Step(self.build(loop.kernel), numbers, block_layout(loop.kernel).outputs)

    def _spread(self, both: np.ndarray, shape: Sequence[int], target: Sequence[int]) -> Step:
        """A copy of two words to all places."""
        key = both.tobytes()
        if key not in self._pairs:
            self._pairs[key] = self.constant(both)
        step = self.copy(2 * _WORD, shape, target, [0] * len(shape))
        words, (source, place) = [*step.words], step.places
        words[source] = self._pairs[key][0]
        return Step(step.function, words, (place,))

    def products(
        self, dtype: str, a: Walk, b: Walk, c: Walk, is_shared: bool, has_sizes: bool = False
    ) -> list[Part]:
        words = products.words_of(dtype, a, b, c)
        if words is None:
            return []
        if not words[products.K] and not products.is_empty(words):
            # Sums of nothing: what cuBLAS does without an operand's memory is not documented.
            return [Part(self.fill(np.zeros((), dtype), *c), ((2, 0),))]
        return [Part(Step(PRODUCT, words, products.PLACES), ((0, 0), (1, 0), (2, 0)))]

    def ends(self, ending: Ending) -> bool:
        return True

    def ended(self, dtype: str, a: Walk, b: Walk, c: Walk, ending: Ending) -> Step | None:
        words = epilogues.words_of(dtype, a, b, c, ending)
        if words is None or epilogues.algorithms(self.index, words) is None:
            return None
        has_vector = ending.vector is not None or ending.sums
        return Step(ENDED, words, epilogues.PLACES if has_vector else epilogues.PLACES[:3])

    def has_routine(self, form: forms.Routine, dtypes: Sequence[str], ranks: Sequence[int]) -> bool:
        if isinstance(form, complexes.Form):
            return complexes.has(form, dtypes)
        if isinstance(form, indexed.Form):
            return indexed.has(form, dtypes)
        if isinstance(form, ordered.Form):
            return ordered.has(form, dtypes)
        if isinstance(form, placed.Form):
            return placed.has(form, dtypes, ranks)
        if isinstance(form, in_turn.Form):
            return in_turn.has(form, dtypes)
        return routines.has(form, dtypes, ranks)

    def routine_workspace(self, form: Any, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
        if isinstance(form, complexes.Form):
            return complexes.workspace(self, form, dtype, shapes)
        if isinstance(form, indexed.Form):
            return indexed.workspace(form, dtype, shapes)
        if isinstance(form, ordered.Form):
            return ordered.workspace(form, shapes)
        if isinstance(form, placed.Form):
            return placed.WORKSPACE if isinstance(form, forms.Placed) else 0
        if isinstance(form, in_turn.Form):
            return in_turn.workspace(form, dtype, shapes)
        shape = shapes[-1]
        return 0 if 0 in shape else routines.layout_of(self.index, form, dtype, shape).total

    def routine(self, form: Any, dtypes: Sequence[str], walks: Sequence[Walk], is_shared: bool) -> list[Part]:
        if isinstance(form, complexes.Form):
            return complexes.parts(self, form, dtypes, walks)
        if isinstance(form, indexed.Form):
            return indexed.parts(self, form, dtypes, walks)
        if isinstance(form, ordered.Form):
            return ordered.parts(self, form, dtypes, walks)
        if isinstance(form, placed.Form):
            return placed.parts(self, form, dtypes, walks)
        if isinstance(form, in_turn.Form):
            return in_turn.parts(self, form, dtypes, walks)
        return routines.parts(self, self.index, form, dtypes[0], walks)

    def repeat(self) -> int:
        return REPEAT

    def branch(self) -> int:
        return BRANCH

    def poll(self) -> int:
        return 0

    # memory

    def plan(self, arguments: int) -> Plan:
        return Plan(self, arguments)

    def constant(self, array: np.ndarray) -> tuple[int, Any]:
        made = device_array(np.ascontiguousarray(array), self.index)
        with on(self.index) as stream:
            stream.synchronize()  # a plan is bound in one thread and runs on the streams of others
        return made.held.data.ptr, made

    def empty(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        return self.several([(shape, dtype)])()[0]

    def several(
        self, arrays: Sequence[tuple[tuple[int, ...], np.dtype[Any]]]
    ) -> Callable[[], Sequence[DeviceArray]]:
        index, fresh = self.index, self.fresh

        def made() -> list[DeviceArray]:
            stream = settled(index)
            if stream is not None:
                return [fresh(shape, dtype, stream) for shape, dtype in arrays]
            with on(index) as stream:
                return [fresh(shape, dtype, stream) for shape, dtype in arrays]

        return made

    def fresh(self, shape: tuple[int, ...], dtype: np.dtype[Any], stream: Stream) -> DeviceArray:
        """`empty` in a block of the device."""
        return DeviceArray(library().ndarray(shape, dtype), self.index, stream)  # CuPy's `empty` calls it

    def take(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> DeviceArray:
        return self.empty(shape, dtype)  # CuPy's own pool keeps unreferenced arrays

    def strided(
        self, root: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
    ) -> DeviceArray:
        flat = root.held.reshape(-1)[offset // root.dtype.itemsize :]
        held = library().lib.stride_tricks.as_strided(flat, shape, strides)
        return DeviceArray(held, self.index, root.stream)

    def to_host(self, array: object) -> Any:
        return array.host() if isinstance(array, DeviceArray) else array

    def to_device(self, array: Any) -> DeviceArray:
        return array.contiguous() if isinstance(array, DeviceArray) else device_array(array, self.index)

    # arguments

    def guard(self, expected: Sequence[Expected]) -> list[tuple[Any, Any]]:
        return list(expected)

    def bind_check(self, guard: Any) -> Callable[..., bool]:
        wanted = self.wanted(guard)

        def check(*arguments: Any) -> bool:
            for x, kind in zip(arguments, wanted, strict=True):
                if isinstance(x, Handle):
                    x = x.data
                if type(x) is not DeviceArray or (x.kind or x.described()) != kind:
                    return False
            return True

        return check

    def wanted(self, guard: Sequence[Expected]) -> list[Any]:
        """What the kinds of arguments have to be equal to; None for those that are known to fit."""
        return [
            None
            if dtype is None
            else AnyShape(self.index, dtype)
            if shape is None
            else kind_of(self.index, dtype, shape)
            for dtype, shape in guard
        ]

    def fitted(self, value: object) -> DeviceArray | Handle:
        return value if isinstance(value, Handle) else self.to_device(value)

    def register_holder(self, kind: type, attribute: str) -> None:
        pass

    def prepare(self, dtypes: Iterable[Any]) -> None:
        pass


@cache
def backend_of(device: str) -> Cuda:
    """The backend of "cuda:0"."""
    return Cuda(int(device.partition(":")[2] or 0))
