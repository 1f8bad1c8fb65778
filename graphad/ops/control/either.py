"""Two graphs with the same result, of which the faster one for the sizes of a call is used.

Since both are correct, only one is compiled for a size class, and derivatives may use either one. A derivative is such a pair
too. It recomputes its residuals, so that the two graphs share only inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    DualContext,
    FoldContext,
    Ranked,
    RowAxis,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.dims import within
from graphad.core.op import define
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import append, values_behind
from graphad.graph.evaluate import run
from graphad.graph.ir import Graph
from graphad.ops.control.call import Call
from graphad.ops.control.duals import parted
from graphad.ops.control.layers import Structured, add_zeros, merged
from graphad.ops.control.operands import fit, require, require_count, require_operands
from graphad.ops.control.rows import rows_of
from graphad.ops.control.segments import Segments

if TYPE_CHECKING:
    from graphad.core.annotations import Transforms


@define
class Either(Structured):
    """(a, b, operands...) -> the outputs of `graph` on the operands; where a < b those of `other`, which are the same.

    Attributes:
      graph, other: Graphs on the operands without effects. a and b are integer scalars: what each of them costs.
    """

    name = "either"
    holder = "graph"
    inputs = Segments(costs=2, operands=None)
    passed = inputs.operands
    layered = False
    graph: Graph
    other: Graph

    @property
    def n_outputs(self) -> int:
        return len(self.graph.outputs)

    def infer(
        self, a: TensorSpec, b: TensorSpec, *operands: TensorSpec | HandleSpec
    ) -> tuple[TensorSpec, ...]:
        for spec in (a, b):
            require_count(self.name, spec, "a cost")
        mine, its = self.graph.output_specs, self.other.output_specs
        return tuple([merged(x, y) for x, y in zip(mine, its, strict=False)])

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        for graph, what in ((self.graph, "the graph"), (self.other, "the other graph")):
            require_operands(self.name, graph, self.passed(specs), what)
            require(not graph.effects, self.name, f"{what} has effects")
        mine, its = self.graph.output_specs, self.other.output_specs
        same = len(mine) == len(its) and all(fit(x, y) or fit(y, x) for x, y in zip(mine, its, strict=True))
        require(same, self.name, "its two graphs have other outputs")

    def eval(self, a: Array, b: Array, *operands: Array) -> tuple[Array, ...]:
        return tuple(run(self.other if a < b else self.graph, operands))

    def fold(
        self, ctx: FoldContext, a: Tensor, b: Tensor, *operands: Tensor
    ) -> Tensor | tuple[Tensor, ...] | None:
        left, right = ctx.known(a), ctx.known(b)
        if left is None or right is None:
            return None
        return tuple(ctx.inline(self.other if within([left[0] - right[0]], -1) else self.graph, operands))

    def values_read(self, used: Sequence[bool], but_masks: bool = False) -> Sequence[int]:
        read = {*self.inputs.costs}
        for graph in (self.graph, self.other):
            read.update(self.passed[i] for i in values_behind(graph, used, but_masks))
        return sorted(read)

    def vjp(self, ctx: VjpContext, *y_bars: Tensor | None) -> Cotangents:
        needs = [ctx.needs(self.passed[i]) for i in range(len(self.graph.inputs))]
        given = [bar is not None for bar in y_bars]
        pulled = [_Pulled(ctx.transforms, graph, needs, given) for graph in (self.graph, self.other)]
        wanted = [any(i in p.found for p in pulled) for i in range(len(needs))]
        if not any(wanted):
            return (None,) * len(ctx.inputs)
        graph, other = (p.finish(wanted) for p in pulled)
        bars = [bar for bar in y_bars if bar is not None]
        x_bars = iter(bind(Either(graph, other), *ctx.inputs, *bars))
        return (*[None for _ in self.inputs.costs], *[next(x_bars) if has else None for has in wanted])

    def jvp(self, ctx: DualContext, x_dots: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        given = self.passed(x_dots)
        which, n = [dot is not None for dot in given], self.n_outputs
        duals = [ctx.dual_of(graph, which) for graph in (self.graph, self.other)]
        kept = [k for k in range(n) if any(mask[k] for _, mask in duals)]
        if not kept:
            return [None] * n
        graphs = []
        for dual, mask in duals:
            builder = GraphBuilder()
            outputs = append(builder, dual, [builder.add_input(spec) for spec in dual.inputs])
            values, tangents = parted(outputs, mask)
            wanted = [tangents[k] if mask[k] else add_zeros(builder, values[k]) for k in kept]
            graphs.append(builder.finish(wanted, dual.name)[0])
        dots = [dot for dot in given if dot is not None]
        found = dict(zip(kept, bind(Either(*graphs), *ctx.inputs, *dots), strict=True))
        return [found.get(k) for k in range(n)]

    def batch(self, ctx: BatchContext, a: Ranked, b: Ranked, *operands: Ranked) -> tuple[Tensor, ...]:
        stacked = [ctx.stacked(self.passed[i]) for i in range(len(operands))]
        known = [ctx.operand(self.passed[i]) for i in range(len(operands))]
        graph, mask = ctx.batched_graph(self.graph, stacked, operands=known)
        outputs = bind(Call(graph), *operands)
        return tuple(y if s else ctx.unstacked(y) for y, s in zip(outputs, mask, strict=True))

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[RowAxis]) -> tuple[RowAxis, ...]:
        return tuple(rows_of(self.graph, self.passed(axes), self.passed(specs)))


class _Pulled:
    """The cotangents of a graph's inputs as a graph of (inputs..., given cotangents...).

    Attributes:
      found: The cotangent of an input, for the inputs that have one.
    """

    def __init__(
        self, transforms: Transforms, graph: Graph, needs: Sequence[bool], given: Sequence[bool]
    ) -> None:
        self.name = graph.name
        self.builder = builder = GraphBuilder()
        pullback = transforms.pullback_of(graph, tuple(needs))
        self.inputs = [builder.add_input(spec) for spec in graph.inputs]
        bars = [
            builder.add_input(spec) if has else None
            for spec, has in zip(graph.output_specs, given, strict=True)
        ]
        values = append(builder, pullback.forward, self.inputs)
        backward, taken = pullback.backward(given)
        operands = [self.inputs[i] for i in backward.inputs] + [values[i] for i in backward.residuals]
        # Graphs without effects have a backward graph for exactly the given cotangents.
        operands += [bar for bar, takes in zip(bars, taken, strict=True) if takes and bar is not None]
        x_bars = append(builder, backward.graph, operands) if backward.graph.outputs else []
        self.found = {i: x_bars[place] for i, place in backward.places.items()}

    def finish(self, wanted: Sequence[bool]) -> Graph:
        """The graph that gives the cotangents of these inputs, zeros where it has none."""
        outputs = [
            self.found[i] if i in self.found else add_zeros(self.builder, x)
            for i, (x, want) in enumerate(zip(self.inputs, wanted, strict=True))
            if want
        ]
        return self.builder.finish(outputs, f"{self.name}_pullback")[0]
