"""Calling a graph as one op, and the same call with residuals for a later backward pass.

A recorder that follows an input asks for a layer of residual outputs before the call runs (`augmented`). With k
recorders there are k layers; the call runs once, and all of them record the same op.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.bind import bind
from graphad.core.errors import InternalError
from graphad.core.op import Op, define
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.graph.compose import values_behind
from graphad.graph.evaluate import run
from graphad.graph.ir import Graph
from graphad.ops.control.duals import push_call
from graphad.ops.control.layers import pulled_back
from graphad.ops.control.operands import require_operands
from graphad.ops.control.rows import rows_of


class GraphCall(Op):
    """What the two forms of a call share."""

    multiple = True
    structured = True
    fits = True
    inlines = True
    keeps = (True, True)
    graph: Graph

    @property
    def n_outputs(self) -> int:
        return len(self.graph.outputs)

    @property
    def effects(self) -> int:  # type: ignore[override]
        return self.graph.effects

    def infer(self, *specs: TensorSpec | HandleSpec) -> tuple[TensorSpec, ...]:
        return self.graph.output_specs

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        require_operands(self.name, self.graph, specs, "the graph")

    def eval(self, *values: Any) -> tuple[Any, ...]:
        return tuple(run(self.graph, values))

    def values_read(self, used: Sequence[bool]) -> Sequence[int]:
        return values_behind(self.graph, used)

    def plain(self) -> Call:
        """The same computation without what only its derivative needs."""
        return Call(self.graph)  # type: ignore[no-any-return]

    def augmented(self, transforms: Any, needs: Sequence[bool]) -> CallForward:
        """The same call with the residuals that the cotangents of the needed inputs take."""
        pullback = transforms.pullback_of(self.graph, needs)
        if pullback.call is None or pullback.call.base is not self:
            pullback.call = CallForward(pullback.forward, self, pullback)
        return pullback.call  # type: ignore[no-any-return]

    def jvp(self, ctx: Any, x_dots: Sequence[Any]) -> Sequence[Any]:
        return push_call(self, Call, ctx, x_dots)

    def batch(self, ctx: Any, *xs: Any) -> Any:
        graph, stacked = ctx.batched_graph(self.graph)
        outputs = bind(Call(graph), *xs)
        return tuple(y if s else ctx.unstacked(y) for y, s in zip(outputs, stacked, strict=True))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[Any]) -> Any:
        return tuple(rows_of(self.graph, axes, specs))

    def vjp(self, ctx: Any, *y_bars: Any) -> Sequence[Any]:
        raise InternalError(f"{self.name}: the call was recorded without residuals.")


@define
class Call(GraphCall):
    """The outputs of `graph` for the inputs."""

    name = "call"
    graph: Graph

    infer = GraphCall.infer
    eval = GraphCall.eval


@define
class CallForward(GraphCall):
    """`base` with residuals as further outputs; `graph` computes both."""

    name = "call_forward"
    known_as = "call"
    live = True
    graph: Graph
    base: Any  # the call one layer of residuals down
    pullback: Any

    infer = GraphCall.infer
    eval = GraphCall.eval

    def vjp(self, ctx: Any, *y_bars: Any) -> Sequence[Any]:
        def run_backward(backward: Any, operands: Sequence[Any]) -> Sequence[Any]:
            if backward.call is None:
                backward.call = Call(backward.graph)
            x_bars = bind(backward.call, *operands)
            return [None if position is None else x_bars[position] for position in backward.positions]

        return pulled_back(self, ctx, y_bars, run_backward)
