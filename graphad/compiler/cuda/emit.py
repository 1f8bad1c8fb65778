"""A kernel as source text for CUDA: the statements of the CPU's text under another header.

    def kernel(lo, hi, w, a0, o0, n0):
        for t in range(cuda.grid(1), hi - lo, cuda.gridsize(1)):
            i0 = lo + t
            x0 = ld_f32(a0, i0)
            ...

Each word of the argument block is a parameter, in the same order, so a launch uploads nothing. Rows are reduced by
one block of threads each, columns by one thread each; a full reduction leaves one partial result per chunk, and a
second launch with lo = hi = extent combines them. Blocks have exactly `THREADS` threads, so results do not depend
on the launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from graphad.compiler import plain
from graphad.compiler.source import Source, Text, code_of
from graphad.core.dtypes import DType
from graphad.kernels.forms import BROADCAST, CONTIGUOUS, IN, SCALAR, TMP, Access, Kernel, Ref, block_layout

THREADS = 256
# the names of the text that are Python's or numba-cuda's own
BUILTIN = frozenset("range cuda grid gridsize blockIdx gridDim threadIdx x shared array syncthreads".split())
CHUNK = 8192  # elements of a full reduction that make one partial result
LIBRARY = frozenset(
    (
        "exp expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh atan2 erf erfc pow "
        "hypot"
    ).split()
)
# functions with no counterpart in the device library, as others that have one; {0} is the argument, {c} its type
COMPOSED = {
    "sigmoid": "reciprocal_{c}(add_{c}(identity_mul_{c}(), exp_{c}(neg_{c}({0}))))",
    "softplus": "add_{c}(maximum_{c}({0}, identity_add_{c}()), log1p_{c}(exp_{c}(neg_{c}(abs_{c}({0})))))",
}


def supports(kernel: Kernel) -> str | None:
    """Why a kernel cannot be compiled for CUDA; None when it can."""
    accesses: Iterable[Access] = (*kernel.inputs, *(store.access for store in kernel.outputs))
    dtypes = [*(access.dtype for access in accesses), *kernel.scalars, *(s.dtype for s in kernel.body)]
    for dtype in dtypes:
        if dtype.is_complex:
            return f"{dtype.name} has no CUDA kernels"
    for statement in kernel.body:
        operand = kernel.dtype_of(statement.args[-1])
        is_known = plain.has_plain(statement.fn, code_of(operand))
        if not is_known and not (
            operand.is_floating and (statement.fn in LIBRARY or statement.fn in COMPOSED)
        ):
            return f"{statement.fn} of {operand.name} has no CUDA code"
    return None


def chunk_rows(kernel: Kernel, extents: Sequence[int]) -> int:
    """How many steps of the outermost dimension one partial result of a full reduction covers."""
    inner = 1
    for extent in extents[1:]:
        inner *= extent
    return max(1, CHUNK // max(inner, 1))


def workspace_bytes(kernel: Kernel, extents: Sequence[int]) -> int:
    """Bytes of device memory for the partial results of a full reduction, else none."""
    if not kernel.is_full_reduction:
        return 0
    results = sum(store.combine is not None for store in kernel.outputs)
    return 8 * results * max(1, -(-extents[0] // chunk_rows(kernel, extents)))


def grid_size(kernel: Kernel, extents: Sequence[int], limit: int = 65535) -> int:
    """Blocks of a launch: enough for every element, row or chunk, and no more than `limit`."""
    work = 1
    for d, extent in enumerate(extents):
        if d not in kernel.reduced:
            work *= extent
    if kernel.is_full_reduction:
        work = -(-extents[0] // chunk_rows(kernel, extents))
    elif not (kernel.reduced and kernel.rank - 1 in kernel.reduced):
        work = -(-work // THREADS)
    return max(1, min(work, limit))


@lru_cache(maxsize=4096)
def emit(kernel: Kernel) -> Source:
    """The kernel's source, a function `kernel` of the words of its argument block."""
    return Source(str(_Printer(kernel.check()).print()), kernel.digest(), "cuda")


