"""Steps of parts of arrays at places that are data: where a part begins is computed on the device, then elements are copied."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, RESULTS, SECOND, THIRD, WORK, Part, Walk
from graphad.compiler.cuda.launches import INDICES, WORD, Launches, Place, has_bits, moved_code
from graphad.compiler.cuda.written import Written
from graphad.compiler.rows import Step
from graphad.compiler.source import code_of
from graphad.compiler.spots import Given, spot
from graphad.core.dtypes import as_dtype
from graphad.kernels import forms
from graphad.kernels.sites import row_strides

if TYPE_CHECKING:
    from graphad.compiler.cuda.backend import Cuda

Form = forms.Placed | forms.Bounded
MOST_AXES = 16
WORKSPACE = 2 * WORD


def has(form: Form, dtypes: Sequence[str], ranks: Sequence[int]) -> bool:
    """Whether operands of these dtypes and ranks have such steps."""
    if isinstance(form, forms.Bounded):
        return set(dtypes) <= INDICES and set(ranks) == {1}
    is_known = set(dtypes[form.own :]) <= INDICES and has_bits(dtypes[0], 8)
    return is_known and len(form.bounds) <= MOST_AXES


def parts(backend: Cuda, form: Form, dtypes: Sequence[str], walks: Sequence[Walk]) -> list[Part]:
    """The steps for these operands and the result."""
    make = _Steps(backend, [code_of(as_dtype(dtype)) for dtype in dtypes], walks)
    if isinstance(form, forms.Bounded):
        count, kinds = make.shapes[0][0], tuple(zip("ABC", make.codes, strict=False))
        places = [(k, 0) for k in (FIRST, SECOND, THIRD, *RESULTS[:2])]
        make.launch(Written("block", kinds), count, count, places)
    else:
        make.placed(form, dtypes)
    return make.made


class _Steps(Launches):
    """Collects the steps of one routine."""

    def placed(self, form: forms.Placed, dtypes: Sequence[str]) -> None:
        dtype, found = as_dtype(dtypes[0]), spot(form, dtypes, self.shapes)
        bounds: list[list[int]] = []
        numbers: list[tuple[int, Place]] = []  # the word of an address, and the place of the number
        for bound in found.bounds:
            words: list[int] = []
            for number in (bound.low, bound.high):
                if isinstance(number, Given):
                    numbers.append((8 * len(bounds) + len(words), number.place))
                    words += [0, number.itemsize]
                else:
                    words += [number, 0]
            bounds.append([*words, bound.extent, bound.many, bound.step, bound.stride])
        self._begin(form.way, dtype.numpy, found.whole)
        self._spot(bounds, numbers)
        takes, kind = form.way == "take", (("X", moved_code(self.codes[0])),)
        kernel = Written("part", kind, len(found.axes), join="take" if takes else "put")
        array, piece = (found.array, found.offset * dtype.itemsize), (found.piece, 0)
        places = [(WORK, 0), array, piece] if takes else [(WORK, 0), piece, array]
        most = max(math.prod(found.whole), math.prod(found.part))
        axes = [number for axis in found.axes for number in axis]
        self.launch(kernel, math.prod(found.part), most, places, *axes)

    def _begin(self, way: str, dtype: np.dtype, whole: Sequence[int]) -> None:
        """The array before the part is written: a copy of the first operand, or zeros."""
        steps = [step * dtype.itemsize for step in row_strides(whole)]
        if way == "take" or 0 in whole:
            return
        if way == "put":
            copy = self.backend.copy(dtype.itemsize, whole, steps, steps)
            self.made.append(Part(copy, ((FIRST, 0), (RESULT, 0))))
        else:
            self.made.append(Part(self.backend.fill(np.zeros((), dtype), whole, steps), ((RESULT, 0),)))

    def _spot(self, bounds: Sequence[Sequence[int]], numbers: Sequence[tuple[int, Place]]) -> None:
        """The launch that finds where the part begins: some of its numbers are on the device."""
        kernel = Written("spot", depth=len(bounds))
        words = [1, 1, 0, *[word for bound in bounds for word in bound]]
        places = (2, *[3 + word for word, _ in numbers])
        step = Step(self.backend.build(kernel), words, places)
        self.made.append(Part(step, ((WORK, 0), *[place for _, place in numbers])))
