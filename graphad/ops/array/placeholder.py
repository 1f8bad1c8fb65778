"""Placeholders in eager programs: only the default remains."""

from __future__ import annotations

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.tensor import Tensor
from graphad.ops.array import identity


def placeholder_with_default(input: TensorLike, shape: ShapeLike | None, name: str | None = None) -> Tensor:
    """`input` as a tensor, since nothing can be fed. `shape` is not checked, as in TensorFlow's eager mode."""
    return identity(input)
