"""A last axis of size 1 that only one of two values has: labels beside predictions, weights beside values."""

from __future__ import annotations

from graphad.core.shapes import ranked
from graphad.core.tensor import Tensor
from graphad.ops.array.shape import expand_dims
from graphad.ops.array.squeeze import squeeze


def same_rank(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the same rank, where one has an axis of size 1 more: [n] beside [n, 1] would broadcast to [n, n]."""
    if a.ndim is None or b.ndim is None:
        return a, b
    if a.ndim == b.ndim + 1 and ranked(a.dims)[-1] == 1:
        return (a, expand_dims(b, -1)) if b.ndim == 1 else (squeeze(a, [-1]), b)
    if b.ndim == a.ndim + 1 and ranked(b.dims)[-1] == 1:
        b, a = same_rank(b, a)
    return a, b
