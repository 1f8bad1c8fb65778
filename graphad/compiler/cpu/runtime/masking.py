"""Masks as plan steps: the slices where a mask is true, one after another, and the transpose of that.

All operands are in C order: an array is [outer, count, inner], the mask [count], and the slices that it takes are [outer, number,
inner]. A step whose mask is true at another number of places ends with NO_ANSWER.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER

if TYPE_CHECKING:
    from graphad.kernels.forms import Masked

# words of a step
SOURCE, MASK, TARGET, OUTER, COUNT, INNER, NUMBER = range(7)
_MEMORY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\ndeclare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"


def _truth(f: Function, mask: str, k: str) -> str:
    """Whether an element of a mask is true: NumPy's arrays may hold any byte but 0 for it, as views of `uint8` do."""
    return f.test("ne", f.emit(f"load i8, ptr {f.at(mask, k, 'i8')}, align 1"), 0, "i8")


def counting() -> str:
    """`i64 @counted(mask, n)`: how many of n bytes are not 0."""
    f = Function("i64 @counted(ptr %mask, i64 %n)", "internal", "nounwind")
    total = f.slot("i64", 0)
    with f.loop(0, "%n") as k:
        value = _truth(f, "%mask", k)
        total.set(f.emit(f"add i64 {total.get()}, {f.emit(f'zext i1 {value} to i64')}"))
    f.ret(total.get())
    return f.text()


def _step(way: str, size: int) -> str:
    f = Function(f"i32 @graphad_mask_{way}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    source, mask, target = (f.pointer(w, word) for word in (SOURCE, MASK, TARGET))
    count, inner, number = (f.word(w, word) for word in (COUNT, INNER, NUMBER))
    counted = f.emit(f"call i64 @counted(ptr {mask}, i64 {count})")
    with f.when(f.test("ne", counted, number)):
        f.ret(NO_ANSWER)
    kind, total = f"i{8 * size}", f.emit(f"mul i64 {inner}, {size}")
    at = f.slot("i64", 0)
    last = f.emit(f"sub i64 {number}, 1")
    is_single = f.test("eq", inner, 1)
    with f.loop(0, f.word(w, OUTER)) as o:
        sides = ((source, count), (target, number)) if way == "take" else ((source, number), (target, count))
        base, goal = (
            f.at(memory, f.emit(f"mul i64 {f.emit(f'mul i64 {o}, {many}')}, {total}"), "i8")
            for memory, many in sides
        )
        at.set(0)
        with f.when(is_single):  # without a branch for each element, which no processor foresees
            place = f.slot("i64", 0)
            with f.forever() as done:
                i, k = place.get(), at.get()
                f.leave(done, f.test("sge", i, count))
                if way == "take":
                    f.leave(done, f.test("sge", k, number))
                    value = f.emit(f"load {kind}, ptr {f.at(base, i, kind)}, align 1")
                    f.do(f"store {kind} {value}, ptr {f.at(goal, k, kind)}, align 1")
                bit = _truth(f, mask, i)
                if way == "spread":
                    low = f.emit(f"call i64 @llvm.smin.i64(i64 {k}, i64 {last})")
                    found = f.slot(kind, 0)
                    with f.when(f.test("ne", number, 0)):
                        found.set(f.emit(f"load {kind}, ptr {f.at(base, low, kind)}, align 1"))
                    chosen = f.choose(bit, kind, found.get(), 0)
                    f.do(f"store {kind} {chosen}, ptr {f.at(goal, i, kind)}, align 1")
                at.set(f.emit(f"add i64 {k}, {f.emit(f'zext i1 {bit} to i64')}"))
                place.set(f.emit(f"add i64 {i}, 1"))
        with f.when(f.emit(f"xor i1 {is_single}, true")):
            with f.loop(0, count) as i:
                bit = _truth(f, mask, i)
                outside, inside = (f.emit(f"mul i64 {x}, {total}") for x in (i, at.get()))
                come, to = (
                    (f.at(base, outside, "i8"), f.at(goal, inside, "i8"))
                    if way == "take"
                    else (f.at(base, inside, "i8"), f.at(goal, outside, "i8"))
                )
                with f.when(bit):
                    f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {come}, i64 {total}, i1 false)")
                if way == "spread":
                    with f.when(f.emit(f"xor i1 {bit}, true")):
                        f.do(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {total}, i1 false)")
                at.set(f.emit(f"add i64 {at.get()}, {f.emit(f'zext i1 {bit} to i64')}"))
    f.ret(0)
    return f.text()


def text(size: int) -> str:
    """`graphad_mask_take` and `graphad_mask_spread` for elements of one size."""
    smin = "declare i64 @llvm.smin.i64(i64, i64)"
    return "\n".join([_MEMORY, smin, counting(), _step("take", size), _step("spread", size)])


_addresses: dict[int, dict[str, int]] = {}


def kernel(way: str, size: int) -> int:
    """The address of a step's kernel."""
    names = ("graphad_mask_take", "graphad_mask_spread")
    made = native.once(_addresses, size, lambda: native.printed(text, size, symbols=names))
    return made[f"graphad_mask_{way}"]


def words_of(form: Masked, shapes: Sequence[Sequence[int]]) -> list[int]:
    """The words of a step without its pointers, for the shapes of operands and result."""
    mask, taken = shapes[1], shapes[-1] if form.way == "take" else shapes[0]
    outer, inner = math.prod(taken[: form.axis]), math.prod(taken[form.axis + 1 :])
    return [0, 0, 0, outer if inner else 0, math.prod(mask), inner, taken[form.axis]]
