"""A kernel as source text for the CPU: three-address statements in a loop nest over an argument block.

    def kernel(blk):
        a0 = word(blk, 3)
        ...
        for i0 in range(lo, hi):
            x0 = ld_f32(a0, i0)
            v0 = tanh_f32(x0)
            st_f32_o0(o0, i0, v0)

Operands with a run-time stride in the innermost dimension are packed in blocks of 128 elements, so that the
arithmetic stays vectorised. Sums run in blocks of 4096 elements, added up in float64: the result depends on the
sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache

from graphad.compiler.cpu import functions, vectormath
from graphad.compiler.source import Source, Text, code_of
from graphad.core.dtypes import DType
from graphad.kernels.block import CHUNK, block_layout
from graphad.kernels.forms import BROADCAST, CONTIGUOUS, IN, SCALAR, STRIDED, TMP, Access, Kernel, Ref

PACK = 128  # elements of a strided operand that are packed at a time
BLOCK = 4096  # elements that are summed in the operand's own precision
COLUMNS = 512  # columns that a reduction of rows accumulates at a time
ROWS = 32  # rows that it accumulates before it adds to the float64 sums
EXTREMES = ("maximum", "minimum")
SHORT = {"add", "mul"}  # combined in float32 only within one block
HEAVY = frozenset(vectormath.SUPPORTED)  # functions of many instructions


@lru_cache(maxsize=4096)
def emit(kernel: Kernel) -> Source:
    """The kernel's source, a function `kernel` of the address of its argument block."""
    return Source(str(Printer(kernel.check()).print()), kernel.digest(), functions.digest(kernel))


