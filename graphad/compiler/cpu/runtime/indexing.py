"""Slices at positions that are data, running sums, and bands of matrices as plan steps.

All operands are in C order. A table of slices is [batch, outer, positions, inner], where several axes may be the positions; the
indices are [batch, count, coordinates], and the slices [batch, outer, count, inner]. Slices are added and written in the order
of their indices, as NumPy does. A step that meets a position outside ends with NO_ANSWER: the run is made again op by op, which
gives the op's own error.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.driver import NO_ANSWER
from graphad.core.dtypes import as_dtype
from graphad.core.errors import InternalError

if TYPE_CHECKING:
    from graphad.kernels.forms import Band, Indexed, Running

MOST_COORDINATES = 8
# words of the step's block
SOURCE, INDICES, UPDATES, TARGET, BATCH, OUTER, COUNT, INNER, TABLE, DEPTH, INDEX_BYTES, NEGATIVE, SIZES = (
    range(13)
)
SEEN, EMPTY = UPDATES, SIZES + 1  # of extremes: a byte for each slice of the result, and the bits of a number
WORD_COUNT = SIZES + MOST_COORDINATES
# words of the step of a running sum
R_SOURCE, R_TARGET, R_OUTER, R_COUNT, R_INNER, R_EXCLUSIVE, R_REVERSE = range(7)
# words of the step of a band, whose limits are numbers from 0 on
B_SOURCE, B_TARGET, B_BATCH, B_ROWS, B_COLUMNS, B_LOWER, B_UPPER = range(7)
# words of the step of a check
H_SOURCE, H_COUNT = range(2)

_ERROR, _WRAP, _NONE = range(3)
_NEGATIVE = {"error": _ERROR, "wrap": _WRAP, "none": _NONE}
_OUTSIDE, _LEFT_OUT = -1, -2  # answers of `position`
ADDED = {"float32": "float", "float64": "double", "int32": "i32", "int64": "i64"}
_BYTES = {"float": 4, "double": 8, "i32": 4, "i64": 8}
_MEMORY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\ndeclare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"


_EXTREMES = "declare i64 @llvm.smax.i64(i64, i64)\ndeclare i64 @llvm.smin.i64(i64, i64)"


_PUTTING = ("put", "put_max", "put_min")
_CALLED = {"add": "added", "put_max": "max_of", "put_min": "min_of"}  # the functions that combine two slices


GATHERED = ("max", "min", "mul")  # begin with the first slice of each place, and mark that there is one


def combines(way: str) -> bool:
    """Whether slices are combined, for which their dtype is needed, or only moved."""
    return way not in ("take", "put")


def puts(way: str) -> bool:
    """Whether there is a third operand."""
    return way in _PUTTING


def _position() -> str:
    """`i64 @position(block, at)`: the position of a slice, counted over all axes of positions."""
    f = Function("i64 @position(ptr %w, i64 %at)", "internal", "nounwind alwaysinline")
    depth, found = f.word("%w", DEPTH), f.slot("i64", 0)
    indices, first = f.pointer("%w", INDICES), f.emit(f"mul i64 %at, {depth}")
    negative, is_short = f.word("%w", NEGATIVE), f.test("eq", f.word("%w", INDEX_BYTES), 4)
    value = f.slot("i64", 0)
    with f.loop(0, depth) as d:
        place, size = f.emit(f"add i64 {first}, {d}"), f.word(f.at("%w", d), SIZES)
        f.read_integer(value, indices, place, is_short)
        with f.when(f.test("slt", value.get(), 0)):
            with f.when(f.test("eq", negative, _NONE)):
                f.ret(_LEFT_OUT)
            with f.when(f.test("eq", negative, _WRAP)):
                value.set(f.emit(f"add i64 {value.get()}, {size}"))
        with f.when(f.test("uge", value.get(), size)):
            f.ret(_OUTSIDE)
        found.set(f.emit(f"add i64 {f.emit(f'mul i64 {found.get()}, {size}')}, {value.get()}"))
    f.ret(found.get())
    return f.text()


def _copy_slice(size: int) -> str:
    f = Function(
        "void @copy(ptr noalias %to, ptr noalias %from, i64 %n)", "internal", "nounwind alwaysinline"
    )
    kind = f"i{8 * size}"
    with f.when(f.test("eq", "%n", 1)):  # a call of memcpy costs more
        f.do(f"store {kind} {f.emit(f'load {kind}, ptr %from, align 1')}, ptr %to, align 1")
        f.ret()
    count = f.emit(f"mul i64 %n, {size}")
    f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr align 1 %to, ptr align 1 %from, i64 {count}, i1 false)")
    f.ret()
    return f.text()


def _combine(f: Function, way: str, kind: str, a: str, b: str) -> str:
    return f.emit(f"{'f' if kind in ('float', 'double') else ''}{way} {kind} {a}, {b}")


def _combined_slice(name: str, way: str, kind: str) -> str:
    """Sums or products, into the first slice."""
    f = Function(
        f"void @{name}(ptr noalias %to, ptr noalias %from, i64 %n)", "internal", "nounwind alwaysinline"
    )
    with f.loop(0, "%n") as k:
        place = f.at("%to", k, kind)
        a, b = (f.emit(f"load {kind}, ptr {x}") for x in (place, f.at("%from", k, kind)))
        f.do(f"store {kind} {_combine(f, way, kind, a, b)}, ptr {place}")
    f.ret()
    return f.text()


def _extreme_slice(way: str, kind: str) -> str:
    """The maximum or minimum as NumPy defines it: NaN if an operand is NaN, and the first of equal numbers."""
    f = Function(
        f"void @{way}_of(ptr noalias %to, ptr noalias %from, i64 %n)", "internal", "nounwind alwaysinline"
    )
    is_float, relation = kind in ("float", "double"), {"max": "ge", "min": "le"}[way]
    with f.loop(0, "%n") as k:
        place = f.at("%to", k, kind)
        a, b = (f.emit(f"load {kind}, ptr {x}") for x in (place, f.at("%from", k, kind)))
        if is_float:
            first = f.emit(f"fcmp o{relation} {kind} {a}, {b}")
            first = f.emit(f"or i1 {first}, {f.emit(f'fcmp uno {kind} {a}, {a}')}")
        else:
            first = f.test(f"s{relation}", a, b, kind)
        f.do(f"store {kind} {f.choose(first, kind, a, b)}, ptr {place}")
    f.ret()
    return f.text()


def _gathered(way: str, kind: str) -> str:
    """Copies the first slice of each place, combines it with further ones, then fills in where there was none."""
    size = _BYTES[kind]
    f = Function(f"i32 @graphad_{way}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    batch, count, inner, table = (f.word(w, word) for word in (BATCH, COUNT, INNER, TABLE))
    source, target, seen = (f.pointer(w, word) for word in (SOURCE, TARGET, SEEN))
    slices = f.emit(f"mul i64 {batch}, {table}")
    f.do(f"call void @llvm.memset.p0.i64(ptr {seen}, i8 0, i64 {slices}, i1 false)")
    with f.loop(0, batch) as b:
        first, low = f.emit(f"mul i64 {b}, {table}"), f.emit(f"mul i64 {b}, {count}")
        with f.loop(0, count) as j:
            row = f.emit(f"add i64 {low}, {j}")
            at = f.emit(f"call i64 @position(ptr {w}, i64 {row})")
            with f.when(f.test("eq", at, _OUTSIDE)):
                f.ret(NO_ANSWER)
            with f.when(f.test("sge", at, 0)):
                place = f.emit(f"add i64 {first}, {at}")
                to, come = (
                    f.at(base, f.emit(f"mul i64 {x}, {inner}"), kind)
                    for base, x in ((target, place), (source, row))
                )
                mark = f.at(seen, place, "i8")
                is_new = f.test("eq", f.emit(f"load i8, ptr {mark}"), 0, "i8")
                with f.when(is_new):
                    f.do(f"store i8 1, ptr {mark}")
                    f.do(f"call void @copy(ptr {to}, ptr {come}, i64 {inner})")
                with f.when(f.emit(f"xor i1 {is_new}, true")):
                    f.do(f"call void @{way}_of(ptr {to}, ptr {come}, i64 {inner})")
    bits = f.emit(f"trunc i64 {f.word(w, EMPTY)} to i32") if size == 4 else f.word(w, EMPTY)
    with f.loop(0, slices) as s:
        with f.when(f.test("eq", f.emit(f"load i8, ptr {f.at(seen, s, 'i8')}"), 0, "i8")):
            to = f.at(target, f.emit(f"mul i64 {s}, {inner}"), kind)
            with f.loop(0, inner) as k:
                f.do(f"store i{8 * size} {bits}, ptr {f.at(to, k, kind)}")
    f.ret(0)
    return f.text()


def _step(way: str, size: int) -> str:
    f = Function(f"i32 @graphad_{way}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    outer, count, inner, table = (f.word(w, word) for word in (OUTER, COUNT, INNER, TABLE))
    slices, target = f.pointer(w, UPDATES if puts(way) else SOURCE), f.pointer(w, TARGET)
    batch = f.word(w, BATCH)
    if way != "take":
        whole = f.emit(
            f"mul i64 {f.emit(f'mul i64 {batch}, {outer}')}, {f.emit(f'mul i64 {table}, {inner}')}"
        )
        total = f.emit(f"mul i64 {whole}, {size}")
        if way == "add":
            f.do(f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {total}, i1 false)")
        else:
            source = f.pointer(w, SOURCE)
            f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {total}, i1 false)")

    def place(base: str, row: str, kind: str = f"i{8 * size}") -> str:
        return f.at(base, f.emit(f"mul i64 {row}, {inner}"), kind)

    with f.loop(0, batch) as b:
        with f.loop(0, outer) as o:
            block = f.emit(f"add i64 {f.emit(f'mul i64 {b}, {outer}')}, {o}")
            first, low = f.emit(f"mul i64 {block}, {table}"), f.emit(f"mul i64 {block}, {count}")
            indices = f.emit(f"mul i64 {b}, {count}")
            with f.loop(0, count) as j:
                at = f.emit(f"call i64 @position(ptr {w}, i64 {f.emit(f'add i64 {indices}, {j}')})")
                with f.when(f.test("eq", at, _OUTSIDE)):
                    f.ret(NO_ANSWER)
                here = place(slices if way != "take" else target, f.emit(f"add i64 {low}, {j}"))
                with f.when(f.test("sge", at, 0)):
                    there = place(target if way != "take" else slices, f.emit(f"add i64 {first}, {at}"))
                    to, come = (there, here) if way != "take" else (here, there)
                    f.do(f"call void @{_CALLED.get(way, 'copy')}(ptr {to}, ptr {come}, i64 {inner})")
                if way == "take":
                    with f.when(f.test("slt", at, 0)):
                        total = f.emit(f"mul i64 {inner}, {size}")
                        f.do(f"call void @llvm.memset.p0.i64(ptr {here}, i8 0, i64 {total}, i1 false)")
    f.ret(0)
    return f.text()


def moving_text(size: int) -> str:
    """`graphad_take`, `graphad_put` and `graphad_band` for elements of one size."""
    steps = _step("take", size), _step("put", size), _band(size)
    return "\n".join([_MEMORY, _EXTREMES, _position(), _copy_slice(size), *steps])


def _band(size: int) -> str:
    """Writes each row as zeros, the elements of the band, and zeros."""
    f = Function("i32 @graphad_band(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    columns = f.word(w, B_COLUMNS)
    bytes_of_row = f.emit(f"mul i64 {columns}, {size}")
    low, high = f.word(w, B_LOWER), f.word(w, B_UPPER)
    with f.loop(0, f.word(w, B_BATCH)) as b:
        base = f.emit(f"mul i64 {b}, {f.word(w, B_ROWS)}")
        with f.loop(0, f.word(w, B_ROWS)) as i:
            at = f.emit(f"mul i64 {f.emit(f'add i64 {base}, {i}')}, {bytes_of_row}")
            to, come = (f.at(f.pointer(w, word), at, "i8") for word in (B_TARGET, B_SOURCE))
            f.do(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {bytes_of_row}, i1 false)")
            begin = f.emit(f"call i64 @llvm.smax.i64(i64 {f.emit(f'sub i64 {i}, {low}')}, i64 0)")
            behind = f.emit(f"add i64 {f.emit(f'add i64 {i}, {high}')}, 1")
            end = f.emit(f"call i64 @llvm.smin.i64(i64 {behind}, i64 {columns})")
            with f.when(f.test("sgt", end, begin)):
                first = f.emit(f"mul i64 {begin}, {size}")
                count = f.emit(f"mul i64 {f.emit(f'sub i64 {end}, {begin}')}, {size}")
                given = f"ptr {f.at(to, first, 'i8')}, ptr {f.at(come, first, 'i8')}, i64 {count}, i1 false"
                f.do(f"call void @llvm.memcpy.p0.p0.i64({given})")
    f.ret(0)
    return f.text()


def adding_text(kind: str) -> str:
    """`graphad_add`, `_max`, `_min`, `_mul`, `_put_max` and `_put_min`, and `graphad_running_add` and `_mul`, for numbers of one
    kind."""
    running = [_running(way, kind) for way in ("add", "mul")]
    gathered = [_gathered(way, kind) for way in GATHERED]
    slices = (
        _combined_slice("added", "add", kind),
        _combined_slice("mul_of", "mul", kind),
        _copy_slice(_BYTES[kind]),
    )
    extremes = [_extreme_slice(way, kind) for way in ("max", "min")]
    steps = [_step(way, _BYTES[kind]) for way in ("add", "put_max", "put_min")]
    return "\n".join([_MEMORY, _position(), *slices, *extremes, *gathered, *steps, *running])


def _running(way: str, kind: str) -> str:
    """Row after row along the axis; where each has one element, the result so far stays in a register."""
    f = Function(f"i32 @graphad_running_{way}(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    source, target = f.pointer(w, R_SOURCE), f.pointer(w, R_TARGET)
    count, inner = f.word(w, R_COUNT), f.word(w, R_INNER)
    exclusive, reverse = f.test("ne", f.word(w, R_EXCLUSIVE), 0), f.test("ne", f.word(w, R_REVERSE), 0)
    neutral = {"add": {"f": "0.0", "i": "0"}, "mul": {"f": "1.0", "i": "1"}}[way][
        "i" if kind[0] == "i" else "f"
    ]
    last = f.emit(f"sub i64 {count}, 1")
    start, step = f.choose(reverse, "i64", last, 0), f.choose(reverse, "i64", -1, 1)
    total = f.slot(kind, neutral)
    with f.loop(0, f.word(w, R_OUTER)) as o:
        first = f.emit(f"mul i64 {f.emit(f'mul i64 {o}, {count}')}, {inner}")
        with f.when(f.test("eq", inner, 1)):
            total.set(neutral)
            with f.loop(0, count) as s:
                i = f.emit(f"add i64 {f.emit(f'add i64 {first}, {start}')}, {f.emit(f'mul i64 {s}, {step}')}")
                before, x = total.get(), f.emit(f"load {kind}, ptr {f.at(source, i, kind)}")
                joined = _combine(f, way, kind, before, x)
                now = f.choose(f.test("eq", s, 0), kind, x, joined)
                f.do(f"store {kind} {f.choose(exclusive, kind, before, now)}, ptr {f.at(target, i, kind)}")
                total.set(now)
        with f.when(f.test("ne", inner, 1)):
            with f.loop(0, count) as s:
                i = f.emit(f"add i64 {start}, {f.emit(f'mul i64 {s}, {step}')}")
                row = f.emit(f"add i64 {first}, {f.emit(f'mul i64 {i}, {inner}')}")
                back = f.emit(f"mul i64 {step}, {inner}")
                earlier = f.emit(f"sub i64 {row}, {back}")
                read = f.choose(exclusive, "i64", earlier, row)
                # The first result is an element itself, or of an empty sum the one behind it.
                begin = f.emit(f"zext i1 {exclusive} to i64")
                with f.when(f.test("slt", s, begin)):
                    with f.loop(0, inner) as k:
                        f.do(f"store {kind} {neutral}, ptr {f.at(f.at(target, row, kind), k, kind)}")
                with f.when(f.test("eq", s, begin)):
                    with f.loop(0, inner) as k:
                        x = f.emit(f"load {kind}, ptr {f.at(f.at(source, read, kind), k, kind)}")
                        f.do(f"store {kind} {x}, ptr {f.at(f.at(target, row, kind), k, kind)}")
                with f.when(f.test("sgt", s, begin)):
                    here, there, come = (
                        f.at(target, row, kind),
                        f.at(target, earlier, kind),
                        f.at(source, read, kind),
                    )
                    f.do(f"call void @joined_{way}(ptr {here}, ptr {there}, ptr {come}, i64 {inner})")
    f.ret(0)
    g = Function(
        f"void @joined_{way}(ptr noalias %to, ptr noalias %before, ptr noalias %x, i64 %n)",
        "internal",
        "nounwind alwaysinline",
    )
    with g.loop(0, "%n") as k:
        a, b = (g.emit(f"load {kind}, ptr {g.at(x, k, kind)}") for x in ("%before", "%x"))
        g.do(f"store {kind} {_combine(g, way, kind, a, b)}, ptr {g.at('%to', k, kind)}")
    g.ret()
    return g.text() + "\n" + f.text()


_addresses: dict[int | str, dict[str, int]] = {}
_MOVING = ("graphad_take", "graphad_put", "graphad_band")
_COMBINED = ("add", *GATHERED)
_ADDING = (
    *[f"graphad_{way}" for way in (*_COMBINED, "put_max", "put_min")],
    "graphad_running_add",
    "graphad_running_mul",
)


def _moving(size: int) -> dict[str, int]:
    return native.once(_addresses, size, lambda: native.printed(moving_text, size, symbols=_MOVING))


def _adding(kind: str) -> dict[str, int]:
    return native.once(_addresses, kind, lambda: native.printed(adding_text, kind, symbols=_ADDING))


def indexed(
    form: Indexed, dtype: str, itemsize: int, index_bytes: int, shapes: Sequence[Sequence[int]]
) -> tuple[int, list[int]]:
    """The step kernel and its block without pointers, for the shapes of operands and result."""
    indices, table = shapes[1], shapes[-1] if form.way in _COMBINED else shapes[0]
    lead, axis = form.lead, form.axis % len(table)
    depth = indices[-1] if form.has_coordinates else 1
    sizes, inner = table[axis : axis + depth], math.prod(table[axis + depth :])
    batch, outer = math.prod(table[:lead]), math.prod(table[lead:axis])
    count = math.prod(indices[lead : len(indices) - form.has_coordinates])
    slices = shapes[-1 if form.way == "take" else -2 if puts(form.way) else 0]
    fits = math.prod(slices) == batch * outer * count * inner and math.prod(indices) == batch * count * depth
    if not fits or len(sizes) != depth or (puts(form.way) and math.prod(shapes[-1]) != math.prod(table)):
        raise InternalError(
            f"plan: a {form.way} of shapes {', '.join(str(tuple(shape)) for shape in shapes)}"
        )
    if not math.prod(table):  # nothing is walked; indices are checked nevertheless
        batch, outer, inner = batch if count else 0, 1, 0
    words = [0] * WORD_COUNT
    words[BATCH : DEPTH + 1] = batch, outer, count, inner, math.prod(sizes), depth
    words[INDEX_BYTES], words[NEGATIVE] = index_bytes, _NEGATIVE[form.negative]
    words[SIZES : SIZES + depth] = sizes
    if form.way in GATHERED:
        info = as_dtype(dtype)
        empty = np.array({"max": info.min, "min": info.max, "mul": 1}[form.way], info.numpy)
        words[EMPTY] = int(empty.view(np.int32 if itemsize == 4 else np.int64))
    kernels = _adding(ADDED[dtype]) if combines(form.way) else _moving(itemsize)
    return kernels[f"graphad_{form.way}"], words


def workspace(form: Indexed, shape: Sequence[int]) -> int:
    """Bytes of a step's workspace for a result of a shape."""
    return math.prod(shape[: form.lead + 1]) if form.way in GATHERED else 0


