"""Sums, products and matrix products by NumPy's own loops, for dtypes of which there are no kernels or tiles.

NumPy reduces an array in C order by calling the loop of the ufunc with a result that stays for the innermost axes that are
reduced, and moves for those that are kept. A step does the same, so that it has the bits of the eager op.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.compiler.backend import FIRST, RESULT, SECOND, Part
from graphad.compiler.cpu.runtime import blas, movement, numpy_loops, ufuncs
from graphad.compiler.rows import Step
from graphad.core.dtypes import as_dtype
from graphad.kernels.forms import Accumulated, Multiplied
from graphad.kernels.sites import row_strides

_UFUNCS = {"add": np.add, "mul": np.multiply}
_TRIED = ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2))


def _loop(ufunc: Any, dtype: str) -> tuple[int, int] | None:
    char = as_dtype(dtype).numpy.char
    return numpy_loops.find(ufunc, f"{char}{char}->{char}")


@functools.lru_cache(maxsize=16)
def has(way: str, dtype: str) -> bool:
    """Whether there are steps that combine numbers of a dtype, with the bits of NumPy; a few numbers are tried."""
    if not as_dtype(dtype).is_complex or way not in _UFUNCS or _loop(_UFUNCS[way], dtype) is None:
        return False
    x = _numbers((3, 40, 17), dtype)
    x[0, 0] = -0.0
    with np.errstate(all="ignore"):
        return all(_is_right(Accumulated(way, axes), x) for axes in _TRIED) and all(
            _is_right(Accumulated(way, axes), np.ascontiguousarray(x[:, :k]))
            for axes in _TRIED
            for k in (1, 3)
        )


def _is_right(form: Accumulated, x: np.ndarray) -> bool:
    want = np.asarray(_UFUNCS[form.way].reduce(x, form.axes))
    found = np.empty_like(want)
    made = parts(form, str(x.dtype), [x.shape, want.shape])
    return (
        made is not None
        and blas.run_parts(made, {FIRST: x, RESULT: found})
        and (found.tobytes() == want.tobytes())
    )


def _numbers(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    rng, kind = np.random.default_rng(9), as_dtype(dtype).numpy
    if kind.kind in "iu":
        return rng.integers(0, 100, shape).astype(kind)
    return (rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(kind)


def parts(form: Accumulated, dtype: str, shapes: Sequence[Sequence[int]]) -> list[Part] | None:
    """The steps for an array in C order and a result in C order; None where there are none for the shape."""
    shape, size = shapes[0], as_dtype(dtype).itemsize
    axes = {axis % len(shape) for axis in form.axes} if shape else set()
    if not axes:
        return None
    kept = iter(row_strides([n for k, n in enumerate(shape) if k not in axes]))
    into = [0 if k in axes else next(kept) * size for k in range(len(shape))]
    start = np.asarray({"add": 0, "mul": 1}[form.way], as_dtype(dtype).numpy)
    count = math.prod(n for k, n in enumerate(shape) if k not in axes)
    words = movement.fill_words(start, (count,), (size,))
    made = [Part(Step(movement.fill_kernel(size), words, (movement.TARGET,)), ((RESULT, 0),))]
    if 0 in shape:
        return made
    walks = ufuncs.collapsed(shape, [[step * size for step in row_strides(shape)], into])
    walks = walks or [(1, (size, 0))]
    if len(walks) > 3:
        return None
    (outer, o), (middle, m), (inner, n) = [(1, (0, 0))] * (3 - len(walks)) + walks
    loop = _loop(_UFUNCS[form.way], dtype)
    assert loop is not None  # as `has` has seen
    o, m, n = ((steps[1], steps[0], steps[1]) for steps in (o, m, n))
    step = ufuncs.step(loop, (outer, middle), o, m, [inner], n)
    return [*made, Part(step, ((RESULT, 0), (FIRST, 0), (RESULT, 0)))]


@functools.lru_cache(maxsize=16)
def has_products(dtype: str) -> bool:
    """Whether there are steps that multiply matrices of a dtype, with the bits of NumPy; a few numbers are tried."""
    if as_dtype(dtype).numpy.kind not in "ciu" or _loop(np.matmul, dtype) is None:
        return False
    for m, n, p in ((1, 5, 1), (4, 5, 1), (1, 5, 3), (4, 5, 3), (17, 9, 33)):
        for turned in ((False, False), (True, False), (False, True)):
            a, b = (
                _numbers((2, n, m) if turned[0] else (2, m, n), dtype),
                _numbers((p, n) if turned[1] else (n, p), dtype),
            )
            want = (np.swapaxes(a, 1, 2) if turned[0] else a) @ (b.T if turned[1] else b)
            found = np.empty_like(want)
            made = products(Multiplied(*turned), dtype, [a.shape, b.shape, want.shape], False)
            if made is None or not blas.run_parts(made, {FIRST: a, SECOND: b, RESULT: found}):
                return False
            if found.tobytes() != want.tobytes():
                return False
    return True


def products(
    form: Multiplied, dtype: str, shapes: Sequence[Sequence[int]], joins: bool = True
) -> list[Part] | None:
    """The steps for stacks of matrices and a result in C order; None where there are none for the shapes.

    Args:
      joins: Whether a stack of first operands is one matrix of all their rows, where the other is one matrix; as in eager calls.
    """
    a, b, c = ([*shape] for shape in shapes)
    size = as_dtype(dtype).itemsize
    if 0 in c:
        return []
    inner = a[-2] if form.transpose_a else a[-1]
    if not inner:
        words = movement.fill_words(np.zeros((), as_dtype(dtype).numpy), (math.prod(c),), (size,))
        return [Part(Step(movement.fill_kernel(size), words, (movement.TARGET,)), ((RESULT, 0),))]
    if joins and len(b) == 2 < len(a) and not form.transpose_a:
        a, c = [math.prod(a[:-1]), a[-1]], [math.prod(c[:-1]), c[-1]]
    m, p = c[-2:]
    lead = c[:-2]
    strides = [[step * size for step in row_strides(shape)] for shape in (a, b, c)]
    along = [
        ufuncs.spread(shape[:-2], steps[:-2], lead) for shape, steps in zip((a, b, c), strides, strict=True)
    ]
    walks = ufuncs.collapsed(lead, along) or [(1, (0, 0, 0))]
    if len(walks) > 3:
        return None
    (outer, o), (middle, k), (count, n) = [(1, (0, 0, 0))] * (3 - len(walks)) + walks
    within = [steps[-2:] for steps in strides]
    for turned, steps in zip((form.transpose_a, form.transpose_b), within[:2], strict=True):
        steps[:] = steps[::-1] if turned else steps
    loop = _loop(np.matmul, dtype)
    assert loop is not None  # as `has_products` has seen
    steps = [*n, *[step for each in within for step in each]]
    step = ufuncs.step(loop, (outer, middle), o, k, [count, m, inner, p], steps)
    return [Part(step, ((FIRST, 0), (SECOND, 0), (RESULT, 0)))]
