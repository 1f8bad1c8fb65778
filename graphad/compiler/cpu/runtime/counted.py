"""Ranges of a size that the run has found, as plan steps: start + i * delta for i = 0 to size - 1.

A step counts how many members the numbers give, in 64 bits. Where that is another size than the one that the rows behind have, as
it is where there is no room for so many, or where the numbers are refused, the step ends with NO_ANSWER.
"""

from __future__ import annotations

import functools

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER

DTYPES = ("int32", "int64")
# words of a step: the three numbers, the result, and how many members it has
START, LIMIT, DELTA, TARGET, SIZE = range(5)


def _step(dtype: str) -> str:
    kind = "i32" if dtype == "int32" else "i64"
    f = Function(f"i32 @graphad_counted_{dtype}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    start, limit, delta = (
        f.emit(f"sext {kind} {value} to i64") if kind == "i32" else value
        for value in [f.emit(f"load {kind}, ptr {f.pointer(w, word)}") for word in (START, LIMIT, DELTA)]
    )
    size, target = f.word(w, SIZE), f.pointer(w, TARGET)
    with f.when(f.test("eq", delta, 0)):
        f.ret(NO_ANSWER)
    is_down = f.test("slt", delta, 0)
    low, high = f.choose(is_down, "i64", limit, start), f.choose(is_down, "i64", start, limit)
    with f.when(f.test("sgt", low, high)):
        f.ret(NO_ANSWER)
    # Without overflow: the distance is at most 2**64 - 1, which is no size; so a large one is no answer.
    span = f.emit(f"sub i64 {high}, {low}")
    step = f.choose(is_down, "i64", f.emit(f"sub i64 0, {delta}"), delta)
    count = f.emit(f"udiv i64 {span}, {step}")
    rest = f.emit(f"urem i64 {span}, {step}")
    more = f.emit(f"zext i1 {f.test('ne', rest, 0)} to i64")
    with f.when(f.test("ne", f.emit(f"add i64 {count}, {more}"), size)):
        f.ret(NO_ANSWER)
    with f.loop(0, size) as k:
        value = f.emit(f"add i64 {start}, {f.emit(f'mul i64 {k}, {delta}')}")
        if kind == "i32":
            value = f.emit(f"trunc i64 {value} to i32")
        f.do(f"store {kind} {value}, ptr {f.at(target, k, kind)}")
    f.ret(0)
    return f.text()


@functools.cache
def kernel(dtype: str) -> int:
    """The address of the step's kernel."""
    name = f"graphad_counted_{dtype}"
    return native.printed(_step, dtype, symbols=[name])[name]
