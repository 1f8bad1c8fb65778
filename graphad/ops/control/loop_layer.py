"""The derivative of a loop: residuals are stacked step by step, and the backward loop walks them in reverse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

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
        loop: Any = self.op
        specs, made = self.pullback.forward.inputs, loop.body.output_specs
        # Invariant values follow the body's operands; residuals and stacked carries follow its results.
        n_inputs, shown = loop.operands.total, self.base.results
        taken = Segments(
            carries=loop.n_carry, invariants=loop.n_invariant, xs=loop.n_xs, values=len(specs) - n_inputs
        )
        n_residuals = len(made) - shown.total - len(self.stacked)
        gives = Segments(
            carries=loop.n_carry, ys=len(shown.ys), residuals=n_residuals, stacked=len(self.stacked)
        )
        added = [*taken.invariants, *taken.values]
        sums = [i for i in added if backward.positions[i] is not None]
        of_xs = [i for i in taken.xs if backward.positions[i] is not None]
        if not carried and not sums and not of_xs:
            return [None] * len(ctx.inputs)
        values = [i - n_inputs for i in backward.inputs if i in taken.values]
        first, read = self.invariant.values(values) if values else (None, [])
        fixed = sorted({*[i for i in backward.inputs if i in taken.invariants], *read})
        # The stacks: carries before each step, xs, residuals, cotangents of ys.
        stacks: list[tuple[Any, Any, TensorSpec]] = []
        for i in backward.inputs:
            if i in taken.carries:
                place = gives.stacked[self.stacked.index(i)]
                stacks.append((("x", i), ctx.outputs[place + 1], specs[i]))
            elif i in taken.xs:
                stacks.append((("x", i), ctx.inputs[i + 1], specs[i]))
        for i in backward.residuals:
            stacks.append((("r", i), ctx.outputs[i + 1], made[i]))
        for k, has in enumerate(gives.ys(given)):
            if has:
                stacks.append((("y", k), y_bars[k], _slice_spec(made[gives.ys[k]], y_bars[k])))
        builder = GraphBuilder()
        bar_inputs = {k: builder.add_input(_cotangent_spec(specs[k])) for k in carried}
        sum_inputs = {i: builder.add_input(_cotangent_spec(specs[i])) for i in sums}
        fixed_inputs = {i: builder.add_input(specs[i]) for i in fixed}
        stack_inputs = {key: builder.add_input(spec) for key, _, spec in stacks}
        known = {**fixed_inputs, **{i: stack for (kind, i), stack in stack_inputs.items() if kind == "x"}}
        if first is not None:
            found = append(builder, first, [fixed_inputs[i] for i in read])
            known.update((n_inputs + k, value) for k, value in zip(values, found, strict=True))
        sources = [known[i] for i in backward.inputs]
        sources += [stack_inputs["r", r] for r in backward.residuals]
        sources += [bar_inputs[k] for k in taken.carries if given[k]]
        sources += [stack_inputs["y", k] for k, has in enumerate(gives.ys(given)) if has]
        found = append(builder, backward.graph, sources)
        outputs = []
        for k in carried:
            place = backward.positions[k]
            outputs.append(add_zeros(builder, bar_inputs[k]) if place is None else found[place])
        outputs += [add(builder, ADD, sum_inputs[i], found[backward.positions[i]]) for i in sums]
        outputs += [found[backward.positions[i]] for i in of_xs]
        order = [*bar_inputs.values(), *sum_inputs.values(), *fixed_inputs.values(), *stack_inputs.values()]
        body, _ = builder.finish(outputs, backward.graph.name, order)
        steps = loop.steps if loop.test is None else None
        op = loop.changed(
            test=None,
            body=body,
            n_carry=len(carried) + len(sums),
            n_invariant=len(fixed),
            n_xs=len(stacks),
            reverse=not loop.reverse,
            steps=steps,
            uniform=0,
        )
        inputs = ctx.inputs[1:]
        operands = [ctx.zeros(k) if carry_bars[k] is None else carry_bars[k] for k in carried]
        operands += [
            zeros_of(inputs[i]) if i not in taken.values else self.invariant.zeros(i - n_inputs, inputs)
            for i in sums
        ]
        operands += [inputs[i] for i in fixed]
        operands += [stack for _, stack, _ in stacks]
        (count,) = loop.outputs.count(ctx.outputs)
        results = bind(op, count, *operands)
        out: list[Any] = [None] * len(ctx.inputs)
        of_values: dict[int, Any] = {}
        for place, k in enumerate([*carried, *sums]):
            if k not in taken.values:
                out[k + 1] = results[place]
            else:
                of_values[k - n_inputs] = results[place]
        if of_values:
            certain = steps is not None and at_most(1, steps)
            for i, bar in self.invariant.pull_back(count, certain, inputs, of_values).items():
                out[i + 1] = bar if out[i + 1] is None else bind(ADD, out[i + 1], bar)
        for i, bar in zip(of_xs, op.outputs.ys(results), strict=True):
            # A loop without steps does not know the sizes of a slice; those of the stacks that it walks are known.
            fits = is_definite(bar.dims) and bar.dims == ctx.shape(i + 1)
            out[i + 1] = bar if fits else reshape_like(bar, ctx, i + 1)
        return out


def _cotangent_spec(spec: TensorSpec) -> TensorSpec:
    return TensorSpec.of(spec.dims, spec.dtype)


def _slice_spec(spec: TensorSpec, stack: Tensor) -> TensorSpec:
    return spec if spec.dims is not None or stack.dims is None else spec.with_dims(tuple(stack.dims[1:]))
