"""Matrix products in parts that threads of the pool may share, for plans and for NumPy arrays.

A part is some of the rows, columns or matrices of a product in tiles. An element is the same whichever part it belongs to, so
the number of threads changes no bit. A product that is not for tiles has one part.
"""

from __future__ import annotations

import contextlib
import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.compiler.backend import Part
from graphad.compiler.cpu.runtime import blas, entry, limit, native, pool
from graphad.compiler.cpu.runtime import blas_text as t
from graphad.compiler.cpu.runtime.plan_block import PlanBuilder, PlanImage
from graphad.compiler.rows import Argument, Row, Step
from graphad.core.errors import InternalError, NotCompiledError

if TYPE_CHECKING:
    from graphad.compiler.backend import Walk

_LIGHT = 1 << 20  # multiplications for which waking a thread does not pay
_ANY = 1 << 62
_STEP = 96  # rows or columns of a part are a multiple: whole tiles of every processor, and whole cache lines


def parts(dtype: str, a: Walk, b: Walk, c: Walk, threads: int, has_sizes: bool = False) -> list[Part]:
    """The parts of C = A B, empty where there is no step for these operands; see `blas.matmul_words`. `has_sizes`: a run finds
    sizes of them, so that the same function computes all, large ones too."""
    whole = blas.matmul_words(dtype, a, b, c, one_thread_below=_ANY if has_sizes else None)
    if whole is None:
        return []
    if has_sizes:
        return [_part(whole)]
    shape = c[0]
    work = math.prod(shape) * a[0][-1]
    most = min(4 * threads if threads > 1 else 1, work // _LIGHT)
    if most < 2 or whole[t.GEMM] != blas.tiles(dtype):
        return [_part(whole)]
    axis = next((k for k, size in enumerate(shape[:-2]) if size > 1), None)
    if axis is None or shape[axis] < most:
        axis = len(shape) - (2 if shape[-2] >= shape[-1] else 1)
    step = 1 if axis < len(shape) - 2 else _STEP
    size = -(-shape[axis] // max(min(most, shape[axis] // step), 1))
    size = -(-size // step) * step
    found = []
    for low in range(0, shape[axis], size):
        cut = [_cut(walk, k, axis - len(shape), low, low + size) for k, walk in enumerate((a, b, c))]
        (a_cut, _), (b_cut, _), (c_cut, _) = cut
        words = blas.matmul_words(dtype, a_cut, b_cut, c_cut)
        if words is None or words[t.GEMM] != whole[t.GEMM]:  # a part of one row is no product of matrices
            return [_part(whole)]
        found.append(_part(words, *[offset for _, offset in cut]))
    return found


def _part(words: list[int], *offsets: int) -> Part:
    return Part(Step(blas.kernel(), words, (t.A, t.B, t.C)), tuple(enumerate(offsets or (0, 0, 0))))


def _cut(walk: Walk, operand: int, axis: int, low: int, high: int) -> tuple[Walk, int]:
    """The part of an operand from `low` to `high` along an axis of the result, and the byte at which it begins."""
    shape, strides = walk
    if (
        len(shape) < -axis
        or shape[axis] == 1
        or (operand == 0 and axis == -1)
        or (operand == 1 and axis == -2)
    ):
        return walk, 0
    sizes = list(shape)
    sizes[axis] = min(high, shape[axis]) - low
    return (sizes, strides), low * strides[axis]


# products of NumPy arrays


def has_tiles(dtype: np.dtype[Any]) -> bool:
    """Whether this processor has products in tiles of float32 or float64. Raises: NotCompiledError: they are not compiled yet."""
    name = dtype.name
    try:
        return bool(native.soon(f"tiles {name}", lambda: blas.tiles(name))[0])
    except NotCompiledError:
        with contextlib.suppress(NotCompiledError):
            load()  # so that the worker has all of it to do at once
        raise


_at_hand: list[bool] = []  # of one element once all is compiled that computes a product


def load() -> None:
    """Load what computes products, and what limits the threads of BLAS. Raises: NotCompiledError: it is not compiled yet."""
    if not _at_hand:
        native.soon("products", blas.kernel, blas.find, pool.region_kernel, entry.load, limit.load)
        _at_hand.append(True)


@functools.lru_cache(maxsize=512)
def _plan(
    dtype: np.dtype[Any],
    a: tuple[int, ...],
    a_steps: tuple[int, ...],
    b: tuple[int, ...],
    b_steps: tuple[int, ...],
) -> tuple[tuple[int, ...], PlanImage] | None:
    """The shape of a product, and the plan that writes it; None where there is no step for these operands."""
    shape = (*np.broadcast_shapes(a[:-2], b[:-2]), a[-2], b[-1])
    steps, size = [], dtype.itemsize
    for extent in reversed(shape):
        steps.append(size)
        size *= extent
    found = parts(dtype.name, (a, a_steps), (b, b_steps), (shape, steps[::-1]), pool.thread_count())
    if not found:
        return None
    rows = [
        Row(
            step.function,
            step.words,
            [Argument(word, *at) for word, at in zip(step.places, places, strict=True)],
        )
        for step, places, _ in found
    ]
    builder = PlanBuilder(3)
    if len(rows) > 1:
        builder.add_region(pool.region_kernel(), rows, pool.control())
    else:
        builder.add_row(rows[0])
    return shape, builder.build(release_lock=math.prod(shape) * a[-1] >= _LIGHT)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    """A B for stacks of matrices of one dtype whose inner sizes agree; None where there is no step for them.

    Raises: NotCompiledError: the code is not compiled yet.
    """
    load()
    dtype = a.dtype
    found = _plan(dtype, a.shape, a.strides, b.shape, b.strides)
    # Often one operand alone lies oddly, such as a cotangent of ones that are all one number.
    if found is None:
        a, b = (
            z if blas.leading((z.shape, z.strides), z.itemsize) else np.ascontiguousarray(z) for z in (a, b)
        )
        found = _plan(dtype, a.shape, a.strides, b.shape, b.strides)
    if found is None:
        a, b = np.ascontiguousarray(a), np.ascontiguousarray(b)
        found = _plan(dtype, a.shape, a.strides, b.shape, b.strides)
        if found is None:
            return None
    shape, image = found
    c = np.empty(shape, dtype)
    instance = image.acquire()
    status = instance.run(a, b, c)
    image.release(instance)
    if status:
        raise InternalError(f"matmul: a step ended with status {status}")
    return c
