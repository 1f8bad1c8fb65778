"""Matrix products as calls of cuBLAS, batched with strides, in full precision (no TF32).

cuBLAS is column-major, so a product in C order is computed with the operands exchanged and transposed.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from graphad.compiler.backend import Walk

A, B, C, WIDE, M, N, K, TURN_A, TURN_B, LEAD_A, LEAD_B, LEAD_C, AXES = range(13)
PLACES = (A, B, C)
DTYPES = ("float32", "float64", "complex64", "complex128")  # by `WIDE`
# Then for each batch axis its size and each operand's stride in elements. There is at least one; cuBLAS itself walks the last.
LARGEST = 1 << 31  # cuBLAS uses 32-bit sizes


def words_of(dtype: str, a: Walk, b: Walk, c: Walk) -> list[int] | None:
    """The words of a product, None if neither rows nor columns of an operand are contiguous."""
    size = np.dtype(dtype).itemsize
    m, n = c[0][-2:]
    k = a[0][-1]
    found = [_matrix(walk, size) for walk in (a, b, c)]
    if any(each is None for each in found):
        return None
    (turn_a, lead_a), (turn_b, lead_b), (turn_c, lead_c) = found  # type: ignore[misc]
    if turn_c:
        return None
    words = [0, 0, 0, DTYPES.index(dtype), m, n, k, int(turn_a), int(turn_b), lead_a, lead_b, lead_c]
    axes = _batches(size, a, b, c) or [(1, 0, 0, 0)]
    if max(*words[M:TURN_A], *words[LEAD_A:AXES], axes[-1][0]) >= LARGEST:
        return None
    return [*words, len(axes), *itertools.chain(*axes)]


def _matrix(walk: Walk, size: int) -> tuple[bool, int] | None:
    """Whether a matrix is stored transposed, and its leading dimension in elements."""
    (rows, columns), (down, right) = walk[0][-2:], walk[1][-2:]
    if (right == size or columns <= 1) and (down >= columns * size or rows <= 1):
        return False, max(down // size if rows > 1 else 0, columns, 1)
    if (down == size or rows <= 1) and (right >= rows * size or columns <= 1):
        return True, max(right // size if columns > 1 else 0, rows, 1)
    return None


def _batches(size: int, a: Walk, b: Walk, c: Walk) -> list[tuple[int, int, int, int]]:
    """Batch axes, the innermost last; neighbours that all operands walk evenly are merged."""
    rank = len(c[0]) - 2
    axes: list[tuple[int, int, int, int]] = []
    for d in range(rank):
        steps = []
        for shape, strides in (a, b, c):
            at = d - rank + len(shape) - 2
            steps.append(strides[at] // size if at >= 0 and shape[at] > 1 else 0)
        if c[0][d] == 1:
            continue
        axis = (c[0][d], *steps)
        if axes and all(outer == inner * axis[0] for outer, inner in zip(axes[-1][1:], steps, strict=True)):
            axis = (axes[-1][0] * axis[0], *steps)
            axes.pop()
        axes.append(axis)  # type: ignore[arg-type]
    return axes


def is_empty(words: Sequence[int]) -> bool:
    """Whether a product has no results."""
    return not words[M] or not words[N] or any(not words[AXES + 1 + 4 * d] for d in range(words[AXES]))
