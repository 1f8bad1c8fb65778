"""A loop over rows: with one number of steps for all rows, or one for each row.

If rows differ in their number of steps, a finished row keeps its carry while the others continue: the body becomes a branch of
a `cond` on the active rows, so that nothing computed for a finished row reaches a derivative.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import BatchContext
from graphad.core.bind import bind, is_mistake
from graphad.core.convert import lift
from graphad.core.dims import Size
from graphad.core.errors import GraphadError, UnansweredError
from graphad.core.op import IO, WRITES
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import add, append
from graphad.graph.ir import Graph
from graphad.graph.replay import replay
from graphad.ops.array.broadcast import BroadcastTo
from graphad.ops.array.create import zeros
from graphad.ops.array.transpose import swap_axes
from graphad.ops.control.cond import BOTH, THEN, Cond
from graphad.ops.control.layers import add_zeros_of, with_stacked_outputs
from graphad.ops.control.segments import Segments
from graphad.ops.math.arithmetic import ADD, SUB
from graphad.ops.math.cast import Cast
from graphad.ops.math.compare import LESS, LOGICAL_AND
from graphad.ops.math.reduce import ReduceAny, reduce_max

if TYPE_CHECKING:
    from graphad.core.annotations import Ranked
    from graphad.ops.control.loop import Loop


_INT = TensorSpec.of((), dtypes.int32)


def batch_loop(loop: Any, ctx: BatchContext, limit: Ranked, values: Sequence[Any]) -> tuple[Tensor, ...]:
    """The outputs of a loop with stacked inputs; outputs that are the same in every row are marked."""
    try:
        return _batched(loop, ctx, limit, values)
    except GraphadError as error:
        # As in `Loop.fold`: without a step, the sizes of slices need not fit the others.
        if is_mistake(error) or not any((ctx.row_spec(i).dims or ())[:1] == (0,) for i in loop.inputs.xs):
            raise
    return _without_steps(loop, ctx, values)


def _without_steps(loop: Loop, ctx: BatchContext, values: Sequence[Any]) -> tuple[Tensor, ...]:
    """The outputs of a loop that makes no step in any row: the carries as they are, and stacks without slices."""
    rows = [ctx.row_spec(i) for i in range(loop.inputs.total)]
    starts = zip(loop.operands.carries(values), loop.inputs.carries, strict=True)
    carries = [x if ctx.stacked(i) else ctx.unstacked(x) for x, i in starts]
    stacks = [
        ctx.unstacked(zeros((0, *[0 if size is None else size for size in (y.dims or ())[1:]]), y.dtype))
        for y in loop.outputs.ys(loop.infer(*rows))
    ]
    return (*carries, ctx.unstacked(lift(np.int32(0))), *stacks)


def _batched(loop: Any, ctx: BatchContext, limit: Ranked, values: Sequence[Any]) -> tuple[Tensor, ...]:
    places, given, results = loop.operands, loop.inputs, loop.results
    stacked = [ctx.stacked(loop.passed[i]) for i in range(places.total)]
    carry, fixed, xs = places.carries(stacked), places.invariants(stacked), places.xs(stacked)
    operands = [ctx.row_spec(i) for i in given.carries] + [ctx.operand(i) for i in given.invariants]
    operands += [ctx.slice_operand(i) for i in given.xs]
    operands = ctx.lasting(loop.body, operands, len(places.carries))
    while True:
        # A carry is stacked if its start is or the body makes it so.
        body, mask = ctx.batched_graph(loop.body, [*carry, *fixed, *xs], operands=operands)
        wider = [a or b for a, b in zip(carry, results.carries(mask), strict=True)]
        if wider == carry:
            break
        carry = wider
    test, own = None, any(map(ctx.stacked, given.limit))
    if loop.test is not None:
        tested = [*places.carries(operands), *places.invariants(operands)]
        test, (test_stacked,) = ctx.batched_graph(loop.test, [*carry, *fixed], operands=tested)
        own = own or test_stacked
    if own and loop.effects & (WRITES | IO):
        outputs: tuple[Tensor, ...] = ctx.rowwise(loop, limit, *values)
        return outputs
    # In a stack that a loop walks, steps are the first axis and rows the second.
    values = [swap_axes(x, 0, 1) if i in places.xs and stacked[i] else x for i, x in enumerate(values)]
    if own:
        return _own_steps(loop, ctx, limit, values, stacked, operands)
    wanted = [*carry, *results.ys(mask)]
    body = with_stacked_outputs(body, mask, wanted, ctx.size)
    starts = [ctx.stack(x) if c and not s else x for x, c, s in zip(values, carry, stacked, strict=False)]
    rest = [*places.invariants(values), *places.xs(values)]
    outputs = bind(loop.changed(test=test, body=body), limit, *starts, *rest)
    found = loop.outputs
    first = [y if s else ctx.unstacked(y) for y, s in zip(found.carries(outputs), carry, strict=True)]
    ys = [
        swap_axes(y, 0, 1) if s else ctx.unstacked(y)
        for y, s in zip(found.ys(outputs), results.ys(wanted), strict=True)
    ]
    (count,) = found.count(outputs)
    return (*first, ctx.unstacked(count), *ys)


def _own_steps(
    loop: Loop,
    ctx: BatchContext,
    limit: Tensor,
    values: Sequence[Any],
    stacked: Sequence[bool],
    operands: Sequence[Any],
) -> tuple[Tensor, ...]:
    places, results = loop.operands, loop.results
    flags = [i in places.carries or s for i, s in enumerate(stacked)]
    body, mask = ctx.batched_graph(loop.body, flags, operands=operands)
    # Residuals that are sizes exist once, from the active rows, if they are the same in all of them.
    once = [not m and k in results.ys and loop.leaves_sizes(loop.stack_of(k)) for k, m in enumerate(mask)]
    body = with_stacked_outputs(body, mask, [not shared for shared in once], ctx.size)
    test = None
    if loop.test is not None:
        tested, known = ([*places.carries(each), *places.invariants(each)] for each in (flags, operands))
        test, test_mask = ctx.batched_graph(loop.test, tested, operands=known)
        test = with_stacked_outputs(test, test_mask, [True], ctx.size)
    carry = [x if s else ctx.stack(x) for x, s in zip(places.carries(values), stacked, strict=False)]
    fixed, stacks = places.invariants(values), places.xs(values)
    longest = reduce_max(limit) if any(map(ctx.stacked, loop.inputs.limit)) else limit
    step = _step(loop, body, test, flags, once, ctx.size, limit.spec)
    zero = lift(np.int32(0))
    more: list[Any] = []
    if test is not None:
        (start,) = replay(test, [*carry, *fixed])
        more = [bind(LOGICAL_AND, start, bind(LESS, zero, limit)), bind(BroadcastTo((ctx.size,)), zero)]
    # Carries of the step: those of the loop, t, and with a test which rows are active and how many steps they made.
    carried = Segments(own=len(carry), t=1, active=len(more) // 2, counts=len(more) // 2)
    op = loop.changed(
        test=None,
        body=step,
        n_carry=carried.total,
        n_invariant=loop.n_invariant + 2,
        steps=None,
    )
    if test is not None:
        read = op.operands
        specs = [*read.carries(step.inputs), *read.invariants(step.inputs)]
        op = op.changed(test=_any_active(specs, carried.active[0]))
    outputs = bind(op, longest, *carry, zero, *more, *fixed, limit, longest, *stacks)
    count = limit if test is None else outputs[carried.counts[0]]
    ys = [
        ctx.unstacked(y) if shared else swap_axes(y, 0, 1)
        for y, shared in zip(op.outputs.ys(outputs), results.ys(once), strict=True)
    ]
    return (*carried.own(outputs), count, *ys)


def _step(
    loop: Loop,
    body: Graph,
    test: Graph | None,
    flags: Sequence[bool],
    once: Sequence[bool],
    size: Size,
    limit: TensorSpec,
) -> Graph:
    """One step in which only active rows change: carry, t (and with a test: active rows, counts), invariants, xs."""
    places, found = loop.operands, loop.results
    builder = GraphBuilder()
    carry = [builder.add_input(spec) for spec in places.carries(body.inputs)]
    t = builder.add_input(_INT)
    kept = [] if test is None else [TensorSpec.of((size,), dtype) for dtype in (dtypes.bool_, dtypes.int32)]
    active_and_counts = [builder.add_input(spec) for spec in kept]
    fixed = [builder.add_input(spec) for spec in places.invariants(body.inputs)]
    limits, longest = builder.add_input(limit), builder.add_input(_INT)
    xs = [builder.add_input(spec) for spec in places.xs(body.inputs)]
    following = add(builder, ADD, t, builder.add_constant(np.int32(1)))
    if test is None:
        index = add(builder, SUB, longest, following) if loop.reverse else t
        active = add(builder, LESS, index, limits)
    else:
        active = active_and_counts[0]
    kinds = tuple([THEN if shared else BOTH for shared in once])
    op = Cond(body, _finished(loop, body, once), kinds, 1, tuple(flags))
    results = add(builder, op, active, *carry, *fixed, *xs)
    outputs = [*found.carries(results), following]
    if test is not None:
        (more,) = append(builder, test, [*found.carries(results), *fixed])
        more = add(
            builder,
            LOGICAL_AND,
            add(builder, LOGICAL_AND, active, more),
            add(builder, LESS, following, limits),
        )
        outputs += [more, add(builder, ADD, active_and_counts[1], add(builder, Cast(dtypes.int32), active))]
    return builder.finish([*outputs, *found.ys(results)], body.name)[0]


def _finished(loop: Loop, body: Graph, once: Sequence[bool]) -> Graph:
    """The branch of finished rows: they keep their carries, and their slices of the ys are zero."""
    builder = GraphBuilder()
    outputs = list(loop.operands.carries([builder.add_input(spec) for spec in body.inputs]))
    ys = loop.results.ys
    for spec, shared in zip(ys(body.output_specs), ys(once), strict=True):
        if shared:
            continue
        if spec.dims is None:
            raise UnansweredError(
                "loop: vectorizing it with a number of steps per row needs known ranks in its body."
            )
        # 1 in place of an unknown size broadcasts to the size of the other branch.
        outputs.append(
            add_zeros_of(builder, spec.with_dims(tuple([1 if size is None else size for size in spec.dims])))
        )
    return builder.finish(outputs, "finished")[0]


def _any_active(specs: Sequence[TensorSpec], place: int) -> Graph:
    """Whether any row is active, as a graph of carries and invariants."""
    builder = GraphBuilder()
    inputs = [builder.add_input(spec) for spec in specs]
    return builder.finish([add(builder, ReduceAny((0,), False), inputs[place])], "any_active")[0]
