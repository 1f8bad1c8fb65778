"""Parts of arrays at places that are data, as plan steps: what x[i, j:j + 4] reads, writes or spreads.

A step computes where the part begins from the numbers that it is given, and copies. Bounds count from the end where they are
negative, and are clipped, as Python's are. Where an index is outside, or a slice has another size than the graph says, the step
ends with NO_ANSWER: the run is made again op by op, which gives the op's own error or the array of another size.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.assembly import Function, Slot
from graphad.compiler.backend import FIRST, RESULT, RESULTS, SECOND, THIRD, Part
from graphad.compiler.cpu.runtime import movement, native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER
from graphad.compiler.cpu.runtime.layout import SIZES
from graphad.compiler.rows import Step
from graphad.compiler.spots import Given, spot
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Placed
from graphad.kernels.sites import row_strides

MOST_BOUNDS = 4
# words of the step: the kernel that copies and which of its two pointers is moved; the array in which a part is, and the part;
# the number of bounds, then each; then the block of the copy
COPIES, MOVED, WHOLE, PART, COUNT = range(5)
BOUNDS = 5
# words of a bound: from and to, a number or the address of one of so many bytes, 0 for a number; the size of the axis; that of
# the part, or -1 for one index; the step; the bytes from element to element
LOW, LOW_BYTES, HIGH, HIGH_BYTES, EXTENT, SIZE, STEP, STRIDE = range(8)
BOUND_WORDS = 8
COPY = BOUNDS + MOST_BOUNDS * BOUND_WORDS
# words of the step that checks the bounds of blocks
# sizes, first indices, counts; the results, which are as wide as the first indices; how many; the bytes of the first three
B_SIZES, B_FIRST, B_MANY, B_LOW, B_HIGH, B_COUNT, B_BYTES = range(7)
_PLACES = ("int32", "int64")
_MOST_OPERANDS = 3 + 2 * MOST_BOUNDS


def number(f: Function, base: str, word: int, size: int) -> Any:
    """A bound in a slot: the word itself, or what is at that address."""
    found, given = f.slot("i64", 0), f.word(base, word)
    found.set(given)
    for count in (4, 8):
        with f.when(f.test("eq", f.word(base, size), count)):
            at = f.emit(f"inttoptr i64 {given} to ptr")
            value = f.emit(f"load i{8 * count}, ptr {at}")
            found.set(value if count == 8 else f.emit(f"sext i32 {value} to i64"))
    return found


def clipped(f: Function, low: Slot, high: Slot, extent: str, step: str) -> str:
    """The size of a slice of an axis of so many elements. The bounds become numbers from 0 to `extent`."""
    for each in (low, high):
        value = each.get()
        from_end = f.emit(f"add i64 {value}, {extent}")
        value = f.choose(f.test("slt", value, 0), "i64", from_end, value)
        value = f.choose(f.test("slt", value, 0), "i64", 0, value)
        each.set(f.choose(f.test("sgt", value, extent), "i64", extent, value))
    span = f.emit(f"sub i64 {high.get()}, {low.get()}")
    span = f.choose(f.test("slt", span, 0), "i64", 0, span)
    more = f.emit(f"add i64 {span}, {f.emit(f'sub i64 {step}, 1')}")
    return f.emit(f"sdiv i64 {more}, {step}")


def _placed() -> str:
    f = Function("i32 @graphad_placed(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    offset = f.slot("i64", 0)
    with f.loop(0, f.word(w, COUNT)) as k:
        bound = f.at(f.at(w, BOUNDS), f.emit(f"mul i64 {k}, {BOUND_WORDS}"))
        extent, size, step = (f.word(bound, word) for word in (EXTENT, SIZE, STEP))
        low, high = number(f, bound, LOW, LOW_BYTES), number(f, bound, HIGH, HIGH_BYTES)
        is_index = f.test("slt", size, 0)
        with f.when(is_index):
            value = low.get()
            from_end = f.emit(f"add i64 {value}, {extent}")
            low.set(f.choose(f.test("slt", value, 0), "i64", from_end, value))
        outside = f.test("uge", low.get(), extent)
        with f.when(f.emit(f"and i1 {is_index}, {outside}")):
            f.ret(NO_ANSWER)
        with f.when(f.test("sge", size, 0)):
            with f.when(f.test("ne", clipped(f, low, high, extent, step), size)):
                f.ret(NO_ANSWER)
        along = f.emit(f"mul i64 {low.get()}, {f.word(bound, STRIDE)}")
        offset.set(f.emit(f"add i64 {offset.get()}, {along}"))
    copy, moved = f.at(w, COPY), f.word(w, MOVED)
    f.set_word(copy, moved, f.emit(f"add i64 {f.word(w, WHOLE)}, {offset.get()}"))
    f.set_word(copy, f.emit(f"sub i64 1, {moved}"), f.word(w, PART))
    block = f.emit(f"ptrtoint ptr {copy} to i64")
    f.ret(f.emit(f"call i32 {f.pointer(w, COPIES)}(ptr %ret, ptr %exc, i64 {block})"))
    return f.text()


def _bounds() -> str:
    """The first index of a block and the one behind its last, for each axis."""
    f = Function("i32 @graphad_bounds(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    value = f.slot("i64", 0)
    with f.loop(0, f.word(w, B_COUNT)) as k:
        read = []
        for n, word in enumerate((B_SIZES, B_FIRST, B_MANY)):
            base, is_short = f.pointer(w, word), f.test("eq", f.word(w, B_BYTES + n), 4)
            f.read_integer(value, base, k, is_short)
            read.append(value.get())
        total, first, many = read
        rest = f.emit(f"sub i64 {total}, {first}")
        tests = (("slt", first, 0), ("slt", rest, 0), ("slt", many, -1), ("sgt", many, rest))
        bad = [f.test(*test) for test in tests]
        for each in bad:
            with f.when(each):
                f.ret(NO_ANSWER)
        behind = f.emit(f"add i64 {first}, {many}")
        behind = f.choose(f.test("eq", many, -1), "i64", total, behind)
        is_short = f.test("eq", f.word(w, B_BYTES + 1), 4)
        for word, found in ((B_LOW, first), (B_HIGH, behind)):
            base = f.pointer(w, word)
            with f.when(is_short):
                f.do(f"store i32 {f.emit(f'trunc i64 {found} to i32')}, ptr {f.at(base, k, 'i32')}")
            with f.when(f.emit(f"xor i1 {is_short}, true")):
                f.do(f"store i64 {found}, ptr {f.at(base, k)}")
    f.ret(0)
    return f.text()


def _text() -> str:
    return "\n".join([_placed(), _bounds()])


@functools.lru_cache(maxsize=1)
def _kernels() -> dict[str, int]:
    return native.printed(_text, symbols=("graphad_placed", "graphad_bounds"))


def has(form: Placed, dtypes: Sequence[str]) -> bool:
    """Whether there is a step for operands of these dtypes."""
    own = form.own
    if any(dtype not in _PLACES for dtype in dtypes[own:]) or len(dtypes) > _MOST_OPERANDS:
        return False
    dtype = as_dtype(dtypes[0])
    if dtype.numpy.hasobject or dtype.itemsize not in SIZES:
        return False
    known = [each for each in form.bounds if type(each) is not tuple or each[0] == "fixed"]
    return len(form.bounds) - len(known) <= MOST_BOUNDS


def parts(form: Placed, dtypes: Sequence[str], shapes: Sequence[Sequence[int]]) -> list[Part]:
    """The steps for operands and a result in C order, of these dtypes and shapes."""
    found, size = spot(form, dtypes, shapes), as_dtype(dtypes[0]).itemsize
    to_whole = [axis.in_whole * size for axis in found.axes]
    to_part = [axis.in_part * size for axis in found.axes]
    takes = form.way == "take"
    to, come = (to_part, to_whole) if takes else (to_whole, to_part)
    words = [0] * COPY
    words[COPIES], words[MOVED] = movement.copy_kernel(size), movement.SOURCE if takes else movement.TARGET
    words[COUNT] = len(found.bounds)
    numbers: list[tuple[int, tuple[int, int]]] = []  # the word of an address, and the place of the number
    for k, bound in enumerate(found.bounds):
        first = BOUNDS + k * BOUND_WORDS
        for number, word, many in ((bound.low, LOW, LOW_BYTES), (bound.high, HIGH, HIGH_BYTES)):
            if isinstance(number, Given):
                words[first + many] = number.itemsize
                numbers.append((first + word, number.place))
            else:
                words[first + word] = number
        words[first + EXTENT : first + BOUND_WORDS] = (
            bound.extent,
            bound.many,
            bound.step,
            bound.stride * size,
        )
    words += movement.copy_words(size, [axis.size for axis in found.axes], to, come)
    step = Step(_kernels()["graphad_placed"], words, (WHOLE, PART, *[word for word, _ in numbers]))
    places = (found.array, found.offset * size), (found.piece, 0), *[place for _, place in numbers]
    return [*_around(form, as_dtype(dtypes[0]).numpy, found.whole), Part(step, places)]


def _around(form: Placed, dtype: np.dtype[Any], whole: Sequence[int]) -> list[Part]:
    """The array before the part is written: a copy of the first operand, or zeros."""
    strides = [step * dtype.itemsize for step in row_strides(whole)]
    if form.way == "put":
        words = movement.copy_words(dtype.itemsize, whole, strides, strides)
        step = Step(movement.copy_kernel(dtype.itemsize), words, (movement.SOURCE, movement.TARGET))
        return [Part(step, ((FIRST, 0), (RESULT, 0)))]
    if form.way == "spread":
        words = movement.fill_words(np.zeros((), dtype), whole, strides)
        return [Part(Step(movement.fill_kernel(dtype.itemsize), words, (movement.TARGET,)), ((RESULT, 0),))]
    return []


def has_bounds(dtypes: Sequence[str], ranks: Sequence[int]) -> bool:
    """Whether there is a step that checks bounds of these dtypes."""
    return set(dtypes) <= set(_PLACES) and set(ranks) == {1}


def bounds(dtypes: Sequence[str], count: int) -> list[Part]:
    """The step that checks the bounds of a block along so many axes."""
    words = [0, 0, 0, 0, 0, count, *[as_dtype(dtype).itemsize for dtype in dtypes[:3]]]
    step = Step(_kernels()["graphad_bounds"], words, (B_SIZES, B_FIRST, B_MANY, B_LOW, B_HIGH))
    return [Part(step, tuple([(k, 0) for k in (FIRST, SECOND, THIRD, *RESULTS[:2])]))]
