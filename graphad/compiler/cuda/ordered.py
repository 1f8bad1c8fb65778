"""Steps that put elements in order: sorts, the largest few, extremes, positions in sorted sequences.

Elements become numbers of 64 bits in whose order they come. A sort gives each element of a tile its place by comparing it with
all others of the tile, then merges tiles (`launches`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.compiler.backend import FIRST, RESULT, SECOND, WORK, Part, Walk
from graphad.compiler.cuda.launches import (
    INDICES,
    NUMBERS,
    WORD,
    Launches,
    Place,
    Work,
    ends_of,
    line_of,
    piece_of,
)
from graphad.compiler.cuda.written import Written
from graphad.compiler.source import NAMES, code_of
from graphad.core.dtypes import as_dtype
from graphad.kernels import forms

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

SORTED = frozenset((*NUMBERS, "int8", "uint8", "int16", "uint16", "uint32", "bool"))

Form = forms.Ordered | forms.Searched


def has(form: Form, dtypes: Sequence[str]) -> bool:
    """Whether operands of these dtypes have such steps."""
    return dtypes[0] in SORTED and form.dtype.name in INDICES


def workspace(form: Form, shapes: Sequence[Sequence[int]]) -> int:
    """Bytes for the shapes of operands and result."""
    if isinstance(form, forms.Searched):
        return Work(max(math.prod(shape) for shape in shapes[:2]), 0).total
    if form.way == "order":
        return Work(math.prod(shapes[0]), 0).total
    outer, count, inner = line_of(form.axis, shapes[0])
    lines = outer * inner
    return 2 * WORD * lines * -(-count // piece_of(lines, count)) if lines * count else 0


def parts(backend: Cuda, form: Form, dtypes: Sequence[str], walks: Sequence[Walk]) -> list[Part]:
    """The steps for these operands and the result."""
    make = _Steps(backend, [code_of(as_dtype(dtype)) for dtype in dtypes], walks)
    if isinstance(form, forms.Searched):
        make.searched(form)
    elif form.way == "order":
        make.sorted(form)
    else:
        make.extreme(form)
    return make.made


class _Steps(Launches):
    """Collects the steps of one routine."""

    @property
    def ends(self) -> tuple[int, int]:
        return ends_of(self.codes[0]) if as_dtype(NAMES[self.codes[0]]).is_floating else (0, 0)

    def keys(self, source: Place, target: Place, sizes: tuple[int, int, int], falls: bool = False) -> None:
        """Numbers for the elements of [outer, count, inner], sequence after sequence."""
        n, kernel = math.prod(sizes), Written("ordered", (("X", self.codes[0]),), falls=falls)
        self.launch(kernel, n, n, [source, target], *sizes[1:], *self.ends)

    def sorted(self, form: forms.Ordered) -> None:
        sizes = outer, count, inner = line_of(form.axis, self.shapes[0])
        kept, work = self.shapes[1][form.axis], Work(math.prod(sizes), 0)
        if kept > count:
            self.launch(Written("never"), min(outer * inner, 1), 1, [])
            return
        self.keys((FIRST, 0), work.pairs[0][0], sizes, form.descending)
        _, o = self.sort(work, outer * inner, count)
        first = Written("first", (("I", code_of(form.dtype)),))
        self.launch(first, outer * kept * inner, math.prod(sizes), [o, (RESULT, 0)], count, inner, kept)

    def extreme(self, form: forms.Ordered) -> None:
        outer, count, inner = line_of(form.axis, self.shapes[0])
        lines = outer * inner
        if not lines or not count:
            self.launch(Written("never"), min(lines, 1), 1, [])
            return
        piece = piece_of(lines, count)
        cuts = -(-count // piece)
        pair = (WORK, 0), (WORK, WORD * lines * cuts)
        kernel = Written("extreme", (("X", self.codes[0]),), falls=form.descending)
        sizes = lines, count, inner, piece, *self.ends
        self.launch(kernel, lines * cuts, lines * count, [(FIRST, 0), *pair], *sizes)
        best = Written("best", (("I", code_of(form.dtype)),))
        self.launch(best, lines, lines * cuts, [*pair, (RESULT, 0)], lines, cuts)

    def searched(self, form: forms.Searched) -> None:
        (length, many), rows = (shape[-1] for shape in self.shapes[:2]), math.prod(self.shapes[1][:-1])
        work = Work(max(math.prod(shape) for shape in self.shapes[:2]), 0)
        sequences, values = work.pairs[0]
        self.keys((FIRST, 0), sequences, (rows, length, 1))
        self.keys((SECOND, 0), values, (rows, many, 1))
        kernel = Written("searched", (("I", code_of(form.dtype)),))
        n, most = rows * many, rows * max(2 * length, many)
        self.launch(kernel, n, most, [sequences, values, (RESULT, 0)], length, many, int(form.right))
