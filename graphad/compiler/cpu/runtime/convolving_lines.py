"""Convolutions line by line as LLVM IR text: windows that overlap in a line of the image are never laid out apart.

The part of a window in one line of the image is contiguous, and that of the next place begins a few elements behind it. So a tile
reads the numbers of its rows in the image itself. A line that windows leave is copied with zeros on both sides, once for some
lines of results, and one line of zeros stands for all that are outside. Sums stay in registers for all of a window.

The gradient by the filters is the same: its rows are the elements of windows, and it adds up along lines. Where the places have
parts, however these are computed, another step adds up those.
"""

from __future__ import annotations

from collections.abc import Callable

from graphad.compiler.cpu.runtime import convolving_text as t
from graphad.compiler.cpu.runtime.tiles_text import WIDE, Body, Shape, add_products, places_of, store_first

# Words behind those of `convolving_text`. Lines are those of the results, counted over all images.
LINES, PADDED, ZEROS, COPIES, DIRECT = range(t.WORD_COUNT, t.WORD_COUNT + 5)
WORD_COUNT = t.WORD_COUNT + 5
SYMBOLS = ("graphad_{}lines", "graphad_{}line_filters", "graphad_{}added")


def symbols(shape: Shape) -> list[str]:
    return [symbol.format(shape.letter) for symbol in SYMBOLS]


def _tile(shape: Shape, suffix: str, rows: int, wide: int) -> str:
    """C[rows, wide vectors] = the sum over some lines of A B, or that added to C.

    `table` has the lines, %many0 times %many1 of them; A begins %start elements behind the address of a line, and B goes on from
    line to line.
    """
    f = Body(
        shape,
        suffix,
        f"void @along{rows}x{wide}(ptr noalias %table, i64 %many0, i64 %apart0, i64 %many1, i64 %apart1, i64 %start, "
        "i64 %row, i64 %column, ptr noalias %b, i64 %step, ptr noalias %c, i64 %ldc, i64 %depth, i1 %more, i64 %width)",
        "internal",
    )
    v = shape.vector
    sums = [f.slot(v, "zeroinitializer") for _ in range(rows * wide)]
    # Three rows for each pointer: their distances are addressing modes, so that the pointers fit the registers.
    steps: list[str | int] = [0, "%row", f.math("shl", "%row", 1)]
    firsts = [f.math("mul", "%row", r) for r in range(0, rows, 3)]
    pointers, panel = [f.slot("ptr") for _ in firsts], f.slot("ptr", "%b")
    with f.loop(0, "%many0") as i, f.loop(0, "%many1") as j:
        at = f.math("add", f.math("mul", i, "%apart0"), f.math("mul", j, "%apart1"))
        begin = f.item(f.pointer("%table", at), "%start")
        for pointer, first in zip(pointers, firsts, strict=True):
            pointer.set(f.item(begin, first))
        add_products(f, sums, wide, pointers, steps, panel)
    store_first(f, list(zip(sums, places_of(f, rows, wide), strict=True)), wide)
    return f.text()


def heights(shape: Shape) -> list[int]:
    """The heights of tiles; lines of 7, 14 and 28 places, which are many, are whole tiles."""
    return [12, 8, 7, 4, 2, 1] if shape.rows == 12 else [shape.rows, 4, 3, 2, 1]


def first_heights(shape: Shape) -> list[int]:
    """The height of the first tile by the number of rows that are left, from 1 to twice the largest height.

    A tile of fewer than four rows takes as long as one of four, whose sums wait for each other as long as they are computed.
    """
    costs, found = [0], []
    for left in range(1, 2 * shape.rows + 1):
        options = [(max(h, 4) + costs[left - h], -h) for h in heights(shape) if h <= left]
        cost, height = min(options)
        costs.append(cost)
        found.append(-height)
    return found


