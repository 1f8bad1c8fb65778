"""Matrix products in tiles of registers, as LLVM IR text: what BLAS calls gemm, for one thread, alpha 1, and beta 0 or 1.

C = A B, or that added to C, all stored by rows. A tile of C, at most `rows` by two vectors, stays in registers while k runs:
each step takes two vectors of B and one number of each row of A, which needs no copy in either layout. B is read in place where
its rows are contiguous and few are used again; else a panel of it, two vectors wide, is first copied to contiguous memory and
stays in the first-level cache while the rows of A go by. Sums run over k in order, in blocks of `DEPTH` that are added up: which
kernel computes an element, and in what order, depends on sizes and layouts alone.
"""

from __future__ import annotations

from graphad.compiler.assembly import Function, Slot
from graphad.kernels.record import Record

DEPTH = 256  # steps of k in a panel
HEIGHT = 480  # rows of A for each panel, which fit the second-level cache
WIDE = 2  # vectors in a panel
COPIED_FROM = 48  # rows of A from which copying a panel of B pays
NEAR = 1 << 15  # bytes of B that are read in place any number of times


class Shape(Record):
    """Vectors of `lanes` numbers of `kind`, of `size` bytes each; tiles of at most `rows` rows."""

    letter: str
    kind: str
    size: int
    lanes: int
    rows: int

    @property
    def vector(self) -> str:
        return f"<{self.lanes} x {self.kind}>"

    @property
    def heights(self) -> list[int]:
        """The heights of tiles: the largest, then powers of two for what is left of it."""
        return [self.rows, *[h for h in (4, 2, 1) if h < self.rows]]


