"""Draws as ops: the rounds of Philox as loops over blocks of words, for devices that fuse them with what reads the numbers.

The number of a block is a row's plus a column's: two short constants in place of one as long as the draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import Ranked
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dtypes import DType
from graphad.core.shapes import are_numbers
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat, stack
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.strided import Slice
from graphad.ops.math.bitwise import MulHigh
from graphad.ops.math.cast import cast
from graphad.ops.math.exponential import log
from graphad.ops.math.power import sqrt
from graphad.ops.math.trigonometric import cos, sin
from graphad.ops.random import philox

Shape = tuple[int, ...]
_WIDTH = 4096  # blocks of a row
_MUL_HIGH = MulHigh()


def drawn(kind: str, key: Ranked, shape: Sequence[Any] | None, dtype: DType) -> Tensor | None:
    """What `Draw` draws with keys [..., 2]; None where that is for its `eval`: sizes that are not numbers, numbers that are drawn
    again, limits that are to be checked.
    """
    draw = _KINDS.get(kind)
    if draw is None or shape is None or not are_numbers(shape):
        return None
    if not math.prod(shape) or dtype is dtypes.bfloat16:
        return None
    return draw(key, tuple(shape), dtype)


def _words(key: Any, shape: Shape, of: Callable[[Any], Sequence[Any]], each_word: int = 1) -> Any:
    """[..., *shape] numbers: `of` makes those of a word, so many, in order."""
    lead, each, count = key.dims[:-1], philox.WORDS * each_word, math.prod(shape)
    number = -(-count // each)
    rows = -(-number // _WIDTH)
    width = -(-number // rows)
    starts = np.arange(rows, dtype=np.uint64).reshape(rows, 1) * np.uint64(width)
    counter = lift(starts) + lift(np.arange(1, width + 1, dtype=np.uint64))
    pair = cast(cast(key, dtypes.int64), dtypes.uint64)
    first, second = (bind(Reshape((*lead, 1, 1)), _part(pair, k, 1)) for k in range(2))
    blocks = philox.blocks(counter, first, second, lambda x, y: bind(_MUL_HIGH, x, lift(y)))
    numbers = stack([number for word in blocks for number in of(word)], -1)
    flat = _part(bind(Reshape((*lead, rows * width * each)), numbers), 0, count)
    return bind(Reshape((*lead, *shape)), flat)


def _part(x: Any, start: int, count: int) -> Any:
    """So many elements of the last axis."""
    lead = x.dims[:-1]
    return bind(Slice((*[0] * len(lead), start), (1,) * len(x.dims), (*lead, count)), x)


def _bits(key: Any, shape: Shape, dtype: DType) -> Any:
    return _words(key, shape, lambda word: [cast(word, dtype)])


def _uniform(key: Any, shape: Shape, dtype: DType) -> Any:
    """The numbers of `philox.uniform`: whole numbers of as many bits as the dtype has digits, then one product, with which
    what reads them is fused.
    """
    if dtype is dtypes.float64:
        return _words(key, shape, lambda word: [cast(word >> np.uint64(11), dtype)]) * 2.0**-53
    digits = 24 if dtype is dtypes.float32 else 11
    drop, mask = 32 - digits, np.uint64(2**digits - 1)

    def halves(word: Any) -> list[Any]:
        return [
            cast(part, dtypes.float32)
            for part in (word >> np.uint64(drop) & mask, word >> np.uint64(drop + 32))
        ]

    return cast(_words(key, shape, halves, 2) * 2.0**-digits, dtype)


def _normal(key: Any, shape: Shape, dtype: DType) -> Any:
    wide = dtypes.float64 if dtype is dtypes.float64 else dtypes.float32
    count = math.prod(shape)
    pairs = (count + 1) // 2
    u = _uniform(key, (2 * pairs,), wide)
    radius = sqrt(log(1.0 - _part(u, 0, pairs)) * -2.0)
    angle = _part(u, pairs, pairs) * lift(2.0 * np.pi, wide)
    both = concat([cos(angle) * radius, sin(angle) * radius], -1)
    return cast(bind(Reshape((*key.dims[:-1], *shape)), _part(both, 0, count)), dtype)


_KINDS: dict[str, Callable[[Any, Shape, DType], Tensor]] = {
    "bits": _bits,
    "uniform": _uniform,
    "normal": _normal,
}