def _tiles(shape: Shape) -> str:
    """All of %count rows by all of %width columns, one panel of columns after the other."""
    f = Body(
        shape,
        "",
        "void @along(ptr noalias %table, i64 %many0, i64 %apart0, i64 %many1, i64 %apart1, i64 %row, i64 %column, "
        "ptr noalias %b, i64 %step, ptr noalias %c, i64 %ldc, i64 %depth, i1 %more, i64 %count, i64 %width)",
        "internal",
    )
    with f.loop(0, "%width", WIDE * shape.lanes) as j0:
        width = f.min(f.math("sub", "%width", j0), WIDE * shape.lanes)
        is_narrow = f.test("sle", width, shape.lanes)
        b, low = f.item("%b", j0), f.slot("i64", 0)
        with f.forever() as done:
            now = low.get()
            left = f.math("sub", "%count", now)
            f.leave(done, f.test("sle", left, 0))
            rows = str(shape.rows)
            for k, height in enumerate(first_heights(shape), 1):
                if height != shape.rows:
                    rows = f.choose(f.test("eq", left, k), "i64", height, rows)
            start = f.math("mul", now, "%row")
            c = f.item(f.item("%c", f.math("mul", now, "%ldc")), j0)
            given = (
                "ptr %table, i64 %many0, i64 %apart0, i64 %many1, i64 %apart1, "
                f"i64 {start}, i64 %row, i64 %column, ptr {b}, i64 %step, ptr {c}, i64 %ldc, i64 %depth, i1 %more, i64 {width}"
            )
            for many in heights(shape):
                with f.when(f.test("eq", rows, many)):
                    with f.when(is_narrow):
                        f.do(f"call void @along{many}x1({given})")
                    with t.otherwise(f, is_narrow):
                        f.do(f"call void @along{many}x{WIDE}({given})")
            low.set(f.math("add", now, rows))
    f.ret()
    return f.text()


def put_table(f: Body, outside: str, unit: str | int, put: Callable[[str, str, str, str], str]) -> None:
    """The body of `i64 (ptr %w, i64 %line, i64 %many)`: addresses for the lines of the image that `many` lines of results from
    `line` on have a part of, plane after plane; it returns how many lines a plane has.

    Lines that are not there have the address `outside`, for others `put(line, left, skipped, inside)` gives it: behind `left`
    zeros come `inside` numbers of the line, whose first ones are skipped. These are counted in `unit` elements.
    """
    walk = t.Walk(f, f.math("mul", "%line", f.word("%w", t.COUNT + 2)))
    span = f.math("mul", f.math("sub", "%many", 1), f.word("%w", t.STRIDE + 1))
    reach = f.math("mul", f.math("sub", f.word("%w", t.WINDOW + 1), 1), f.word("%w", t.DILATION + 1))
    lines = f.math("add", f.math("add", span, reach), 1)
    image, work, padded = t.image_at(f, walk.at[0].get()), f.pointer("%w", t.WORK), f.word("%w", PADDED)
    # What of a padded line is inside of the image.
    before = f.math("mul", f.word("%w", t.BEFORE + 2), unit)
    left = f.min(f.emit(f"call i64 @llvm.smax.i64(i64 {before}, i64 0)"), padded)
    skipped = f.math("sub", left, before)
    there = f.math("sub", f.math("mul", f.word("%w", t.SIZE + 2), unit), skipped)
    inside = f.emit(f"call i64 @llvm.smax.i64(i64 {f.min(there, f.math('sub', padded, left))}, i64 0)")
    with f.loop(0, f.word("%w", t.WINDOW)) as k0:
        d, in_depth = t.element_at(f, 0, walk.first(0), k0)
        first = walk.first(1)
        with f.loop(0, lines) as k:
            h = f.math("add", first, k)
            is_in = f.emit(f"and i1 {in_depth}, {t.is_within(f, h, f.word('%w', t.SIZE + 1))}")
            address = f.slot("ptr", outside)
            with f.when(is_in):
                address.set(put(t.line_at(f, image, d, h), left, skipped, inside))
            place = f.at(work, f.math("add", f.math("mul", k0, lines), k))
            f.do(f"store ptr {address.get()}, ptr {place}, align 8")
    f.ret(lines)


