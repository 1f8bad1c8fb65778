"""What is left of placeholders where a program runs at once: their default."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import TensorLike
from graphad.core.tensor import Tensor
from graphad.ops.array import identity


def placeholder_with_default(input: TensorLike, shape: Any, name: str | None = None) -> Tensor:
    """`input` as a tensor: nothing else can be fed. `shape` is taken, and not compared, as in TensorFlow's eager mode."""
    return identity(input)
