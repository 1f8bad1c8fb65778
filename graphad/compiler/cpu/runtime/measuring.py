"""Sizes that only the run finds, as plan steps: how many elements x[i:j] has, or how many of a mask are true.

The step clips the bounds as Python does, and adds what the size has changed by since the last run to all words that depend on
it: extents, strides and offsets of the rows behind. They are numbers plus multiples of the size. The words: `compiler/rows.py`.
"""

from __future__ import annotations

import functools

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.masking import counting
from graphad.compiler.cpu.runtime.placing import clipped, number
from graphad.compiler.rows import (
    M_COUNT,
    M_EXTENT,
    M_HIGH,
    M_HIGH_BYTES,
    M_LAST,
    M_LOW,
    M_LOW_BYTES,
    M_NUMBER,
    M_STEP,
    MEASURED,
    MEASURED_WORDS,
)


def text() -> str:
    """`i32 graphad_measure(ret, exc, block)`."""
    f = Function("i32 @graphad_measure(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    extent, step, found = f.word(w, M_EXTENT), f.word(w, M_STEP), f.slot("i64", 0)
    with f.when(f.test("eq", step, 0)):
        found.set(f.emit(f"call i64 @counted(ptr {f.pointer(w, M_LOW)}, i64 {extent})"))
    with f.when(f.test("ne", step, 0)):
        low, high = number(f, w, M_LOW, M_LOW_BYTES), number(f, w, M_HIGH, M_HIGH_BYTES)
        found.set(clipped(f, low, high, extent, step))
    size = found.get()
    more = f.emit(f"sub i64 {size}, {f.word(w, M_LAST)}")
    f.set_word(w, M_LAST, size)
    place = f.pointer(w, M_NUMBER)
    with f.when(f.test("ne", place, "null", "ptr")):
        f.set_word(place, 0, size)
    with f.when(f.test("ne", more, 0)):
        with f.loop(0, f.word(w, M_COUNT)) as k:
            row = f.at(w, f.emit(f"add i64 {f.emit(f'mul i64 {k}, {MEASURED_WORDS}')}, {MEASURED}"))
            target = f.pointer(row, 0)
            change = f.emit(f"mul i64 {more}, {f.word(row, 1)}")
            f.set_word(target, 0, f.emit(f"add i64 {f.word(target, 0)}, {change}"))
    f.ret(0)
    return counting() + f.text()


@functools.lru_cache(maxsize=1)
def kernel() -> int:
    """The address of the step's kernel."""
    return native.printed(text, symbols=["graphad_measure"])["graphad_measure"]
