"""How many rows of a stack are computed at once: the largest stacked value stays within the budget of bytes.

The same rule serves Jacobians computed eagerly, in traces with known sizes, and in graphs whose sizes are known only at run
time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Dim, UndecidedSize, product, within
from graphad.core.flags import flags
from graphad.core.levels import entered
from graphad.core.shapes import is_definite
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.graph.compose import with_inputs
from graphad.graph.ir import Graph
from graphad.graph.replay import replay
from graphad.ops.array.join import concat
from graphad.ops.array.reshape import Reshape
from graphad.vectorize.batch import BatchLevel, batched, stack_rows
from graphad.vectorize.closing import closed

if TYPE_CHECKING:
    from graphad.core.dims import Size
    from graphad.core.tensor import Tensor


def chunk_of(count: Size, specs: Iterable[TensorSpec | HandleSpec], at_once: int | None) -> Any:
    """How many of `count` rows to compute at once; `count` itself if all fit.

    Args:
      count: A number, or a size symbol.
      specs: The values of one row; those without known sizes are not counted.
      at_once: The caller's upper bound, 0 or None for none.
    Raises: UndecidedSize: all at once do not fit, and the chunk needs the numbers behind symbols.
    """
    row = _bytes(specs)
    budget: int = flags.jacobian_bytes
    if within([count * size for size in row], budget) and (not at_once or within([count], at_once)):
        return count
    symbols = frozenset().union(*[size.symbols for size in (count, *row) if isinstance(size, Dim)])
    if symbols:
        raise UndecidedSize(symbols)
    chunk = max(1, budget // max(row))
    chunk = min(chunk, at_once or chunk)
    return count if chunk >= count else chunk


def stacked_specs(graph: Graph, stacked: Sequence[bool]) -> Sequence[TensorSpec | HandleSpec]:
    """The values of one row of a graph of which there are rows: what depends on its stacked inputs."""
    has_rows = dict.fromkeys([i for i, is_stacked in enumerate(stacked) if is_stacked])
    for node in graph.nodes:
        if any(i in has_rows for i in node.inputs):
            has_rows |= dict.fromkeys(node.outputs)
    return [graph.specs[i] for i in has_rows]


def in_chunks(
    graph: Graph, stacked: Sequence[bool], inputs: Sequence[Any], size: int, chunk: int
) -> Sequence[Any]:
    """The outputs of a graph for all rows, stacked: full chunks in a loop, then the rest.

    Args:
      graph: A graph of known sizes on rows.
      stacked: Which inputs have rows.
      inputs: Values of the current level.
    """
    graph = closed(graph)
    full = size // chunk
    parts: list[Sequence[Any]] = []
    if full == 1:
        parts.append(_part(graph, stacked, inputs, 0, chunk))
    else:
        from graphad.ops.control.loop import Loop  # most stacks are one chunk

        body, _ = batched(graph, tuple(stacked), chunk, True)
        # Inputs that are the same for all rows come first.
        order = sorted(range(len(stacked)), key=lambda i: stacked[i])
        xs = [_cut(inputs[i], full, chunk) if stacked[i] else inputs[i] for i in order]
        loop = Loop(None, with_inputs(body, order), 0, len(xs) - sum(stacked), sum(stacked), False, full)
        outputs: Sequence[Any] = bind(loop, lift(np.int32(full)), *xs)
        parts.append([bind(Reshape((full * chunk, *y.dims[2:])), y) for y in loop.outputs.ys(outputs)])
    if size > full * chunk:
        parts.append(_part(graph, stacked, inputs, full * chunk, size - full * chunk))
    return parts[0] if len(parts) == 1 else [concat(pieces, 0) for pieces in zip(*parts, strict=True)]


def _cut(x: Any, full: int, chunk: int) -> Tensor:
    """The rows of x that fill chunks, [chunks, rows of a chunk, ...]."""
    rows = x[: full * chunk]
    return bind(Reshape((full, chunk, *x.dims[1:])), rows)


def _part(
    graph: Graph, stacked: Sequence[bool], inputs: Sequence[Any], start: int, size: int
) -> Sequence[Any]:
    """The outputs for `size` rows from `start` on."""
    level = BatchLevel(size)
    rows = slice(start, start + size)
    values = [x[rows] if s else x for x, s in zip(inputs, stacked, strict=True)]
    with entered(level):
        outputs = replay(graph, [level.wrap(x, s) for x, s in zip(values, stacked, strict=True)])
    return [stack_rows(level, y) for y in outputs]


def _bytes(specs: Iterable[TensorSpec | HandleSpec]) -> Sequence[Any]:
    """The sizes of values in bytes: the largest of those that are numbers, and all with symbols."""
    largest = 1
    symbolic: dict[Any, None] = {}
    for spec in dict.fromkeys(specs):
        if spec.is_handle or not is_definite(spec.dims):
            continue
        size = product(spec.dims) * spec.dtype.itemsize
        if isinstance(size, Dim):
            symbolic[size] = None
        else:
            largest = max(largest, size)
    return [largest, *symbolic]
