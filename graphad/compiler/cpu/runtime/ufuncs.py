"""NumPy's loops for complex numbers as plan steps: elementwise functions, with operands that are broadcast.

Kernels have real numbers only. A step calls the loop of a ufunc for each of the innermost rows, as the ufunc itself does, and so
has the bits of the eager op. Parts of complex numbers are copied.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.backend import FIRST, RESULT, SECOND, THIRD, Part
from graphad.compiler.cpu.runtime import blas, movement, native, numpy_loops
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Applied
from graphad.kernels.sites import row_strides

MOST_OPERANDS, MOST_SIZES, MOST_STEPS = 3, 4, 9
# words of the step: a loop, its data, how often it is called along two axes, a number; then operands, one of address 0 being that
# number; the steps of each along these axes; what the loop is given, the count and the core sizes, and the steps for these
LOOP, DATA, OUTER, MIDDLE, NUMBER = range(5)
OPERANDS = NUMBER + 2
OUTER_STEPS = OPERANDS + MOST_OPERANDS
MIDDLE_STEPS = OUTER_STEPS + MOST_OPERANDS
SIZES = MIDDLE_STEPS + MOST_OPERANDS
STEPS = SIZES + MOST_SIZES
WORD_COUNT = STEPS + MOST_STEPS


def _text() -> str:
    f = Function("i32 @graphad_loops(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    given = f.slot(f"[{MOST_OPERANDS} x i64]", align=8).address
    number = f.emit(f"ptrtoint ptr {f.at(w, NUMBER)} to i64")
    starts = []
    for k in range(MOST_OPERANDS):
        start = f.word(w, OPERANDS + k)
        starts.append(f.choose(f.test("eq", start, 0), "i64", number, start))
    tables = ", ".join(f"ptr {x}" for x in (given, f.at(w, SIZES), f.at(w, STEPS)))
    with f.loop(0, f.word(w, OUTER)) as i, f.loop(0, f.word(w, MIDDLE)) as j:
        for k, start in enumerate(starts):
            along = [
                f.emit(f"mul i64 {n}, {f.word(w, first + k)}")
                for n, first in ((i, OUTER_STEPS), (j, MIDDLE_STEPS))
            ]
            f.set_word(given, k, f.emit(f"add i64 {start}, {f.emit(f'add i64 {along[0]}, {along[1]}')}"))
        f.do(f"call void {f.pointer(w, LOOP)}({tables}, ptr {f.pointer(w, DATA)})")
    f.ret(0)
    return f.text()


@functools.lru_cache(maxsize=1)
def _kernel() -> int:
    return native.printed(_text, symbols=["graphad_loops"])["graphad_loops"]


def step(
    loop: tuple[int, int],
    counts: tuple[int, int],
    outer: Sequence[int],
    middle: Sequence[int],
    sizes: Sequence[int],
    steps: Sequence[int],
    number: np.ndarray | None = None,
    numbered: int = -1,
) -> Step:
    """The step that calls a loop `counts` times; operand `numbered` is the number, the places are those of the others."""
    words = [0] * WORD_COUNT
    words[LOOP], words[DATA] = loop
    words[OUTER], words[MIDDLE] = counts
    if number is not None:
        held = np.zeros(16, np.uint8)
        held[: number.nbytes] = number.reshape(1).view(np.uint8)
        words[NUMBER:OPERANDS] = held.view(np.int64).tolist()
    for first, values in ((OUTER_STEPS, outer), (MIDDLE_STEPS, middle), (SIZES, sizes), (STEPS, steps)):
        words[first : first + len(values)] = values
    places = [OPERANDS + k for k in range(len(outer)) if k != numbered]
    return Step(_kernel(), words, tuple(places))


def _order(form: Applied, operands: int) -> list[int]:
    """The operands that a ufunc takes, and the result behind them."""
    given = [0, 0] if operands == 1 and form.fn.nin == 2 else list(range(operands))
    return [*given, operands]


def _loop(form: Applied, dtypes: Sequence[str]) -> tuple[int, int] | None:
    chars = [as_dtype(dtypes[k]).numpy.char for k in _order(form, len(dtypes) - 1)]
    return numpy_loops.find(form.fn, f"{''.join(chars[:-1])}->{chars[-1]}")


@functools.lru_cache(maxsize=128)
def has(form: Applied, dtypes: tuple[str, ...]) -> bool:
    """Whether there is a step for operands of these dtypes, with the bits of the ufunc; a few numbers are tried."""
    dtypes = (*dtypes, form.dtype.name)
    if any(as_dtype(dtype).numpy.kind not in "fcbiu" for dtype in dtypes):
        return False
    if form.fn == "cast":
        return all(dtype in _REAL or dtype in _COMPLEX for dtype in dtypes)
    if isinstance(form.fn, str):
        return True
    if len(dtypes) > MOST_OPERANDS or _loop(form, dtypes) is None:
        return False
    rng = np.random.default_rng(5)
    shapes = [(5, 1, 7), (3, 7)][: len(dtypes) - 1]
    given = [
        _complex(rng, shape, as_dtype(dtype).numpy) for shape, dtype in zip(shapes, dtypes[:-1], strict=True)
    ]
    with np.errstate(all="ignore"):
        want = form.fn(*[given[k] for k in _order(form, len(given))[:-1]])
    found = np.empty(want.shape, as_dtype(dtypes[-1]).numpy)
    places = {FIRST: given[0], SECOND: given[-1], RESULT: found}
    made = parts(form, dtypes, [*[x.shape for x in given], want.shape]) or ()
    return blas.run_parts(made, places) and bool(
        want.dtype == found.dtype and found.tobytes() == want.tobytes()
    )


def _complex(rng: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    x = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    return np.ascontiguousarray(x if dtype.kind == "c" else x.real, dtype)


def parts(form: Applied, dtypes: Sequence[str], shapes: Sequence[Sequence[int]]) -> list[Part] | None:
    """The steps for operands and a result in C order, of these dtypes and shapes; None where there are none for the shapes."""
    shape = tuple(shapes[-1])
    if 0 in shape:
        return []
    itemsizes = [as_dtype(dtype).itemsize for dtype in dtypes]
    strides = [_broadcast(given, shape, size) for given, size in zip(shapes, itemsizes, strict=True)]
    if form.fn == "cast":
        words = [0, 0, math.prod(shape)]
        cast = Step(_chosen_kernels()[_cast_name(*dtypes)], words, (0, 1))
        return [Part(cast, ((FIRST, 0), (RESULT, 0)))]
    if form.fn == "select":
        return _selected(shape, strides, itemsizes[-1])
    if isinstance(form.fn, str):
        return _copied(form.fn, shape, strides, itemsizes)
    if not shape or (form.fn is np.power and not shapes[1]):
        return None  # eager numbers have an arithmetic of their own, and powers to one number have ways of their own
    # A single number is treated as an array, as NumPy does.
    axes = collapsed(shape, strides) or [(1, tuple(itemsizes))]
    if len(axes) > 3:
        return None
    (outer, o), (middle, m), (count, n) = [(1, (0,) * len(dtypes))] * (3 - len(axes)) + axes
    order = _order(form, len(dtypes) - 1)
    loop = _loop(form, dtypes)
    assert loop is not None  # as `has` has seen
    o, m, n = (tuple([steps[k] for k in order]) for steps in (o, m, n))
    made = step(loop, (outer, middle), o, m, [count], n)
    where = [(FIRST, SECOND)[k] for k in range(len(dtypes) - 1)] + [RESULT]
    return [Part(made, tuple([(where[k], 0) for k in order]))]


def _broadcast(given: Sequence[int], shape: Sequence[int], itemsize: int) -> list[int]:
    """The strides in bytes of an array in C order, spread over a shape."""
    return spread(given, [stride * itemsize for stride in row_strides(given)], shape)


def spread(given: Sequence[int], strides: Sequence[int], shape: Sequence[int]) -> list[int]:
    """The strides of axes of these sizes, broadcast to a shape."""
    own = [0 if n == 1 else stride for n, stride in zip(given, strides, strict=True)]
    return [0] * (len(shape) - len(given)) + own


def collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, tuple[int, ...]]]:
    """The axes of a walk, each with the steps of all operands; neighbours that are one walk for all are one axis."""
    found: list[tuple[int, tuple[int, ...]]] = []
    for n, *steps in zip(shape, *strides, strict=True):
        if n == 1:
            continue
        if found and all(last == step * n for last, step in zip(found[-1][1], steps, strict=True)):
            found[-1] = found[-1][0] * n, tuple(steps)
        else:
            found.append((n, tuple(steps)))
    return found


# what casts to complex numbers have code for: the types in memory of real numbers, and of the parts of complex ones
_REAL = {"bool": "i8", "int32": "i32", "int64": "i64", "float32": "float", "float64": "double"}
_COMPLEX = {"complex64": "float", "complex128": "double"}


def _cast_name(source: str, target: str) -> str:
    return f"graphad_cast_{source}_{target}"


def _cast(source: str, target: str) -> str:
    """So many numbers as complex ones: words are source, target, count."""
    f = Function(f"i32 @{_cast_name(source, target)}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    to, is_real = _COMPLEX[target], source in _REAL
    kind = _REAL[source] if is_real else _COMPLEX[source]
    come, into = f.pointer(w, 0), f.pointer(w, 1)
    count = f.word(w, 2)
    with f.loop(0, count if is_real else f.emit(f"mul i64 {count}, 2")) as k:
        value = f.emit(f"load {kind}, ptr {f.at(come, k, kind)}")
        if source == "bool":  # any byte but 0 is true
            value = f.emit(f"uitofp i1 {f.test('ne', value, 0, kind)} to {to}")
        elif kind[0] == "i":
            value = f.emit(f"sitofp {kind} {value} to {to}")
        elif kind != to:
            value = f.emit(f"{'fpext' if to == 'double' else 'fptrunc'} {kind} {value} to {to}")
        place = f.at(into, f.emit(f"mul i64 {k}, 2") if is_real else k, to)
        f.do(f"store {to} {value}, ptr {place}")
        if is_real:
            f.do(f"store {to} 0.0, ptr {f.at(place, 1, to)}")
    f.ret(0)
    return f.text()


# words of a selection: condition, two operands, result, three extents, and three strides in bytes of each
_S_OPERANDS, _S_EXTENTS, _S_STRIDES = 0, 4, 7


def _select(size: int) -> str:
    f = Function(f"i32 @graphad_select{size}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    kind = {8: "i64", 16: "<2 x i64>"}[size]

    def descend(depth: int, places: list[str]) -> None:
        if depth < 3:
            steps = [f.word(w, _S_STRIDES + 3 * n + depth) for n in range(4)]
            with f.loop(0, f.word(w, _S_EXTENTS + depth)) as i:
                moved = [f.emit(f"mul i64 {i}, {step}") for step in steps]
                descend(depth + 1, [f.at(p, by, "i8") for p, by in zip(places, moved, strict=True)])
            return
        is_first = f.test("ne", f.emit(f"load i8, ptr {places[0]}"), 0, "i8")
        come = f.emit(f"select i1 {is_first}, ptr {places[1]}, ptr {places[2]}")
        f.do(f"store {kind} {f.emit(f'load {kind}, ptr {come}, align 1')}, ptr {places[3]}, align 1")

    descend(0, [f.pointer(w, n) for n in range(4)])
    f.ret(0)
    return f.text()


_PAIRS = [(source, target) for source in (*_REAL, *_COMPLEX) for target in _COMPLEX]


def _chosen_text() -> str:
    return "\n".join([*[_cast(*pair) for pair in _PAIRS], _select(8), _select(16)])


@functools.lru_cache(maxsize=1)
def _chosen_kernels() -> dict[str, int]:
    names = [*[_cast_name(*pair) for pair in _PAIRS], "graphad_select8", "graphad_select16"]
    return native.printed(_chosen_text, symbols=names)


def _selected(shape: Sequence[int], strides: Sequence[Sequence[int]], size: int) -> list[Part] | None:
    axes = collapsed(shape, strides)
    if len(axes) > 3:
        return None
    axes = [(1, (0, 0, 0, 0))] * (3 - len(axes)) + axes
    words = [0] * (_S_STRIDES + 12)
    for d, (extent, steps) in enumerate(axes):
        words[_S_EXTENTS + d] = extent
        for n, step in enumerate(steps):
            words[_S_STRIDES + 3 * n + d] = step
    chosen = Step(_chosen_kernels()[f"graphad_select{size}"], words, (0, 1, 2, 3))
    return [Part(chosen, ((FIRST, 0), (SECOND, 0), (THIRD, 0), (RESULT, 0)))]


def _copied(
    fn: str, shape: tuple[int, ...], strides: Sequence[Sequence[int]], itemsizes: Sequence[int]
) -> list[Part]:
    """Copies of the parts of complex numbers: out of these, or together."""
    size = min(itemsizes)
    if fn == "complex":
        walks = [(FIRST, strides[0], 0, strides[-1], 0), (SECOND, strides[1], 0, strides[-1], size)]
    else:
        walks = [(FIRST, strides[0], size * (fn == "imag"), strides[-1], 0)]
    found = []
    for operand, come, at, to, begin in walks:
        words = movement.copy_words(size, shape, to, come)
        step = Step(movement.copy_kernel(size), words, (movement.SOURCE, movement.TARGET))
        found.append(Part(step, ((operand, at), (RESULT, begin))))
    return found
