"""Jacobians of sizes that only the run knows: the graph of one row, or of one column, is vectorised once they are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from graphad.core.bind import bind
from graphad.core.dtypes import DType, int32
from graphad.core.levels import entered
from graphad.core.shapes import ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Mark, Tensor
from graphad.gradient.backward import backward, dense
from graphad.gradient.forward import push_entries
from graphad.gradient.recorder import mark_of
from graphad.gradient.transforms import TRANSFORMS
from graphad.ops.array.indicators import one_hot
from graphad.ops.array.reshape import Reshape
from graphad.ops.array.sequence import range as arange
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import joined
from graphad.ops.array.transpose import transpose
from graphad.ops.math.cast import cast
from graphad.ops.math.complexes import COMPLEX, real
from graphad.ops.math.reduce import reduce_prod
from graphad.trace.tracer import RETURN, SymbolicTensor, Trace

if TYPE_CHECKING:
    from graphad.core.annotations import Value
    from graphad.gradient.backward import Bars, Entry, Marks


def directions(dtype: DType) -> tuple[complex, ...]:
    return (1, 1j) if dtype.is_complex else (1,)


class Row:
    """The graph of one row, or one column, of Jacobians.

    Attributes:
      graph: A graph on (its number, sizes, captures...).
      sizes: The shape whose elements number the rows.
      captures: Its outer values.
      present: Which results are not zero; these are the graph's outputs.
    """

    __slots__ = ("captures", "graph", "present", "sizes")

    def __init__(
        self,
        trace: Trace,
        number: SymbolicTensor,
        sizes: SymbolicTensor,
        results: Sequence[Tensor | None],
        of: Tensor,
    ) -> None:
        self.present = [y is not None for y in results]
        self.graph = trace.finish([y for y in results if y is not None], RETURN, True, [number, sizes])
        self.captures = trace.captures
        self.sizes = of


def traced_row(
    name: str,
    of: Tensor,
    dims: tuple[int | None, ...] | None,
    dtype: DType,
    compute: Callable[[Tensor], Sequence[Tensor | None]],
    one: complex = 1,
) -> Row:
    """The results of `compute` for one unit tensor of the sizes `of`, as a graph; `dims` is what is known of them."""
    trace = Trace(name)
    with entered(trace):
        number, sizes = trace.input(TensorSpec.of((), int32)), trace.input(of.spec)
        unit = one_hot(number, reduce_prod(sizes), dtype.numpy.type(one), dtype.numpy.type(0))
        whole, given = joined((dims, sizes))
        return Row(trace, number, sizes, compute(bind(Reshape(whole), unit, *given)), of)


def row_graph(path: list[Entry], target: Tensor, marks: Marks) -> Row:
    """Reverse mode: one row of the identity pulled back."""

    def pull(bar: Tensor) -> list[Tensor | None]:
        bars: Bars = {mark_of(target): bar}
        backward(path, bars, {m for m in marks if m is not None}, TRANSFORMS)
        return [None if m is None else dense(bars.get(m)) for m in marks]

    return traced_row("jacobian_row", shape(target), target.dims, target.dtype, pull)


def column_graphs(
    path: list[Entry], target: Tensor, sources: Sequence[Value], marks: Sequence[Mark]
) -> list[list[Row]] | None:
    """Forward mode: for each source and direction one column pushed forward. None where some are zero."""

    end = mark_of(target)

    def push(mark: Mark) -> Callable[[Tensor], Sequence[Tensor | None]]:
        def pushed(dot: Tensor) -> Sequence[Tensor | None]:
            y_dot = push_entries(path, {mark: dot}, TRANSFORMS, {end}).get(end)
            return [None if y_dot is None else real(y_dot)]

        return pushed

    found = []
    for x, mark in zip(sources, marks, strict=True):
        dtype = x.spec.dtype
        parts = [
            traced_row("jacobian_column", shape(x), x.dims, dtype, push(mark), one)
            for one in directions(dtype)
        ]
        if not all(part.present[0] for part in parts):
            return None
        found.append(parts)
    return found


def all_of(row: Row, at_once: int) -> Sequence[Tensor]:
    """The results of a graph of one row, for all rows."""
    # With control ops, which Jacobians of known sizes go without.
    from graphad.vectorize.vectorize_graph import vectorize

    numbers = arange(reduce_prod(row.sizes))
    return vectorize(
        row.graph, [True, False, *[False] * len(row.captures)], [numbers, row.sizes, *row.captures], at_once
    )


def of_sizes(y: Tensor, first: tuple[Value, int], second: tuple[Value, int]) -> Tensor:
    """y reshaped to the sizes of two tensors, each from some axis on."""
    parts = []
    for x, start in (first, second):
        dims = None if x.dims is None else x.dims[start:]
        sizes = shape(x)
        parts.append((dims, sizes[start:] if start else sizes))
    whole, given = joined(*parts)
    return bind(Reshape(whole), y, *given)


def of_columns(parts: Sequence[Row], target: Tensor, x: Value, at_once: int) -> Tensor:
    """The Jacobian from its columns; see `_by_columns` for complex numbers."""
    columns = [all_of(part, at_once)[0] for part in parts]
    rank = len(ranked(target.dims))
    turned = [transpose(y, [*range(1, rank + 1), 0]) for y in columns]
    whole = turned[0] if len(turned) == 1 else bind(COMPLEX, *turned)
    return of_sizes(cast(whole, x.spec.dtype), (target, 0), (x, 0))
