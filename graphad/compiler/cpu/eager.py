"""Steps of plans for arrays of eager code: what a routine's step computes in compiled code, with the same bits."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.backend import RESULT, WORK, Part
from graphad.compiler.cpu.backend import backend_of
from graphad.compiler.cpu.runtime import driver, native
from graphad.core.dtypes import as_dtype
from graphad.kernels.sites import row_strides

_CPU = "cpu"
_Array = tuple[np.dtype[Any], tuple[int, ...]]


@functools.lru_cache(maxsize=512)
def _parts(form: Any, arrays: Sequence[_Array]) -> tuple[Sequence[Part], int] | None:
    """The steps for operands and a result in C order, and the bytes of their workspace; None where there are none."""
    found: tuple[Sequence[Part], int] | None
    what = f"step {type(form).__name__} {arrays[-1][0]}"
    _, found = native.soon(what, driver.load, lambda: _made(form, arrays))
    return found


def _made(form: Any, arrays: Sequence[_Array]) -> tuple[Sequence[Part], int] | None:
    backend = backend_of(_CPU)
    names = [as_dtype(dtype).name for dtype, _ in arrays]
    shapes = [shape for _, shape in arrays]
    if not backend.has_routine(form, names[:-1], [len(shape) for shape in shapes]):
        return None
    walks = [
        (shape, tuple([step * dtype.itemsize for step in row_strides(shape)])) for dtype, shape in arrays
    ]
    parts = backend.routine(form, names, walks, False)
    if not parts:
        return None
    return parts, backend.routine_workspace(form, names[-1], shapes)


def evaluated(form: Any, operands: Sequence[np.ndarray], shape: Sequence[int], dtype: Any) -> Any:
    """The result of a routine, an array of a shape and dtype; None where it has no step or no answer."""
    given = [np.ascontiguousarray(x).reshape(x.shape) for x in operands]
    shape, dtype = tuple(shape), np.dtype(dtype)
    if not math.prod(shape):
        return None
    found = _parts(form, (*[(x.dtype, x.shape) for x in given], (dtype, shape)))
    if found is None:
        return None
    parts, room = found
    result, work = np.empty(shape, dtype), np.empty(room, np.uint8)
    at = {k: x.ctypes.data for k, x in enumerate((*given,))}
    at |= {RESULT: result.ctypes.data, WORK: work.ctypes.data}
    blocks = []
    for step, places, _ in parts:
        block = np.array(step.words, np.int64)
        for word, (k, offset) in zip(step.places, places, strict=True):
            block[word] = at[k] + offset
        blocks.append(block)
    table = [(step.function, block.ctypes.data) for (step, _, _), block in zip(parts, blocks, strict=True)]
    status, _ = driver.run_table(np.array(table, np.int64))
    return None if status else result
