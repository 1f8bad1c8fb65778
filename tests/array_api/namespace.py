"""The namespace as the public test suite of the array API standard gets it: `xp`.

Operators convert dtypes, which has to be asked for; and the shape of a tensor is a tuple. The standard lets a library have a
class of its own for shapes, but the tools of the suite, Hypothesis and ndindex, take Python's tuples alone.
"""

from __future__ import annotations

from typing import Any

import graphad.numpy as xp
from graphad.core.shapes import TensorShape
from graphad.core.tensor import Tensor


class TupleShape(tuple[Any, ...]):
    """A tuple of sizes that answers as a TensorShape of them does."""

    def __getattr__(self, name: str) -> Any:
        return getattr(TensorShape(tuple(self)), name)


def _shape(self: Any) -> Any:
    return TensorShape(None) if self.dims is None else TupleShape(self.dims)


Tensor.shape = property(_shape)  # type: ignore[assignment, method-assign]
xp.experimental_enable_numpy_behavior()

__all__ = ["xp"]
