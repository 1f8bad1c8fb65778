"""The size class of a call: which sizes are numbers, and which are symbols because their value does not matter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.dims import Dim
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph
from graphad.graph.walk import written_by

SizeKey = tuple[tuple[Any, ...], ...]


def literal_sizes(graph: Graph) -> frozenset[int]:
    """The sizes above 1 in the specs of the graph's inputs and float values, including its calls."""
    found = graph.derived.get(literal_sizes)
    if found is None:
        sizes: set[int] = set()
        for spec in graph.inputs:
            sizes.update([size for size in spec.dims or () if type(size) is int])
        seen = {}
        for spec in graph.specs[len(graph.inputs) :]:
            seen[id(spec)] = spec
        for spec in seen.values():
            if spec.dims and spec.dtype.is_differentiable:
                sizes.update([size for size in spec.dims if type(size) is int])
        for inner in {node.op for node in graph.nodes if node.op.structured}:
            for field in inner.attributes:
                value = getattr(inner, field)
                if isinstance(value, Graph):
                    sizes |= literal_sizes(value)
        found = frozenset([size for size in sizes if size > 1])
        graph.derived[literal_sizes] = found
    return found


def size_class(
    graph: Graph, shapes: Sequence[Sequence[int | None] | None], pins: frozenset[str] = frozenset()
) -> tuple[SizeKey, list[TensorSpec], dict[str, int]]:
    """The size class of a call.

    Args:
      graph: The graph that is called.
      shapes: The shape of each input, as far as it is known; see `ops.control.stacks.known_shape`.
      pins: Symbols of this class that become numbers instead.
    Returns: The key (numbers and names of symbols), the specs of the inputs with Dims, and the number behind each symbol.
    """
    literals = literal_sizes(graph)
    names: dict[int, str] = {}
    numbers: dict[str, int] = {}
    specs: list[TensorSpec] = []
    key: list[tuple[Any, ...]] = []
    rebound = _rebound(graph)
    for i, (spec, shape) in enumerate(zip(graph.inputs, shapes, strict=True)):
        if i in rebound:
            specs.append(spec)
            key.append((None,))
            continue
        if shape is None:
            specs.append(spec if spec.dims is None else spec.with_dims(None))
            key.append((None,))
            continue
        dims: list[Any] = []
        row: list[Any] = []
        for size in shape:
            if size is None or size <= 1 or size in literals:
                dims.append(size)
                row.append(size)
                continue
            name = names.get(size)
            if name is None:
                name = names[size] = f"n{len(names)}"
                if name not in pins:
                    numbers[name] = size
            pinned = name in pins
            dims.append(size if pinned else Dim.symbol(name))
            row.append(size if pinned else name)
        key.append(tuple(row))
        definite = tuple(dims)
        specs.append(spec if spec.dims == definite else spec.with_dims(definite))
    return tuple(key), specs, numbers


def _rebound(graph: Graph) -> frozenset[int]:
    """The variables among the inputs to which the graph may assign a value of another shape."""
    found = graph.derived.get(_rebound)
    if found is None:
        free = {i for i, spec in enumerate(graph.inputs) if spec.is_handle and not is_definite(spec.dims)}
        written = {i for node in graph.nodes for i in written_by(graph, node)} if free else free
        found = graph.derived[_rebound] = frozenset(free & written)
    return found
