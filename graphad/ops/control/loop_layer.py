"""The derivative of a loop: residuals are stacked step by step, and the backward loop walks them in reverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from graphad.core.annotations import VjpContext
from graphad.core.bind import bind
from graphad.core.dims import at_most
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
    from graphad.core.tensor import Tensor
    from graphad.graph.ir import Graph
    from graphad.ops.control.loop import Loop


class LoopLayer(Layer):
    """The residuals of each step, and some carries before each step.

    Attributes:
      pullback: The pullback of the body of `base`, or of its rest.
      stacked: The carries that are stacked, after the residuals.
      invariant: The part that is differentiated once, see `invariant.Apart`; None for nothing.
    """

    __slots__ = ("invariant", "pullback", "stacked")
    first = 1

    def __init__(self, op: object, base: Loop, pullback: Any, stacked: Sequence[int], invariant: Any) -> None:
        super().__init__(op, base)
        self.pullback = pullback
        self.stacked = stacked
        self.invariant = invariant

    @property
    def needs(self) -> Sequence[bool]:
        # The invariant values follow the body's operands.
        return self.pullback.needs[: self.op.operands.total]  # type: ignore[no-any-return]

    def of_outputs(self, ctx: VjpContext, y_bars: list[Any]) -> Sequence[Any]:
        ys = self.base.outputs.ys
        carry_bars, stack_bars = self.base.outputs.carries(y_bars), ys(y_bars)
        backward, given, carried = self._chosen(carry_bars, stack_bars)
        for k, has in enumerate(self.base.results.ys(given)):
            if has and stack_bars[k] is None:
                stack_bars[k] = ctx.zeros(ys[k])
        return self._pull_back(ctx, backward, given, carried, carry_bars, stack_bars)

    def _chosen(self, carry_bars: Sequence[Any], y_bars: Sequence[Any]) -> tuple[Any, list[bool], list[int]]:
        """The backward graph of a step, the cotangents it takes, and the carries whose cotangents the loop carries."""
        carries, results, pullback = self.op.operands.carries, self.base.results, self.pullback
        of_ys = [
            bar is not None and d for bar, d in zip(y_bars, results.ys(pullback.differentiable), strict=True)
        ]
        carried = {k for k, bar in enumerate(carry_bars) if bar is not None and pullback.needs[k]}
        while True:
            given = [k in carried and pullback.differentiable[k] for k in carries] + of_ys
            backward = pullback.backward(given)
            if backward is None or any(i in carries and i not in self.stacked for i in backward.inputs):
                of_ys = list(results.ys(pullback.differentiable))
                given = list(pullback.differentiable)
                backward = pullback.backward(given)
                carried |= {k for k in carries if pullback.differentiable[k]}
            more = carried | {k for k in carries if backward.positions[k] is not None}
            if more == carried:
                return backward, given, sorted(carried)
            carried = more

    def _pull_back(
        self,
        ctx: VjpContext,
        backward: Any,
        given: Sequence[bool],
        carried: Sequence[int],
        carry_bars: Sequence[Any],
        y_bars: Sequence[Any],
    ) -> Sequence[Any]:
        plan = _BackwardLoop(self, backward, given, carried)
        if not carried and not plan.sums and not plan.of_xs:
            return [None] * len(ctx.inputs)
        stacks = plan.stacks(ctx, y_bars)
        loop: Any = self.op
        op = loop.changed(
            test=None,
            body=plan.body(stacks),
            n_carry=len(carried) + len(plan.sums),
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
    value: Any
    spec: TensorSpec  # of the value of one step


class _BackwardLoop:
    """What the backward loop of a layer carries, reads and walks, by the numbers that the body's inputs have.

    Attributes:
      carried: The carries whose cotangents it carries.
      sums: The invariants, and the values of the invariant part, whose cotangents it adds up; it carries them after the others.
      of_xs: The xs whose cotangents it stacks.
      fixed: The invariants that it reads.
      values: The values of the invariant part that a step reads, which is computed again there from what is fixed.
    """

    def __init__(
        self, layer: LoopLayer, backward: Any, given: Sequence[bool], carried: Sequence[int]
    ) -> None:
        loop: Any = layer.op
        self.layer, self.backward, self.given, self.carried = layer, backward, given, carried
        self.specs, self.made = layer.pullback.forward.inputs, loop.body.output_specs
        # Invariant values follow the body's operands; residuals and stacked carries follow its results.
        self.n_inputs, shown = loop.operands.total, layer.base.results
        self.taken = Segments(
            carries=loop.n_carry,
            invariants=loop.n_invariant,
            xs=loop.n_xs,
            values=len(self.specs) - self.n_inputs,
        )
        self.gives = Segments(
            carries=loop.n_carry,
            ys=len(shown.ys),
            residuals=len(self.made) - shown.total - len(layer.stacked),
            stacked=len(layer.stacked),
        )
        added = [*self.taken.invariants, *self.taken.values]
        self.sums = [i for i in added if backward.positions[i] is not None]
        self.of_xs = [i for i in self.taken.xs if backward.positions[i] is not None]
        self.values = [i - self.n_inputs for i in backward.inputs if i in self.taken.values]
        self._first, self._read = layer.invariant.values(self.values) if self.values else (None, [])
        self.fixed = sorted({*[i for i in backward.inputs if i in self.taken.invariants], *self._read})

    def stacks(self, ctx: VjpContext, y_bars: Sequence[Any]) -> list[_Stack]:
        """Carries before each step and xs, residuals, cotangents of ys."""
        found = []
        for i in self.backward.inputs:
            if i in self.taken.carries:
                place = self.gives.stacked[self.layer.stacked.index(i)]
                found.append(_Stack("input", i, ctx.outputs[place + 1], self.specs[i]))
            elif i in self.taken.xs:
                found.append(_Stack("input", i, ctx.inputs[i + 1], self.specs[i]))
        for i in self.backward.residuals:
            found.append(_Stack("residual", i, ctx.outputs[i + 1], self.made[i]))
        for k, has in enumerate(self.gives.ys(self.given)):
            if has:
                found.append(_Stack("y", k, y_bars[k], _slice_spec(self.made[self.gives.ys[k]], y_bars[k])))
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
            known.update((self.n_inputs + k, value) for k, value in zip(self.values, found, strict=True))
        sources = [known[i] for i in backward.inputs]
        sources += [walked["residual", i] for i in backward.residuals]
        sources += [bars[k] for k in taken.carries if self.given[k]]
        sources += [walked["y", k] for k, has in enumerate(self.gives.ys(self.given)) if has]
        found = append(builder, backward.graph, sources)
        outputs = []
        for k in self.carried:
            place = backward.positions[k]
            outputs.append(add_zeros(builder, bars[k]) if place is None else found[place])
        outputs += [add(builder, ADD, sums[i], found[backward.positions[i]]) for i in self.sums]
        outputs += [found[backward.positions[i]] for i in self.of_xs]
        order = [*bars.values(), *sums.values(), *fixed.values(), *walked.values()]
        return builder.finish(outputs, backward.graph.name, order)[0]

    def operands(self, ctx: VjpContext, carry_bars: Sequence[Any]) -> list[Any]:
        """What the backward loop begins with and what it reads in each step, without the stacks."""
        inputs = ctx.inputs[1:]
        found = [ctx.zeros(k) if carry_bars[k] is None else carry_bars[k] for k in self.carried]
        for i in self.sums:
            of_value = i in self.taken.values
            found.append(
                self.layer.invariant.zeros(i - self.n_inputs, inputs) if of_value else zeros_of(inputs[i])
            )
        return found + [inputs[i] for i in self.fixed]

    def cotangents(self, ctx: VjpContext, count: Any, op: Loop, results: Sequence[Any]) -> list[Any]:
        """The cotangents of the loop's inputs by the results of the backward loop `op`."""
        out: list[Any] = [None] * len(ctx.inputs)
        of_values: dict[int, Any] = {}
        for place, k in enumerate([*self.carried, *self.sums]):
            if k in self.taken.values:
                of_values[k - self.n_inputs] = results[place]
            else:
                out[k + 1] = results[place]
        if of_values:
            certain = op.steps is not None and at_most(1, op.steps)
            found = self.layer.invariant.pull_back(count, certain, ctx.inputs[1:], of_values)
            for i, bar in found.items():
                out[i + 1] = bar if out[i + 1] is None else bind(ADD, out[i + 1], bar)
        for i, bar in zip(self.of_xs, op.outputs.ys(results), strict=True):
            # A loop without steps does not know the sizes of a slice; those of the stacks that it walks are known.
            fits = is_definite(bar.dims) and bar.dims == ctx.shape(i + 1)
            out[i + 1] = bar if fits else reshape_like(bar, ctx, i + 1)
        return out


def _cotangent_spec(spec: TensorSpec) -> TensorSpec:
    return TensorSpec.of(spec.dims, spec.dtype)


def _slice_spec(spec: TensorSpec, stack: Tensor) -> TensorSpec:
    return spec if spec.dims is not None or stack.dims is None else spec.with_dims(tuple(stack.dims[1:]))
