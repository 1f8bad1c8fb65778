"""A kernel as source text for CUDA: the statements of the CPU's text under another header.

    def kernel(lo, hi, w, a0, o0, n0):
        narrow()                          # positions are 32-bit numbers; without it they are 64-bit ones
        e0 = ix(n0)
        for t in range(at, e0, step):     # this thread's place in the grid, and how many threads that has
            i0 = t
            x0 = ld_f32(a0, i0)
            ...

Each word of the argument block is a parameter, in the same order, so a launch uploads nothing. A map walks the grid's threads,
with loads of 16 bytes where addresses allow. Rows are reduced by one block of threads each, columns by tiles of neighbours;
if there are few results, each is cut into `parts`, and the last block to finish adds these up in order, all in one launch. The
assignment of elements to threads depends on sizes only, so the same sizes give the same bits on every device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from types import MappingProxyType

from graphad.compiler import plain
from graphad.compiler.cuda.shared import WARP, sum_code, threads_of
from graphad.compiler.source import Source, Text, code_of
from graphad.core.dtypes import DType
from graphad.kernels.block import block_layout
from graphad.kernels.forms import BROADCAST, CONTIGUOUS, IN, SCALAR, TMP, Access, Kernel, Ref

WIDE_STATEMENTS = 40  # longer bodies are not memory-bound, and would be compiled several times
EXCHANGED = frozenset("f32 f64 i32 i64 u32 u64".split())  # types of values that threads of a warp exchange
TOGETHER = 4  # elements whose loads a thread has under way at a time, where one load does not hold several
# the names of the text that are Python's or numba-cuda's own
BUILTIN = frozenset(
    "range cuda blockIdx blockDim gridDim threadIdx x y shared array syncthreads threadfence".split()
)
LIBRARY = frozenset(
    (
        "exp exp2 expm1 log log1p log2 log10 sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh atan2 erf erfc pow "
        "hypot cbrt fmod"
    ).split()
)
# functions without a counterpart in the device library, in terms of those with one; {0} and {1} are the arguments, {c} their type
COMPOSED = {
    # e / (1 + e) below 0, e = exp(x), since 1 / (1 + 1 / e) is 0 where 1 / e is infinite.
    "sigmoid": (
        "div_{c}(select_{c}(lt_{c}({0}, identity_add_{c}()), exp_{c}({0}), identity_mul_{c}()), "
        "add_{c}(identity_mul_{c}(), exp_{c}(neg_{c}(abs_{c}({0})))))"
    ),
    "softplus": "add_{c}(maximum_{c}({0}, identity_add_{c}()), log1p_{c}(exp_{c}(neg_{c}(abs_{c}({0})))))",
    "mod": (
        "select_{c}(and_b1(ne_{c}(fmod_{c}({0}, {1}), identity_add_{c}()), xor_b1(lt_{c}(fmod_{c}({0}, {1}), "
        "identity_add_{c}()), lt_{c}({1}, identity_add_{c}()))), add_{c}(fmod_{c}({0}, {1}), {1}), fmod_{c}({0}, {1}))"
    ),
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
        if not has_function(statement.fn, operand):
            return f"{statement.fn} of {operand.name} has no CUDA code"
    for store in kernel.outputs:
        if store.combine in ("and", "or") and store.access.dtype.is_floating:
            return f"{store.combine} of {store.access.dtype.name} has no CUDA code"
    return None


def has_function(fn: str, dtype: DType) -> bool:
    """Whether a scalar function on operands of this dtype has code."""
    return plain.has_plain(fn, code_of(dtype)) or (dtype.is_floating and (fn in LIBRARY or fn in COMPOSED))


def lanes(kernel: Kernel) -> int:
    """How many neighbours one thread takes at a time: as many as one load holds, 1 where that does not pay."""
    accesses = [*kernel.inputs, *[store.access for store in kernel.outputs]]
    if kernel.rank != 1 or kernel.reduced or len(kernel.body) > WIDE_STATEMENTS:
        return 1
    if any(access.strides[0] not in (CONTIGUOUS, BROADCAST) for access in accesses):
        return 1
    sizes = [access.dtype.itemsize for access in accesses if access.strides[0] == CONTIGUOUS]
    return 4 if max(sizes) <= 4 else 2 if max(sizes) == 8 else 1


def takes_parts(kernel: Kernel) -> bool:
    """Whether a kernel has the two further words of a reduction: `parts` and the address of a counter."""
    return bool(kernel.reduced)


@lru_cache(maxsize=4096)
def emit(kernel: Kernel, is_narrow: bool = True) -> Source:
    """The kernel's source, a function `kernel` of the words of its argument block and, if it reduces, of two more."""
    out = Text()
    layout = block_layout(kernel.check())
    further = ["parts", "z"] if takes_parts(kernel) else []
    with out.block(f"def kernel({', '.join([*word_names(kernel), *further])})"):
        if is_narrow:
            out.add("narrow()")
        if kernel.contracts:
            out.add("contract()")
        printer = Printer(kernel, out)
        printer.declare()
        if not printer.reducing:
            printer.grid_map()
        elif kernel.rank - 1 in kernel.reduced:
            printer.grid_rows()
        else:
            printer.grid_columns()
    assert layout.count == len(word_names(kernel))
    return Source(str(out), kernel.digest(), "cuda")


