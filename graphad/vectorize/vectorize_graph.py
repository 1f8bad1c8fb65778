"""A graph on rows as one op, to which `vectorized_map` is traced while shapes are unknown.

Batching rules need definite shapes. Once the graph around it is specialised, the op is replaced by the batched graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.annotations import (
    Array,
    BatchContext,
    DualContext,
    FoldContext,
    Ranked,
    RowAxis,
    Rows,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.dims import Size
from graphad.core.dtypes import from_numpy
from graphad.core.errors import InvalidArgumentError, UnansweredError
from graphad.core.levels import entered
from graphad.core.op import MIXED, define
from graphad.core.schema import Count, Places
from graphad.core.shapes import is_definite
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.evaluate import run
from graphad.graph.ir import Graph
from graphad.graph.replay import replay
from graphad.graph.walk import sub_graphs, with_outputs
from graphad.ops.array.slice import getitem
from graphad.ops.control.call import Call
from graphad.ops.control.cond import BOTH, Cond
from graphad.ops.control.duals import parted
from graphad.ops.control.layers import GraphLayer, OfGraph
from graphad.ops.control.loop import Loop
from graphad.ops.control.operands import require, require_operands, row_of
from graphad.ops.control.rows import rows_of
from graphad.ops.control.stacks import known_shape
from graphad.ops.math.arithmetic import ADD
from graphad.ops.math.reduce import reduce_sum
from graphad.trace.known import KNOWN_LIMIT
from graphad.vectorize.batch import BatchLevel, batched, definite, stack_rows
from graphad.vectorize.chunks import chunk_of, in_chunks, stacked_specs

if TYPE_CHECKING:
    from graphad.gradient.transforms import Transforms


@define
class Vectorize(OfGraph):
    """The outputs of `graph` for each row of the stacked inputs, stacked.

    Attributes: graph: A graph on rows. stacked: Which inputs are stacked; the others are the same for all rows.
      uniform: Positions of outputs that are the same for all rows and are returned once: residuals that are sizes, which must
      stay known to their uses.
      at_once: How many rows are computed at once, which changes no result: None for all, 0 for as many as the budget of
      `config` allows, else an upper bound on these.
    """

    name, version = "vectorize", 2
    known_as = "vectorized_map"
    any_sizes = True
    graph: Graph
    stacked: tuple[bool, ...]
    uniform: Places = ()
    at_once: Count | None = None

    @classmethod
    def upgrade(cls, version: int, attributes: dict[str, Any]) -> dict[str, Any]:
        """Attributes of version 1, which computed all rows at once."""
        return {"at_once": None} | attributes

    @staticmethod
    def same_in_all_rows(graph: Graph, stacked: Sequence[bool]) -> list[int]:
        """The outputs that cannot differ between rows, since they depend on rows only through shapes."""
        differs = {i for i, s in enumerate(stacked) if s}
        for node in graph.nodes:
            op = node.op
            if not any(i in differs for i in node.inputs) and not op.per_row and not op.effects:
                continue
            for k, value in enumerate(node.outputs):
                read = op.values_read([k == other for other in range(len(node.specs))])
                known = set(range(len(node.inputs)) if read is None else read)
                if isinstance(op, Cond) and op.kinds[k] != BOTH:
                    # All rows run both branches, so the residuals of a branch do not depend on the predicate.
                    known.difference_update(op.inputs.predicate)
                if isinstance(op, Loop) and op.leaves_sizes(k):
                    # All rows run as many steps as the longest, so the residuals of a step do not depend on a row's number of
                    # steps.
                    of_slices = op.slices_read(k)
                    known = known if of_slices is None else of_slices
                acts = read != () and (op.per_row or op.effects)
                if acts or any(node.inputs[i] in differs for i in known):
                    differs.add(value)
        return [k for k, value in enumerate(graph.outputs) if value not in differs]

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        marked = len(self.stacked) == len(specs) and any(self.stacked)
        require(marked, self.name, "its marks of stacked inputs are wrong")
        rows = [row_of(self.name, x) if s else x for x, s in zip(specs, self.stacked, strict=True)]
        require_operands(self.name, self.graph, rows, "the graph")

    def infer(self, *specs: TensorSpec | HandleSpec) -> tuple[TensorSpec, ...]:
        size = next(
            (
                x.dims[0]
                for x, s in zip(specs, self.stacked, strict=True)
                if s and x.dims and x.dims[0] is not None
            ),
            None,
        )
        return tuple(
            [
                y if k in self.uniform else y.with_dims(None if y.dims is None else (size, *y.dims))
                for k, y in enumerate(self.graph.output_specs)
            ]
        )

    def eval(self, *values: Array) -> tuple[Array, ...]:
        size = next(len(x) for x, s in zip(values, self.stacked, strict=True) if s)
        if size or self.effects:
            return self._of_rows(values, size)
        try:
            return self._of_rows(values, 0)
        except (UnansweredError, InvalidArgumentError):
            # Shapes that depend on data are known only after computing a row: here one of zeros, which is dropped.
            row = [
                np.zeros((1, *x.shape[1:]), x.dtype) if s else x
                for x, s in zip(values, self.stacked, strict=True)
            ]
            found = self._of_rows(row, 1)
            return tuple([y if k in self.uniform else y[:0] for k, y in enumerate(found)])

    def _of_rows(self, values: Sequence[Any], size: int) -> tuple[Any, ...]:
        walked = _walked(self.graph)
        shapes = [known_shape(x) if i in walked else x.shape for i, x in enumerate(values)]
        specs = [
            spec
            if spec.is_handle
            else TensorSpec.of(None if shape is None else tuple(shape[1 if s else 0 :]), from_numpy(x.dtype))
            for x, shape, s, spec in zip(values, shapes, self.stacked, self.graph.inputs, strict=True)
        ]
        # Sizes that are data are known here; batching rules need definite shapes.
        known = [
            x if not s and _is_sizes(spec) and x.size <= KNOWN_LIMIT else None
            for x, s, spec in zip(values, self.stacked, specs, strict=True)
        ]
        graph = definite(self.graph, specs, known)
        if not _is_definite(graph):  # masks and predicates, on which sizes depend, are known here too
            known = [
                x if not s and _is_truth(spec) else value
                for x, s, spec, value in zip(values, self.stacked, specs, known, strict=True)
            ]
            graph = definite(self.graph, specs, known)
        chunk = self._chunk(graph, size)
        if chunk is not size and all(
            type(x) is np.ndarray for x, s in zip(values, self.stacked, strict=True) if s
        ):
            return self._of_chunks(values, size, chunk)
        try:
            graph, mask = batched(graph, self.stacked, size)
        except UnansweredError:  # sizes depend on data and are unknown before a row is computed
            if self.effects:
                raise
            return self._row_by_row(values, size)
        outputs = []
        for k, (y, has_rows) in enumerate(zip(run(graph, values), mask, strict=True)):
            if has_rows and k in self.uniform:
                # An op that waited for its sizes returns all its outputs in rows.
                if not size:
                    raise UnansweredError(
                        "vectorize: with zero rows it is undecidable which results are the same in all rows; give at least one."
                    )
                outputs.append(y[0])
            elif has_rows or k in self.uniform:
                outputs.append(y)
            else:
                outputs.append(np.array(np.broadcast_to(y, (size, *np.shape(y)))))
        return tuple(outputs)

    def _chunk(self, graph: Graph, size: Size) -> Any:
        """How many rows of the graph, which has known sizes, to compute at once; `size` itself for all."""
        if self.at_once is None or self.effects:
            return size
        return chunk_of(size, stacked_specs(graph, self.stacked), self.at_once)

    def _of_chunks(self, values: Sequence[Any], size: int, chunk: int) -> tuple[Any, ...]:
        outputs: list[Any] = []
        whole = self.changed(at_once=None)
        for start in range(0, size, chunk):
            rows = slice(start, start + chunk)
            part = whole._of_rows(
                [x[rows] if s else x for x, s in zip(values, self.stacked, strict=True)],
                min(chunk, size - start),
            )
            if not outputs:
                outputs = [
                    y if k in self.uniform else np.empty((size, *y.shape[1:]), y.dtype)
                    for k, y in enumerate(part)
                ]
            for k, y in enumerate(part):
                if k in self.uniform:
                    continue
                if y.shape[1:] != outputs[k].shape[1:]:
                    raise InvalidArgumentError(
                        f"vectorize: a result has shape {outputs[k].shape[1:]} in one row and {y.shape[1:]} in another; all rows "
                        "must give the same shape."
                    )
                outputs[k][rows] = y
        return tuple(outputs)

    def _row_by_row(self, values: Sequence[Any], size: int) -> tuple[Any, ...]:
        rows = [
            run(self.graph, [x[i] if s else x for x, s in zip(values, self.stacked, strict=True)])
            for i in range(size)
        ]
        outputs = []
        for k, spec in enumerate(self.graph.output_specs):
            found = [np.asarray(row[k]) for row in rows]
            if k in self.uniform and found:
                # For a loop, the stack of the row with the most steps.
                outputs.append(max(found, key=np.size))
                continue
            if any(y.shape != found[0].shape for y in found):
                shapes = sorted({y.shape for y in found})
                raise InvalidArgumentError(
                    f"vectorize: a result has shape {shapes[0]} in one row and {shapes[-1]} in another; all rows must give the "
                    "same shape."
                )
            dims = tuple([max(n or 0, 0) if isinstance(n, int) else 0 for n in spec.dims or ()])
            outputs.append(np.stack(found) if found else np.zeros((0, *dims), spec.dtype.numpy))
        return tuple(outputs)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[RowAxis]) -> Rows:
        along = [s and axis == 0 for axis, s in zip(axes, self.stacked, strict=True)]
        if all(a or axis is None for a, axis in zip(along, axes, strict=True)):
            return tuple([MIXED if k in self.uniform else 0 for k in range(self.n_outputs)])
        if any(along):
            return MIXED
        inner = [
            axis - 1 if s and isinstance(axis, int) else axis
            for axis, s in zip(axes, self.stacked, strict=True)
        ]
        rows = [
            x.with_dims(None if x.dims is None else x.dims[1:]) if s else x
            for x, s in zip(specs, self.stacked, strict=True)
        ]
        found = rows_of(self.graph, inner, rows)
        return tuple(
            [y + 1 if isinstance(y, int) and k not in self.uniform else y for k, y in enumerate(found)]
        )

    def fold(self, ctx: FoldContext, *inputs: Tensor) -> Tensor | tuple[Tensor, ...] | None:
        # A row's own shape arithmetic must fold first: batching rules need definite shapes.
        rows = [
            TensorSpec.of(None if x.dims is None else x.dims[1:], x.dtype) if s else x
            for x, s in zip(inputs, self.stacked, strict=True)
        ]
        graph = ctx.specialised(self.graph, rows)
        if all(is_definite(x.dims) for x in inputs) and not self._waits(ctx, graph, inputs):
            try:
                return tuple(self._expanded(graph, inputs))
            except UnansweredError:  # `eval` will know the number of rows and more sizes
                if self.effects:
                    raise
        return ctx.node(self.changed(graph=graph), inputs)

    def _waits(self, ctx: FoldContext, graph: Graph, inputs: Sequence[Any]) -> bool:
        """Whether shapes in the graph depend on values, which only `eval` knows."""
        if _is_definite(graph):
            return False
        pairs = zip(inputs, self.stacked, strict=True)
        return any(
            not s
            and (
                (_is_sizes(x.spec) and ctx.known(x) is None)
                or (_is_truth(x.spec) and ctx.known_operand(x) is None)
            )
            for x, s in pairs
        )

    def _expanded(self, graph: Graph, inputs: Sequence[Any]) -> list[Any]:
        size = next(x.dims[0] for x, s in zip(inputs, self.stacked, strict=True) if s)
        chunk = self._chunk(graph, size)
        if chunk is not size:
            return self._in_chunks(graph, inputs, size, chunk)
        level = BatchLevel(size)
        with entered(level):
            outputs = replay(graph, [level.wrap(x, s) for x, s in zip(inputs, self.stacked, strict=True)])
        return [
            _of_any_row(level, y) if k in self.uniform else stack_rows(level, y)
            for k, y in enumerate(outputs)
        ]

    def _in_chunks(self, graph: Graph, inputs: Sequence[Any], size: int, chunk: int) -> list[Any]:
        """`eval` in chunks of rows; outputs that are the same in all rows are taken from one chunk."""
        outputs: dict[int, Any] = {}
        shared = [k for k in range(self.n_outputs) if k in self.uniform]
        rows = [k for k in range(self.n_outputs) if k not in self.uniform]
        if shared:
            level = BatchLevel(1)
            one = with_outputs(graph, [graph.outputs[k] for k in shared])
            first = [getitem(x, slice(1)) if s else x for x, s in zip(inputs, self.stacked, strict=True)]
            with entered(level):
                found = replay(one, [level.wrap(x, s) for x, s in zip(first, self.stacked, strict=True)])
            outputs.update(zip(shared, [_of_any_row(level, y) for y in found], strict=True))
        if rows:
            part = with_outputs(graph, [graph.outputs[k] for k in rows])
            outputs.update(zip(rows, in_chunks(part, self.stacked, inputs, size, chunk), strict=True))
        return [outputs[k] for k in range(self.n_outputs)]

    def augmented(self, transforms: Transforms, needs: Sequence[bool]) -> Vectorize:
        """The same op with residuals for each row."""
        pullback = transforms.pullback_of(self.graph, needs)
        same = self.same_in_all_rows(pullback.forward, self.stacked)
        uniform = (*self.uniform, *(k for k in same if k >= self.n_outputs))
        op = self.changed(graph=pullback.forward, uniform=uniform)
        RowsLayer(op, self, pullback)
        return op

    def jvp(self, ctx: DualContext, x_dots: Sequence[Any]) -> Sequence[Any]:
        dual, mask = ctx.dual_of(self.graph, [dot is not None for dot in x_dots])
        if not any(mask):
            return [None] * len(mask)
        graph = with_outputs(dual, list(parted(dual.outputs, mask)[1].values()))
        dots = [dot for dot in x_dots if dot is not None]
        stacked = [
            *self.stacked,
            *[s for s, dot in zip(self.stacked, x_dots, strict=True) if dot is not None],
        ]
        given = [k for k, has in enumerate(mask) if has]
        uniform = tuple([place for place, k in enumerate(given) if k in self.uniform])
        y_dots = iter(bind(Vectorize(graph, tuple(stacked), uniform, self.at_once), *ctx.inputs, *dots))
        return [next(y_dots) if has else None for has in mask]

    def batch(self, ctx: BatchContext, *xs: Ranked) -> tuple[Tensor, ...]:
        if not all(is_definite(x.dims) for x in xs):
            later: tuple[Tensor, ...] = ctx.level.waiting(self, xs, [ctx.stacked(i) for i in range(len(xs))])
            return later
        try:
            with entered(ctx.level):
                outputs = self._expanded(self.graph, [ctx.row(i) for i in range(len(xs))])
        except UnansweredError:
            if self.effects or all(spec.is_definite for spec in self.graph.specs):
                raise
            return ctx.rowwise(self, *xs)
        return tuple([y.stacked if ctx.level.is_stacked(y) else ctx.unstacked(y) for y in outputs])


class RowsLayer(GraphLayer):
    """The residuals of each row."""

    __slots__ = ()

    def pull_back(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        # An output that is the same for all rows has one cotangent, which is pulled back once, apart from the rows.
        uniform = self.op.uniform
        once = [bar if k in uniform else None for k, bar in enumerate(y_bars)]
        rows = [None if k in uniform else bar for k, bar in enumerate(y_bars)]
        if all(bar is None for bar in once):
            return super().pull_back(ctx, rows)
        x_bars = super().pull_back(ctx, once)
        if all(bar is None for bar in rows):
            return x_bars
        return [
            a if b is None else b if a is None else bind(ADD, a, b)
            for a, b in zip(x_bars, super().pull_back(ctx, rows), strict=True)
        ]

    def of_outputs(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        once = any(y_bars[k] is not None for k in self.base.uniform)
        found = self.backward(ctx, y_bars)
        if found is None:
            return [None] * len(ctx.inputs)
        backward, operands, bars = found
        stacked = [self.op.stacked[i] for i in backward.inputs]
        stacked += [i not in self.op.uniform for i in backward.residuals]
        stacked += [not once] * len(bars)
        graph, operands = backward.graph, [*operands, *bars]
        x_bars: Sequence[Tensor]
        if not any(stacked):
            x_bars = bind(Call(graph), *operands)
        else:
            uniform = tuple(range(len(graph.outputs))) if once else ()
            x_bars = bind(Vectorize(graph, tuple(stacked), uniform, self.op.at_once), *operands)
        out: list[Tensor | None] = [None] * len(ctx.inputs)
        for i, place in backward.places.items():
            if not once:
                out[i] = x_bars[place] if self.op.stacked[i] else reduce_sum(x_bars[place], axis=0)
            # Outputs returned once depend on stacked inputs only through their shape.
            elif not self.op.stacked[i]:
                out[i] = x_bars[place]
        return out


def _walked(graph: Graph) -> frozenset[int]:
    """The inputs that loops, branches and calls read: there the slices of a stack may differ in shape."""
    found = graph.derived.get(_walked)
    if found is None:
        takers = [n for n in graph.nodes if n.op.structured and not isinstance(n.op, Vectorize)]
        found = graph.derived[_walked] = frozenset([i for node in takers for i in node.inputs])
    return found


def _of_any_row(level: BatchLevel, y: Any) -> Any:
    """A value that is the same in all rows, of an op that waited for its sizes and therefore returns it for each row."""
    if not level.is_stacked(y):
        return y
    if type(level.size) is int and not level.size:
        raise UnansweredError(
            "vectorize: with zero rows it is undecidable which results are the same in all rows; give at least one."
        )
    return getitem(y.stacked, 0)


def _is_sizes(spec: TensorSpec) -> bool:
    return not spec.is_handle and spec.dtype.is_integer and spec.rank == 1


def _is_truth(spec: TensorSpec) -> bool:
    return not spec.is_handle and spec.dtype.kind == "bool"


def _is_definite(graph: Graph) -> bool:
    """Whether all sizes are known, also in branches."""
    found = graph.derived.get(_is_definite)
    if found is None:
        found = all(spec.is_definite for spec in graph.specs) and all(
            _is_definite(inner) for node in graph.nodes if node.op.branches for inner in sub_graphs(node.op)
        )
        graph.derived[_is_definite] = found
    return found


def vectorize(
    graph: Graph, stacked: Sequence[bool], inputs: Sequence[Any], at_once: int | None = None
) -> Sequence[Any]:
    """Bind `graph` on the rows of some inputs; see `Vectorize` for `at_once`."""
    if not any(stacked):
        raise InvalidArgumentError("vectorize: there is no input with rows.")
    return bind(Vectorize(graph, tuple(stacked), (), at_once), *inputs)