class _Printer:
    """Prints one kernel; see the module's docstring."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel, self.layout, self.out = kernel, block_layout(kernel), Text()
        self.inner, self.count = kernel.rank - 1, len(kernel.inputs)
        self.accesses: list[Access] = [*kernel.inputs, *(store.access for store in kernel.outputs)]
        self.used = {ref for s in kernel.body for ref in s.args} | {store.ref for store in kernel.outputs}
        self.reducing = [j for j, store in enumerate(kernel.outputs) if store.combine is not None]

    def print(self) -> Text:
        with self.out.block(f"def kernel({', '.join(self._words())})"):
            if self.kernel.contracts:
                self.out.add("contract()")
            for k, dtype in enumerate(self.kernel.scalars):
                self.out.add(f"c{k} = bits_{code_of(dtype)}(u{k})")
            kept = [d for d in range(self.kernel.rank) if d not in self.kernel.reduced]
            if not self.reducing:
                self._map(kept)
            elif self.kernel.is_full_reduction:
                self._full_reduction()
            elif self.inner in self.kernel.reduced:
                self._rows(kept)
            else:
                self._columns(kept)
        return self.out

    def _words(self) -> list[str]:
        layout = self.layout
        names = {layout.lo: "lo", layout.hi: "hi", layout.workspace: "w"}
        for prefix, words in (
            ("a", layout.inputs),
            ("o", layout.outputs),
            ("n", layout.extents),
            ("u", layout.scalars),
        ):
            names |= {word: f"{prefix}{k}" for k, word in enumerate(words)}
        names |= {word: f"s{k}_{d}" for (k, d), word in layout.strides.items()}
        return [names[word] for word in range(layout.count)]

    # -- indices --

    def _extent(self, d: int) -> str:
        return "hi - lo" if d == self.kernel.split else f"n{d}"

    def _count(self, dims: Sequence[int]) -> str:
        return (
            " * ".join(f"({self._extent(d)})" if d == self.kernel.split else self._extent(d) for d in dims)
            or "1"
        )

    def _unravel(self, name: str, dims: Sequence[int]) -> None:
        """i<d> for every dimension from the flat index `name`, the last dimension running fastest."""
        add, rest = self.out.add, name
        for position in range(len(dims) - 1, -1, -1):
            d, extent = dims[position], self._extent(dims[position])
            low = "lo + " if d == self.kernel.split else ""
            if position == 0:
                add(f"i{d} = {low}{rest}")
                return
            add(f"e{d} = {extent}")
            add(f"z{d} = floordiv_i64({rest}, e{d})")
            add(f"i{d} = {low}{rest} - z{d} * e{d}")
            rest = f"z{d}"

    def _index(self, k: int, dims: Iterable[int]) -> str:
        terms = []
        for d in dims:
            step = self.accesses[k].strides[d]
            if step != BROADCAST:
                terms.append(f"i{d}" if step == CONTIGUOUS else f"i{d} * s{k}_{d}")
        return " + ".join(terms) or "0"

    # -- one element --

    def _element(self) -> None:
        every = range(self.kernel.rank)
        for k, access in enumerate(self.kernel.inputs):
            if (IN, k) in self.used:
                self.out.add(f"x{k} = ld_{code_of(access.dtype)}(a{k}, {self._index(k, every)})")
        for k, statement in enumerate(self.kernel.body):
            self.out.add(f"v{k} = {self._call(statement.fn, statement.args, statement.dtype)}")
        for j, store in enumerate(self.kernel.outputs):
            if store.combine is None:
                place = self._index(self.count + j, every)
                self.out.add(f"st_{code_of(store.access.dtype)}(o{j}, {place}, {_name(store.ref)})")

    def _call(self, fn: str, args: Sequence[Ref], dtype: DType) -> str:
        names = [_name(ref) for ref in args]
        code = code_of(self.kernel.dtype_of(args[-1]))
        if fn == "cast":
            return f"cast_{code}_{code_of(dtype)}({names[0]})"
        if plain.has_plain(fn, code):
            return f"{fn}_{code}({', '.join(names)})"
        wide = "f64" if code == "f64" else "f32"
        value = COMPOSED.get(fn, fn + "_{c}(" + ", ".join(names) + ")").format(names[0], c=wide)
        return value if wide == code else f"round_{code}({value})"

    # -- kinds of kernel --

    def _map(self, kept: Sequence[int]) -> None:
        with self.out.block(f"for t in range(cuda.grid(1), {self._count(kept)}, cuda.gridsize(1))"):
            self._unravel("t", kept)
            self._element()

    def _columns(self, kept: Sequence[int]) -> None:
        """One thread per result, neighbours in memory next to each other; it walks the reduced dimensions itself."""
        with self.out.block(f"for t in range(cuda.grid(1), {self._count(kept)}, cuda.gridsize(1))"):
            self._unravel("t", kept)
            self._start()
            self._walk(self.kernel.reduced)
            for j in self.reducing:
                self._store(j, f"t{j}", self._index(self.count + j, kept))

    def _walk(self, dims: Sequence[int]) -> None:
        """All elements over `dims`, by this thread alone."""
        if not dims:
            self._element()
            self._gather()
            return
        with self.out.block(f"for i{dims[0]} in range({self._extent(dims[0])})"):
            self._walk(dims[1:])

    def _rows(self, kept: Sequence[int]) -> None:
        """One block of threads per result."""
        self._shared()
        with self.out.block(f"for g in range(cuda.blockIdx.x, {self._count(kept)}, cuda.gridDim.x)"):
            self._unravel("g", kept)
            self._start()
            reduced = self.kernel.reduced
            with self.out.block(f"for t in range(cuda.threadIdx.x, {self._count(reduced)}, {THREADS})"):
                self._unravel("t", reduced)
                self._element()
                self._gather()
            self._tree()
            with self.out.block("if cuda.threadIdx.x == 0"):
                for j in self.reducing:
                    self._store(j, f"q{j}[0]", self._index(self.count + j, kept))

    def _full_reduction(self) -> None:
        add, rank = self.out.add, self.kernel.rank
        inner = " * ".join(f"n{d}" for d in range(1, rank))
        add(f"inner = {inner or '1'}")
        add(f"rows = maximum_i64(1, floordiv_i64({CHUNK}, maximum_i64(inner, 1)))")
        add("parts = floordiv_i64(n0 + rows - 1, rows)")
        self._shared()
        with self.out.block(
            "for g in range(floordiv_i64(lo, rows) + cuda.blockIdx.x, parts, cuda.gridDim.x)"
        ):
            with self.out.block("if g * rows < hi"):
                add("first = g * rows")
                add("size = minimum_i64(rows, hi - first) * inner")
                self._start()
                with self.out.block(f"for t in range(cuda.threadIdx.x, size, {THREADS})"):
                    if rank == 1:
                        add("i0 = first + t")
                    else:
                        add("z0 = floordiv_i64(t, inner)")
                        add("i0 = first + z0")
                        add("r = t - z0 * inner")
                        self._unravel("r", range(1, rank))
                    self._element()
                    self._gather()
                self._tree()
                with self.out.block("if cuda.threadIdx.x == 0"):
                    for position, j in enumerate(self.reducing):
                        word, code = _partial_code(self._total(j)), self._total(j)
                        value = f"q{j}[0]" if word == code else f"cast_{code}_{word}(q{j}[0])"
                        add(f"st_{word}(w, g + {position} * parts, {value})")
        with self.out.block("if lo == hi and hi == n0 and cuda.blockIdx.x == 0"):
            self._start()
            with self.out.block(f"for g in range(cuda.threadIdx.x, parts, {THREADS})"):
                for position, j in enumerate(self.reducing):
                    word, code = _partial_code(self._total(j)), self._total(j)
                    kept = f"ld_{word}(w, g + {position} * parts)"
                    add(
                        f"t{j} = {self._combine(j, f't{j}', kept if word == code else f'cast_{word}_{code}({kept})')}"
                    )
            self._tree()
            with self.out.block("if cuda.threadIdx.x == 0"):
                for j in self.reducing:
                    self._store(j, f"q{j}[0]", "0")

    # -- combining --

    def _total(self, j: int) -> str:
        """The type in which a result is accumulated: float64 for sums and products of floats."""
        code = code_of(self.kernel.outputs[j].access.dtype)
        if code in ("f16", "bf16", "f32"):
            return "f64" if self.kernel.outputs[j].combine in ("add", "mul") else "f32"
        return code

    def _combine(self, j: int, a: str, b: str) -> str:
        combine = self.kernel.outputs[j].combine
        fn = {"max": "maximum", "min": "minimum"}.get(str(combine), str(combine))
        return f"{fn}_{self._total(j)}({a}, {b})"

    def _start(self) -> None:
        for j in self.reducing:
            self.out.add(f"t{j} = identity_{self.kernel.outputs[j].combine}_{self._total(j)}()")

    def _gather(self) -> None:
        for j in self.reducing:
            store, total = self.kernel.outputs[j], self._total(j)
            code = code_of(store.access.dtype)
            value = _name(store.ref) if code == total else f"cast_{code}_{total}({_name(store.ref)})"
            self.out.add(f"t{j} = {self._combine(j, f't{j}', value)}")

    def _shared(self) -> None:
        for j in self.reducing:
            self.out.add(f"q{j} = cuda.shared.array({THREADS}, {self._total(j)})")

    def _tree(self) -> None:
        """q<j>[0] = all threads' t<j>, combined in a fixed order."""
        add = self.out.add
        add("cuda.syncthreads()")
        for j in self.reducing:
            add(f"q{j}[cuda.threadIdx.x] = t{j}")
        add("cuda.syncthreads()")
        with self.out.block(f"for level in range({THREADS.bit_length() - 1})"):
            add(f"half = {THREADS // 2} >> level")
            with self.out.block("if cuda.threadIdx.x < half"):
                for j in self.reducing:
                    pair = self._combine(j, f"q{j}[cuda.threadIdx.x]", f"q{j}[cuda.threadIdx.x + half]")
                    add(f"q{j}[cuda.threadIdx.x] = {pair}")
            add("cuda.syncthreads()")

    def _store(self, j: int, value: str, place: str) -> None:
        code, total = code_of(self.kernel.outputs[j].access.dtype), self._total(j)
        self.out.add(
            f"st_{code}(o{j}, {place}, {value if code == total else f'cast_{total}_{code}({value})'})"
        )


def _name(ref: Ref) -> str:
    return {IN: "x", TMP: "v", SCALAR: "c"}[ref[0]] + str(ref[1])


def _partial_code(code: str) -> str:
    """The 8-byte type that keeps a partial result of type `code`."""
    return code if code in ("f64", "i64") else "f64" if code == "f32" else "i64"
