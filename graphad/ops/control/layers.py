"""What call, cond and loop share: layers of residuals, and pieces of the graphs that their rules put together.

Each recorder that follows an input of such an op adds a layer of residual outputs before it runs, so nothing runs twice and
no effect happens twice. A cotangent of a residual (a second derivative) is pulled back by the layer above it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core.bind import bind_all
from graphad.core.convert import lift
from graphad.core.dtypes import int32
from graphad.core.errors import FailedPreconditionError
from graphad.core.op import IO, WRITES
from graphad.core.references import entries_of
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import add, append
from graphad.graph.ir import Graph
from graphad.ops.array.create import ZerosLike, zeros_like
from graphad.ops.array.shape import BroadcastTo, ExpandDims, Shape
from graphad.ops.state.variables import READ, Read


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


def covers(below_needs: Sequence[bool], ctx: Any, first: int) -> bool:
    """Whether a lower layer gives every cotangent that is asked for; `first` is the op input of its first need."""
    return all(has or not ctx.needs(i) for i, has in enumerate(below_needs, first))


def needed(ctx: Any) -> tuple[bool, ...]:
    """Which inputs of the op a cotangent is asked for."""
    return tuple([ctx.needs(i) for i in range(len(ctx.inputs))])


def pull_back_residuals(op: Any, ctx: Any, y_bars: Sequence[Any]) -> Sequence[Any]:
    """The cotangents of the inputs where residuals of the highest layer carry one: the op runs again with one layer more.

    Only a persistent tape that differentiates its own gradient comes here.
    """
    if op.effects & (WRITES | IO):
        raise FailedPreconditionError(
            f"tape.gradient: a function that assigns or prints ({op.name}) would have to run again for this derivative of a "
            "persistent tape's own gradient; use one tape for each order of derivative."
        )
    forward = op.augmented(ctx.transforms, needed(ctx))
    outputs = bind_all(forward, ctx.inputs)
    extra = [None] * (forward.n_outputs - op.n_outputs)
    # An op bound with recorders listening may come back with the outputs of one layer less than it recorded.
    return forward.vjp(ctx.on(forward, outputs), *y_bars, *extra)  # type: ignore[no-any-return]


def pulled_back(
    op: Any, ctx: Any, y_bars: Sequence[Any], run_backward: Callable[..., Sequence[Any]]
) -> Sequence[Any]:
    """The cotangents of the inputs of an op with a layer of residuals, by the graph that its pullback has for them.

    Args:
      op: The op, whose `base` is the op without this layer and whose `pullback` made the residuals.
      run_backward: Called with the backward graph and its operands (op inputs, residuals, cotangents); returns what it
        gives for each input of the op.
    """
    below = op.base
    n = below.n_outputs
    unused = isinstance(below, type(op)) and all(bar is None for bar in y_bars[below.base.n_outputs :])
    if unused and covers(below.pullback.needs, ctx, 0):
        return below.vjp(ctx.first(n), *y_bars[:n])  # type: ignore[no-any-return]
    if any(bar is not None for bar in y_bars[n:]):
        return pull_back_residuals(op, ctx, y_bars)
    shown = list(y_bars[:n])
    differentiable = op.pullback.differentiable
    given = [bar is not None and d for bar, d in zip(shown, differentiable, strict=True)]
    backward = op.pullback.backward(given)
    if backward is None:
        given = list(differentiable)
        backward = op.pullback.backward(given)
        pairs = enumerate(zip(shown, given, strict=True))
        shown = [ctx.zeros(k) if bar is None and d else bar for k, (bar, d) in pairs]
    if not backward.graph.outputs:
        return [None] * len(ctx.inputs)
    operands = [ctx.inputs[i] for i in backward.inputs] + [ctx.outputs[i] for i in backward.residuals]
    operands += [bar for bar, has in zip(shown, given, strict=True) if has]
    return run_backward(backward, operands)


def zeros_for(x: Any) -> Any:
    """Zeros with the shape of an operand, which may be a handle."""
    spec = x.spec
    if is_definite(spec.dims):
        return zeros_of(spec)
    return zeros_like(bind_all(READ, (x,))[0] if spec.is_handle else x)


def zeros_of(spec: TensorSpec) -> Any:
    """Zeros of a definite shape."""
    zero = lift(spec.dtype.numpy.type(0))
    return bind_all(BroadcastTo(tuple(spec.dims)), (zero,))[0] if spec.dims else zero


def add_zeros(builder: GraphBuilder, like: int) -> int:
    """Zeros with the shape of a value of a graph, which may be a handle."""
    spec = builder.specs[like]
    if is_definite(spec.dims):
        return add_zeros_of(builder, spec)
    return add(builder, ZerosLike(spec.dtype), add(builder, Read(), like) if spec.is_handle else like)  # type: ignore[no-any-return]


def add_zeros_of(builder: GraphBuilder, spec: TensorSpec) -> int:
    """Zeros of a definite shape."""
    zero = builder.add_constant(spec.dtype.numpy.type(0))
    return add(builder, BroadcastTo(tuple(spec.dims)), zero) if spec.dims else zero  # type: ignore[no-any-return]


def add_repeated(builder: GraphBuilder, x: int, size: Any) -> int:
    """A value of a graph repeated for every row."""
    dims = builder.specs[x].dims
    row = add(builder, ExpandDims((0,)), x)
    if is_definite(dims):
        return add(builder, BroadcastTo((size, *dims)), row)  # type: ignore[no-any-return]
    return add(builder, BroadcastTo((size, *entries_of(dims))), row, add(builder, Shape(int32), x))  # type: ignore[no-any-return]


def with_stacked_outputs(graph: Graph, mask: Sequence[bool], wanted: Sequence[bool], size: Any) -> Graph:
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
