"""Convolutions with few outputs as LLVM IR text: a vector holds neighbouring places of a line, not the outputs of one place.

Vectors of three outputs would be empty for the most part. So lines of the image are turned around, channel after channel, with
zeros on both sides, and a number of a filter is multiplied with as many places as a vector holds. The sums of some places stay in
registers for all of a window. The gradient by images of few channels is such a convolution of the cotangents.
"""

from __future__ import annotations

from graphad.compiler.assembly import Slot
from graphad.compiler.cpu.runtime import convolving_text as t
from graphad.compiler.cpu.runtime.convolving_lines import COPIES, PADDED, chunks, put_table
from graphad.compiler.cpu.runtime.tiles_text import Body, Shape

# One word behind those of `convolving_lines`: where sums lie before they are put side by side. There, PADDED is what a channel of
# a line has, and lines outside of the image have the address 0.
SUMS = t.WORD_COUNT + 5
WORD_COUNT = SUMS + 1
MOST = 4  # outputs
VECTORS = 4  # of places at once, at most
SYMBOLS = ("graphad_{}few",)


def symbols(shape: Shape) -> list[str]:
    return [symbol.format(shape.letter) for symbol in SYMBOLS]


def _most(shape: Shape, outputs: int) -> int:
    """How many vectors of places are computed at once: their sums, their numbers and a factor fit the registers."""
    registers = 32 if shape.size * shape.lanes == 64 else 16
    return min(VECTORS, max((registers - 1) // (outputs + 1), 1))


def _sums(shape: Shape, suffix: str, outputs: int, wide: int) -> str:
    """The sums of `wide` vectors of places from %at on, output after output, for a window whose lines begin at the addresses in
    `table`."""
    f = Body(
        shape,
        suffix,
        f"void @few{outputs}x{wide}(ptr noalias %w, ptr noalias %table, i64 %lines, i64 %at, ptr noalias %to)",
        "internal",
    )
    v, lanes = shape.vector, shape.lanes
    # Few sums would wait for each other: then neighbouring channels have sums of their own.
    apart = max(1, min(4, 8 // (outputs * wide)))
    sums = [
        [[f.slot(v, "zeroinitializer") for _ in range(wide)] for _ in range(outputs)] for _ in range(apart)
    ]
    channels, padded = f.word("%w", t.PIXEL), f.word("%w", PADDED)
    across, dilation = f.word("%w", t.WINDOW + 2), f.word("%w", t.DILATION + 2)
    many = f.math("sub", channels, f.math("srem", channels, apart))
    filters = f.slot("ptr", f.pointer("%w", t.OTHER))
    of_line = f.math("mul", f.math("mul", across, channels), outputs)
    with f.loop(0, f.word("%w", t.WINDOW)) as k0, f.loop(0, f.word("%w", t.WINDOW + 1)) as k1:
        place = f.math("add", f.math("mul", k0, "%lines"), f.math("mul", k1, f.word("%w", t.DILATION + 1)))
        line, factors = f.pointer("%table", place), f.slot("ptr", filters.get())
        with f.when(f.emit(f"icmp ne ptr {line}, null")), f.loop(0, across) as k2:
            begin = f.slot("ptr", f.item(f.item(line, "%at"), f.math("mul", k2, dilation)))

            def add(rows: list[list[Slot]]) -> None:
                here, factor = begin.get(), factors.get()
                numbers = [f.load(f.item(here, n * lanes)) for n in range(wide)]
                for o, row in enumerate(rows):
                    one = f.splat(f.emit(f"load {shape.kind}, ptr {f.item(factor, o)}"), shape.kind)
                    for number, total in zip(numbers, row, strict=True):
                        given = f"{v} {one}, {v} {number}, {v} {total.get()}"
                        total.set(f.emit(f"call {v} @llvm.fmuladd.{suffix}({given})"))
                factors.set(f.item(factor, outputs))
                begin.set(f.item(here, padded))

            with f.loop(0, many, apart):
                for rows in sums:
                    add(rows)
            with f.loop(many, channels):
                add(sums[0])
        filters.set(f.item(filters.get(), of_line))
    for o in range(outputs):
        for n in range(wide):
            total = sums[0][o][n].get()
            for rows in sums[1:]:
                total = f.emit(f"fadd {v} {total}, {rows[o][n].get()}")
            f.store(total, f.item("%to", (o * VECTORS + n) * lanes))
    f.ret()
    return f.text()


def _table(shape: Shape) -> str:
    """The lines of the image turned around, with zeros on both sides of each channel."""
    f = Body(shape, "", "i64 @turned(ptr %w, i64 %line, i64 %many)", "internal")
    padded, pixel = f.word("%w", PADDED), f.word("%w", t.PIXEL)
    copies = f.slot("ptr", f.item(f.pointer("%w", t.WORK), f.word("%w", COPIES)))
    whole = f.math("mul", padded, pixel)

    def put(line: str, left: str, skipped: str, inside: str) -> str:
        to = copies.get()
        t.put_zeros(f, to, whole)
        source = f.slot("ptr", f.item(line, f.math("mul", skipped, pixel)))
        with f.loop(left, f.math("add", left, inside)) as at:
            number, target = source.get(), f.slot("ptr", f.item(to, at))
            with f.loop(0, pixel) as c:
                value = f.emit(f"load {shape.kind}, ptr {f.item(number, c)}")
                f.do(f"store {shape.kind} {value}, ptr {target.get()}")
                target.set(f.item(target.get(), padded))
            source.set(f.item(number, pixel))
        copies.set(f.item(to, whole))
        return to

    put_table(f, "null", 1, put)
    return f.text()


def _line(shape: Shape) -> str:
    """The results of one line: sums of some vectors of places, put side by side."""
    f = Body(
        shape,
        "",
        "void @few(ptr noalias %w, ptr noalias %table, i64 %lines, ptr noalias %result)",
        "internal",
    )
    lanes, outputs = shape.lanes, f.word("%w", t.OUTPUTS)
    count, pixel = f.word("%w", t.COUNT + 2), f.word("%w", t.RESULT_PIXEL)
    sums, low = f.item(f.pointer("%w", t.WORK), f.word("%w", SUMS)), f.slot("i64", 0)
    with f.forever() as done:
        now = low.get()
        left = f.math("sub", count, now)
        f.leave(done, f.test("sle", left, 0))
        wide = f.slot("i64")
        for o in range(1, MOST + 1):
            with f.when(f.test("eq", outputs, o)):
                most = _most(shape, o)
                wide.set(f.min(f.math("sdiv", f.math("add", left, lanes - 1), lanes), most))
                for n in range(1, most + 1):
                    with f.when(f.test("eq", wide.get(), n)):
                        f.do(f"call void @few{o}x{n}(ptr %w, ptr %table, i64 %lines, i64 {now}, ptr {sums})")
        done_here = f.min(f.math("mul", wide.get(), lanes), left)
        target = f.slot("ptr", f.item("%result", f.math("mul", now, pixel)))
        with f.loop(0, done_here) as place:
            to, number = target.get(), f.slot("ptr", f.item(sums, place))
            with f.loop(0, outputs) as o_:
                value = f.emit(f"load {shape.kind}, ptr {number.get()}")
                f.do(f"store {shape.kind} {value}, ptr {f.item(to, o_)}")
                number.set(f.item(number.get(), VECTORS * lanes))
            target.set(f.item(to, pixel))
        low.set(f.math("add", now, done_here))
    f.ret()
    return f.text()


def _few(shape: Shape, symbol: str) -> str:
    """The results of the lines from LOW to HIGH."""
    f = Body(shape, "", f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    t.begin(f)

    def some(first: str, many: str, lines: str) -> None:
        result = t.Walk(f, f.math("mul", first, f.word("%w", t.COUNT + 2))).result()
        with f.loop(0, many) as k:
            of_line = f.at(f.pointer("%w", t.WORK), f.math("mul", k, f.word("%w", t.STRIDE + 1)))
            to = f.item(result, f.math("mul", k, f.word("%w", t.RESULT_STEPS + 1)))
            f.do(f"call void @few(ptr %w, ptr {of_line}, i64 {lines}, ptr {to})")

    chunks(f, "turned", some)
    f.ret(0)
    return f.text()


def text(shape: Shape) -> str:
    """The function for one dtype, a step: `i32 f(ret, exc, block)`."""
    v, suffix = shape.vector, f"v{shape.lanes}f{8 * shape.size}"
    return "\n".join(
        [
            f"declare {v} @llvm.fmuladd.{suffix}({v}, {v}, {v})",
            "declare i64 @llvm.smin.i64(i64, i64)",
            "declare i64 @llvm.smax.i64(i64, i64)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            *[_sums(shape, suffix, o, n) for o in range(1, MOST + 1) for n in range(1, _most(shape, o) + 1)],
            _table(shape),
            _line(shape),
            _few(shape, symbols(shape)[0]),
        ]
    )
