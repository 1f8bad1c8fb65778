"""Arrays shifted along an axis by a number that is data, as plan steps: two copies for each row of the axes before."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native

# words of a step: the array, the shift and its bytes, the result; rows, the size of the axis, bytes of a slice
SOURCE, SHIFT, SHIFT_BYTES, TARGET, OUTER, SIZE, SLICE = range(7)
_MEMORY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"


def _step() -> str:
    f = Function("i32 @graphad_rolled(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    size, each = f.word(w, SIZE), f.word(w, SLICE)
    with f.when(f.test("eq", size, 0)):
        f.ret(0)
    shift = f.slot("i64", 0)
    f.read_integer(shift, f.pointer(w, SHIFT), 0, f.test("eq", f.word(w, SHIFT_BYTES), 4))
    rest = f.emit(f"srem i64 {shift.get()}, {size}")
    first = f.choose(f.test("slt", rest, 0), "i64", f.emit(f"add i64 {rest}, {size}"), rest)
    ahead = f.emit(f"mul i64 {first}, {each}")
    whole = f.emit(f"mul i64 {size}, {each}")
    behind = f.emit(f"sub i64 {whole}, {ahead}")
    with f.loop(0, f.word(w, OUTER)) as o:
        at = f.emit(f"mul i64 {o}, {whole}")
        come, to = f.at(f.pointer(w, SOURCE), at, "i8"), f.at(f.pointer(w, TARGET), at, "i8")
        for target, source, count in (
            (f.at(to, ahead, "i8"), come, behind),
            (to, f.at(come, behind, "i8"), ahead),
        ):
            f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {count}, i1 false)")
    f.ret(0)
    return _MEMORY + f.text()


@functools.cache
def kernel() -> int:
    """The address of the step's kernel."""
    return native.printed(_step, symbols=["graphad_rolled"])["graphad_rolled"]


def words_of(axis: int, itemsize: int, shift_bytes: int, shape: Sequence[int]) -> list[int]:
    """The block without pointers, for an array of a shape."""
    inner = math.prod(shape[axis + 1 :]) * itemsize
    return [0, 0, shift_bytes, 0, math.prod(shape[:axis]), shape[axis], inner]
