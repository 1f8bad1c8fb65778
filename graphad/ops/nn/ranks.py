"""Ranks that differ by a last axis of size 1: labels and predictions, weights and values."""

from __future__ import annotations

from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.reshape import expand_dims
from graphad.ops.array.squeezing import squeeze


def same_rank(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the same rank, if one has a further last axis of size 1: [n] and [n, 1] would broadcast to [n, n]."""
    if a.ndim is None or b.ndim is None:
        return a, b
    if a.ndim == b.ndim + 1 and ranked(a.dims)[-1] == 1:
        return (a, expand_dims(b, -1)) if b.ndim == 1 else (squeeze(a, [-1]), b)
    if b.ndim == a.ndim + 1 and ranked(b.dims)[-1] == 1:
        b, a = same_rank(b, a)
    return a, b
