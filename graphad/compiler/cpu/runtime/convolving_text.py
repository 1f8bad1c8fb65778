"""Convolutions as LLVM IR text: windows of a block of places are laid out as rows and multiplied by tiles, block after block.

Images are [batch, depth, height, width, channels]; an image with fewer axes has sizes of 1. The rows of a block stay in the
second-level cache between the copy and the product. Two more functions are for filters that take one channel each: there a
product would have one column, so vectors of channels are multiplied and added up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from graphad.compiler.assembly import Function, Slot
from graphad.compiler.cpu.runtime.tiles_text import Body, Shape

# Words of a block. Places are those of the windows, counted over all images; strides of the result in elements.
IMAGES, OTHER, RESULT, WORK, PRODUCT, LOW, HIGH, BLOCK = range(8)
COUNT, SIZE, WINDOW, STRIDE, DILATION, BEFORE = 8, 11, 14, 17, 20, 23  # three words each
CHANNELS, PIXEL, OUTPUTS, OTHER_PIXEL, ALONE, TIGHT = range(26, 32)
RESULT_IMAGE, RESULT_STEPS, RESULT_PIXEL = 32, 33, 36  # RESULT_STEPS: three words
# The part of a window that is looked at, along the first two axes; its length; its offset in a whole window.
FIRST, LAST, LENGTH = 37, 39, 41
ALPHA, BETA, PLAIN, TURNED = 42, 43, 44, 45  # what products are told
WORD_COUNT = 46

VECTORS = 4  # of channels, side by side
POINTS = 4  # places, one behind the other, for which filters are loaded once
SHORT = 2  # vectors that a line of a window may have to be copied without a call
SYMBOLS = tuple(
    [
        f"graphad_{{}}{name}"
        for name in (
            "correlate",
            "filters",
            "single",
            "single_filters",
            "spread",
            "at_maxima",
            "maxima",
        )
    ]
)


def symbols(shape: Shape) -> list[str]:
    return [symbol.format(shape.letter) for symbol in SYMBOLS]


class Walk:
    """Where the windows of one place lie: the place's indices, and the first element of its window along each axis."""

    def __init__(self, f: Body, start: str) -> None:
        self.f, self.at = f, [f.slot("i64") for _ in range(4)]
        left = start
        for axis in (2, 1, 0):
            count = f.word("%w", COUNT + axis)
            self.at[axis + 1].set(f.math("srem", left, count))
            left = f.math("sdiv", left, count)
        self.at[0].set(left)

    def step(self) -> None:
        """On to the next place."""
        f = self.f
        self.at[3].set(f.math("add", self.at[3].get(), 1))
        for axis in (2, 1, 0):
            with f.when(f.test("eq", self.at[axis + 1].get(), f.word("%w", COUNT + axis))):
                self.at[axis + 1].set(0)
                self.at[axis].set(f.math("add", self.at[axis].get(), 1))

    def first(self, axis: int) -> str:
        f = self.f
        moved = f.math("mul", self.at[axis + 1].get(), f.word("%w", STRIDE + axis))
        return f.math("sub", moved, f.word("%w", BEFORE + axis))

    def result(self) -> str:
        """The address of the place's result."""
        f = self.f
        at = f.math("mul", self.at[0].get(), f.word("%w", RESULT_IMAGE))
        for axis in range(3):
            moved = f.math("mul", self.at[axis + 1].get(), f.word("%w", RESULT_STEPS + axis))
            at = f.math("add", at, moved)
        return f.item(f.pointer("%w", RESULT), at)


def is_within(f: Function, value: str, size: str) -> str:
    return f.test("ult", value, size)


def element_at(f: Body, axis: int, first: str, k: str) -> tuple[str, str]:
    """The place of element k of a window along an axis, and whether it is inside of the image."""
    at = f.math("add", first, f.math("mul", k, f.word("%w", DILATION + axis)))
    return at, is_within(f, at, f.word("%w", SIZE + axis))