def _table(shape: Shape) -> str:
    """The lines themselves where all of a window is inside of them, else copies with zeros on both sides."""
    f = Body(shape, "", "i64 @table(ptr %w, i64 %line, i64 %many)", "internal")
    work, padded = f.pointer("%w", t.WORK), f.word("%w", PADDED)
    zeros, copies = f.item(work, f.word("%w", ZEROS)), f.slot("ptr", f.item(work, f.word("%w", COPIES)))
    direct = f.test("ne", f.word("%w", DIRECT), 0)

    def put(line: str, left: str, skipped: str, inside: str) -> str:
        source, right = f.item(line, skipped), f.math("add", left, inside)
        address = f.slot("ptr", source)
        with t.otherwise(f, direct):
            to = copies.get()
            t.put_zeros(f, to, left)
            t.put_copy(f, f.item(to, left), source, inside)
            t.put_zeros(f, f.item(to, right), f.math("sub", padded, right))
            address.set(to)
            copies.set(f.item(to, padded))
        return address.get()

    put_table(f, zeros, f.word("%w", t.PIXEL), put)
    return f.text()


def chunks(f: Body, table: str, body: Callable[[str, str, str], None]) -> None:
    """Call `body(line, end, lines of a plane)` for the lines from LOW to HIGH, some lines of one plane of results at a time,
    with the addresses of the lines of the image in a table that the function of this name has filled."""
    line, high, across = f.slot("i64", f.word("%w", t.LOW)), f.word("%w", t.HIGH), f.word("%w", t.COUNT + 1)
    with f.forever() as done:
        now = line.get()
        f.leave(done, f.test("sge", now, high))
        left = f.math("sub", across, f.math("srem", now, across))
        many = f.min(f.min(left, f.word("%w", LINES)), f.math("sub", high, now))
        lines = f.emit(f"call i64 @{table}(ptr %w, i64 {now}, i64 {many})")
        body(now, many, lines)
        line.set(f.math("add", now, many))


def _chunks(f: Body, body: Callable[[str, str, str], None]) -> None:
    """`chunks` of lines as they are, with one line of zeros for all that are outside."""
    t.begin(f)
    t.put_zeros(f, f.item(f.pointer("%w", t.WORK), f.word("%w", ZEROS)), f.word("%w", PADDED))
    chunks(f, "table", body)


