"""The shapes of a call's results, if the caller knows more sizes than the function's trace.

A trace for unknown sizes says little about its results. When another trace calls it with known sizes and numbers, the graph is
specialised to these, and `ensure_shape` records the resulting shapes in the caller's trace.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.errors import GraphadError
from graphad.core.memo import Memo
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Handle, Tensor
from graphad.graph.ir import Graph
from graphad.graph.walk import expanded_nodes
from graphad.ops.array import ensure_shape
from graphad.ops.array.sizes import known_value
from graphad.trace.known import KNOWN_LIMIT
from graphad.trace.specialise import specialise

if TYPE_CHECKING:
    from graphad.core.annotations import Array

_LARGEST = 2000  # nodes of a graph with its calls inlined; larger graphs are not worth the time


def refined(graph: Graph, operands: Sequence[Handle | Tensor], outputs: Sequence[Tensor]) -> Sequence[Tensor]:
    """The outputs of a call of `graph` for `operands`, with all that is known of their shapes."""
    mine = graph.output_specs
    if all(is_definite(spec.dims) for spec in mine):
        return outputs
    specs = [x.spec for x in operands]
    if not all(is_definite(spec.dims) for spec in specs) or expanded_nodes(graph) > _LARGEST:
        return outputs
    known = [_known(x) for x in operands]
    memo = graph.derived.get(refined)
    if memo is None:
        memo = graph.derived[refined] = Memo("refined", 64)
    key = tuple(
        [
            (spec.dims, None if value is None else value.tobytes())
            for spec, value in zip(specs, known, strict=True)
        ]
    )
    found = memo.get(key)
    if found is None:
        try:
            found = tuple([_numbers(spec) for spec in specialise(graph, specs, known=known).output_specs])
        except GraphadError:  # these sizes do not fit; the call raises the error when it runs
            found = tuple([spec.dims for spec in mine])
        memo.keep(key, found)
    return [
        y if dims == spec.dims or dims is None else ensure_shape(y, dims)
        for y, spec, dims in zip(outputs, mine, found, strict=True)
    ]


def _numbers(spec: TensorSpec) -> tuple[int | None, ...] | None:
    return None if spec.dims is None else tuple([size if type(size) is int else None for size in spec.dims])


def _known(x: Any) -> Array | None:
    """The integers in a tensor, if they are few and are known while the caller is traced."""
    if isinstance(x, Handle) or not x.dtype.is_integer or math.prod(x.dims) > KNOWN_LIMIT:
        return None
    value = known_value(x)
    return None if value is None else np.asarray(value)
