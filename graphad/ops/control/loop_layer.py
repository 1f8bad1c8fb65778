"""The derivative of a loop: residuals are stacked step by step, and the backward loop walks them in reverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from graphad.core.annotations import VjpContext
from graphad.core.bind import bind
from graphad.core.dims import at_most
from graphad.core.light import NamedTuple
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import add, append
from graphad.ops.array.create import zeros_of
from graphad.ops.array.reshape import reshape_like
from graphad.ops.control.layers import Layer, add_zeros
from graphad.ops.control.segments import Segments
from graphad.ops.math.arithmetic import ADD

if TYPE_CHECKING:
    from graphad.core.annotations import BackwardGraph, Pullback, Value
    from graphad.core.tensor import Tensor
    from graphad.graph.ir import Graph
    from graphad.ops.control.invariant import Apart
    from graphad.ops.control.loop import Loop


class LoopLayer(Layer):
    """The residuals of each step, and some carries before each step.

    Attributes:
      pullback: The pullback of the body of `base`, or of its rest.
      stacked: The carries that are stacked, after the residuals.
      invariant: The part that is differentiated once, see `invariant.Apart`; None for nothing.
    """

    __slots__ = ("invariant", "pullback", "stacked")
    op: Loop
    base: Loop

    def __init__(
        self, op: Loop, base: Loop, pullback: Pullback, stacked: Sequence[int], invariant: Apart | None
    ) -> None:
        super().__init__(op, base)
        self.pullback = pullback
        self.stacked = stacked
        self.invariant = invariant

    @property
    def needs(self) -> Sequence[bool]:
        # The invariant values follow the body's operands.
        return Segments(operands=self.op.operands.total, values=None).operands(self.pullback.needs)

    def of_outputs(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> Sequence[Tensor | None]:
        outputs = self.base.outputs
        carry_bars, stack_bars = outputs.carries(y_bars), list(outputs.ys(y_bars))
        backward, taken, carried = self._chosen(carry_bars, stack_bars)
        for k, takes in enumerate(self.base.results.ys(taken)):
            if takes and stack_bars[k] is None:
                stack_bars[k] = ctx.zeros(outputs.ys[k])
        plan = _BackwardLoop(self, backward, taken, carried)
        if not carried and not plan.sums and not plan.of_xs:
            return [None] * len(ctx.inputs)
        return self._pull_back(ctx, plan, carry_bars, plan.stacks(ctx, stack_bars))

    def _chosen(
        self, carry_bars: Sequence[Tensor | None], y_bars: Sequence[Tensor | None]
    ) -> tuple[BackwardGraph, Sequence[bool], list[int]]:
        """The backward graph of a step, the cotangents it takes, and the carries whose cotangents the loop carries."""
        carries, pullback = self.op.operands.carries, self.pullback
        of_ys = [bar is not None for bar in y_bars]
        carried = {k for k, bar in enumerate(carry_bars) if bar is not None and pullback.needs[k]}
        while True:
            backward, taken = pullback.backward([k in carried for k in carries] + of_ys)
            if any(i in carries and i not in self.stacked for i in backward.inputs):
                backward, taken = pullback.full, pullback.differentiable
            of_ys = list(self.base.results.ys(taken))
            more = carried | {k for k in carries if taken[k] or k in backward.places}
            if more == carried:
                return backward, taken, sorted(carried)
            carried = more

    def _pull_back(
        self,
        ctx: VjpContext,
        plan: _BackwardLoop,
        carry_bars: Sequence[Tensor | None],
        stacks: Sequence[_Stack],
    ) -> Sequence[Tensor | None]:
        loop = self.op
        op = loop.changed(
            test=None,
            body=plan.body(stacks),
            n_carry=len(plan.carried) + len(plan.sums),
            n_invariant=len(plan.fixed),
            n_xs=len(stacks),
            reverse=not loop.reverse,
            steps=loop.steps if loop.test is None else None,
            uniform=0,
        )
        (count,) = loop.outputs.count(ctx.outputs)
        results = bind(op, count, *plan.operands(ctx, carry_bars), *[stack.value for stack in stacks])
        return plan.cotangents(ctx, count, op, results)


class _Stack(NamedTuple):
    """Values of all steps, of which the backward loop reads one in each step."""

    kind: Literal["input", "residual", "y"]
    number: int  # of the body's input, of its result, or of the y
    value: Tensor
    spec: TensorSpec  # of the value of one step


class _BackwardLoop:
    """What the backward loop of a layer carries, reads and iterates over, by the numbers of the body's inputs.

    Attributes:
      carried: The carries whose cotangents it carries.
      sums: The invariants, and the values of the invariant part, whose cotangents it adds up; it carries them after the others.
      of_xs: The xs whose cotangents it stacks.
      fixed: The invariants that it reads.
      values: The values of the invariant part that a step reads. Each step recomputes them from fixed values.
    """

    def __init__(
        self, layer: LoopLayer, backward: BackwardGraph, given: Sequence[bool], carried: Sequence[int]
    ) -> None:
        loop = layer.op
        self.layer, self.backward, self.given, self.carried = layer, backward, given, carried
        self.specs, self.made = layer.pullback.forward.inputs, loop.body.output_specs
        # Invariant values follow the body's operands; residuals and stacked carries follow its results.
        shown = layer.base.results
        self.taken = Segments(
            carries=loop.n_carry,
            invariants=loop.n_invariant,
            xs=loop.n_xs,
            values=len(self.specs) - loop.operands.total,
        )
        self.gives = Segments(
            carries=loop.n_carry,
            ys=len(shown.ys),
            residuals=len(self.made) - shown.total - len(layer.stacked),
            stacked=len(layer.stacked),
        )
        added = [*self.taken.invariants, *self.taken.values]
        self.sums = [i for i in added if i in backward.places]
        self.of_xs = [i for i in self.taken.xs if i in backward.places]
        self.values = [self.taken.values.number(i) for i in backward.inputs if i in self.taken.values]
        self._first: Graph | None = None
        self._read: Sequence[int] = ()
        if self.values:
            self._first, self._read = self._apart.values(self.values)
        self.fixed = sorted({*[i for i in backward.inputs if i in self.taken.invariants], *self._read})

    @property
    def _apart(self) -> Apart:
        """The invariant part, for what refers to its values."""
        assert self.layer.invariant is not None
        return self.layer.invariant

    def stacks(self, ctx: VjpContext, y_bars: Sequence[Tensor | None]) -> list[_Stack]:
        """Carries before each step and xs, residuals, cotangents of ys."""
        found = []
        op = self.layer.op
        for i in self.backward.inputs:
            if i in self.taken.carries:
                place = self.gives.stacked[self.layer.stacked.index(i)]
                found.append(_Stack("input", i, ctx.outputs[op.stack_of(place)], self.specs[i]))
            elif i in self.taken.xs:
                found.append(_Stack("input", i, ctx.inputs[op.passed[i]], self.specs[i]))
        for i in self.backward.residuals:
            found.append(_Stack("residual", i, ctx.outputs[op.stack_of(i)], self.made[i]))
        for k, (has, bar) in enumerate(zip(self.gives.ys(self.given), y_bars, strict=True)):
            if has and bar is not None:
                found.append(_Stack("y", k, bar, _slice_spec(self.made[self.gives.ys[k]], bar)))
        return found

    def body(self, stacks: Sequence[_Stack]) -> Graph:
        """One step backwards."""
        builder, backward, taken = GraphBuilder(), self.backward, self.taken
        bars = {k: builder.add_input(_cotangent_spec(self.specs[k])) for k in self.carried}
        sums = {i: builder.add_input(_cotangent_spec(self.specs[i])) for i in self.sums}
        fixed = {i: builder.add_input(self.specs[i]) for i in self.fixed}
        walked = {(stack.kind, stack.number): builder.add_input(stack.spec) for stack in stacks}
        known = {**fixed, **{i: value for (kind, i), value in walked.items() if kind == "input"}}
        if self._first is not None:
            found = append(builder, self._first, [fixed[i] for i in self._read])
            known.update((self.taken.values[k], value) for k, value in zip(self.values, found, strict=True))
        sources = [known[i] for i in backward.inputs]
        sources += [walked["residual", i] for i in backward.residuals]
        sources += [bars[k] for k in taken.carries if self.given[k]]
        sources += [walked["y", k] for k, has in enumerate(self.gives.ys(self.given)) if has]
        found = append(builder, backward.graph, sources)
        outputs = []
        for k in self.carried:
            place = backward.places.get(k)
            outputs.append(add_zeros(builder, bars[k]) if place is None else found[place])
        outputs += [add(builder, ADD, sums[i], found[backward.places[i]]) for i in self.sums]
        outputs += [found[backward.places[i]] for i in self.of_xs]
        order = [*bars.values(), *sums.values(), *fixed.values(), *walked.values()]
        return builder.finish(outputs, backward.graph.name, order)[0]

    def operands(self, ctx: VjpContext, carry_bars: Sequence[Tensor | None]) -> list[Value]:
        """The operands with which the backward loop begins and those that it reads in each step, without the stacks."""
        inputs = self.layer.op.passed(ctx.inputs)
        found: list[Value] = []
        for k in self.carried:
            bar = carry_bars[k]
            found.append(ctx.zeros(k) if bar is None else bar)
        for i in self.sums:
            of_value = i in self.taken.values
            found.append(
                self._apart.zeros(self.taken.values.number(i), inputs) if of_value else zeros_of(inputs[i])
            )
        return found + [inputs[i] for i in self.fixed]

    def cotangents(
        self, ctx: VjpContext, count: Tensor, op: Loop, results: Sequence[Tensor]
    ) -> list[Tensor | None]:
        """The cotangents of the loop's inputs by the results of the backward loop `op`."""
        out: list[Tensor | None] = [None] * len(ctx.inputs)
        passed = self.layer.op.passed
        of_values: dict[int, Tensor] = {}
        for place, k in enumerate([*self.carried, *self.sums]):
            if k in self.taken.values:
                of_values[self.taken.values.number(k)] = results[place]
            else:
                out[passed[k]] = results[place]
        if of_values:
            certain = op.steps is not None and at_most(1, op.steps)
            found = self._apart.pull_back(count, certain, passed(ctx.inputs), of_values)
            for i, bar in found.items():
                before = out[passed[i]]
                out[passed[i]] = bar if before is None else bind(ADD, before, bar)
        for i, bar in zip(self.of_xs, op.outputs.ys(results), strict=True):
            # A loop without steps does not know the sizes of a slice, but the stacks that it would iterate over have them.
            place = passed[i]
            fits = is_definite(bar.dims) and bar.dims == ctx.shape(place)
            out[place] = bar if fits else reshape_like(bar, ctx, place)
        return out


def _cotangent_spec(spec: TensorSpec) -> TensorSpec:
    return TensorSpec.of(spec.dims, spec.dtype)


def _slice_spec(spec: TensorSpec, stack: Tensor) -> TensorSpec:
    return spec if spec.dims is not None or stack.dims is None else spec.with_dims(tuple(stack.dims[1:]))