def line_at(f: Body, image: str, d: str, h: str) -> str:
    """The address of a line of an image."""
    row = f.math("add", f.math("mul", d, f.word("%w", SIZE + 1)), h)
    return f.item(image, f.math("mul", f.math("mul", row, f.word("%w", SIZE + 2)), f.word("%w", PIXEL)))


def image_at(f: Body, index: str, base: int = IMAGES) -> str:
    size = f.math("mul", f.word("%w", SIZE), f.word("%w", SIZE + 1))
    size = f.math("mul", f.math("mul", size, f.word("%w", SIZE + 2)), f.word("%w", PIXEL))
    return f.item(f.pointer("%w", base), f.math("mul", index, size))


def put_copy(f: Body, to: str, source: str, count: str) -> None:
    size = f.math("mul", count, f.shape.size)
    f.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false)")


def put_zeros(f: Body, to: str, count: str) -> None:
    f.do(f"call void @llvm.memset.p0.i64(ptr {to}, i8 0, i64 {f.math('mul', count, f.shape.size)}, i1 false)")


@contextmanager
def otherwise(f: Function, condition: str) -> Iterator[None]:
    with f.when(f.emit(f"xor i1 {condition}, true")):
        yield


class _Run:
    """The part of windows that lies in one line of the image: elements side by side, some of them outside of it."""

    def __init__(self, f: Body) -> None:
        self.f, self.channels = f, f.word("%w", CHANNELS)
        self.wide, self.width = f.word("%w", WINDOW + 2), f.word("%w", SIZE + 2)
        self.size = f.math("mul", self.channels, self.wide)
        lanes = f.shape.lanes
        self.is_short = f.test("sle", self.size, SHORT * lanes)
        self.all = [f.first(f.math("sub", self.size, v * lanes)) for v in range(SHORT)]
        self.more = [f.test("sgt", self.size, v * lanes) for v in range(SHORT)]

    def at(self, first: str) -> None:
        """Look at windows that begin at element `first` of a line."""
        f = self.f
        self.first = f.math("mul", first, self.channels)
        left = f.min(f.emit(f"call i64 @llvm.smax.i64(i64 {f.math('sub', 0, first)}, i64 0)"), self.wide)
        right = f.min(f.math("sub", self.width, first), self.wide)
        right = f.emit(f"call i64 @llvm.smax.i64(i64 {right}, i64 {left})")
        self.whole = f.emit(f"and i1 {f.test('eq', left, 0)}, {f.test('eq', right, self.wide)}")
        self.left, self.right = (f.math("mul", x, self.channels) for x in (left, right))
        self.inside, lanes = [], f.shape.lanes
        for v in range(SHORT):
            low, high = (f.first(f.math("sub", x, v * lanes)) for x in (self.left, self.right))
            self.inside.append(f.emit(f"xor <{lanes} x i1> {low}, {high}"))  # low is within high

    def each(self, body: Callable[[int], None]) -> None:
        """Call `body` for each vector of a short run."""
        for v in range(SHORT):
            with self.f.when(self.more[v]):
                body(v)


