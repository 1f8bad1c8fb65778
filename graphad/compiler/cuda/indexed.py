"""Steps of slices at positions that are data, running results, sorts, bands and checks: launches of the texts in `written`.

All operands are in C order. A table of slices is [batch, outer, positions, inner], where several axes may be the positions, the
indices are [batch, count, coordinates], and the slices [batch, outer, count, inner]. Where slices of one place are combined, they
are sorted by their places first, which leaves those of a place in their order; floats are added up in float64. A sort gives each
element of a tile its place by comparing it with all others of the tile, then merges tiles.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, SECOND, THIRD, WORK, Part, Walk
from graphad.compiler.cuda.written import JOINS, POINTERS, Written, bits_code, sum_kind
from graphad.compiler.rows import Step
from graphad.compiler.source import NAMES, code_of
from graphad.core.dtypes import as_dtype
from graphad.kernels import forms

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

TILE = 1024  # elements that are compared with each other
PIECE = 32  # elements that one thread adds up at least
THREADS = 1 << 16  # that keep a device busy
INDICES = frozenset(("int32", "int64"))
NUMBERS = frozenset(("float16", "bfloat16", "float32", "float64", "int32", "int64"))
PAIRS = {"complex64": "f32", "complex128": "f64"}  # which are added up as two numbers
SORTED = frozenset((*NUMBERS, "int8", "uint8", "int16", "uint16", "uint32", "bool"))
_ALIGNMENT = 256
_WORD = 8  # bytes of a number in the workspace
Place = tuple[int, int]  # what it is, and bytes behind it

Form = forms.Indexed | forms.Running | forms.Ordered | forms.Band | forms.Rising | forms.Holds


def has(form: Form, dtypes: Sequence[str]) -> bool:
    """Whether operands of these dtypes have such steps."""
    dtype = dtypes[0]
    if isinstance(form, forms.Indexed):
        adds = dtype in NUMBERS or (form.way == "add" and dtype in PAIRS)
        return dtypes[1] in INDICES and (adds if form.way in JOINS else _has_bits(dtype, 16))
    if isinstance(form, forms.Running):
        return dtype in NUMBERS
    if isinstance(form, forms.Ordered):
        return form.way == "order" and dtype in SORTED and form.dtype.name in INDICES
    if isinstance(form, forms.Band):
        return _has_bits(dtype, 8)
    return dtype == "bool" if isinstance(form, forms.Holds) else dtype in INDICES


def _has_bits(dtype: str, most: int) -> bool:
    return dtype != "string" and as_dtype(dtype).itemsize <= most


def _bits(code: str) -> str:
    """The code of unsigned integers with the bits of elements, or of their halves."""
    return f"u{8 * min(as_dtype(NAMES[code]).itemsize, _WORD)}"


def _ends(code: str) -> tuple[int, int]:
    """Of floats: all bits but the sign, and those of the infinite one."""
    bits = int(bits_code(code)[1:])
    infinity = np.full((), np.inf, as_dtype(NAMES[code]).numpy).view(f"i{bits // 8}")
    return (1 << (bits - 1)) - 1, int(infinity)


def _line(axis: int, shape: Sequence[int]) -> tuple[int, int, int]:
    """Outer, along an axis, inner."""
    axis %= len(shape)
    return math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])


def _piece(lines: int, count: int) -> int:
    """Elements of a piece of each of so many lines: as many pieces as one thread may walk over, and a device has threads for."""
    cuts = max(min(count // PIECE, math.isqrt(count), THREADS // lines), 1)
    return -(-count // cuts)


class Sizes(NamedTuple):
    """Sizes of a table and its slices; elements of 16 bytes count as two."""

    batch: int
    outer: int
    slices: int
    inner: int
    axes: tuple[int, ...]

    @property
    def table(self) -> int:
        return math.prod(self.axes)

    @property
    def total(self) -> int:
        return self.batch * self.slices

    @property
    def lanes(self) -> int:
        return self.outer * self.inner

    @property
    def most(self) -> int:
        return (
            max(self.batch, 1) * max(self.lanes, 1) * max(self.table, self.slices, 1) * max(len(self.axes), 1)
        )

    @property
    def piece(self) -> int:
        return max(PIECE, math.isqrt(self.total))

    @property
    def pieces(self) -> int:
        return -(-self.total // self.piece)

    @property
    def is_empty(self) -> bool:
        return not (self.total and self.lanes and self.table)


def sizes_of(form: forms.Indexed, dtype: str, shapes: Sequence[Sequence[int]]) -> Sizes:
    indices = shapes[1]
    table = shapes[0] if form.way not in ("add", "max", "min") else shapes[-1]
    lead, axis = form.lead, form.axis % len(table)
    depth, adds = indices[-1] if form.has_coordinates else 1, form.way == "add"
    return Sizes(
        math.prod(table[:lead]),
        math.prod(table[lead:axis]),
        math.prod(indices[lead : len(indices) - form.has_coordinates]),
        math.prod(table[axis + depth :]) * (2 if dtype == "complex128" or (adds and dtype in PAIRS) else 1),
        tuple(table[axis : axis + depth]),
    )


def workspace(form: Form, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
    """Bytes for the shapes of operands and result."""
    if isinstance(form, forms.Indexed):
        at = sizes_of(form, dtype, shapes)
        return _Work(at.total, 0 if form.way == "take" else 2 * at.pieces * at.lanes).total
    if isinstance(form, forms.Running):
        outer, count, inner = _line(form.axis, shapes[0])
        lines = outer * inner
        return _WORD * lines * -(-count // _piece(lines, count)) if lines * count else 0
    return _Work(math.prod(shapes[0]), 0).total if isinstance(form, forms.Ordered) else 0


class _Work:
    """Where two pairs of keys and places begin, and so many further numbers."""

    def __init__(self, count: int, further: int) -> None:
        each = -(-_WORD * count // _ALIGNMENT) * _ALIGNMENT
        self.pairs = [((WORK, 2 * k * each), (WORK, (2 * k + 1) * each)) for k in range(2)]
        self.rest = 4 * each
        self.total = self.rest + _WORD * further


def parts(backend: Cuda, form: Form, dtypes: Sequence[str], walks: Sequence[Walk]) -> list[Part]:
    """The steps for these operands and the result."""
    make = _Steps(backend, [code_of(as_dtype(dtype)) for dtype in dtypes], walks)
    if isinstance(form, forms.Indexed):
        at = sizes_of(form, dtypes[0], make.shapes)
        make.taken(form, at) if form.way == "take" else make.combined(form, at, dtypes[0])
    elif isinstance(form, forms.Running):
        make.running(form)
    elif isinstance(form, forms.Ordered):
        make.ordered(form)
    elif isinstance(form, forms.Band):
        make.band(form)
    elif isinstance(form, forms.Rising):
        shape = make.shapes[0]
        kernel = Written("rising", (("X", make.codes[0]),))
        make.launch(kernel, math.prod(shape), math.prod(shape), [(FIRST, 0), (RESULT, 0)], shape[-1])
    else:
        make.launch(Written("holds"), math.prod(make.shapes[0]), math.prod(make.shapes[0]), [(FIRST, 0)])
    return make.made


class _Steps:
    """Collects the steps of one routine."""

    def __init__(self, backend: Cuda, codes: Sequence[str], walks: Sequence[Walk]) -> None:
        self.backend, self.codes, self.walks = backend, codes, walks
        self.shapes = [shape for shape, _ in walks]
        self.made: list[Part] = []

    def launch(self, kernel: Written, n: int, most: int, places: Sequence[Place], *sizes: int) -> None:
        """A launch for `n` positions, if there are any; the sizes are the text's."""
        if n:
            pointers = len(POINTERS[kernel.way])
            assert (len(places), len(sizes)) == (pointers, len(kernel.sizes))
            words = [n, max(n, most), *[0] * pointers, *sizes]
            step = Step(self.backend.build(kernel), words, tuple(range(2, 2 + pointers)))
            self.made.append(Part(step, tuple(places)))

    def keys(self, form: forms.Indexed, at: Sizes, target: Place) -> None:
        kernel = Written("keys", (("I", self.codes[1]),), len(at.axes), form.negative)
        sizes = at.slices, at.table, at.batch, *at.axes
        self.launch(kernel, at.total, at.most, [(SECOND, 0), target], *sizes)

    def taken(self, form: forms.Indexed, at: Sizes) -> None:
        """Where there are no elements, the indices are looked at nevertheless."""
        if not at.total * at.lanes:
            self.keys(form, at, _Work(at.total, 0).pairs[0][0])
            return
        kinds = ("X", _bits(self.codes[0])), ("I", self.codes[1])
        kernel = Written("take", kinds, len(at.axes), form.negative)
        places = [(FIRST, 0), (SECOND, 0), (RESULT, 0)]
        sizes = at.outer, at.slices, at.inner, at.table, *at.axes
        self.launch(kernel, at.total * at.lanes, at.most, places, *sizes)

    def combined(self, form: forms.Indexed, at: Sizes, dtype: str) -> None:
        puts = form.way.startswith("put")
        self._begin(form.way, dtype)
        work = _Work(at.total, 2 * at.pieces * at.lanes)
        self.keys(form, at, work.pairs[0][0])
        if at.is_empty:
            return
        k, o = self.sort(work, 1, at.total)
        code = _bits(self.codes[0]) if form.way == "put" else PAIRS.get(dtype, self.codes[0])
        kinds = ("X", code), ("S", sum_kind(code, form.way))
        heads, tails = (WORK, work.rest), (WORK, work.rest + _WORD * at.pieces * at.lanes)
        n, ends = at.pieces * at.lanes, (at.total, at.batch * at.table, at.piece)
        places = [k, o, (THIRD if puts else FIRST, 0), (RESULT, 0), heads, tails]
        sizes = at.outer, at.slices, at.inner, at.table, *ends
        self.launch(Written("segments", kinds, join=form.way), n, at.most, places, *sizes)
        if at.pieces > 1:
            crossing = Written("crossing", kinds, join=form.way)
            self.launch(
                crossing, n, at.most, [k, (RESULT, 0), heads, tails], at.outer, at.inner, at.table, *ends
            )

    def _begin(self, way: str, name: str) -> None:
        """What the result holds where no slice is."""
        (shape, steps), dtype = self.walks[-1], as_dtype(name)
        if 0 in shape:
            return
        if way.startswith("put"):
            copy = self.backend.copy(dtype.itemsize, shape, steps, steps)
            self.made.append(Part(copy, ((FIRST, 0), (RESULT, 0))))
            return
        least = 0 if way == "add" else dtype.min if way == "max" else dtype.max
        value = np.full((), least, dtype.numpy)
        self.made.append(Part(self.backend.fill(value, shape, steps), ((RESULT, 0),)))

    def sort(self, work: _Work, rows: int, length: int) -> tuple[Place, Place]:
        """Where the keys of sequences are in order, which are those of the first pair before, and the places that they had."""
        n = rows * length
        (k, o), (k2, o2) = work.pairs
        self.launch(Written("rank"), n, n, [k, k2, o2], length, TILE)
        width = TILE
        while width < length:
            k, o, k2, o2 = k2, o2, k, o
            self.launch(Written("merge"), n, n, [k, o, k2, o2], length, width)
            width *= 2
        return k2, o2

    def running(self, form: forms.Running) -> None:
        outer, count, inner = _line(form.axis, self.shapes[0])
        lines, n = outer * inner, outer * count * inner
        if not n:
            return
        code = self.codes[0]
        kinds, piece = (("X", code), ("S", sum_kind(code, form.way))), _piece(lines, count)
        cuts, sizes = -(-count // piece), (lines, count, inner, piece, int(form.reverse))
        if cuts > 1:
            totals = Written("totals", kinds, join=form.way)
            self.launch(totals, lines * cuts, n, [(FIRST, 0), (WORK, 0)], *sizes)
        places = [(FIRST, 0), (WORK, 0) if cuts > 1 else (FIRST, 0), (RESULT, 0)]
        kernel = Written("running", kinds, join=form.way)
        self.launch(kernel, lines * cuts, n, places, *sizes, int(form.exclusive))

    def ordered(self, form: forms.Ordered) -> None:
        outer, count, inner = _line(form.axis, self.shapes[0])
        kept, n, code = self.shapes[1][form.axis], outer * count * inner, self.codes[0]
        if not outer * kept * inner:
            return
        if kept > count:
            self.launch(Written("never"), 1, 1, [])
            return
        low, infinity = _ends(code) if as_dtype(NAMES[code]).is_floating else (0, 0)
        work = _Work(n, 0)
        keys = Written("ordered", (("X", code),), falls=form.descending)
        self.launch(keys, n, n, [(FIRST, 0), work.pairs[0][0]], count, inner, low, infinity)
        _, o = self.sort(work, outer * inner, count)
        first = Written("first", (("I", code_of(form.dtype)),))
        self.launch(first, outer * kept * inner, n, [o, (RESULT, 0)], count, inner, kept)

    def band(self, form: forms.Band) -> None:
        shape = self.shapes[0]
        rows, columns = shape[-2:]
        lower, upper = (
            limit if 0 <= limit < most else most
            for limit, most in ((form.lower, rows), (form.upper, columns))
        )
        n, kernel = math.prod(shape), Written("band", (("X", _bits(self.codes[0])),))
        self.launch(kernel, n, n, [(FIRST, 0), (RESULT, 0)], rows, columns, lower, upper)