def shapes(features: str) -> list[Shape]:
    """The shapes for a processor with these features as LLVM spells them; none where tiles were not measured."""
    have = set(features.split(","))
    if "+avx512f" in have:
        width, rows = 64, 12
    elif {"+avx2", "+fma"} <= have:
        width, rows = 32, 6
    else:
        return []
    return [
        Shape("s", "float", 4, width // 4, rows),
        Shape("d", "double", 8, width // 8, rows),
    ]


def symbol(shape: Shape) -> str:
    return f"graphad_{shape.letter}tiles"


def text(shape: Shape) -> str:
    """`void graphad_stiles(...)` with the arguments of sgemm, or dtiles with those of dgemm."""
    v = shape.vector
    suffix = f"v{shape.lanes}f{8 * shape.size}"
    lines = [
        f"declare {v} @llvm.fmuladd.{suffix}({v}, {v}, {v})",
        f"declare {v} @llvm.masked.load.{suffix}.p0(ptr, i32, <{shape.lanes} x i1>, {v})",
        f"declare void @llvm.masked.store.{suffix}.p0({v}, ptr, i32, <{shape.lanes} x i1>)",
        "declare i64 @llvm.smin.i64(i64, i64)",
        "declare i64 @llvm.smax.i64(i64, i64)",
    ]
    for wide in range(1, WIDE + 1):
        lines += [_tile(shape, suffix, rows, wide) for rows in shape.heights]
        lines.append(_copy_rows(shape, suffix, wide))
    return "\n".join([*lines, _copy_columns(shape, suffix), _product(shape)])


class Body(Function):
    """A function that handles vectors of one shape."""

    def __init__(self, shape: Shape, suffix: str, header: str, linkage: str = "") -> None:
        wide = 8 * shape.size * shape.lanes
        attributes = f'nounwind noinline "prefer-vector-width"="{wide}" "min-legal-vector-width"="{wide}"'
        super().__init__(header, linkage, attributes)
        self.shape, self.suffix = shape, suffix

    def min(self, a: str | int, b: str | int) -> str:
        return self.emit(f"call i64 @llvm.smin.i64(i64 {a}, i64 {b})")

    def math(self, what: str, a: str | int, b: str | int) -> str:
        return self.emit(f"{what} i64 {a}, {b}")

    def item(self, base: str, index: str | int) -> str:
        return self.at(base, index, self.shape.kind)

    def load(self, place: str) -> str:
        return self.emit(f"load {self.shape.vector}, ptr {place}, align {self.shape.size}")

    def store(self, value: str, place: str) -> None:
        self.do(f"store {self.shape.vector} {value}, ptr {place}, align {self.shape.size}")

    def splat(self, value: str, kind: str) -> str:
        lanes = self.shape.lanes
        one = self.emit(f"insertelement <{lanes} x {kind}> poison, {kind} {value}, i64 0")
        return self.emit(
            f"shufflevector <{lanes} x {kind}> {one}, <{lanes} x {kind}> poison, <{lanes} x i32> zeroinitializer"
        )

    def first(self, count: str) -> str:
        """A mask of the first `count` lanes."""
        lanes = self.shape.lanes
        steps = ", ".join(f"i64 {i}" for i in range(lanes))
        return self.emit(f"icmp slt <{lanes} x i64> <{steps}>, {self.splat(count, 'i64')}")

    def load_some(self, place: str, mask: str) -> str:
        v, lanes = self.shape.vector, self.shape.lanes
        return self.emit(
            f"call {v} @llvm.masked.load.{self.suffix}.p0(ptr {place}, i32 {self.shape.size}, "
            f"<{lanes} x i1> {mask}, {v} zeroinitializer)"
        )

    def store_some(self, value: str, place: str, mask: str) -> None:
        self.do(
            f"call void @llvm.masked.store.{self.suffix}.p0({self.shape.vector} {value}, ptr {place}, "
            f"i32 {self.shape.size}, <{self.shape.lanes} x i1> {mask})"
        )


def _tile(shape: Shape, suffix: str, rows: int, wide: int) -> str:
    """C[rows, wide vectors] = A[rows, depth] B[depth, wide vectors], or that added to C; strides in elements."""
    f = Body(
        shape,
        suffix,
        f"void @tile{rows}x{wide}(ptr noalias %a, i64 %row, i64 %column, ptr noalias %b, i64 %step, ptr noalias %c, "
        "i64 %ldc, i64 %depth, i1 %more, i64 %width)",
        "internal",
    )
    v = shape.vector
    sums = [f.slot(v, "zeroinitializer") for _ in range(rows * wide)]
    # Three rows for each pointer: their distances are addressing modes, so that the pointers fit the registers.
    steps: list[str | int] = [0, "%row", f.math("shl", "%row", 1)]
    pointers = [f.slot("ptr", f.item("%a", f.math("mul", "%row", r))) for r in range(0, rows, 3)]
    panel = f.slot("ptr", "%b")
    add_products(f, sums, wide, pointers, steps, panel)
    stores = list(zip(sums, places_of(f, rows, wide), strict=True))
    full = f.test("eq", "%width", wide * shape.lanes)
    with f.when(full):
        with f.when("%more"):
            for slot, place in stores:
                slot.set(f.emit(f"fadd {v} {f.load(place)}, {slot.get()}"))
        for slot, place in stores:
            f.store(slot.get(), place)
        f.ret()
    store_first(f, stores, wide)
    return f.text()


def add_products(
    f: Body, sums: list[Slot], wide: int, pointers: list[Slot], steps: list[str | int], panel: Slot
) -> None:
    """Add A[rows, depth] B[depth, wide vectors] to the sums of a tile, row by row, and move on.

    Each pointer stands for three rows of A, which are `steps` behind it.
    """
    shape, v = f.shape, f.shape.vector
    with f.loop(0, "%depth"):
        b = panel.get()
        vectors = [f.load(f.item(b, w * shape.lanes)) for w in range(wide)]
        starts = [pointer.get() for pointer in pointers]
        for r in range(len(sums) // wide):
            number = f.emit(f"load {shape.kind}, ptr {f.item(starts[r // 3], steps[r % 3])}")
            factor = f.splat(number, shape.kind)
            for slot, vector in zip(sums[r * wide : (r + 1) * wide], vectors, strict=True):
                slot.set(
                    f.emit(f"call {v} @llvm.fmuladd.{f.suffix}({v} {factor}, {v} {vector}, {v} {slot.get()})")
                )
        for pointer, start in zip(pointers, starts, strict=True):
            pointer.set(f.item(start, "%column"))
        panel.set(f.item(b, "%step"))


def places_of(f: Body, rows: int, wide: int) -> list[str]:
    """The addresses of the vectors of a tile of C, row by row."""
    return [
        f.item(f.item("%c", f.math("mul", "%ldc", r)), w * f.shape.lanes)
        for r in range(rows)
        for w in range(wide)
    ]


def store_first(f: Body, stores: list[tuple[Slot, str]], wide: int) -> None:
    """Store the first %width numbers of each row of a tile, or add them where %more, and return."""
    shape = f.shape
    masks = [f.first(f.math("sub", "%width", w * shape.lanes)) for w in range(wide)] * (len(stores) // wide)
    with f.when("%more"):
        for (slot, place), mask in zip(stores, masks, strict=True):
            slot.set(f.emit(f"fadd {shape.vector} {f.load_some(place, mask)}, {slot.get()}"))
    for (slot, place), mask in zip(stores, masks, strict=True):
        f.store_some(slot.get(), place, mask)
    f.ret()


def _copy_rows(shape: Shape, suffix: str, wide: int) -> str:
    """A panel from B[depth, width] with contiguous rows; what lies beyond `width` does not matter."""
    f = Body(
        shape,
        suffix,
        f"void @rows{wide}(ptr noalias %to, ptr noalias %b, i64 %ldb, i64 %depth, i64 %width)",
        "internal",
    )
    masks = [f.first(f.math("sub", "%width", w * shape.lanes)) for w in range(wide)]
    with f.loop(0, "%depth") as k:
        source = f.item("%b", f.math("mul", k, "%ldb"))
        target = f.item("%to", f.math("mul", k, wide * shape.lanes))
        for w in range(wide):
            f.store(f.load_some(f.item(source, w * shape.lanes), masks[w]), f.item(target, w * shape.lanes))
    f.ret()
    return f.text()


def _copy_columns(shape: Shape, suffix: str) -> str:
    """One vector's width of a panel from B[depth, width] with contiguous columns, turned over in registers.

    The depth is rounded up to whole vectors; `width` is at least 1, what lies beyond it does not matter.
    """
    f = Body(
        shape,
        suffix,
        "void @columns(ptr noalias %to, i64 %step, ptr noalias %b, i64 %ldb, i64 %depth, i64 %width)",
        "internal",
    )
    lanes, v = shape.lanes, shape.vector
    last = f.math("sub", "%width", 1)
    low = ", ".join(f"i32 {i // 2 + (lanes if i % 2 else 0)}" for i in range(lanes))
    high = ", ".join(f"i32 {lanes // 2 + i // 2 + (lanes if i % 2 else 0)}" for i in range(lanes))
    with f.loop(0, "%depth", lanes) as k:
        mask = f.first(f.math("sub", "%depth", k))
        start = f.item("%b", k)
        columns = [f.min(j, last) for j in range(lanes)]  # some column where there are no more
        x = [f.load_some(f.item(start, f.math("mul", j, "%ldb")), mask) for j in columns]
        for _ in range(lanes.bit_length() - 1):
            pairs = [(x[i], x[i + lanes // 2]) for i in range(lanes // 2)]
            x = [
                f.emit(f"shufflevector {v} {a}, {v} {b}, <{lanes} x i32> <{order}>")
                for a, b in pairs
                for order in (low, high)
            ]
        for i, vector in enumerate(x):
            f.store(vector, f.item("%to", f.math("mul", f.math("add", k, i), "%step")))
    f.ret()
    return f.text()


def _product(shape: Shape) -> str:
    """The product as Fortran's gemm of the transposes: C' = B' A'."""
    s = shape
    f = Body(
        shape,
        "",
        f"void @{symbol(shape)}(ptr %tb, ptr %ta, ptr %pn, ptr %pm, ptr %pk, ptr %alpha, ptr %b, ptr %pldb, ptr %a, "
        "ptr %plda, ptr %beta, ptr %c, ptr %pldc, i64 %one, i64 %two)",
    )
    panel = f.slot(f"[{DEPTH * WIDE * s.lanes} x {s.kind}]", align=64).address
    m, n, k, lda, ldb, ldc = (f.word(p, 0) for p in ("%pm", "%pn", "%pk", "%plda", "%pldb", "%pldc"))
    plain_a, plain_b = (f.test("eq", f.emit(f"load i8, ptr {p}"), ord("N"), "i8") for p in ("%ta", "%tb"))
    row, column = f.choose(plain_a, "i64", lda, 1), f.choose(plain_a, "i64", 1, lda)
    down, across = f.choose(plain_b, "i64", ldb, 1), f.choose(plain_b, "i64", 1, ldb)
    far = f.test("sgt", f.math("mul", k, ldb), NEAR // s.size)
    added = f.emit(f"fcmp une {s.kind} {f.emit(f'load {s.kind}, ptr %beta')}, 0.0")
    # One round at least: without inner elements C is 0.
    with f.loop(0, f.emit(f"call i64 @llvm.smax.i64(i64 {k}, i64 1)"), DEPTH) as k0:
        depth, more = f.min(f.math("sub", k, k0), DEPTH), f.emit(f"or i1 {f.test('sgt', k0, 0)}, {added}")
        with f.loop(0, m, HEIGHT) as i0:
            height = f.min(f.math("sub", m, i0), HEIGHT)
            often = f.test("sge", height, COPIED_FROM)
            a = f.item(f.item("%a", f.math("mul", i0, row)), f.math("mul", k0, column))
            with f.loop(0, n, WIDE * s.lanes) as j0:
                width = f.min(f.math("sub", n, j0), WIDE * s.lanes)
                b = f.item(f.item("%b", f.math("mul", k0, down)), f.math("mul", j0, across))
                c = f.item(f.item("%c", f.math("mul", i0, ldc)), j0)
                for wide in range(1, WIDE + 1):
                    # panels of fewer vectors only for the last columns
                    fits = f.emit(
                        f"and i1 {f.test('sle', width, wide * s.lanes)}, {f.test('sgt', width, (wide - 1) * s.lanes)}"
                    )
                    with f.when(fits):
                        whole = f.emit(f"and i1 {plain_b}, {f.test('eq', width, wide * s.lanes)}")
                        pays = f.emit(f"and i1 {far}, {often}")
                        direct = f.emit(f"and i1 {whole}, {f.emit(f'xor i1 {pays}, true')}")
                        copied = f.emit(f"xor i1 {direct}, true")
                        with f.when(f.emit(f"and i1 {copied}, {plain_b}")):
                            f.do(
                                f"call void @rows{wide}(ptr {panel}, ptr {b}, i64 {ldb}, i64 {depth}, i64 {width})"
                            )
                        with f.when(f.emit(f"xor i1 {plain_b}, true")):
                            for w in range(wide):
                                first = w * s.lanes
                                source = f.item(b, f.math("mul", ldb, first))
                                f.do(
                                    f"call void @columns(ptr {f.item(panel, first)}, i64 {wide * s.lanes}, "
                                    f"ptr {source}, i64 {ldb}, i64 {depth}, i64 {f.math('sub', width, first)})"
                                )
                        source = f.choose(direct, "ptr", b, panel)
                        step = f.choose(direct, "i64", ldb, wide * s.lanes)
                        _tiles(
                            f, wide, height, (a, row, column), (source, step), (c, ldc), (depth, more, width)
                        )
    f.ret()
    return f.text()


def _tiles(
    f: Body,
    wide: int,
    height: str,
    a: tuple[str, str, str],
    b: tuple[str, str],
    c: tuple[str, str],
    rest: tuple[str, str, str],
) -> None:
    """All rows of A by one panel: as many tiles of the largest height as there are, then smaller ones."""
    (start, row, column), (panel, step), (to, ldc), (depth, more, width) = a, b, c, rest
    done = f.slot("i64", 0)
    for rows in f.shape.heights:
        with f.loop(rows, f.math("add", f.math("sub", height, done.get()), 1), rows):
            i = done.get()
            f.do(
                f"call void @tile{rows}x{wide}(ptr {f.item(start, f.math('mul', i, row))}, i64 {row}, i64 {column}, "
                f"ptr {panel}, i64 {step}, ptr {f.item(to, f.math('mul', i, ldc))}, i64 {ldc}, i64 {depth}, "
                f"i1 {more}, i64 {width})"
            )
            done.set(f.math("add", i, rows))