class Printer:
    """Prints one kernel; see the module's docstring for the shapes of its loops."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.layout, self.out = kernel, block_layout(kernel), Text()
        self.inner = kernel.rank - 1
        self.shared = dict(kernel.inplace)
        self.accesses: list[Access] = [*kernel.inputs, *(store.access for store in kernel.outputs)]
        self.count = len(kernel.inputs)
        # Terms of each operand's index, outer loops first.
        self.offsets: list[list[str]] = [[] for _ in self.accesses]
        self.packed = [
            k
            for k, access in enumerate(self.accesses)
            if access.strides[-1] == STRIDED
            and not (k >= self.count and kernel.outputs[k - self.count].combine)
        ]
        self.used = {ref for s in kernel.body for ref in s.args} | {store.ref for store in kernel.outputs}
        self.reducing = [j for j, store in enumerate(kernel.outputs) if store.combine is not None]

    def print(self) -> Text:
        with self.out.block("def kernel(blk)"):
            self.header()
            self.out.add(f"lo = word(blk, {self.layout.lo})")
            self.out.add(f"hi = word(blk, {self.layout.hi})")
            if self.kernel.is_full_reduction:
                self.out.add(f"w = word(blk, {self.layout.workspace})")
            self.loops()
        return self.out

    def loops(self) -> None:
        """The loops over the range from `lo` to `hi`."""
        if not self.reducing:
            self._map()
        elif self.kernel.is_full_reduction:
            self._full_reduction()
        elif self.inner in self.kernel.reduced:
            self._inner_reduction()
        else:
            self._outer_reduction()

    # -- words of the block --

    def header(self, base: int = 0) -> None:
        """Names for the words of the block, which begin at word `base`; the range and the workspace apart."""
        add, layout = self.out.add, self.layout
        if any(statement.fn in HEAVY for statement in self.kernel.body):
            add("wide()")
        if self.kernel.contracts:
            add("contract()")
        for j, word in enumerate(layout.outputs):
            add(f"o{j} = word(blk, {base + word})")
        for k, word in enumerate(layout.inputs):
            if (IN, k) in self.used and k not in self.shared:
                add(f"a{k} = word(blk, {base + word})")
        for d, word in enumerate(layout.extents):
            add(f"n{d} = word(blk, {base + word})")
        for (k, d), word in layout.strides.items():
            add(f"s{k}_{d} = word(blk, {base + word})")
        for k, word in enumerate(layout.scalars):
            add(f"c{k} = scalar_{code_of(self.kernel.scalars[k])}(blk, {base + word})")
        for k in self.packed:
            if not self._is_shared_output(k):
                add(f"k{k} = stack_{code_of(self.accesses[k].dtype)}({PACK})")

    # -- loops --

    @contextmanager
    def _loop(self, d: int, low: str, high: str, step: str = "") -> Iterator[None]:
        """A loop over an outer dimension: the operands' indices move with it."""
        saved = [list(terms) for terms in self.offsets]
        with self.out.block(f"for i{d} in range({low}, {high}{step})"):
            self._advance(d)
            yield
        self.offsets = saved

    def _advance(self, d: int) -> None:
        for k, access in enumerate(self.accesses):
            if access.strides[d] == BROADCAST or self._shares_index(k):
                continue
            name = f"p{k}_{d}"
            self.out.add(f"{name} = {' + '.join([*self.offsets[k], f'i{d} * s{k}_{d}'])}")
            self.offsets[k] = [name]

    @contextmanager
    def _loops(self, dims: Sequence[int]) -> Iterator[None]:
        """Nested loops over outer dimensions; the split dimension runs from lo to hi."""
        with ExitStack() as stack:
            for d in dims:
                split = d == self.kernel.split
                stack.enter_context(self._loop(d, "lo" if split else "0", "hi" if split else f"n{d}"))
            yield

    def _inner_range(self) -> tuple[str, str]:
        return ("lo", "hi") if self.kernel.split == self.inner else ("0", f"n{self.inner}")

    def _is_shared_output(self, k: int) -> bool:
        """Whether operand k is an output that shares its buffer, and so its packed block, with an input."""
        return k >= self.count and (k - self.count) in self.shared.values()

    def _shares_index(self, k: int) -> bool:
        return k < self.count and k in self.shared

    def _index(self, k: int, *last: str) -> str:
        owner = self.count + self.shared[k] if self._shares_index(k) else k
        return " + ".join([*self.offsets[owner], *last]) or "0"

    # -- one element --

    def _load_invariant(self) -> None:
        """Operands that stay in the innermost loop are read before it."""
        for k, access in enumerate(self.kernel.inputs):
            if (IN, k) in self.used and access.strides[-1] == BROADCAST:
                self._load(k, self._index(k))

    def _load(self, k: int, index: str) -> None:
        code = code_of(self.accesses[k].dtype)
        if k in self.shared:
            self.out.add(f"x{k} = ld_{code}_o{self.shared[k]}(o{self.shared[k]}, {index})")
        else:
            self.out.add(f"x{k} = ld_{code}(a{k}, {index})")

    def _pack(self, low: str, high: str) -> None:
        for k in self.packed:
            if k >= self.count or (IN, k) not in self.used:
                continue
            owner = self.count + self.shared[k] if k in self.shared else k
            with self.out.block(f"for i in range({low}, {high})"):
                self._load(k, self._index(k, f"i * s{owner}_{self.inner}"))
                self.out.add(f"st_{code_of(self.accesses[k].dtype)}_k{k}(k{k}, i - {low}, x{k})")

    def _unpack(self, low: str, high: str) -> None:
        for j, store in enumerate(self.kernel.outputs):
            k = self.count + j
            if k not in self.packed or store.combine is not None:
                continue
            code, pack = code_of(store.access.dtype), self._pack_of(k)
            with self.out.block(f"for i in range({low}, {high})"):
                self.out.add(f"y = ld_{code}_k{pack}(k{pack}, i - {low})")
                self.out.add(f"st_{code}_o{j}(o{j}, {self._index(k, f'i * s{k}_{self.inner}')}, y)")

    def _pack_of(self, k: int) -> int:
        if self._is_shared_output(k):
            return next(i for i, o in self.shared.items() if o == k - self.count)
        return k

    def _element(self, i: str, low: str) -> None:
        """Load, compute and store element i of the innermost loop, whose packed block begins at `low`."""
        for k, access in enumerate(self.kernel.inputs):
            if (IN, k) not in self.used or access.strides[-1] == BROADCAST:
                continue
            if k in self.packed:
                self.out.add(f"x{k} = ld_{code_of(access.dtype)}_k{k}(k{k}, {i} - {low})")
            else:
                self._load(k, self._index(k, i))
        for k, statement in enumerate(self.kernel.body):
            self.out.add(f"v{k} = {self._call(statement.fn, statement.args, statement.dtype)}")
        for j, store in enumerate(self.kernel.outputs):
            if store.combine is not None:
                continue
            code, k = code_of(store.access.dtype), self.count + j
            if k in self.packed:
                pack = self._pack_of(k)
                self.out.add(f"st_{code}_k{pack}(k{pack}, {i} - {low}, {_name(store.ref)})")
            else:
                self.out.add(f"st_{code}_o{j}(o{j}, {self._index(k, i)}, {_name(store.ref)})")

    def _call(self, fn: str, args: Sequence[Ref], dtype: DType) -> str:
        names = ", ".join(map(_name, args))
        if fn == "cast":
            return f"cast_{code_of(self.kernel.dtype_of(args[0]))}_{code_of(dtype)}({names})"
        operand = self.kernel.dtype_of(args[1 if fn == "select" else 0])
        return f"{fn}_{code_of(operand)}({names})"

    @contextmanager
    def _inner_block(self, low: str, high: str, size: int) -> Iterator[tuple[str, str]]:
        """The innermost loop cut into blocks of `size`; yields where a block begins and ends."""
        with self.out.block(f"for b in range({low}, {high}, {size})"):
            self.out.add(f"e = minimum_i64(b + {size}, {high})")
            self._pack("b", "e")
            yield "b", "e"
            self._unpack("b", "e")

    # -- kinds of kernel --

    def _map(self) -> None:
        low, high = self._inner_range()
        if not self.packed:
            with self._loops(range(self.inner)):
                self._load_invariant()
                with self.out.block(f"for i in range({low}, {high})"):
                    self._element("i", "0")
            return
        # blocks are outside the last outer loop, so that cache lines of a column serve its neighbours too
        last = range(self.inner)[-1:]
        with (
            self._loops(range(self.inner)[:-1]),
            self.out.block(f"for b in range({low}, {high}, {PACK})"),
        ):
            self.out.add(f"e = minimum_i64(b + {PACK}, {high})")
            with self._loops(last):
                self._load_invariant()
                self._pack("b", "e")
                with self.out.block("for i in range(b, e)"):
                    self._element("i", "b")
                self._unpack("b", "e")

    def _start(self, prefix: str, code_for: Callable[[int], str]) -> None:
        for j in self.reducing:
            self.out.add(f"{prefix}{j} = identity_{self.kernel.outputs[j].combine}_{code_for(j)}()")

    def _block_code(self, j: int) -> str:
        """The type in which elements are combined: float16 and bfloat16 values are float32 inside a kernel."""
        code = code_of(self.kernel.outputs[j].access.dtype)
        return "f32" if code in ("f16", "bf16") else code

    def _total_code(self, j: int) -> str:
        """The type in which blocks are combined."""
        code = self._block_code(j)
        return "f64" if code == "f32" and self.kernel.outputs[j].combine in SHORT else code

    def _combine(self, j: int, a: str, b: str, code: str, reorder: bool = False) -> str:
        """combine(a, b). Sums with `reorder`, and extremes, may use any order, so that they vectorise."""
        combine = self.kernel.outputs[j].combine
        fn = {"max": "maximum", "min": "minimum"}.get(str(combine), str(combine))
        is_free = code[0] == "f" and (fn in EXTREMES or (reorder and combine in SHORT))
        return f"{'any_' if is_free else ''}{fn}_{code}({a}, {b})"

    def _sum_inner(self, outer: Sequence[int], low: str, high: str) -> None:
        """t<j> = t<j> combined with all elements of the loops over `outer` and of low..high in the innermost."""
        with self._loops(outer):
            self._load_invariant()
            with self._inner_block(low, high, PACK if self.packed else BLOCK) as (b, e):
                self._start("r", self._block_code)
                with self.out.block(f"for i in range({b}, {e})"):
                    self._element("i", b)
                    for j in self.reducing:
                        value = _name(self.kernel.outputs[j].ref)
                        self.out.add(
                            f"r{j} = {self._combine(j, f'r{j}', value, self._block_code(j), reorder=True)}"
                        )
                for j in self.reducing:
                    self.out.add(
                        f"t{j} = {self._combine(j, f't{j}', self._widened(f'r{j}', j), self._total_code(j))}"
                    )

    def _widened(self, value: str, j: int) -> str:
        source, target = self._block_code(j), self._total_code(j)
        return value if source == target else f"cast_{source}_{target}({value})"

    def _store_total(self, j: int, value: str, index: str) -> None:
        code, total = code_of(self.kernel.outputs[j].access.dtype), self._total_code(j)
        self.out.add(
            f"st_{code}_o{j}(o{j}, {index}, {value if code == total else f'cast_{total}_{code}({value})'})"
        )

    def _inner_reduction(self) -> None:
        reduced = self.kernel.reduced
        with self._loops(range(reduced[0])):
            places = {j: self._index(self.count + j) for j in self.reducing}
            self._start("t", self._total_code)
            self._sum_inner(reduced[:-1], "0", f"n{self.inner}")
            for j in self.reducing:
                self._store_total(j, f"t{j}", places[j])

    def _full_reduction(self) -> None:
        """Fixed chunks of the outermost dimension give partial results in the workspace; the last run combines
        them in order."""
        add, rank = self.out.add, self.kernel.rank
        self.chunks()
        with self.out.block("for g in range(lo, hi, rows)"):
            add("f = minimum_i64(g + rows, hi)")
            self._start("t", self._total_code)
            if rank == 1:
                self._sum_inner((), "g", "f")
            else:
                with self._loop(0, "g", "f"):
                    self._sum_inner(range(1, rank - 1), "0", f"n{self.inner}")
            self._keep_partial("floordiv_i64(g, rows)")
        with self.out.block("if hi == n0 and (lo == 0 or lo == hi)"):
            self.combined()

    def chunks(self) -> None:
        """Names for the steps of the outermost dimension in a chunk of a full reduction, and for the number of chunks."""
        inside = " * ".join(f"n{d}" for d in range(1, self.kernel.rank))
        rows = f"maximum_i64(1, floordiv_i64({CHUNK}, maximum_i64({inside}, 1)))" if inside else str(CHUNK)
        self.out.add(f"rows = {rows}")
        self.out.add("parts = floordiv_i64(n0 + rows - 1, rows)")

    def continued(self) -> None:
        """The range of a full reduction of two dimensions or more, which may end and begin within a chunk: what is there of
        its sum is in the workspace."""
        add = self.out.add
        with self.out.block("for g in range(floordiv_i64(lo, rows), floordiv_i64(hi - 1, rows) + 1)"):
            add("d = maximum_i64(g * rows, lo)")
            add("f = minimum_i64(g * rows + rows, hi)")
            self._start("t", self._total_code)
            with self.out.block("if d > g * rows"):
                for position, j in enumerate(self.reducing):
                    add(f"t{j} = {self._partial(j, position)}")
            with self._loop(0, "d", "f"):
                self._sum_inner(range(1, self.kernel.rank - 1), "0", f"n{self.inner}")
            self._keep_partial("g")

    def combined(self) -> None:
        """The results of a full reduction, from those of its chunks."""
        self._start("t", self._total_code)
        with self.out.block("for g in range(parts)"):
            for position, j in enumerate(self.reducing):
                value = self._combine(j, f"t{j}", self._partial(j, position), self._total_code(j))
                self.out.add(f"t{j} = {value}")
        for j in self.reducing:
            self._store_total(j, f"t{j}", "0")

    def _partial(self, j: int, position: int) -> str:
        """The partial result of chunk g in the workspace."""
        code = self._total_code(j)
        word = _partial_code(code)
        kept = f"ld_{word}_w(w, g + {position} * parts)"
        return kept if word == code else f"cast_{word}_{code}({kept})"

    def _keep_partial(self, chunk: str) -> None:
        for position, j in enumerate(self.reducing):
            code = self._total_code(j)
            word = _partial_code(code)
            kept = f"t{j}" if word == code else f"cast_{code}_{word}(t{j})"
            self.out.add(f"st_{word}_w(w, {chunk} + {position} * parts, {kept})")

    def _outer_reduction(self) -> None:
        """Sum over rows: for each block of columns, one accumulator for each column."""
        kernel, out, reduced = self.kernel, self.out, self.kernel.reduced
        size = PACK if self.packed else COLUMNS
        two = [j for j in self.reducing if self._block_code(j) != self._total_code(j)]
        for j in self.reducing:
            out.add(f"q{j} = stack_{self._total_code(j)}({size})")
        for j in two:
            out.add(f"h{j} = stack_{self._block_code(j)}({size})")
        low, high = self._inner_range()
        with self._loops(range(reduced[0])):
            with out.block(f"for b in range({low}, {high}, {size})"):
                out.add(f"e = minimum_i64(b + {size}, {high})")
                with out.block("for i in range(b, e)"):
                    self._clear("q", self.reducing, self._total_code)
                    self._clear("h", two, self._block_code)
                last = reduced[-1]
                with self._loops(reduced[:-1]):
                    if two:
                        with out.block(f"for g in range(0, n{last}, {ROWS})"):
                            with self._loop(last, "g", f"minimum_i64(g + {ROWS}, n{last})"):
                                self._add_row(two)
                            with out.block("for i in range(b, e)"):
                                for j in two:
                                    total, short = self._total_code(j), self._block_code(j)
                                    out.add(f"t{j} = ld_{total}_q{j}(q{j}, i - b)")
                                    out.add(f"r{j} = ld_{short}_h{j}(h{j}, i - b)")
                                    value = self._combine(j, f"t{j}", self._widened(f"r{j}", j), total)
                                    out.add(f"st_{total}_q{j}(q{j}, i - b, {value})")
                                self._clear("h", two, self._block_code)
                    else:
                        with self._loop(last, "0", f"n{last}"):
                            self._add_row(two)
                with out.block("for i in range(b, e)"):
                    for j in self.reducing:
                        out.add(f"t{j} = ld_{self._total_code(j)}_q{j}(q{j}, i - b)")
                        access = kernel.outputs[j].access
                        step = (
                            "i" if access.strides[-1] == CONTIGUOUS else f"i * s{self.count + j}_{self.inner}"
                        )
                        self._store_total(j, f"t{j}", self._index(self.count + j, step))

    def _clear(self, prefix: str, outputs: Sequence[int], code_for: Callable[[int], str]) -> None:
        for j in outputs:
            start = f"identity_{self.kernel.outputs[j].combine}_{code_for(j)}()"
            self.out.add(f"st_{code_for(j)}_{prefix}{j}({prefix}{j}, i - b, {start})")

    def _add_row(self, two: Sequence[int]) -> None:
        self._load_invariant()
        self._pack("b", "e")
        with self.out.block("for i in range(b, e)"):
            self._element("i", "b")
            for j in self.reducing:
                prefix, code = ("h", self._block_code(j)) if j in two else ("q", self._total_code(j))
                self.out.add(f"r{j} = ld_{code}_{prefix}{j}({prefix}{j}, i - b)")
                value = self._combine(j, f"r{j}", _name(self.kernel.outputs[j].ref), code)
                self.out.add(f"st_{code}_{prefix}{j}({prefix}{j}, i - b, {value})")
        self._unpack("b", "e")


def _name(ref: Ref) -> str:
    return {IN: "x", TMP: "v", SCALAR: "c"}[ref[0]] + str(ref[1])


def _partial_code(code: str) -> str:
    """The 8-byte type that keeps a partial result of type `code`."""
    return code if code in ("f64", "i64") else "f64" if code == "f32" else "i64"
