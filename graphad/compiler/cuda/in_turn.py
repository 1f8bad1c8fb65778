"""Steps of which each result needs the one before it: recurrences, systems of few diagonals, eigenvalues of such matrices.

One thread has a whole line, or a whole system: what runs side by side are lines and systems, which keep a device busy where there
are many. No library of the device has these.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.compiler.backend import FIRST, RESULT, SECOND, WORK, Part, Walk
from graphad.compiler.cuda.launches import Launches, line_of
from graphad.compiler.cuda.written import Written
from graphad.compiler.source import code_of
from graphad.core.dtypes import as_dtype
from graphad.kernels import forms
from graphad.kernels.sites import row_strides

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

Form = forms.Recurrent | forms.BandSolved | forms.Tridiagonal
_FLOATS = frozenset(("float16", "bfloat16", "float32", "float64"))
_WIDE = frozenset(("float32", "float64"))
_SMALLEST = 1, 1 << 62  # a quotient: pivots closer to 0 count as negative ones of this size
_ALIGNMENT = 256


def has(form: Form, dtypes: Sequence[str]) -> bool:
    """Whether operands of these dtypes have such steps."""
    return dtypes[0] in (_FLOATS if isinstance(form, forms.Recurrent) else _WIDE) and len({*dtypes}) == 1


def _sizes(form: forms.BandSolved, shapes: Sequence[Sequence[int]]) -> tuple[int, int, int]:
    """Systems, equations of each, and numbers that one keeps of an equation while it is solved."""
    return math.prod(shapes[-1][:-2]), shapes[-1][-2], 2 * form.below + form.above + 1


def workspace(form: Form, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
    """Bytes for the shapes of operands and result."""
    if not isinstance(form, forms.BandSolved):
        return 0
    systems, count, width = _sizes(form, shapes)
    return _behind_bands(form, dtype, shapes) + systems * count * width * as_dtype(dtype).itemsize


def _behind_bands(form: forms.BandSolved, dtype: str, shapes: Sequence[Sequence[int]]) -> int:
    """The bytes that the diagonals of all systems take."""
    systems, count, _ = _sizes(form, shapes)
    size = systems * (form.below + form.above + 1) * count * as_dtype(dtype).itemsize
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def parts(backend: Cuda, form: Form, dtypes: Sequence[str], walks: Sequence[Walk]) -> list[Part]:
    """The steps for these operands and the result."""
    make = _Steps(backend, [code_of(as_dtype(dtype)) for dtype in dtypes], walks)
    if isinstance(form, forms.Recurrent):
        make.recurrence(form)
    elif isinstance(form, forms.BandSolved):
        make.solved(form, dtypes[0])
    else:
        count, n = make.shapes[0][-1], math.prod(make.shapes[0])
        kernel = Written("bisected", (("X", make.codes[0]),))
        make.launch(kernel, n, n, [(FIRST, 0), (SECOND, 0), (RESULT, 0)], count, *_SMALLEST)
    return make.made


class _Steps(Launches):
    """Collects the steps of one routine."""

    def recurrence(self, form: forms.Recurrent) -> None:
        outer, count, inner = line_of(form.axis, self.shapes[1])
        if not count:
            return
        code = self.codes[0]
        kernel = Written("recurrence", (("X", code), ("S", code if code == "f64" else "f32")))
        places = [(FIRST, 0), (SECOND, 0), (RESULT, 0)]
        sizes = count, inner, int(form.backwards), int(form.shifted)
        self.launch(kernel, outer * inner, outer * count * inner, places, *sizes)

    def solved(self, form: forms.BandSolved, dtype: str) -> None:
        """The diagonals are copied for all systems, the right-hand sides to where the solution will be."""
        if 0 in self.shapes[-1]:
            return
        systems, count, width = _sizes(form, self.shapes)
        lead, columns, size = self.shapes[-1][:-2], self.shapes[-1][-1], as_dtype(dtype).itemsize
        rows = form.below + form.above + 1
        for k, (tail, place) in enumerate((((rows, count), (WORK, 0)), ((count, columns), (RESULT, 0)))):
            shape = (*lead, *tail)
            given, steps = self.walks[k]
            source = [0] * (len(shape) - len(given)) + [
                0 if n == 1 else step for n, step in zip(given, steps, strict=True)
            ]
            target = [step * size for step in row_strides(shape)]
            self.made.append(Part(self.backend.copy(size, shape, target, source), ((k, 0), place)))
        at = _behind_bands(form, dtype, self.shapes)
        kernel = Written("banded", (("X", self.codes[0]),))
        most = systems * count * max(width, columns)
        sizes = systems, count, columns, form.below, form.above
        self.launch(kernel, systems, most, [(WORK, 0), (WORK, at), (RESULT, 0)], *sizes)
