"""Fractional pooling: windows of two sizes, so that an image can shrink by any ratio (Graham, 2014)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphad.core.annotations import TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import float64, int64
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import REAL, require_kind
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.sequence import range as range_of
from graphad.ops.math.cast import cast
from graphad.ops.math.cumulative import cumsum
from graphad.ops.math.reduce import reduce_max, reduce_sum
from graphad.ops.math.rounding import ceil
from graphad.ops.math.select import minimum, where
from graphad.ops.random.variates import shuffle, uniform


class FractionalPool(NamedTuple):
    """The pooled image, and the starts of the windows along both axes."""

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


def _starts(op: str, length: object, ratio: float, pseudo_random: bool, seed: Any) -> tuple[Tensor, int]:
    """The starts of the windows and the end, int64 [count + 1]; and the size of the largest window."""
    if length is None or not isinstance(length, int):
        raise InvalidArgumentError(f"{op}: the height and width of value must be known.")
    count = int(length / ratio)
    if count < 1:
        raise InvalidArgumentError(f"{op}: a ratio of {ratio} leaves nothing of a size of {length}.")
    size, longer = divmod(length, count)
    if pseudo_random:
        alpha = length / count
        most = min((size + 2) / alpha - 1, (length + 1 - size) / alpha - (count - 1))
        u = uniform([], 0.0, max(most, 0.0), float64, seed)
        inner: Any = cast(ceil(alpha * (cast(range_of(1, count), float64) + u)), int64) - 1
        ends = [lift([0], int64), inner, lift([length], int64)]
        return concat(ends, 0), size + (1 if longer else 0)
    sizes = shuffle(lift(np.array([size + 1] * longer + [size] * (count - longer), np.int64)), seed)
    return concat([lift([0], int64), cumsum(sizes)], 0), size + (1 if longer else 0)


def _ratios(op: str, ratio: Any) -> tuple[float, float]:
    given = [float(r) for r in np.ravel(ratio)]
    pair = given * 2 if len(given) == 1 else given[1:3] if len(given) == 4 else given
    ends = [given[0], given[3]] if len(given) == 4 else []
    if len(pair) != 2 or any(r != 1 for r in ends) or not all(r >= 1 for r in pair):
        raise InvalidArgumentError(
            f"{op}: pooling_ratio is {ratio}; one ratio, two, or four with 1 at both ends are needed, each at least 1."
        )
    return pair[0], pair[1]


def _pooled(
    op: str,
    value: object,
    pooling_ratio: object,
    pseudo_random: bool,
    overlapping: bool,
    seed: int,
    largest: bool,
) -> FractionalPool:
    x = lift(value)
    if x.dims is None or len(x.dims) != 4:
        raise InvalidArgumentError(
            f"{op}: value has shape {format_dims(x.dims)}; [batch, height, width, channels] is needed."
        )
    require_kind(op, x, REAL, "value")
    sequences: list[Tensor] = []
    counts: list[Any] = []
    inside: list[Any] = []
    for axis, ratio in zip((1, 2), _ratios(op, pooling_ratio), strict=True):
        starts, most = _starts(op, x.dims[axis], ratio, pseudo_random, seed or None)
        sequences.append(starts)
        steps = range_of(lift(most + overlapping, int64))
        places = starts[:-1, None] + steps[None]
        ends = minimum(starts[1:] + int(overlapping), x.dims[axis])
        inside.append(places < ends[:, None])
        counts.append(minimum(places, x.dims[axis] - 1))
    # [batch, rows, in each, columns, in each, channels].
    windows = gather(gather(x, counts[0], axis=1), counts[1], axis=3)
    mask = inside[0][:, :, None, None] & inside[1][None, None]
    mask = mask[None, ..., None]
    if largest:
        low = -math.inf if x.dtype.is_floating else x.dtype.min
        return FractionalPool(reduce_max(where(mask, windows, lift(low, x.dtype)), [2, 4]), *sequences)
    total = reduce_sum(where(mask, windows, lift(0, x.dtype)), [2, 4])
    number = reduce_sum(cast(mask, x.dtype), [2, 4])
    return FractionalPool(total / number if x.dtype.is_floating else total // number, *sequences)


@blaming
def fractional_max_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """The largest element of each window, with windows of two sizes in random order.

    Args:
      value: Real tensor [batch, height, width, channels]; height and width must be known.
      pooling_ratio: The factor, at least 1, by which height and width shrink: a number, two, or four with 1 at both ends.
      pseudo_random: Whether to spread windows evenly from a random start; otherwise their sizes come in a random order.
      overlapping: Whether a window includes the first row and column of the next one.
      seed: As for `random.uniform`; 0 means no seed.
    Returns: (output [batch, int(height / ratio), int(width / ratio), channels]; the starts of the windows and the end, along
      the rows and along the columns, int64). Ties share the gradient.
    Raises: InvalidArgumentError (a ValueError): a ratio below 1, or one that leaves nothing; an unknown size.
    """
    return _pooled("fractional_max_pool", value, pooling_ratio, pseudo_random, overlapping, seed, True)


@blaming
def fractional_avg_pool(
    value: TensorLike,
    pooling_ratio: float | Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """The mean of each window, with windows of two sizes in random order.

    Args:
      value: Real tensor [batch, height, width, channels]; height and width must be known.
      pooling_ratio: The factor, at least 1, by which height and width shrink: a number, two, or four with 1 at both ends.
      pseudo_random: Whether to spread windows evenly from a random start; otherwise their sizes come in a random order.
      overlapping: Whether a window includes the first row and column of the next one.
      seed: As for `random.uniform`; 0 means no seed.
    Returns: (output [batch, int(height / ratio), int(width / ratio), channels]; the starts of the windows and the end, along
      the rows and along the columns, int64).
    Raises: InvalidArgumentError (a ValueError): a ratio below 1, or one that leaves nothing; an unknown size.
    """
    return _pooled("fractional_avg_pool", value, pooling_ratio, pseudo_random, overlapping, seed, False)