def word_names(kernel: Kernel) -> list[str]:
    """The names of the words of a kernel's argument block, in order."""
    layout = block_layout(kernel)
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


class Printer:
    """Prints one kernel; see the module's docstring.

    Args:
      prefix: What all its names begin with.
      low: Where its range of the split dimension begins, "" for 0; `extents` may then say how long that is.
      held: By operand, the pointer to use instead of its own; such operands begin where the range does.
    """

    def __init__(
        self,
        kernel: Kernel,
        out: Text,
        prefix: str = "",
        low: str = "",
        size: str = "",
        held: dict[int, str] | None = None,
    ) -> None:
        self.kernel, self.out, self.prefix, self.low, self.size = kernel, out, prefix, low, size
        self.layout, self.count = block_layout(kernel), len(kernel.inputs)
        self.held = held or {}
        self.accesses: list[Access] = [*kernel.inputs, *(store.access for store in kernel.outputs)]
        self.used = {ref for s in kernel.body for ref in s.args} | {store.ref for store in kernel.outputs}
        self.reducing = [j for j, store in enumerate(kernel.outputs) if store.combine is not None]
        self.kept = [d for d in range(kernel.rank) if d not in kernel.reduced]
        self.lane, self._apart = "", frozenset[int]()  # of several elements at a time, and where these differ

    # -- names and positions --

    def n(self, name: str) -> str:
        return self.prefix + name

    def declare(self) -> None:
        """Scalars, sizes and strides as numbers of the kernel."""
        add = self.out.add
        for k, dtype in enumerate(self.kernel.scalars):
            add(f"{self.n(f'c{k}')} = bits_{code_of(dtype)}({self.n(f'u{k}')})")
        for d in range(self.kernel.rank):
            add(f"{self.n(f'e{d}')} = ix({self.n(f'n{d}')})")
        for k, d in self.layout.strides:
            add(f"{self.n(f'd{k}_{d}')} = ix({self.n(f's{k}_{d}')})")

    def extent(self, d: int) -> str:
        return self.size if self.size and d == self.kernel.split else self.n(f"e{d}")

    def total(self, dims: Sequence[int]) -> str:
        """The number of elements over some dimensions."""
        text = ""
        for d in dims:
            text = f"ixmul({text}, {self.extent(d)})" if text else self.extent(d)
        return text or "ix(1)"

    def unravel(self, name: str, dims: Sequence[int]) -> None:
        """i<d> for every dimension from the flat position `name`, the last dimension running fastest."""
        add, rest = self.out.add, name
        for place in range(len(dims) - 1, -1, -1):
            d = dims[place]
            index = self._at("j", d)
            if place == 0:
                add(f"{index} = {rest}")
            else:
                above = self._at("g", d)
                add(f"{above} = ixdiv({rest}, {self.extent(d)})")
                add(f"{index} = ixsub({rest}, ixmul({above}, {self.extent(d)}))")
                rest = above
            if d == self.kernel.split and self.low:
                add(f"{self._at('i', d)} = ixadd({self.low}, {index})")
            else:
                add(f"{self._at('i', d)} = {index}")

    def _at(self, kind: str, d: int) -> str:
        return self.n(f"{kind}{d}") + (self.lane if d in self._apart else "")

    def index(self, k: int, dims: Iterable[int]) -> str:
        text = ""
        for d in dims:
            step = self.accesses[k].strides[d]
            if step == BROADCAST:
                continue
            place = self._at("j" if k in self.held else "i", d)
            term = place if step == CONTIGUOUS else f"ixmul({place}, {self.n(f'd{k}_{d}')})"
            text = f"ixadd({text}, {term})" if text else term
        return text or "ix(0)"

    def pointer(self, k: int) -> str:
        own = f"a{k}" if k < self.count else f"o{k - self.count}"
        return self.held.get(k) or self.n(own)

    # -- one element --

    def element(self) -> None:
        """All of one element but what it is combined with."""
        self._load()
        self._compute()
        self._store()

    def _load(self, loaded: Mapping[int, str] = MappingProxyType({})) -> None:
        """The operands of an element, some of which are loaded already."""
        every = range(self.kernel.rank)
        for k, access in enumerate(self.kernel.inputs):
            if (IN, k) in self.used:
                value = f"ld_{code_of(access.dtype)}({self.pointer(k)}, {self.index(k, every)})"
                self.out.add(f"{self.name((IN, k))} = {loaded.get(k, value)}")

    def _compute(self) -> None:
        for k, statement in enumerate(self.kernel.body):
            value = self.call(statement.fn, statement.args, statement.dtype)
            self.out.add(f"{self.name((TMP, k))} = {value}")

    def _store(self) -> None:
        for j, store in enumerate(self.kernel.outputs):
            if store.combine is None:
                k = self.count + j
                place = f"{self.pointer(k)}, {self.index(k, range(self.kernel.rank))}"
                self.out.add(f"st_{code_of(store.access.dtype)}({place}, {self.name(store.ref)})")

    def _combine_all(self) -> None:
        for j in self.reducing:
            store = self.kernel.outputs[j]
            value = _cast(code_of(store.access.dtype), self.sum_code(j), self.name(store.ref))
            self.out.add(f"{self.n(f't{j}')} = {self._combine(j, self.n(f't{j}'), value)}")

    def sweep(self, t: str, dims: Sequence[int], start: str, end: str, step: str) -> None:
        """The elements at positions t over `dims`, from a start to an end by a step, combined in this order.

        A thread takes several at a time: it asks for all that they load before it computes with the first.
        """
        add = self.out.add
        if len(self.kernel.body) <= WIDE_STATEMENTS:
            ahead = self.n("ahead")
            add(f"{t} = {start}")
            add(f"{ahead} = ixmul(ix({TOGETHER - 1}), {step})")
            with self.out.block(f"while ixadd({t}, {ahead}) < {end}"):
                self._apart = frozenset(dims)
                load = partial(self._load_next, t, dims, step)
                for part in (load, self._compute, self._store, self._combine_all):
                    for lane in range(TOGETHER):
                        self.lane = f"_{lane}"
                        part()
                self.lane, self._apart = "", frozenset()
                add(f"{t} = ixadd({t}, {step})")
            start = t
        with self.out.block(f"for {t} in range({start}, {end}, {step})"):
            self.unravel(t, dims)
            self.element()
            self._combine_all()

    def _load_next(self, t: str, dims: Sequence[int], step: str) -> None:
        """Load the next of several elements."""
        if self.lane != "_0":
            self.out.add(f"{t} = ixadd({t}, {step})")
        self.unravel(t, dims)
        self._load()

    def call(self, fn: str, args: Sequence[Ref], dtype: DType) -> str:
        names = [self.name(ref) for ref in args]
        code = code_of(self.kernel.dtype_of(args[-1]))
        if fn == "cast":
            return f"cast_{code}_{code_of(dtype)}({names[0]})"
        if plain.has_plain(fn, code):
            return f"{fn}_{code}({', '.join(names)})"
        wide = "f64" if code == "f64" else "f32"
        value = COMPOSED.get(fn, fn + "_{c}(" + ", ".join(names) + ")").format(*names, c=wide)
        return value if wide == code else f"narrowed_{code}({value})"

    def name(self, ref: Ref) -> str:
        kind = {IN: "x", TMP: "v", SCALAR: "c"}[ref[0]]
        return self.n(f"{kind}{ref[1]}" + (self.lane if kind != "c" else ""))

    # -- maps --

    def grid_map(self) -> None:
        """Every element, by the threads of the grid."""
        add, many = self.out.add, lanes(self.kernel)
        add("at = ixadd(ixmul(ix(cuda.blockIdx.x), ix(cuda.blockDim.x)), ix(cuda.threadIdx.x))")
        add("step = ixmul(ix(cuda.gridDim.x), ix(cuda.blockDim.x))")
        if many == 1:
            self.map("at", "step")
            return
        wide = [k for k, access in enumerate(self.accesses) if access.strides[0] == CONTIGUOUS]
        add(f"together = {self.pointer(wide[0])}")
        for k in wide[1:]:
            add(f"together = either(together, {self.pointer(k)})")
        add(f"groups = groups{many}(together, e0)")  # 0 where an address is not a multiple of a load's bytes
        with self.out.block("for t in range(at, groups, step)"):
            add(f"i0 = ixmul(t, ix({many}))")
            for k, access in enumerate(self.kernel.inputs):
                if k in wide and (IN, k) in self.used:
                    add(f"b{k} = ld{many}_{code_of(access.dtype)}({self.pointer(k)}, i0)")
            stored: list[list[str]] = [[] for _ in self.kernel.outputs]
            for lane in range(many):
                self.lane = f"_{lane}"
                self._load({k: f"b{k}[{lane}]" for k in wide})
                self._compute()
                for j, store in enumerate(self.kernel.outputs):
                    stored[j].append(self.name(store.ref))
            self.lane = ""
            for j, (store, values) in enumerate(zip(self.kernel.outputs, stored, strict=True)):
                code = code_of(store.access.dtype)
                add(f"st{many}_{code}({self.pointer(self.count + j)}, i0, {', '.join(values)})")
        with self.out.block(f"for t in range(ixadd(at, ixmul(groups, ix({many}))), e0, step)"):
            add("i0 = t")
            self.element()

    def map(self, start: str, step: str) -> None:
        """Every element, by threads that start at `start` and advance by `step`."""
        self.sweep(self.n("t"), self.kept, start, self.total(self.kept), step)

    # -- reductions, by all blocks of the grid --

    def grid_rows(self) -> None:
        """One block of threads for each part of each result."""
        add = self.out.add
        self._threads()
        self.shared()
        self._pieces()
        with self.out.block("for g in range(ix(cuda.blockIdx.x), ixmul(kept, cuts), ix(cuda.gridDim.x))"):
            add("k = ixdiv(g, cuts)")
            add("p = ixsub(g, ixmul(k, cuts))")
            self._bounds("p")
            self.unravel("k", self.kept)
            self.start()
            self.sweep("r", self.kernel.reduced, "ixadd(first, tid)", "last", "T")
            self.rows_tree("tid", "T")
            with self.out.block("if tid == 0"):
                self._result(lambda j: f"q{j}[0]")
        self._finish()

    def grid_columns(self) -> None:
        """A tile of threads: side by side over results, one below the other over reduced elements."""
        add = self.out.add
        add("X = ix(cuda.blockDim.x)")
        add("Y = ix(cuda.blockDim.y)")
        add("tx = ix(cuda.threadIdx.x)")
        add("ty = ix(cuda.threadIdx.y)")
        add("tid = ixadd(ixmul(ty, X), tx)")
        add("T = ixmul(X, Y)")
        self.shared()
        self._pieces()
        add("tiles = ixdiv(ixadd(kept, ixsub(X, ix(1))), X)")
        with self.out.block("for g in range(ix(cuda.blockIdx.x), ixmul(tiles, cuts), ix(cuda.gridDim.x))"):
            add("tile = ixdiv(g, cuts)")
            add("p = ixsub(g, ixmul(tile, cuts))")
            self._bounds("p")
            add("k = ixadd(ixmul(tile, X), tx)")
            self.start()
            with self.out.block("if k < kept"):
                self.unravel("k", self.kept)
                self.sweep("r", self.kernel.reduced, "ixadd(first, ty)", "last", "Y")
            self.tree("tid", "T", "X")
            with self.out.block("if ty == 0"), self.out.block("if k < kept"):
                self.unravel("k", self.kept)
                self._result(lambda j: f"q{j}[tx]")
        self._finish()

    def _threads(self) -> None:
        self.out.add("tid = ix(cuda.threadIdx.x)")
        self.out.add("T = ix(cuda.blockDim.x)")

    def _pieces(self) -> None:
        add = self.out.add
        add(f"kept = {self.total(self.kept)}")
        add(f"inner = {self.total(self.kernel.reduced)}")
        add("cuts = ix(parts)")
        add("piece = ixdiv(ixadd(inner, ixsub(cuts, ix(1))), cuts)")

    def _bounds(self, part: str) -> None:
        self.out.add(f"first = ixmin(ixmul({part}, piece), inner)")
        self.out.add("last = ixmin(ixadd(first, piece), inner)")

    def _result(self, value: Callable[[int], str]) -> None:
        """Store result k, or its part p."""
        with self.out.block("if parts == 1"):
            for j in self.reducing:
                self.store(j, value(j), self.index(self.count + j, self.kept))
        with self.out.block("else"):
            for position, j in enumerate(self.reducing):
                word = partial_code(self.sum_code(j))
                target = self._part("k", position)
                self.out.add(f"st_{word}(w, {target}, {_cast(self.sum_code(j), word, value(j))})")

    def _finish(self) -> None:
        """The last block to finish combines the parts in order."""
        add, is_full = self.out.add, self.kernel.is_full_reduction
        with self.out.block("if parts > 1"):
            self.out.add("f = cuda.shared.array(1, i32)")
            arrive(self.out)
            with self.out.block("if f[0] == cuda.gridDim.x - 1"):
                add("cuda.threadfence()")
                if is_full:
                    self._gather_parts("ix(0)", "tid", "T")
                    self.rows_tree("tid", "T")
                    with self.out.block("if tid == 0"):
                        for j in self.reducing:
                            self.store(j, f"q{j}[0]", "ix(0)")
                else:
                    with self.out.block("for k in range(tid, kept, T)"):
                        self._gather_parts("k", "ix(0)", "ix(1)")
                        self.unravel("k", self.kept)
                        for j in self.reducing:
                            self.store(j, self.n(f"t{j}"), self.index(self.count + j, self.kept))
                with self.out.block("if tid == 0"):
                    add("st_i32(z, ix(0), zero_i32())")

    def _gather_parts(self, k: str, start: str, step: str) -> None:
        """Combine the parts of a result in order, several loads at a time."""
        self.start()
        add, ahead = self.out.add, f"ixmul(ix({TOGETHER - 1}), {step})"
        add(f"p = {start}")
        with self.out.block(f"while ixadd(p, {ahead}) < cuts"):
            for lane in range(TOGETHER):
                self._load_parts(k, f"_{lane}")
                add(f"p = ixadd(p, {step})")
            for lane in range(TOGETHER):
                self._combine_parts(f"_{lane}")
        with self.out.block(f"for p in range(p, cuts, {step})"):
            self._load_parts(k, "")
            self._combine_parts("")

    def _load_parts(self, k: str, lane: str) -> None:
        for position, j in enumerate(self.reducing):
            word, code = partial_code(self.sum_code(j)), self.sum_code(j)
            value = f"ld_{word}(w, {self._part(k, position)})"
            self.out.add(f"y{j}{lane} = {_cast(word, code, value)}")

    def _combine_parts(self, lane: str) -> None:
        for j in self.reducing:
            self.out.add(f"{self.n(f't{j}')} = {self._combine(j, self.n(f't{j}'), f'y{j}{lane}')}")

    def _part(self, k: str, position: int) -> str:
        """The position of part p of result k: parts of neighbouring results are neighbours."""
        return f"ixadd(ixadd(ixmul(p, kept), {k}), ixmul(ix({position}), ixmul(kept, cuts)))"

    # -- reductions, by one block --

    def block_rows(self, tid: str, threads: str) -> None:
        """All results, one after another, each by all threads of a block."""
        k = self.n("k")
        with self.out.block(f"for {k} in range(ix(0), {self.total(self.kept)}, ix(1))"):
            self.unravel(k, self.kept)
            self.start()
            self.sweep(self.n("r"), self.kernel.reduced, tid, self.total(self.kernel.reduced), threads)
            self.rows_tree(tid, threads)
            with self.out.block(f"if {tid} == 0"):
                for j in self.reducing:
                    self.store(j, f"{self.n(f'q{j}')}[0]", self.index(self.count + j, self.kept))
            self.out.add("cuda.syncthreads()")

    def block_columns(self, tid: str, threads: str) -> None:
        """Every result by a thread of its own."""
        k = self.n("k")
        with self.out.block(f"for {k} in range({tid}, {self.total(self.kept)}, {threads})"):
            self.unravel(k, self.kept)
            self.start()
            self.sweep(self.n("r"), self.kernel.reduced, "ix(0)", self.total(self.kernel.reduced), "ix(1)")
            for j in self.reducing:
                self.store(j, self.n(f"t{j}"), self.index(self.count + j, self.kept))

    # -- combining --

    def sum_code(self, j: int) -> str:
        return sum_code(self.kernel.outputs[j])

    def _combine(self, j: int, a: str, b: str) -> str:
        combine = self.kernel.outputs[j].combine
        fn = {"max": "maximum", "min": "minimum"}.get(str(combine), str(combine))
        return f"{fn}_{self.sum_code(j)}({a}, {b})"

    def start(self) -> None:
        for j in self.reducing:
            combine = self.kernel.outputs[j].combine
            self.out.add(f"{self.n(f't{j}')} = identity_{combine}_{self.sum_code(j)}()")

    def shared(self) -> None:
        for j in self.reducing:
            self.out.add(
                f"{self.n(f'q{j}')} = cuda.shared.array({threads_of(self.kernel)}, {self.sum_code(j)})"
            )

    def rows_tree(self, tid: str, threads: str) -> None:
        """q<j>[0] = t<j> of all threads, a power of two of them, combined in a fixed order: each warp by itself, then the first
        one what the others have.
        """
        if any(self.sum_code(j) not in EXCHANGED for j in self.reducing):
            self.tree(tid, threads)
            return
        add, warps = self.out.add, self.n("warps")
        add("cuda.syncthreads()")
        self._within_warp(f"ixdiv(ixmin({threads}, ix({WARP})), ix(2))")
        add(f"{warps} = ixdiv(ixadd({threads}, ix({WARP - 1})), ix({WARP}))")
        with self.out.block(f"if ixsub({tid}, ixmul(ixdiv({tid}, ix({WARP})), ix({WARP}))) == 0"):
            for j in self.reducing:
                add(f"{self.n(f'q{j}')}[ixdiv({tid}, ix({WARP}))] = {self.n(f't{j}')}")
        add("cuda.syncthreads()")
        with self.out.block(f"if {warps} > 1"):
            with self.out.block(f"if {tid} < {WARP}"):
                self.start()
                with self.out.block(f"if {tid} < {warps}"):
                    for j in self.reducing:
                        add(f"{self.n(f't{j}')} = {self.n(f'q{j}')}[{tid}]")
                self._within_warp(f"ixdiv({warps}, ix(2))")
                with self.out.block(f"if {tid} == 0"):
                    for j in self.reducing:
                        add(f"{self.n(f'q{j}')}[0] = {self.n(f't{j}')}")
            add("cuda.syncthreads()")

    def _within_warp(self, reach: str) -> None:
        """t<j> of a warp's first thread: those of all up to twice the `reach`."""
        name = self.n("reach")
        self.out.add(f"{name} = {reach}")
        with self.out.block(f"while {name} > 0"):
            for j in self.reducing:
                mine = self.n(f"t{j}")
                other = f"further_{self.sum_code(j)}({mine}, {name})"
                self.out.add(f"{mine} = {self._combine(j, mine, other)}")
            self.out.add(f"{name} = ixdiv({name}, ix(2))")

    def tree(self, tid: str, threads: str, apart: str = "ix(1)") -> None:
        """q<j>[k] = t<j> of all threads whose number is k modulo `apart`, combined in a fixed order."""
        add, half = self.out.add, self.n("half")
        add("cuda.syncthreads()")
        for j in self.reducing:
            add(f"{self.n(f'q{j}')}[{tid}] = {self.n(f't{j}')}")
        add("cuda.syncthreads()")
        add(f"{half} = ixdiv({threads}, ix(2))")
        with self.out.block(f"while {half} >= {apart}"):
            with self.out.block(f"if {tid} < {half}"):
                for j in self.reducing:
                    q = self.n(f"q{j}")
                    add(f"{q}[{tid}] = {self._combine(j, f'{q}[{tid}]', f'{q}[ixadd({tid}, {half})]')}")
            add("cuda.syncthreads()")
            add(f"{half} = ixdiv({half}, ix(2))")

    def store(self, j: int, value: str, place: str) -> None:
        code = code_of(self.kernel.outputs[j].access.dtype)
        pointer = self.pointer(self.count + j)
        self.out.add(f"st_{code}({pointer}, {place}, {_cast(self.sum_code(j), code, value)})")


def arrive(out: Text) -> None:
    """f[0] = how many blocks finished before this one; the last block sees all of their stores."""
    out.add("cuda.threadfence()")
    out.add("cuda.syncthreads()")
    with out.block("if tid == 0"):
        out.add("f[0] = arrive(z)")
    out.add("cuda.syncthreads()")


def partial_code(code: str) -> str:
    """The 8-byte type that keeps a partial result of type `code`."""
    return code if code in ("f64", "i64", "u64") else "f64" if code == "f32" else "i64"


def _cast(source: str, target: str, value: str) -> str:
    return value if source == target else f"cast_{source}_{target}({value})"
