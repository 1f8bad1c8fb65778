"""Calling a graph as one op.

A recorder that follows an input asks for a layer of residual outputs before the call runs (`augmented`). With k
recorders there are k layers; the call runs once, and all of them record the same op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from graphad.core.annotations import Array, BatchContext, DualContext, Ranked, RowAxis, VjpContext
from graphad.core.bind import bind
from graphad.core.op import define
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.evaluate import run
from graphad.graph.ir import Graph
from graphad.ops.control.duals import push_call
from graphad.ops.control.layers import GraphLayer, OfGraph
from graphad.ops.control.operands import require_operands
from graphad.ops.control.rows import rows_of

if TYPE_CHECKING:
    from graphad.core.annotations import Transforms


@define
class Call(OfGraph):
    """The outputs of `graph` for the inputs."""

    name = "call"
    fits = True
    inlines = True
    graph: Graph

    def infer(self, *specs: TensorSpec | HandleSpec) -> tuple[TensorSpec, ...]:
        return self.graph.output_specs

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        require_operands(self.name, self.graph, specs, "the graph")

    def eval(self, *values: Array) -> tuple[Array, ...]:
        return tuple(run(self.graph, values))

    def augmented(self, transforms: Transforms, needs: Sequence[bool]) -> Call:
        """The same call with the residuals that the cotangents of the needed inputs depend on."""
        pullback = transforms.pullback_of(self.graph, needs)
        if pullback.call is None:
            op = Call(pullback.forward)
            CallLayer(op, self, pullback)
            pullback.call = op
        return cast("Call", pullback.call)

    def jvp(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Sequence[Tensor | None] | None:
        return push_call(self, Call, ctx, x_dots)[1]

    def with_tangents(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Any:
        """The outputs and their tangents, of one run."""
        return push_call(self, Call, ctx, x_dots, whole=True)

    def batch(self, ctx: BatchContext, *xs: Ranked) -> tuple[Tensor, ...]:
        graph, stacked = ctx.batched_graph(self.graph)
        outputs = bind(Call(graph), *xs)
        return tuple(y if s else ctx.unstacked(y) for y, s in zip(outputs, stacked, strict=True))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[RowAxis]) -> tuple[RowAxis, ...]:
        return tuple(rows_of(self.graph, axes, specs))


class CallLayer(GraphLayer):
    """The residuals of a call."""

    __slots__ = ()

    def of_outputs(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        found = self.backward(ctx, y_bars)
        if found is None:
            return [None] * len(ctx.inputs)
        backward, operands, bars = found
        if backward.call is None:
            backward.call = Call(backward.graph)
        x_bars = bind(backward.call, *operands, *bars)
        places = backward.places
        return [x_bars[places[i]] if i in places else None for i in range(len(ctx.inputs))]
