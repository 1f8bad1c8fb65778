"""Integer values that are known while specialising: a whole tensor, or what every slice of a stack holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.dtypes import DType
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.ir import Graph

if TYPE_CHECKING:
    from graphad.core.annotations import Array


KNOWN_LIMIT = 256  # the most elements of an integer value that is tracked while specialising


class KnownTensor(Tensor):
    """A known integer value: an array of ints, or an object array of ints and Dims.

    It becomes a constant or a `sizes` node only if an op that does not fold reads it.
    """

    __slots__ = ("__weakref__", "mark", "serial", "spec", "values")

    def __init__(self, values: Any, dtype: DType) -> None:
        self.values = values
        self.spec = TensorSpec.of(np.shape(values), dtype)
        self.serial: int | None = None
        self.mark = None

    def __repr__(self) -> str:
        return f"<sizes {self.values}>"


class KnownSlices:
    """The integers that every slice of a stack holds, for any number of slices; `depth` counts nested stacks."""

    __slots__ = ("depth", "values")

    def __init__(self, values: Array, depth: int = 1) -> None:
        self.values = values
        self.depth = depth


class SlicesSpec:
    """A slice of a stack of stacks as an operand of a sub-graph: its spec and what its own slices hold."""

    __slots__ = ("slices", "spec")

    def __init__(self, spec: TensorSpec, slices: KnownSlices) -> None:
        self.spec = spec
        self.slices = slices


def slices_of(graph: Graph, value: int) -> KnownSlices | None:
    """What is known of the slices of a value of a specialised graph."""
    return graph.derived.get(KnownSlices, {}).get(value)  # type: ignore[no-any-return]