def _lay_out(shape: Shape, suffix: str) -> str:
    """The windows of the places from `low` to `high`, one a row, with zeros for what is outside of the image."""
    f = Body(shape, suffix, "void @lay_out(ptr %w, ptr noalias %to, i64 %low, i64 %high)", "internal")
    walk, to, run = Walk(f, "%low"), f.slot("ptr", "%to"), _Run(f)
    pixel, channels, lanes = f.word("%w", PIXEL), run.channels, shape.lanes
    together = f.emit(
        f"and i1 {f.test('eq', pixel, channels)}, {f.test('eq', f.word('%w', DILATION + 2), 1)}"
    )
    short = f.emit(f"and i1 {together}, {run.is_short}")
    long = f.emit(f"and i1 {together}, {f.emit(f'xor i1 {run.is_short}, true')}")
    apart = f.emit(f"xor i1 {together}, true")
    with f.loop("%low", "%high"):
        image, first = image_at(f, walk.at[0].get()), walk.first(2)
        run.at(first)
        with f.loop(f.word("%w", FIRST), f.word("%w", LAST)) as k0:
            d, in_depth = element_at(f, 0, walk.first(0), k0)
            with f.loop(f.word("%w", FIRST + 1), f.word("%w", LAST + 1)) as k1:
                h, in_height = element_at(f, 1, walk.first(1), k1)
                target = to.get()
                is_in = f.emit(f"and i1 {in_depth}, {in_height}")
                with otherwise(f, is_in):
                    put_zeros(f, target, run.size)
                with f.when(f.emit(f"and i1 {is_in}, {short}")):
                    source = f.item(line_at(f, image, d, h), run.first)

                    def copy(v: int, source: str = source, target: str = target) -> None:
                        value = f.load_some(f.item(source, v * lanes), run.inside[v])
                        f.store_some(value, f.item(target, v * lanes), run.all[v])

                    run.each(copy)
                with f.when(f.emit(f"and i1 {is_in}, {long}")):
                    source = f.item(line_at(f, image, d, h), run.first)
                    with f.when(run.whole):
                        put_copy(f, target, source, run.size)
                    with otherwise(f, run.whole):
                        put_zeros(f, target, run.left)
                        many = f.math("sub", run.right, run.left)
                        put_copy(f, f.item(target, run.left), f.item(source, run.left), many)
                        put_zeros(f, f.item(target, run.right), f.math("sub", run.size, run.right))
                with f.when(f.emit(f"and i1 {is_in}, {apart}")):
                    line = line_at(f, image, d, h)
                    with f.loop(0, run.wide) as k2:
                        at, in_width = element_at(f, 2, first, k2)
                        piece = f.item(target, f.math("mul", k2, channels))
                        with f.when(in_width):
                            put_copy(f, piece, f.item(line, f.math("mul", at, pixel)), channels)
                        with otherwise(f, in_width):
                            put_zeros(f, piece, channels)
                to.set(f.item(target, run.size))
        walk.step()
    f.ret()
    return f.text()