def _holds() -> str:
    f = Function("i32 @graphad_holds(ptr %ret, ptr %exc, i64 %block)")
    w = f.emit("inttoptr i64 %block to ptr")
    condition = f.pointer(w, H_SOURCE)
    with f.loop(0, f.word(w, H_COUNT)) as k:
        value = f.emit(f"load i8, ptr {f.at(condition, k, 'i8')}")
        with f.when(f.test("eq", value, 0, "i8")):
            f.ret(NO_ANSWER)
    f.ret(0)
    return f.text()


@functools.lru_cache(maxsize=1)
def _holding() -> int:
    return native.printed(_holds, symbols=["graphad_holds"])["graphad_holds"]


def holds(shape: Sequence[int]) -> tuple[int, list[int]]:
    """The step kernel of a check and its block without pointers, for a condition of a shape."""
    return _holding(), [0, math.prod(shape)]


def running(form: Running, dtype: str, shape: Sequence[int]) -> tuple[int, list[int]]:
    """The step kernel and its block without pointers, for operands of a shape."""
    axis = form.axis % len(shape)
    outer, inner = math.prod(shape[:axis]), math.prod(shape[axis + 1 :])
    if not math.prod(shape):
        outer = 0
    words = [0, 0, outer, shape[axis], inner, int(form.exclusive), int(form.reverse)]
    return _adding(ADDED[dtype])[f"graphad_running_{form.way}"], words


def band(form: Band, itemsize: int, shape: Sequence[int]) -> tuple[int, list[int]]:
    """The step kernel and its block without pointers, for operands of a shape."""
    rows, columns = shape[-2:]
    lower, upper = (
        limit if 0 <= limit < most else most for limit, most in ((form.lower, rows), (form.upper, columns))
    )
    words = [0, 0, math.prod(shape[:-2]) if rows and columns else 0, rows, columns, lower, upper]
    return _moving(itemsize)["graphad_band"], words
