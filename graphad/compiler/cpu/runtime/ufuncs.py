"""NumPy's loops for complex numbers as plan steps: elementwise functions, with operands that are broadcast.

Kernels have real numbers only. A step calls the loop of a ufunc for each of the innermost rows, as the ufunc itself does, and so
has the bits of the eager op. Parts of complex numbers are copied.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.backend import FIRST, RESULT, SECOND, Part
from graphad.compiler.cpu.runtime import blas, movement, native, numpy_loops
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Applied
from graphad.kernels.sites import row_strides

MOST_OPERANDS, MOST_SIZES, MOST_STEPS = 3, 3, 5
# words of the step: a loop, its data, how often it is called along two axes, a number; then operands, one of address 0 being that
# number; the steps of each along these axes; what the loop is given, the count and the core sizes, and the steps for these
LOOP, DATA, OUTER, MIDDLE, NUMBER = range(5)
OPERANDS = NUMBER + 2
OUTER_STEPS = OPERANDS + MOST_OPERANDS
MIDDLE_STEPS = OUTER_STEPS + MOST_OPERANDS
SIZES = MIDDLE_STEPS + MOST_OPERANDS
STEPS = SIZES + MOST_SIZES
WORD_COUNT = STEPS + MOST_STEPS

# by the name that an op gives to its function, those whose eager results are the ufunc's
FUNCTIONS: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "neg": np.negative,
    "square": np.multiply,  # of an operand with itself
    "conj": np.conjugate,
    "abs": np.absolute,
    "exp": np.exp,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "tanh": np.tanh,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "pow": np.power,
    "eq": np.equal,
    "ne": np.not_equal,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
}
_PARTS = ("complex", "real", "imag")


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


def _letters(fn: str, dtypes: Sequence[str]) -> str:
    chars = [as_dtype(dtype).numpy.char for dtype in dtypes]
    given = chars[:-1] * (2 if fn == "square" else 1)
    return f"{''.join(given)}->{chars[-1]}"


def _loop(fn: str, dtypes: Sequence[str]) -> tuple[int, int] | None:
    return numpy_loops.find(FUNCTIONS[fn], _letters(fn, dtypes))


@functools.lru_cache(maxsize=128)
def has(form: Applied, dtypes: tuple[str, ...]) -> bool:
    """Whether there is a step for operands of these dtypes, with the bits of the ufunc; a few numbers are tried."""
    fn, dtypes = form.fn, (*dtypes, form.dtype.name)
    if any(as_dtype(dtype).numpy.kind not in "fcb" for dtype in dtypes):
        return False
    if fn in _PARTS:
        return True
    if fn not in FUNCTIONS or len(dtypes) > MOST_OPERANDS or _loop(fn, dtypes) is None:
        return False
    rng = np.random.default_rng(5)
    shapes = [(5, 1, 7), (3, 7)][: len(dtypes) - 1]
    given = [
        _complex(rng, shape, as_dtype(dtype).numpy) for shape, dtype in zip(shapes, dtypes[:-1], strict=True)
    ]
    with np.errstate(all="ignore"):
        want = FUNCTIONS[fn](*given * 2) if fn == "square" else FUNCTIONS[fn](*given)
    found = np.empty(want.shape, as_dtype(dtypes[-1]).numpy)
    made = parts(form, dtypes, [*[x.shape for x in given], want.shape])
    arrays = [*given, found]
    for each, places, _ in made or ():
        for word, (k, at) in zip(each.places, places, strict=True):
            each.words[word] = (
                arrays[(FIRST, SECOND).index(k) if k in (FIRST, SECOND) else -1].ctypes.data + at
            )
        if blas.run_step(each.function, each.words):
            return False
    return bool(made) and found.tobytes() == want.astype(found.dtype).tobytes()


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
    if form.fn in _PARTS:
        return _copied(form.fn, shape, strides, itemsizes)
    if not shape or (form.fn == "pow" and not shapes[1]):
        return None  # eager numbers have an arithmetic of their own, and powers to one number have ways of their own
    axes = _collapsed(shape, strides)
    if len(axes) > 3:
        return None
    (outer, o), (middle, m), (count, n) = [(1, (0,) * len(dtypes))] * (3 - len(axes)) + axes
    order = [0, 0, 1] if form.fn == "square" else list(range(len(dtypes)))
    loop = _loop(form.fn, dtypes)
    assert loop is not None  # as `has` has seen
    made = step(
        loop, (outer, middle), *[[each[k] for k in order] for each in (o, m)], [count], [n[k] for k in order]
    )
    where = [(FIRST, SECOND)[k] for k in range(len(dtypes) - 1)] + [RESULT]
    return [Part(made, tuple([(where[k], 0) for k in order]))]


def _broadcast(given: Sequence[int], shape: Sequence[int], itemsize: int) -> list[int]:
    """The strides in bytes of an array in C order, spread over a shape."""
    own = [stride * itemsize for stride in row_strides(given)]
    own = [0 if n == 1 else stride for n, stride in zip(given, own, strict=True)]
    return [0] * (len(shape) - len(given)) + own


def _collapsed(shape: Sequence[int], strides: Sequence[Sequence[int]]) -> list[tuple[int, tuple[int, ...]]]:
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
