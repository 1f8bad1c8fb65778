"""Sizes that only the run finds, as plan steps: how many elements x[i:j] has, or how many of a mask are true.

The step clips the bounds as Python does, and adds what the size has changed by since the last run to all words that depend on
it: extents, strides and offsets of the rows behind. They are numbers plus multiples of sizes and of products of sizes; a product
changes by what the power of this size has changed by, times what the other sizes are now. The words: `compiler/rows.py`.
"""

from __future__ import annotations

import functools

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.masking import counting
from graphad.compiler.cpu.runtime.placing import clipped, number
from graphad.compiler.rows import (
    GROUP,
    GROUP_COUNT,
    GROUP_FACTOR,
    GROUP_FACTORS,
    GROUP_POWER,
    M_EXTENT,
    M_GROUPS,
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
    size, last = found.get(), f.word(w, M_LAST)
    f.set_word(w, M_LAST, size)
    place = f.pointer(w, M_NUMBER)
    with f.when(f.test("ne", place, "null", "ptr")):
        f.set_word(place, 0, size)
    with f.when(f.test("ne", size, last)):
        group = f.slot("ptr", f.at(w, MEASURED))
        with f.loop(0, f.word(w, M_GROUPS)):
            change, count = _change(f, group.get(), size, last), f.word(group.get(), GROUP_COUNT)
            rows = f.at(group.get(), GROUP)
            with f.loop(0, count) as k:
                row = f.at(rows, f.emit(f"mul i64 {k}, {MEASURED_WORDS}"))
                target = f.pointer(row, 0)
                more = f.emit(f"mul i64 {change}, {f.word(row, 1)}")
                f.set_word(target, 0, f.emit(f"add i64 {f.word(target, 0)}, {more}"))
            group.set(f.at(rows, f.emit(f"mul i64 {count}, {MEASURED_WORDS}")))
    f.ret(0)
    return counting() + f.text()


def _change(f: Function, group: str, size: str, last: str) -> str:
    """How much a product of sizes changes with that of this step."""
    before, after = f.slot("i64", 1), f.slot("i64", 1)
    before.set(1)
    after.set(1)
    with f.loop(0, f.word(group, GROUP_POWER)):
        before.set(f.emit(f"mul i64 {before.get()}, {last}"))
        after.set(f.emit(f"mul i64 {after.get()}, {size}"))
    change = f.slot("i64", 0)
    change.set(f.emit(f"sub i64 {after.get()}, {before.get()}"))
    for k in range(GROUP_FACTORS):
        other = f.pointer(group, GROUP_FACTOR + k)
        with f.when(f.test("ne", other, "null", "ptr")):
            change.set(f.emit(f"mul i64 {change.get()}, {f.word(other, 0)}"))
    return change.get()


@functools.lru_cache(maxsize=1)
def kernel() -> int:
    """The address of the step's kernel."""
    return native.printed(text, symbols=["graphad_measure"])["graphad_measure"]
