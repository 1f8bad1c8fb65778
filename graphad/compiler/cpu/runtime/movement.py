"""Copies and fills as plan steps: any strides, up to eight dimensions, elements of 1, 2, 4, 8 or 16 bytes.

`copy_words` sorts and merges the dimensions so that the innermost is contiguous in the target wherever one
is; the kernel then has three ways for its two inner dimensions: whole rows by memcpy, single elements, and
(source contiguous along the other one) a transpose in registers, eight by eight, inside tiles that stay in
the cache. Source and target must not overlap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphad.compiler.assembly import Function
from graphad.compiler.cpu.runtime import native
from graphad.compiler.cpu.runtime.layout import SIZES
from graphad.core.errors import InvalidArgumentError

FEW = 16  # bytes
RANK = 8
# words of the step's block; strides in bytes; dimensions outermost first, the last two are the inner ones
TARGET, SOURCE, WAY, VALUE = 0, 1, 2, 4  # VALUE: two words, what `fill` stores
EXTENT, TARGET_STRIDE, SOURCE_STRIDE = 6, 14, 22
WORD_COUNT = 30

ROWS, ELEMENTS, TRANSPOSE = range(3)  # the way
TILE = 64


def _header(name: str, size: int) -> str:
    """An inner function: `to` and `from`, extents m and n, and the strides of both along both."""
    strides = ", ".join(f"i64 %{stride}" for stride in ("tm", "tn", "fm", "fn"))
    return f"void @{name}{size}(ptr noalias %to, ptr noalias %from, i64 %m, i64 %n, {strides})"


def _row_starts(f: Function, i: str) -> tuple[str, str]:
    """Where row `i` begins in the target and in the source."""
    to_offset, from_offset = f.emit(f"mul i64 {i}, %tm"), f.emit(f"mul i64 {i}, %fm")
    return f.at("%to", to_offset, "i8"), f.at("%from", from_offset, "i8")


def _rows(size: int) -> str:
    """Copy rows of contiguous elements; one memcpy for each, or one store for a single element."""
    f = Function(_header("rows", size), "internal")
    count = f.emit(f"mul i64 %n, {size}")
    with f.loop(0, "%m") as i:
        to, source = _row_starts(f, i)
        f.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr align 1 {to}, ptr align 1 {source}, i64 {count}, i1 false)"
        )
    f.ret()
    return f.text()


def _kind(size: int) -> str:
    return {1: "i8", 2: "i16", 4: "i32", 8: "i64", 16: "<2 x i64>"}[size]


def _elements(size: int) -> str:
    """Copy element by element; the loop over a contiguous target and over a repeated source are their own."""
    f = Function(_header("elements", size), "internal")
    kind = _kind(size)
    contiguous = f.test("eq", "%tn", size)
    repeated = f.emit(f"and i1 {contiguous}, {f.test('eq', '%fn', 0)}")
    other = f.emit(f"xor i1 {contiguous}, true")
    single = f.emit(f"xor i1 {f.emit(f'or i1 {other}, {repeated}')}, true")
    with f.loop(0, "%m") as i:
        to, source = _row_starts(f, i)
        with f.when(repeated):
            value = f.emit(f"load {kind}, ptr {source}, align 1")
            with f.loop(0, "%n") as j:
                f.do(f"store {kind} {value}, ptr {f.at(to, j, kind)}, align 1")
        with f.when(single):
            with f.loop(0, "%n") as j:
                value = f.emit(f"load {kind}, ptr {f.at(source, f.emit(f'mul i64 {j}, %fn'), 'i8')}, align 1")
                f.do(f"store {kind} {value}, ptr {f.at(to, j, kind)}, align 1")
        with f.when(other):
            with f.loop(0, "%n") as j:
                value = f.emit(f"load {kind}, ptr {f.at(source, f.emit(f'mul i64 {j}, %fn'), 'i8')}, align 1")
                f.do(f"store {kind} {value}, ptr {f.at(to, f.emit(f'mul i64 {j}, %tn'), 'i8')}, align 1")
    f.ret()
    return f.text()


def _width(size: int) -> int:
    """Elements on the side of a block that is transposed in registers."""
    return {1: 16, 2: 8, 4: 8, 8: 4, 16: 4}[size]


def _block(size: int) -> str:
    """Transpose a square of `width` rows: log2(width) rounds of interleaving row i with row i + width/2."""
    width, kind = _width(size), _kind(size)
    f = Function(
        f"void @block{size}(ptr noalias %to, ptr noalias %from, i64 %to_step, i64 %from_step)",
        "internal",
        "nounwind alwaysinline",
    )
    if size == 16:  # an element fills a register: nothing to interleave
        for i in range(width):
            source, target = (
                f.at("%from", i * size, "i8"),
                f.at("%to", f.emit(f"mul i64 %to_step, {i}"), "i8"),
            )
            for j in range(width):
                place = f.at(source, f.emit(f"mul i64 %from_step, {j}"), "i8")
                value = f.emit(f"load {kind}, ptr {place}, align 1")
                f.do(f"store {kind} {value}, ptr {f.at(target, j * size, 'i8')}, align 1")
        f.ret()
        return f.text()
    vector = f"<{width} x {kind}>"
    rows = []
    for i in range(width):
        source = f.at("%from", f.emit(f"mul i64 %from_step, {i}"), "i8")
        rows.append(f.emit(f"load {vector}, ptr {source}, align 1"))
    half, rounds = width // 2, width.bit_length() - 1
    low = ", ".join(f"i32 {k // 2 + (k % 2) * width}" for k in range(width))
    high = ", ".join(f"i32 {half + k // 2 + (k % 2) * width}" for k in range(width))
    for _ in range(rounds):
        mixed = []
        for i in range(half):
            for mask in (low, high):
                pair = f"{vector} {rows[i]}, {vector} {rows[i + half]}"
                mixed.append(f.emit(f"shufflevector {pair}, <{width} x i32> <{mask}>"))
        rows = mixed
    for i, row in enumerate(rows):
        target = f.at("%to", f.emit(f"mul i64 %to_step, {i}"), "i8")
        f.do(f"store {vector} {row}, ptr {target}, align 1")
    f.ret()
    return f.text()


def _transpose(size: int) -> str:
    """to[i, j] = from[i, j] with j contiguous in the target and i in the source, tile by tile."""
    f = Function(_header("transpose", size), "internal")
    width, kind = _width(size), _kind(size)
    whole_m, whole_n = (f.emit(f"and i64 {count}, {-width}") for count in ("%m", "%n"))

    def place(base: str, i: str, step_i: str, j: str, step_j: str) -> str:
        return f.at(
            f.at(base, f.emit(f"mul i64 {i}, {step_i}"), "i8"), f.emit(f"mul i64 {j}, {step_j}"), "i8"
        )

    def end(start: str, limit: str) -> str:
        return f.emit(f"call i64 @llvm.smin.i64(i64 {f.emit(f'add i64 {start}, {TILE}')}, i64 {limit})")

    with f.loop(0, whole_m, TILE) as ii:
        i_end = end(ii, whole_m)
        with f.loop(0, whole_n, TILE) as jj:
            j_end = end(jj, whole_n)
            with f.loop(ii, i_end, width) as i:
                with f.loop(jj, j_end, width) as j:
                    to, source = place("%to", i, "%tm", j, str(size)), place("%from", j, "%fn", i, str(size))
                    f.do(f"call void @block{size}(ptr {to}, ptr {source}, i64 %tm, i64 %fn)")
    for i_range, j_range in (((0, whole_m), (whole_n, "%n")), ((whole_m, "%m"), (0, "%n"))):
        with f.loop(*i_range) as i:  # the strips at the right and at the bottom
            with f.loop(*j_range) as j:
                value = f.emit(f"load {kind}, ptr {place('%from', i, str(size), j, '%fn')}, align 1")
                f.do(f"store {kind} {value}, ptr {place('%to', i, '%tm', j, str(size))}, align 1")
    f.ret()
    return f.text()


def _move(size: int) -> str:
    """The outer six dimensions, and the choice of the inner function."""
    f = Function("void @move(ptr %w, ptr %source)", "internal")
    way = f.word("%w", WAY)
    other = f.choose(f.test("eq", way, TRANSPOSE), "ptr", f"@transpose{size}", f"@elements{size}")
    inner = [
        f.word("%w", word + d)
        for word, d in (
            (EXTENT, 6),
            (EXTENT, 7),
            (TARGET_STRIDE, 6),
            (TARGET_STRIDE, 7),
            (SOURCE_STRIDE, 6),
            (SOURCE_STRIDE, 7),
        )
    ]
    # A call of memcpy costs more than a few elements. The row's size may be one that the run has found, so it is asked here.
    rows = f.choose(f.test("sle", inner[1], FEW // size), "ptr", f"@elements{size}", f"@rows{size}")
    chosen = f.choose(f.test("eq", way, ROWS), "ptr", rows, other)

    def descend(depth: int, to: str, source: str) -> None:
        if depth == RANK - 2:
            f.do(
                f"call void {chosen}(ptr {to}, ptr {source}, "
                + ", ".join(f"i64 {value}" for value in inner)
                + ")"
            )
            return
        to_step, from_step = f.word("%w", TARGET_STRIDE + depth), f.word("%w", SOURCE_STRIDE + depth)
        with f.loop(0, f.word("%w", EXTENT + depth)) as i:
            descend(
                depth + 1,
                f.at(to, f.emit(f"mul i64 {i}, {to_step}"), "i8"),
                f.at(source, f.emit(f"mul i64 {i}, {from_step}"), "i8"),
            )

    descend(0, f.pointer("%w", TARGET), "%source")
    f.ret()
    return f.text()


def text(size: int) -> str:
    """`graphad_copy` and `graphad_fill` for elements of one size, step kernels over the same block."""
    steps = []
    for name in ("copy", "fill"):
        f = Function(f"i32 @graphad_{name}(ptr %ret, ptr %exc, i64 %block)")
        w = f.emit("inttoptr i64 %block to ptr")
        source = f.pointer(w, SOURCE) if name == "copy" else f.at(w, VALUE)
        f.do(f"call void @move(ptr {w}, ptr {source})")
        f.ret(0)
        steps.append(f.text())
    inner = [part(size) for part in (_rows, _elements, _block, _transpose)]
    declared = [
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "declare i64 @llvm.smin.i64(i64, i64)",
    ]
    return "\n".join([*declared, *inner, _move(size), *steps])


_addresses: dict[int, dict[str, int]] = {}


def _kernels(size: int) -> dict[str, int]:
    # one module for each size of element: 40 ms to compile, and most plans need one
    symbols = ("graphad_copy", "graphad_fill")
    return native.once(_addresses, size, lambda: native.printed(text, size, symbols=symbols))


def copy_kernel(itemsize: int) -> int:
    """The address of the step kernel that copies elements of this size."""
    return _kernels(itemsize)["graphad_copy"]


def fill_kernel(itemsize: int) -> int:
    """The address of the step kernel that fills elements of this size."""
    return _kernels(itemsize)["graphad_fill"]


def copy_words(
    itemsize: int, shape: Sequence[int], target_strides: Sequence[int], source_strides: Sequence[int]
) -> list[int]:
    """The block of a step that copies a strided array onto another, pointers left at 0 (words TARGET,
    SOURCE).

    Args:
      itemsize: Bytes of an element: 1, 2, 4, 8 or 16. shape: Sizes of the target; at most eight dimensions
      remain after merging. target_strides: Bytes; must not repeat an element. source_strides: Bytes; 0
      repeats, negative runs backwards.
    """
    if itemsize not in SIZES:
        raise InvalidArgumentError(f"copy: elements of {itemsize} bytes; allowed are {SIZES}")
    if not len(shape) == len(target_strides) == len(source_strides):
        raise InvalidArgumentError(
            f"copy: shape {tuple(shape)}, target strides {tuple(target_strides)} and "
            f"source strides {tuple(source_strides)} differ in length"
        )
    rows = _collapsed(shape, target_strides, source_strides)
    if len(rows) > RANK:
        raise InvalidArgumentError(
            f"copy: {len(rows)} dimensions remain of shape {tuple(shape)}; at most {RANK}"
        )
    way = ELEMENTS
    if rows and rows[-1][1:] == (itemsize, itemsize):
        way = ROWS
    elif len(rows) > 1 and rows[-1][1] == itemsize:
        other = next((k for k, row in enumerate(rows[:-1]) if row[2] == itemsize), None)
        if other is not None and rows[-1][2] != 0 and min(rows[-1][0], rows[other][0]) >= 4:
            row = rows.pop(other)
            rows.insert(len(rows) - 1, row)
            way = TRANSPOSE
    elif not rows:
        rows, way = [(1, itemsize, itemsize)], ROWS
    if way == ELEMENTS and len(rows) > 1 and rows[-1][0] < 4 <= rows[-2][0]:
        rows[-2:] = [rows[-1], rows[-2]]  # a long loop inside a short one
    rows = [(1, 0, 0)] * (RANK - len(rows)) + rows
    words = [0] * WORD_COUNT
    words[WAY] = way
    for d, (extent, to_step, from_step) in enumerate(rows):
        words[EXTENT + d], words[TARGET_STRIDE + d], words[SOURCE_STRIDE + d] = extent, to_step, from_step
    return words


def fill_words(
    value: np.generic | np.ndarray, shape: Sequence[int], target_strides: Sequence[int]
) -> list[int]:
    """The block of a step that stores one value everywhere, pointer left at 0 (word TARGET)."""
    raw = np.asarray(value)
    words = copy_words(raw.itemsize, shape, target_strides, [0] * len(shape))
    # An integer with its sign, so that its word grows as it does.
    wide = raw.astype(np.int64) if raw.dtype.kind == "i" else raw
    words[VALUE : VALUE + 2] = [
        int(word) for word in np.frombuffer(wide.tobytes().ljust(16, b"\0"), np.int64)
    ]
    return words


def _collapsed(shape: Sequence[int], to: Sequence[int], source: Sequence[int]) -> list[tuple[int, int, int]]:
    """(extent, target stride, source stride), largest target stride first, sizes of one dropped, even
    neighbours merged; one of size 0 alone if there is nothing to move.
    """
    if 0 in shape:
        return [(0, 0, 0)]
    rows = sorted(
        ((n, t, s) for n, t, s in zip(shape, to, source, strict=True) if n != 1),
        key=lambda row: (-abs(row[1]), -abs(row[2])),
    )
    merged: list[tuple[int, int, int]] = []
    for n, t, s in rows:
        if merged and merged[-1][1] == n * t and merged[-1][2] == n * s:
            merged[-1] = (merged[-1][0] * n, t, s)
        else:
            merged.append((n, t, s))
    return merged
