"""Insertion positions in sorted sequences, and whether sequences are sorted, as plan steps.

Each row of the values is looked for in the row of the sequences with the steps of `numpy.searchsorted`, so that the positions
are the same also where a sequence is not sorted: bounds move on from one value to the next. NaN comes last.
"""

from __future__ import annotations

import functools

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER
from graphad.compiler.cpu.runtime.ordering import KINDS

DTYPES = ("float32", "float64", "int32", "int64")
# words of a step: the operands, the result, rows, elements of a sequence, values of a row, whether positions have 64 bits
SEQUENCES, VALUES, TARGET, ROWS, COUNT, MANY, WIDE = range(7)


def _less(f: Function, kind: str, a: str, b: str) -> str:
    """Whether a comes before b."""
    if kind[0] == "i":
        return f.test("slt", a, b, kind)
    is_less = f.emit(f"fcmp olt {kind} {a}, {b}")
    is_number, other = f.emit(f"fcmp ord {kind} {a}, {a}"), f.emit(f"fcmp uno {kind} {b}, {b}")
    return f.emit(f"or i1 {is_less}, {f.emit(f'and i1 {is_number}, {other}')}")


def _before(f: Function, kind: str, right: bool, a: str, b: str) -> str:
    """Whether an element is before the position of a value b."""
    return f.emit(f"xor i1 {_less(f, kind, b, a)}, true") if right else _less(f, kind, a, b)


def _step(dtype: str, right: bool) -> str:
    kind = KINDS[dtype][0]
    f = Function("i32 @graphad_searched(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    count, many = f.word(w, COUNT), f.word(w, MANY)
    is_wide = f.test("ne", f.word(w, WIDE), 0)
    low, high, last = f.slot("i64", 0), f.slot("i64", 0), f.slot(kind)
    with f.loop(0, f.word(w, ROWS)) as row:
        sequence = f.at(f.pointer(w, SEQUENCES), f.emit(f"mul i64 {row}, {count}"), kind)
        first = f.emit(f"mul i64 {row}, {many}")
        values = f.at(f.pointer(w, VALUES), first, kind)
        low.set(0)
        high.set(count)
        with f.when(f.test("sgt", many, 0)):
            last.set(f.emit(f"load {kind}, ptr {values}"))
        with f.loop(0, many) as k:
            value = f.emit(f"load {kind}, ptr {f.at(values, k, kind)}")
            is_further = _before(f, kind, right, last.get(), value)
            more = f.emit(f"add i64 {high.get()}, 1")
            more = f.choose(f.test("slt", high.get(), count), "i64", more, count)
            high.set(f.choose(is_further, "i64", count, more))
            low.set(f.choose(is_further, "i64", low.get(), 0))
            last.set(value)
            with f.forever() as done:
                a, b = low.get(), high.get()
                f.leave(done, f.test("sge", a, b))
                span = f.emit(f"sub i64 {b}, {a}")
                middle = f.emit(f"add i64 {a}, {f.emit(f'ashr i64 {span}, 1')}")
                element = f.emit(f"load {kind}, ptr {f.at(sequence, middle, kind)}")
                is_before = _before(f, kind, right, element, value)
                low.set(f.choose(is_before, "i64", f.emit(f"add i64 {middle}, 1"), a))
                high.set(f.choose(is_before, "i64", b, middle))
            at = f.emit(f"add i64 {first}, {k}")
            target = f.pointer(w, TARGET)
            with f.when(is_wide):
                f.do(f"store i64 {low.get()}, ptr {f.at(target, at)}")
            with f.when(f.emit(f"xor i1 {is_wide}, true")):
                f.do(f"store i32 {f.emit(f'trunc i64 {low.get()} to i32')}, ptr {f.at(target, at, 'i32')}")
    f.ret(0)
    return f.text()


@functools.cache
def kernel(dtype: str, right: bool) -> int:
    """The address of the step's kernel."""
    return native.printed(_step, dtype, right, symbols=["graphad_searched"])["graphad_searched"]


# words of the step that copies rows of integers, and has NO_ANSWER unless each row rises, or stays, from 0 or more on
R_SOURCE, R_TARGET, R_ROWS, R_COUNT = range(4)


def _rising(dtype: str) -> str:
    kind = KINDS[dtype][0]
    f = Function("i32 @graphad_rising(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    count, before = f.word(w, R_COUNT), f.slot(kind)
    source, target = f.pointer(w, R_SOURCE), f.pointer(w, R_TARGET)
    with f.loop(0, f.word(w, R_ROWS)) as row:
        before.set(0)
        with f.loop(0, count) as k:
            at = f.emit(f"add i64 {f.emit(f'mul i64 {row}, {count}')}, {k}")
            value = f.emit(f"load {kind}, ptr {f.at(source, at, kind)}")
            with f.when(f.test("slt", value, before.get(), kind)):
                f.ret(NO_ANSWER)
            f.do(f"store {kind} {value}, ptr {f.at(target, at, kind)}")
            before.set(value)
    f.ret(0)
    return f.text()


@functools.cache
def rising(dtype: str) -> int:
    """The address of that step's kernel."""
    return native.printed(_rising, dtype, symbols=["graphad_rising"])["graphad_rising"]
