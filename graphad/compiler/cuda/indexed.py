"""Steps of slices at positions that are data, running results, bands and checks: launches of kernels in `written`.

All operands are in C order. A table of slices is [batch, outer, positions, inner], where several axes may be the positions, the
indices are [batch, count, coordinates], and the slices [batch, outer, count, inner]. Where slices of one place are combined, they
are sorted by their places first, which leaves those of a place in their order; floats are added up in float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, SECOND, THIRD, WORK, Part, Walk
from graphad.compiler.cuda import launches
from graphad.compiler.cuda.launches import (
    INDICES,
    NUMBERS,
    WORD,
    Launches,
    Place,
    Work,
    has_bits,
    line_of,
    moved_code,
    piece_of,
)
from graphad.compiler.cuda.written import JOINS, Written, sum_kind
from graphad.compiler.source import code_of
from graphad.core.dtypes import DType, as_dtype
from graphad.core.light import NamedTuple
from graphad.kernels import forms

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

PAIRS = {"complex64": "f32", "complex128": "f64"}  # which are added up as two numbers
# The value of elements to which no slice is written.
_NOTHING: dict[str, Callable[[DType], Any]] = {
    "add": lambda dtype: 0,
    "mul": lambda dtype: 1,
    "max": lambda dtype: dtype.min,
    "min": lambda dtype: dtype.max,
}
Form = forms.Indexed | forms.Running | forms.Band | forms.Rising | forms.Rolled | forms.Holds


def has(form: Form, dtypes: Sequence[str]) -> bool:
    """Whether operands of these dtypes have such steps."""
    dtype = dtypes[0]
    if isinstance(form, forms.Indexed):
        adds = dtype in NUMBERS or (form.way == "add" and dtype in PAIRS)
        return dtypes[1] in INDICES and (adds if form.way in JOINS else has_bits(dtype, 16))
    if isinstance(form, forms.Running):
        return dtype in NUMBERS
    if isinstance(form, forms.Rolled):
        return dtypes[1] in INDICES and has_bits(dtype, 8)
    if isinstance(form, forms.Band):
        return has_bits(dtype, 8)
    return dtype == "bool" if isinstance(form, forms.Holds) else dtype in INDICES


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
        return max(launches.PIECE, math.isqrt(self.total))

    @property
    def pieces(self) -> int:
        return -(-self.total // self.piece)

    @property
    def is_empty(self) -> bool:
        return not (self.total and self.lanes and self.table)


def sizes_of(form: forms.Indexed, dtype: str, shapes: Sequence[Sequence[int]]) -> Sizes:
    indices = shapes[1]
    has_table = form.way == "take" or form.way.startswith("put")
    table = shapes[0 if has_table else -1]
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
        return Work(at.total, 0 if form.way == "take" else 2 * at.pieces * at.lanes).total
    if isinstance(form, forms.Running):
        outer, count, inner = line_of(form.axis, shapes[0])
        lines = outer * inner
        return WORD * lines * -(-count // piece_of(lines, count)) if lines * count else 0
    return 0


def parts(backend: Cuda, form: Form, dtypes: Sequence[str], walks: Sequence[Walk]) -> list[Part]:
    """The steps for these operands and the result."""
    make = _Steps(backend, [code_of(as_dtype(dtype)) for dtype in dtypes], walks)
    if isinstance(form, forms.Indexed):
        at = sizes_of(form, dtypes[0], make.shapes)
        make.taken(form, at) if form.way == "take" else make.combined(form, at, dtypes[0])
    elif isinstance(form, forms.Running):
        make.running(form)
    elif isinstance(form, forms.Rolled):
        make.rolled(form)
    elif isinstance(form, forms.Band):
        make.band(form)
    elif isinstance(form, forms.Rising):
        shape = make.shapes[0]
        kernel = Written("rising", (("X", make.codes[0]),))
        make.launch(kernel, math.prod(shape), math.prod(shape), [(FIRST, 0), (RESULT, 0)], shape[-1])
    else:
        make.launch(Written("holds"), math.prod(make.shapes[0]), math.prod(make.shapes[0]), [(FIRST, 0)])
    return make.made


class _Steps(Launches):
    """Collects the steps of one routine."""

    def keys(self, form: forms.Indexed, at: Sizes, target: Place) -> None:
        kernel = Written("keys", (("I", self.codes[1]),), len(at.axes), form.negative)
        sizes = at.slices, at.table, at.batch, *at.axes
        self.launch(kernel, at.total, at.most, [(SECOND, 0), target], *sizes)

    def taken(self, form: forms.Indexed, at: Sizes) -> None:
        """The indices are checked even if there are no elements."""
        if not at.total * at.lanes:
            self.keys(form, at, Work(at.total, 0).pairs[0][0])
            return
        kinds = ("X", moved_code(self.codes[0])), ("I", self.codes[1])
        kernel = Written("take", kinds, len(at.axes), form.negative)
        places = [(FIRST, 0), (SECOND, 0), (RESULT, 0)]
        sizes = at.outer, at.slices, at.inner, at.table, *at.axes
        self.launch(kernel, at.total * at.lanes, at.most, places, *sizes)

    def combined(self, form: forms.Indexed, at: Sizes, dtype: str) -> None:
        puts = form.way.startswith("put")
        self._begin(form.way, dtype)
        work = Work(at.total, 2 * at.pieces * at.lanes)
        self.keys(form, at, work.pairs[0][0])
        if at.is_empty:
            return
        k, o = self.sort(work, 1, at.total)
        code = moved_code(self.codes[0]) if form.way == "put" else PAIRS.get(dtype, self.codes[0])
        kinds = ("X", code), ("S", sum_kind(code, form.way))
        heads, tails = (WORK, work.rest), (WORK, work.rest + WORD * at.pieces * at.lanes)
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
        """Fills the result with the value of elements to which no slice is written."""
        (shape, steps), dtype = self.walks[-1], as_dtype(name)
        if 0 in shape:
            return
        if way.startswith("put"):
            copy = self.backend.copy(dtype.itemsize, shape, steps, steps)
            self.made.append(Part(copy, ((FIRST, 0), (RESULT, 0))))
            return
        value = np.full((), _NOTHING[way](dtype), dtype.numpy)
        self.made.append(Part(self.backend.fill(value, shape, steps), ((RESULT, 0),)))

    def running(self, form: forms.Running) -> None:
        outer, count, inner = line_of(form.axis, self.shapes[0])
        lines, n = outer * inner, outer * count * inner
        if not n:
            return
        code = self.codes[0]
        kinds, piece = (("X", code), ("S", sum_kind(code, form.way))), piece_of(lines, count)
        cuts, sizes = -(-count // piece), (lines, count, inner, piece, int(form.reverse))
        if cuts > 1:
            totals = Written("totals", kinds, join=form.way)
            self.launch(totals, lines * cuts, n, [(FIRST, 0), (WORK, 0)], *sizes)
        places = [(FIRST, 0), (WORK, 0) if cuts > 1 else (FIRST, 0), (RESULT, 0)]
        kernel = Written("running", kinds, join=form.way)
        self.launch(kernel, lines * cuts, n, places, *sizes, int(form.exclusive))

    def band(self, form: forms.Band) -> None:
        shape = self.shapes[0]
        rows, columns = shape[-2:]
        lower, upper = (
            limit if 0 <= limit < most else most
            for limit, most in ((form.lower, rows), (form.upper, columns))
        )
        n, kernel = math.prod(shape), Written("band", (("X", moved_code(self.codes[0])),))
        self.launch(kernel, n, n, [(FIRST, 0), (RESULT, 0)], rows, columns, lower, upper)

    def rolled(self, form: forms.Rolled) -> None:
        outer, count, inner = line_of(form.axis, self.shapes[0])
        kernel = Written("rolled", (("X", moved_code(self.codes[0])), ("I", self.codes[1])))
        n = outer * count * inner
        self.launch(kernel, n, n, [(FIRST, 0), (SECOND, 0), (RESULT, 0)], count, inner)
