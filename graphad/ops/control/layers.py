"""Shared by call, cond and loop: layers of residuals, and helpers to build the graphs of their rules.

Each recorder that follows an input of such an op adds a layer of residual outputs before it runs, so nothing runs twice and
no effect happens twice. A cotangent of a residual (a second derivative) is pulled back by the layer above it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, cast

from graphad.core.annotations import Cotangents, VjpContext
from graphad.core.bind import bind_all
from graphad.core.dims import Size
from graphad.core.dtypes import int32
from graphad.core.errors import FailedPreconditionError, InternalError
from graphad.core.op import IO, WRITES, TupleOp
from graphad.core.references import entries_of
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import add, append, values_behind
from graphad.graph.ir import Graph
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.create import ZerosLike
from graphad.ops.array.reshape import ExpandDims
from graphad.ops.array.shape import Shape
from graphad.ops.control.segments import Segment, Segments
from graphad.ops.state.variables import Read

if TYPE_CHECKING:
    from graphad.core.annotations import BackwardGraph, Pullback, Value


def merged_dims(a: Any, b: Any) -> Any:
    """The shape that covers both: unknown wherever they differ."""
    if a is None or b is None or len(a) != len(b):
        return None
    if a == b:
        return a
    return tuple(
        [x if x is not None and y is not None and x == y else None for x, y in zip(a, b, strict=True)]
    )


def merged(a: TensorSpec, b: TensorSpec) -> TensorSpec:
    """The spec that covers both, which have one dtype."""
    return a if a is b or a.dims == b.dims else a.with_dims(merged_dims(a.dims, b.dims))


class Structured(TupleOp):
    """Base of call, cond, loop and vectorize: they hold graphs, and may have a layer of residuals.

    Class attributes:
      holder: The attribute with the graph that keeps the layer.
      passed: The inputs that its graphs take; those of a loop's stacks by slices.
    """

    structured = True
    layered = True
    keeps = (True, True)
    holder: ClassVar[str]
    passed: ClassVar[Segment] = Segment(0, None)
    n_outputs: ClassVar[Any]

    @property
    def layer(self) -> Layer | None:
        """The layer of its last outputs, if it was made for a derivative."""
        graph: Graph = getattr(self, self.holder)
        return cast("Layer | None", graph.derived.get(self))

    def vjp(self, ctx: VjpContext, *y_bars: Tensor | None) -> Cotangents:
        layer = self.layer
        if layer is None:
            raise InternalError(f"{self.name}: it was recorded without residuals.")
        return layer.pull_back(ctx, y_bars)


class OfGraph(Structured):
    """Base of call and vectorize, whose outputs are those of one graph."""

    holder = "graph"
    graph: Graph

    @property
    def n_outputs(self) -> int:
        return len(self.graph.outputs)

    @property
    def effects(self) -> int:  # type: ignore[override]
        return self.graph.effects

    def values_read(self, used: Sequence[bool], but_masks: bool = False) -> Sequence[int]:
        return values_behind(self.graph, used, but_masks)


@lru_cache(256)
def _outputs(n: int) -> Segments:
    return Segments(shown=n, residuals=None)


class Layer:
    """Pulls back the cotangents of an op, using its last outputs, which are residuals.

    The layer is kept with the op's graph and freed with it, so that it is found when the op is recorded or bound again from a
    graph.

    Attributes:
      op: The op.
      base: The op without the residuals, which may have a layer itself.
    """

    __slots__ = ("base", "op")

    def __init__(self, op: Structured, base: Structured) -> None:
        self.op: Any = op  # of the class that the subclass of the layer declares
        self.base: Any = base
        graph: Graph = getattr(op, op.holder)
        graph.derived[op] = self

    @property
    def outputs(self) -> Segments:
        """The segments of the op's outputs."""
        return _outputs(self.base.n_outputs)

    @property
    def needs(self) -> Sequence[bool]:
        """Of the inputs that are passed to the graph, those whose cotangents it can compute."""
        raise NotImplementedError

    def pull_back(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """The cotangents of the inputs for those of all outputs; None stands for a missing one."""
        outputs, below = self.outputs, cast("Layer | None", self.base.layer)
        if below is not None and all(bar is None for bar in below.outputs.residuals(y_bars)):
            passed: Segment = self.op.passed
            if all(has or not ctx.needs(passed[k]) for k, has in enumerate(below.needs)):
                return below.pull_back(ctx.first(len(outputs.shown)), outputs.shown(y_bars))
        if any(bar is not None for bar in outputs.residuals(y_bars)):
            return pull_back_residuals(self.op, ctx, y_bars)
        return self.of_outputs(ctx, outputs.shown(y_bars))

    def of_outputs(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        """The cotangents of the inputs for those of the outputs of `base`."""
        raise NotImplementedError


class GraphLayer(Layer):
    """The layer of an op that holds one graph.

    Attributes:
      pullback: The pullback of the graph of `base`; its forward graph is that of `op`.
    """

    __slots__ = ("pullback",)

    def __init__(self, op: Structured, base: Structured, pullback: Pullback) -> None:
        super().__init__(op, base)
        self.pullback = pullback

    @property
    def needs(self) -> Sequence[bool]:
        return self.pullback.needs

    def backward(
        self, ctx: VjpContext, y_bars: Sequence[Tensor | None]
    ) -> tuple[BackwardGraph, list[Value], list[Tensor]] | None:
        """The backward graph for these cotangents, the inputs and residuals that it takes, and the cotangents; None for none."""
        backward, bars = backward_of(self.pullback, ctx, range(len(y_bars)), y_bars)
        if not backward.places:
            return None
        if ctx.masks is not None:
            ctx.masks.inputs += backward.masked
        operands: list[Value] = [ctx.inputs[i] for i in backward.inputs]
        operands += [ctx.outputs[i] for i in backward.residuals]
        return backward, operands, list(bars.values())


def backward_of(
    pullback: Pullback, ctx: VjpContext, outputs: Sequence[int], y_bars: Sequence[Tensor | None]
) -> tuple[BackwardGraph, dict[int, Tensor]]:
    """The backward graph of a pullback, and the cotangents that it takes, by output of the op.

    Args:
      pullback: The pullback of a graph of the op.
      ctx: The context of the op's rule.
      outputs: The numbers of those outputs of the op that are outputs of the graph.
      y_bars: The cotangents of all outputs of the op.
    """
    given = [y_bars[k] is not None for k in outputs]
    masked: tuple[int, ...] = ()
    if ctx.masks is not None:
        possible = zip(outputs, given, pullback.differentiable, strict=True)
        masked = tuple([p for p, (k, has, d) in enumerate(possible) if has and d and ctx.masks.outputs[k]])
    backward, taken = pullback.backward(given, masked)
    bars = {}
    for k, takes in zip(outputs, taken, strict=True):
        if takes:
            bar = y_bars[k]
            bars[k] = ctx.zeros(k) if bar is None else bar
    return backward, bars


def needed(ctx: VjpContext) -> tuple[bool, ...]:
    """The inputs of the op whose cotangents are needed."""
    return tuple([ctx.needs(i) for i in range(len(ctx.inputs))])


def pull_back_residuals(op: Any, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
    """The cotangents of the inputs if residuals of the highest layer have cotangents: the op runs again with one more layer.

    This happens only if a persistent tape differentiates its own gradient.
    """
    if op.effects & (WRITES | IO):
        raise FailedPreconditionError(
            f"tape.gradient: a function that assigns or prints ({op.name}) would have to run again for this derivative of a "
            "persistent tape's own gradient; use one tape for each order of derivative."
        )
    forward = op.augmented(ctx.transforms, needed(ctx))
    outputs = bind_all(forward, ctx.inputs)
    extra = [None] * (forward.n_outputs - op.n_outputs)
    # Recorders may have recorded one layer more than the outputs that `bind` returned.
    return cast("Sequence[Tensor | None]", forward.vjp(ctx.on(forward, outputs), *y_bars, *extra))


def add_zeros(builder: GraphBuilder, like: int) -> int:
    """Zeros with the shape of a value of a graph, which may be a handle."""
    spec = builder.specs[like]
    if is_definite(spec.dims):
        return add_zeros_of(builder, spec)
    return add(builder, ZerosLike(spec.dtype), add(builder, Read(), like) if spec.is_handle else like)  # type: ignore[no-any-return]


def add_zeros_of(builder: GraphBuilder, spec: TensorSpec) -> int:
    """Zeros of a definite shape."""
    zero = builder.add_constant(spec.dtype.numpy.type(0))
    return add(builder, BroadcastTo(tuple(spec.dims)), zero) if spec.dims else zero


def add_repeated(builder: GraphBuilder, x: int, size: Size) -> int:
    """A value of a graph repeated for every row."""
    dims = builder.specs[x].dims
    row = add(builder, ExpandDims((0,)), x)
    if is_definite(dims):
        return add(builder, BroadcastTo((size, *dims)), row)  # type: ignore[no-any-return]
    return add(builder, BroadcastTo((size, *entries_of(dims))), row, add(builder, Shape(int32), x))  # type: ignore[no-any-return]


def with_stacked_outputs(graph: Graph, mask: Sequence[bool], wanted: Sequence[bool], size: Size) -> Graph:
    """A batched graph in which the outputs `wanted` are stacked although they may be the same in every row."""
    if not any(want and not has for has, want in zip(mask, wanted, strict=True)):
        return graph
    builder = GraphBuilder()
    inputs = [builder.add_input(spec) for spec in graph.inputs]
    outputs = append(builder, graph, inputs)
    outputs = [
        add_repeated(builder, y, size) if want and not has else y
        for y, has, want in zip(outputs, mask, wanted, strict=True)
    ]
    return builder.finish(outputs, graph.name)[0]