def _spread(shape: Shape, suffix: str, symbol: str) -> str:
    """Cotangents of the places from LOW to HIGH times filters, added to RESULT where their windows lie."""
    f = Body(shape, suffix, f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    begin(f)
    many, outputs, length = f.word("%w", BLOCK), f.word("%w", OUTPUTS), f.word("%w", LENGTH)
    end, work, run, lanes = f.word("%w", HIGH), f.pointer("%w", WORK), _Run(f), shape.lanes
    with f.loop(f.word("%w", LOW), end, many) as low:
        high = f.min(f.math("add", low, many), end)
        given = f.item(f.pointer("%w", IMAGES), f.math("mul", low, outputs))
        filters, count = f.pointer("%w", OTHER), f.math("sub", high, low)
        _multiply(f, (count, length, outputs), False, given, outputs, filters, work, length)
        walk, row = Walk(f, low), f.slot("ptr", work)
        with f.loop(0, count):
            image = image_at(f, walk.at[0].get(), RESULT)
            run.at(walk.first(2))
            with f.loop(0, f.word("%w", WINDOW)) as k0:
                d, in_depth = element_at(f, 0, walk.first(0), k0)
                with f.loop(0, f.word("%w", WINDOW + 1)) as k1:
                    h, in_height = element_at(f, 1, walk.first(1), k1)
                    source = row.get()
                    with f.when(f.emit(f"and i1 {in_depth}, {in_height}")):
                        target = f.item(line_at(f, image, d, h), run.first)

                        def add(v: int, source: str = source, target: str = target) -> None:
                            place = f.item(target, v * lanes)
                            values = [
                                f.load_some(p, run.inside[v]) for p in (f.item(source, v * lanes), place)
                            ]
                            total = f.emit(f"fadd {shape.vector} {values[0]}, {values[1]}")
                            f.store_some(total, place, run.inside[v])

                        run.each(add)
                    row.set(f.item(source, run.size))
            walk.step()
    f.ret(0)
    return f.text()


def _rows(f: Body, low: str, high: str) -> tuple[str, str]:
    """The windows of a block as the rows of a matrix, and the distance of rows; windows of one element are there already."""
    alone = f.test("ne", f.word("%w", ALONE), 0)
    work = f.pointer("%w", WORK)
    with otherwise(f, alone):
        f.do(f"call void @lay_out(ptr %w, ptr {work}, i64 {low}, i64 {high})")
    pixel = f.word("%w", PIXEL)
    there = f.item(f.pointer("%w", IMAGES), f.math("mul", low, pixel))
    return f.choose(alone, "ptr", there, work), f.choose(alone, "i64", pixel, f.word("%w", LENGTH))


def _multiply(
    f: Body, sizes: Sequence[str], turned: bool, a: str, lda: str, b: str, c: str, ldc: str
) -> None:
    """C = A B for sizes (m, n, k), or A' B if A is turned; added to C where the word BETA says so."""
    m, n, k, lda, ldc = (f.slot("i64", value).address for value in (*sizes, lda, ldc))
    plain, ldb = f.at("%w", PLAIN), f.at("%w", OTHER_PIXEL)
    of_a = f.at("%w", TURNED) if turned else plain
    given = [plain, of_a, n, m, k, f.at("%w", ALPHA), b, ldb, a, lda, f.at("%w", BETA), c, ldc]
    f.do(f"call void {f.pointer('%w', PRODUCT)}({', '.join(f'ptr {x}' for x in given)}, i64 1, i64 1)")


def begin(f: Body) -> None:
    f.do("%w = inttoptr i64 %block to ptr")


def _correlate(shape: Shape, symbol: str) -> str:
    """The results of all places from LOW to HIGH."""
    f = Body(shape, "", f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    begin(f)
    many, outputs, length = f.word("%w", BLOCK), f.word("%w", OUTPUTS), f.word("%w", LENGTH)
    end, result, pixel = f.word("%w", HIGH), f.pointer("%w", RESULT), f.word("%w", RESULT_PIXEL)
    tight = f.test("ne", f.word("%w", TIGHT), 0)
    with f.loop(f.word("%w", LOW), end, many) as low:
        high = f.min(f.math("add", low, many), end)
        rows, apart = _rows(f, low, high)
        count, filters = f.math("sub", high, low), f.pointer("%w", OTHER)
        there = f.item(result, f.math("mul", low, pixel))
        aside = f.item(f.pointer("%w", WORK), f.math("mul", many, length))
        to, ldc = f.choose(tight, "ptr", there, aside), f.choose(tight, "i64", pixel, outputs)
        _multiply(f, (count, outputs, length), False, rows, apart, filters, to, ldc)
        with otherwise(f, tight):
            walk = Walk(f, low)
            with f.loop(0, count) as i:
                put_copy(f, walk.result(), f.item(aside, f.math("mul", i, outputs)), outputs)
                walk.step()
    f.ret(0)
    return f.text()


def _filters(shape: Shape, symbol: str) -> str:
    """The products of windows and what is given at their places, added up from LOW to HIGH."""
    f = Body(shape, "", f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    begin(f)
    many, outputs, length = f.word("%w", BLOCK), f.word("%w", OUTPUTS), f.word("%w", LENGTH)
    end, result, pixel = f.word("%w", HIGH), f.pointer("%w", RESULT), f.word("%w", RESULT_PIXEL)
    f.set_word("%w", BETA, 0)
    with f.loop(f.word("%w", LOW), end, many) as low:
        high = f.min(f.math("add", low, many), end)
        rows, apart = _rows(f, low, high)
        given = f.item(f.pointer("%w", OTHER), f.math("mul", low, f.word("%w", OTHER_PIXEL)))
        _multiply(f, (length, outputs, f.math("sub", high, low)), True, rows, apart, given, result, pixel)
        f.set_word("%w", BETA, f.word("%w", ALPHA))
    f.ret(0)
    return f.text()


def _in_vectors(
    f: Body, count: str, body: Callable[[str, int, str | None], None], most: int = VECTORS, middle: int = 1
) -> None:
    """Call `body(channel, vectors, mask)` for all channels, `most` vectors at a time, then `middle`, then one, the last one with
    a mask."""
    lanes, done = f.shape.lanes, f.slot("i64")
    done.set(0)
    for vectors in dict.fromkeys((most, middle, 1)):
        with f.loop(done.get(), f.math("sub", count, vectors * lanes - 1), vectors * lanes) as c:
            body(c, vectors, None)
            done.set(f.math("add", c, vectors * lanes))
    left = f.math("sub", count, done.get())
    with f.when(f.test("sgt", left, 0)):
        body(done.get(), 1, f.first(left))


def _take(f: Body, place: str, mask: str | None) -> str:
    return f.load(place) if mask is None else f.load_some(place, mask)


def _put(f: Body, value: str, place: str, mask: str | None) -> None:
    if mask is None:
        f.store(value, place)
    else:
        f.store_some(value, place, mask)


def _fused(f: Body, factors: Sequence[str], total: Slot) -> None:
    (a, b), v = factors, f.shape.vector
    total.set(f.emit(f"call {v} @llvm.fmuladd.{f.suffix}({v} {a}, {v} {b}, {v} {total.get()})"))


def _single(shape: Shape, suffix: str, symbol: str) -> str:
    """`_correlate` for filters that map each channel to one output."""
    f = Body(shape, suffix, f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    begin(f)
    low, high = f.slot("i64", f.word("%w", LOW)), f.word("%w", HIGH)
    walk, step = Walk(f, low.get()), f.word("%w", STRIDE + 2)
    last = f.math("mul", f.math("sub", f.word("%w", WINDOW + 2), 1), f.word("%w", DILATION + 2))
    last = f.math("add", last, f.math("mul", step, POINTS - 1))
    with f.forever() as done:
        f.leave(done, f.test("sge", low.get(), high))
        first = walk.first(2)
        # Several places at once where none has an element outside of the line.
        holds = [
            f.test("sle", f.math("add", low.get(), POINTS), high),
            f.test("sle", f.math("add", walk.at[3].get(), POINTS), f.word("%w", COUNT + 2)),
            f.test("sge", first, 0),
            f.test("slt", f.math("add", first, last), f.word("%w", SIZE + 2)),
        ]
        several = holds[0]
        for each in holds[1:]:
            several = f.emit(f"and i1 {several}, {each}")
        with f.when(several):
            _points(f, walk, first, POINTS)
        with otherwise(f, several):
            _points(f, walk, first, 1)
        done_here = f.choose(several, "i64", POINTS, 1)
        low.set(f.math("add", low.get(), done_here))
        walk.at[3].set(f.math("add", walk.at[3].get(), f.math("sub", done_here, 1)))
        walk.step()
    f.ret(0)
    return f.text()


def _points(f: Body, walk: Walk, first: str, points: int) -> None:
    """The results of some places of a line; for several, all elements of their windows are inside of it."""
    image, result, filters = image_at(f, walk.at[0].get()), walk.result(), f.pointer("%w", OTHER)
    pixel, lanes, next_place = f.word("%w", PIXEL), f.shape.lanes, f.word("%w", RESULT_PIXEL)
    apart = f.math("mul", f.word("%w", STRIDE + 2), pixel)

    def some(c: str, vectors: int, mask: str | None) -> None:
        sums = [[f.slot(f.shape.vector) for _ in range(vectors)] for _ in range(points)]
        for total in [total for row in sums for total in row]:
            total.set("zeroinitializer")

        def add(at: str, y: str, line: str) -> None:
            x = f.item(line, f.math("mul", at, pixel))
            factors = [_take(f, f.item(y, v * lanes), mask) for v in range(vectors)]
            for point, row in enumerate(sums):
                there = f.item(x, f.math("mul", apart, point)) if point else x
                for v, total in enumerate(row):
                    _fused(f, (_take(f, f.item(there, v * lanes), mask), factors[v]), total)

        with f.loop(0, f.word("%w", WINDOW)) as k0:
            d, in_depth = element_at(f, 0, walk.first(0), k0)
            with f.loop(0, f.word("%w", WINDOW + 1)) as k1:
                h, in_height = element_at(f, 1, walk.first(1), k1)
                with f.when(f.emit(f"and i1 {in_depth}, {in_height}")):
                    line = f.item(line_at(f, image, d, h), c)
                    row = f.math("add", f.math("mul", k0, f.word("%w", WINDOW + 1)), k1)
                    row = f.math("mul", row, f.word("%w", WINDOW + 2))
                    of_row = f.item(filters, f.math("add", f.math("mul", row, pixel), c))
                    with f.loop(0, f.word("%w", WINDOW + 2)) as k2:
                        at, in_width = element_at(f, 2, first, k2)
                        y = f.item(of_row, f.math("mul", k2, pixel))
                        if points > 1:
                            add(at, y, line)
                        else:
                            with f.when(in_width):
                                add(at, y, line)
        for point, sums_of_point in enumerate(sums):
            there = f.item(f.item(result, f.math("mul", next_place, point)), c)
            for v, total in enumerate(sums_of_point):
                _put(f, total.get(), f.item(there, v * lanes), mask)

    # As many sums as there are registers for.
    _in_vectors(f, pixel, some, VECTORS if f.shape.size * lanes == 64 or points == 1 else 2)


def _single_filters(shape: Shape, suffix: str, symbol: str) -> str:
    """`_filters` for filters that map each channel to one output, for the channels from LOW to HIGH; RESULT starts as zeros."""
    f = Body(shape, suffix, f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    begin(f)
    pixel, low = f.word("%w", PIXEL), f.word("%w", LOW)
    width, across = f.word("%w", SIZE + 2), f.word("%w", COUNT + 2)
    stride, dilation, before = f.word("%w", STRIDE + 2), f.word("%w", DILATION + 2), f.word("%w", BEFORE + 2)
    channels = f.math("sub", f.word("%w", HIGH), low)
    with f.loop(0, f.word("%w", BLOCK)) as b:  # images
        image = image_at(f, b)
        with f.loop(0, f.word("%w", COUNT)) as o0:
            with f.loop(0, f.word("%w", COUNT + 1)) as o1:
                row = f.math(
                    "mul", f.math("add", f.math("mul", b, f.word("%w", COUNT)), o0), f.word("%w", COUNT + 1)
                )
                row = f.math("mul", f.math("mul", f.math("add", row, o1), across), pixel)
                given = f.item(f.item(f.pointer("%w", OTHER), row), low)
                first = [
                    f.math("sub", f.math("mul", o, f.word("%w", STRIDE + k)), f.word("%w", BEFORE + k))
                    for k, o in enumerate((o0, o1))
                ]
                with f.loop(0, f.word("%w", WINDOW)) as k0:
                    d, in_depth = element_at(f, 0, first[0], k0)
                    with f.loop(0, f.word("%w", WINDOW + 1)) as k1:
                        h, in_height = element_at(f, 1, first[1], k1)
                        with f.when(f.emit(f"and i1 {in_depth}, {in_height}")):
                            line = f.item(line_at(f, image, d, h), low)
                            with f.loop(0, f.word("%w", WINDOW + 2)) as k2:
                                # The places whose element k2 is inside of the line.
                                start = f.math("sub", f.math("mul", k2, dilation), before)
                                up = f.math("add", f.math("sub", 0, start), f.math("sub", stride, 1))
                                left = f.emit(
                                    f"call i64 @llvm.smax.i64(i64 {f.math('sdiv', up, stride)}, i64 0)"
                                )
                                last = f.math("sub", f.math("sub", width, 1), start)
                                right = f.min(f.math("add", f.math("sdiv", last, stride), 1), across)
                                right = f.choose(f.test("slt", last, 0), "i64", 0, right)
                                tap = f.math("add", f.math("mul", k0, f.word("%w", WINDOW + 1)), k1)
                                tap = f.math("add", f.math("mul", tap, f.word("%w", WINDOW + 2)), k2)
                                to = f.item(f.item(f.pointer("%w", RESULT), f.math("mul", tap, pixel)), low)

                                def some(c: str, vectors: int, mask: str | None) -> None:
                                    sums = [f.slot(f.shape.vector) for _ in range(vectors)]
                                    places = [
                                        f.item(f.item(to, c), v * f.shape.lanes) for v in range(vectors)
                                    ]
                                    for total in sums:
                                        total.set("zeroinitializer")
                                    with f.loop(left, right) as o2:
                                        at = f.math("add", f.math("mul", o2, stride), start)
                                        x = f.item(f.item(line, f.math("mul", at, pixel)), c)
                                        y = f.item(f.item(given, f.math("mul", o2, pixel)), c)
                                        for v, total in enumerate(sums):
                                            here = [f.item(base, v * f.shape.lanes) for base in (x, y)]
                                            _fused(f, [_take(f, p, mask) for p in here], total)
                                    for total, place in zip(sums, places, strict=True):
                                        before_it = _take(f, place, mask)
                                        found = f.emit(f"fadd {shape.vector} {before_it}, {total.get()}")
                                        _put(f, found, place, mask)

                                _in_vectors(f, channels, some)
    f.ret(0)
    return f.text()


def _maxima(shape: Shape, suffix: str, symbol: str, spread: bool) -> str:
    """The maxima of the windows of the places from LOW to HIGH, channel by channel; or, if `spread`, what OTHER has for the
    places added to RESULT where the first maximum is.

    The first NaN is the largest. Where all are -inf, the first element inside of the image is.
    """
    f = Body(shape, suffix, f"i32 @{symbol}(ptr %ret, ptr %exc, i64 %block)")
    begin(f)
    low, pixel, v, lanes = f.word("%w", LOW), f.word("%w", PIXEL), shape.vector, shape.lanes
    lowest, nowhere = f.splat("0xFFF0000000000000", shape.kind), f.splat("-1", "i32")
    places = f.pointer("%w", OTHER if spread else RESULT)
    walk, of_place = Walk(f, low), f.slot("ptr", f.item(places, f.math("mul", low, pixel)))
    with f.loop(low, f.word("%w", HIGH)):
        bases = [image_at(f, walk.at[0].get(), base) for base in (IMAGES, RESULT)]
        firsts, given = [walk.first(axis) for axis in range(3)], of_place.get()

        def elements(body: Callable[[str, str], None]) -> None:
            """Call `body` with the number of each element of the window that is inside, and its distance from the image."""
            with f.loop(0, f.word("%w", WINDOW)) as k0:
                d, in_depth = element_at(f, 0, firsts[0], k0)
                with f.loop(0, f.word("%w", WINDOW + 1)) as k1:
                    h, in_height = element_at(f, 1, firsts[1], k1)
                    with f.when(f.emit(f"and i1 {in_depth}, {in_height}")):
                        line = f.math("add", f.math("mul", d, f.word("%w", SIZE + 1)), h)
                        line = f.math("mul", line, f.word("%w", SIZE + 2))
                        row = f.math("add", f.math("mul", k0, f.word("%w", WINDOW + 1)), k1)
                        row = f.math("mul", row, f.word("%w", WINDOW + 2))
                        with f.loop(0, f.word("%w", WINDOW + 2)) as k2:
                            at, in_width = element_at(f, 2, firsts[2], k2)
                            with f.when(in_width):
                                number = f.emit(f"trunc i64 {f.math('add', row, k2)} to i32")
                                body(number, f.math("mul", f.math("add", line, at), pixel))

        def some(c: str, vectors: int, mask: str | None) -> None:
            most, where = ([f.slot(kind) for _ in range(vectors)] for kind in (v, f"<{lanes} x i32>"))
            for one, at in zip(most, where, strict=True):
                one.set(lowest)
                at.set(nowhere)

            def compare(number: str, distance: str) -> None:
                numbers, there = f.splat(number, "i32"), f.item(f.item(bases[0], distance), c)
                for k, (one, at) in enumerate(zip(most, where, strict=True)):
                    x, best = _take(f, f.item(there, k * lanes), mask), one.get()
                    tests = [f"ogt {v} {x}, {best}", f"uno {v} {x}, {x}", f"ord {v} {best}, {best}"]
                    larger, is_nan, was_number = (f.emit(f"fcmp {test}") for test in tests)
                    bits = f"<{lanes} x i1>"
                    first_nan = f.emit(f"and {bits} {is_nan}, {was_number}")
                    is_most = f.emit(f"or {bits} {larger}, {first_nan}")
                    places = f"<{lanes} x i32>"
                    if spread:
                        is_first = f.emit(f"icmp eq {places} {at.get()}, {nowhere}")
                        is_most = f.emit(f"or {bits} {is_most}, {is_first}")
                    one.set(f.emit(f"select {bits} {is_most}, {v} {x}, {v} {best}"))
                    at.set(f.emit(f"select {bits} {is_most}, {places} {numbers}, {places} {at.get()}"))

            elements(compare)
            if not spread:
                for k, one in enumerate(most):
                    _put(f, one.get(), f.item(f.item(given, c), k * lanes), mask)
                return
            values = [_take(f, f.item(f.item(given, c), k * lanes), mask) for k in range(vectors)]

            def add(number: str, distance: str) -> None:
                numbers, there = f.splat(number, "i32"), f.item(f.item(bases[1], distance), c)
                for k, at in enumerate(where):
                    place = f.item(there, k * lanes)
                    is_here = f.emit(f"icmp eq <{lanes} x i32> {at.get()}, {numbers}")
                    part = f.emit(f"select <{lanes} x i1> {is_here}, {v} {values[k]}, {v} zeroinitializer")
                    _put(f, f.emit(f"fadd {v} {_take(f, place, mask)}, {part}"), place, mask)

            elements(add)

        _in_vectors(f, pixel, some, VECTORS, 2)
        of_place.set(f.item(given, pixel))
        walk.step()
    f.ret(0)
    return f.text()


def text(shape: Shape) -> str:
    """The functions for one dtype, each a step: `i32 f(ret, exc, block)`."""
    v, suffix = shape.vector, f"v{shape.lanes}f{8 * shape.size}"
    names = symbols(shape)
    return "\n".join(
        [
            f"declare {v} @llvm.fmuladd.{suffix}({v}, {v}, {v})",
            f"declare {v} @llvm.masked.load.{suffix}.p0(ptr, i32, <{shape.lanes} x i1>, {v})",
            f"declare void @llvm.masked.store.{suffix}.p0({v}, ptr, i32, <{shape.lanes} x i1>)",
            "declare i64 @llvm.smin.i64(i64, i64)",
            "declare i64 @llvm.smax.i64(i64, i64)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            _lay_out(shape, suffix),
            _correlate(shape, names[0]),
            _filters(shape, names[1]),
            _single(shape, suffix, names[2]),
            _single_filters(shape, suffix, names[3]),
            _spread(shape, suffix, names[4]),
            _maxima(shape, suffix, names[5], True),
            _maxima(shape, suffix, names[6], False),
        ]
    )