def _correlate(shape: Shape, symbol: str) -> str:
    """The results of the lines from LOW to HIGH."""
    f = Body(shape, "", f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")

    def some(first: str, many: str, lines: str) -> None:
        walk = t.Walk(f, f.math("mul", first, f.word("%w", t.COUNT + 2)))
        result, table, row = walk.result(), f.pointer("%w", t.WORK), f.word("%w", t.STRIDE + 2)
        row = f.math("mul", row, f.word("%w", t.PIXEL))
        depth = f.math("mul", f.word("%w", t.WINDOW + 2), f.word("%w", t.PIXEL))
        with f.loop(0, many) as k:
            of_line = f.at(table, f.math("mul", k, f.word("%w", t.STRIDE + 1)))
            to = f.item(result, f.math("mul", k, f.word("%w", t.RESULT_STEPS + 1)))
            f.do(
                f"call void @along(ptr {of_line}, i64 {f.word('%w', t.WINDOW)}, i64 {lines}, "
                f"i64 {f.word('%w', t.WINDOW + 1)}, i64 {f.word('%w', t.DILATION + 1)}, i64 {row}, i64 1, "
                f"ptr {f.pointer('%w', t.OTHER)}, i64 {f.word('%w', t.OTHER_PIXEL)}, ptr {to}, "
                f"i64 {f.word('%w', t.RESULT_PIXEL)}, i64 {depth}, i1 false, i64 {f.word('%w', t.COUNT + 2)}, "
                f"i64 {f.word('%w', t.OUTPUTS)})"
            )

    _chunks(f, some)
    f.ret(0)
    return f.text()


def _filters(shape: Shape, symbol: str) -> str:
    """The products of windows and what is given at their places, added up over the lines from LOW to HIGH."""
    f = Body(shape, "", f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    more = f.slot("i1", "false")

    def some(first: str, many: str, lines: str) -> None:
        pixel, across, length = f.word("%w", t.PIXEL), f.word("%w", t.COUNT + 2), f.word("%w", t.WINDOW + 2)
        length, step = f.math("mul", length, pixel), f.word("%w", t.OTHER_PIXEL)
        given = f.item(f.pointer("%w", t.OTHER), f.math("mul", f.math("mul", first, across), step))
        column = f.math("mul", f.word("%w", t.STRIDE + 2), pixel)
        of_line = f.math("mul", length, f.word("%w", t.RESULT_PIXEL))
        to = f.slot("ptr", f.pointer("%w", t.RESULT))
        with f.loop(f.word("%w", t.FIRST), f.word("%w", t.LAST)) as k0:
            with f.loop(f.word("%w", t.FIRST + 1), f.word("%w", t.LAST + 1)) as k1:
                at = f.math("mul", k1, f.word("%w", t.DILATION + 1))
                table = f.at(f.pointer("%w", t.WORK), f.math("add", f.math("mul", k0, lines), at))
                f.do(
                    f"call void @along(ptr {table}, i64 1, i64 0, i64 {many}, i64 {f.word('%w', t.STRIDE + 1)}, i64 1, "
                    f"i64 {column}, ptr {given}, i64 {step}, ptr {to.get()}, i64 {f.word('%w', t.RESULT_PIXEL)}, "
                    f"i64 {across}, i1 {more.get()}, i64 {length}, i64 {f.word('%w', t.OUTPUTS)})"
                )
                to.set(f.item(to.get(), of_line))
        more.set("true")

    _chunks(f, some)
    f.ret(0)
    return f.text()


def _added(shape: Shape, suffix: str, symbol: str) -> str:
    """The sums of BLOCK arrays of LENGTH numbers each, one behind the other from IMAGES on, in order."""
    f = Body(shape, suffix, f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    t.begin(f)
    length, total = f.word("%w", t.LENGTH), f.slot(shape.vector)
    with f.loop(0, length, shape.lanes) as i:
        mask = f.first(f.math("sub", length, i))
        first = f.item(f.pointer("%w", t.IMAGES), i)
        total.set(f.load_some(first, mask))
        with f.loop(1, f.word("%w", t.BLOCK)) as k:
            more = f.load_some(f.item(first, f.math("mul", k, length)), mask)
            total.set(f.emit(f"fadd {shape.vector} {total.get()}, {more}"))
        f.store_some(total.get(), f.item(f.pointer("%w", t.RESULT), i), mask)
    f.ret(0)
    return f.text()


def text(shape: Shape) -> str:
    """The functions for one dtype, each a step: `i32 f(ret, exc, block)`."""
    v, suffix = shape.vector, f"v{shape.lanes}f{8 * shape.size}"
    tiles = [_tile(shape, suffix, rows, wide) for wide in (1, WIDE) for rows in heights(shape)]
    declared = [
        f"declare {v} @llvm.fmuladd.{suffix}({v}, {v}, {v})",
        f"declare {v} @llvm.masked.load.{suffix}.p0(ptr, i32, <{shape.lanes} x i1>, {v})",
        f"declare void @llvm.masked.store.{suffix}.p0({v}, ptr, i32, <{shape.lanes} x i1>)",
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare i64 @llvm.smax.i64(i64, i64)",
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    ]
    found = symbols(shape)
    steps = [_correlate(shape, found[0]), _filters(shape, found[1]), _added(shape, suffix, found[2])]
    return "\n".join([*declared, *tiles, _tiles(shape), _table(shape), *steps])
