"""The derivative of a loop: residuals are stacked step by step, and the loop that pulls back walks along them the other way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.bind import bind
from graphad.core.dims import at_most
from graphad.core.shapes import is_definite
from graphad.core.spec import TensorSpec
from graphad.graph.builder import GraphBuilder
from graphad.graph.compose import add, append
from graphad.ops.array.shape import reshape_like
from graphad.ops.control.layers import Layer, add_zeros, zeros_for
from graphad.ops.math.arithmetic import ADD


class LoopLayer(Layer):
    """The residuals of each step, and some carries before each step.

    Attributes:
      pullback: That of the body of `base`, or of what is left of it.
      stacked: The carries that are stacked, behind the residuals.
      invariant: What stands apart in the derivative, see `invariant.Apart`; None for nothing.
    """

    __slots__ = ("invariant", "pullback", "stacked")
    first = 1

    def __init__(self, op: Any, base: Any, pullback: Any, stacked: Sequence[int], invariant: Any) -> None:
        super().__init__(op, base)
        self.pullback = pullback
        self.stacked = stacked
        self.invariant = invariant

    @property
    def needs(self) -> Sequence[bool]:
        return self.pullback.needs  # type: ignore[no-any-return]

    def of_outputs(self, ctx: Any, y_bars: list[Any]) -> Sequence[Any]:
        n = self.op.n_carry
        carry_bars, stack_bars = y_bars[:n], y_bars[n + 1 :]
        backward, given, carried = self._chosen(carry_bars, stack_bars)
        for k, has in enumerate(given[n:]):
            if has and stack_bars[k] is None:
                stack_bars[k] = ctx.zeros(n + 1 + k)
        return self._pull_back(ctx, backward, given, carried, carry_bars, stack_bars)

    def _chosen(self, carry_bars: Sequence[Any], y_bars: Sequence[Any]) -> tuple[Any, list[bool], list[int]]:
        """The backward graph of a step, the cotangents it takes, and the carries whose cotangents the loop carries."""
        n, pullback = self.op.n_carry, self.pullback
        of_ys = [bar is not None and d for bar, d in zip(y_bars, pullback.differentiable[n:], strict=True)]
        carried = {k for k, bar in enumerate(carry_bars) if bar is not None and pullback.needs[k]}
        while True:
            given = [k in carried and pullback.differentiable[k] for k in range(n)] + of_ys
            backward = pullback.backward(given)
            if backward is None or any(i < n and i not in self.stacked for i in backward.inputs):
                of_ys = list(pullback.differentiable[n:])
                given = list(pullback.differentiable)
                backward = pullback.backward(given)
                carried |= {k for k in range(n) if pullback.differentiable[k]}
            more = carried | {k for k in range(n) if backward.positions[k] is not None}
            if more == carried:
                return backward, given, sorted(carried)
            carried = more

    def _pull_back(
        self,
        ctx: Any,
        backward: Any,
        given: Sequence[bool],
        carried: Sequence[int],
        carry_bars: Sequence[Any],
        y_bars: Sequence[Any],
    ) -> Sequence[Any]:
        loop: Any = self.op
        n, last = loop.n_carry, loop.n_carry + loop.n_invariant
        n_inputs, specs = last + loop.n_xs, self.pullback.forward.inputs
        # Values that never change stand behind the inputs.
        added = [*range(n, last), *range(n_inputs, len(specs))]
        sums = [i for i in added if backward.positions[i] is not None]
        of_xs = [i for i in range(last, n_inputs) if backward.positions[i] is not None]
        if not carried and not sums and not of_xs:
            return [None] * len(ctx.inputs)
        values = [i - n_inputs for i in backward.inputs if i >= n_inputs]
        first, read = self.invariant.values(values) if values else (None, [])
        fixed = sorted({*[i for i in backward.inputs if n <= i < last], *read})
        # What comes as stacks: carries before each step, xs, residuals, cotangents of ys.
        first_residual = self.base.n_outputs - 1
        n_residuals = len(loop.body.outputs) - len(self.stacked) - first_residual
        stacks: list[tuple[Any, Any, TensorSpec]] = []
        for i in backward.inputs:
            if i < n:
                place = first_residual + n_residuals + self.stacked.index(i)
                stacks.append((("x", i), ctx.outputs[place + 1], specs[i]))
            elif last <= i < n_inputs:
                stacks.append((("x", i), ctx.inputs[i + 1], specs[i]))
        made = loop.body.output_specs
        for r in backward.residuals:
            stacks.append((("r", r), ctx.outputs[r + 1], made[r]))
        for k, has in enumerate(given[n:]):
            if has:
                stacks.append((("y", k), y_bars[k], _slice_spec(made[n + k], y_bars[k])))
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
        sources += [bar_inputs[k] for k in range(n) if given[k]]
        sources += [stack_inputs["y", k] for k, has in enumerate(given[n:]) if has]
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
        op = type(loop)(
            None, body, len(carried) + len(sums), len(fixed), len(stacks), not loop.reverse, steps, 0
        )
        inputs = ctx.inputs[1:]
        operands = [ctx.zeros(k) if carry_bars[k] is None else carry_bars[k] for k in carried]
        operands += [
            zeros_for(inputs[i]) if i < n_inputs else self.invariant.zeros(i - n_inputs, inputs) for i in sums
        ]
        operands += [inputs[i] for i in fixed]
        operands += [stack for _, stack, _ in stacks]
        results = bind(op, ctx.outputs[n], *operands)
        out: list[Any] = [None] * len(ctx.inputs)
        of_values: dict[int, Any] = {}
        for place, k in enumerate([*carried, *sums]):
            if k < n_inputs:
                out[k + 1] = results[place]
            else:
                of_values[k - n_inputs] = results[place]
        if of_values:
            certain = steps is not None and at_most(1, steps)
            for i, bar in self.invariant.pull_back(ctx.outputs[n], certain, inputs, of_values).items():
                out[i + 1] = bar if out[i + 1] is None else bind(ADD, out[i + 1], bar)
        for place, i in enumerate(of_xs, len(carried) + len(sums) + 1):
            bar = results[place]
            # A loop that took no step does not know the sizes of a slice; those of what it walked along are known.
            fits = is_definite(bar.dims) and bar.dims == ctx.shape(i + 1)
            out[i + 1] = bar if fits else reshape_like(bar, ctx, i + 1)
        return out


def _cotangent_spec(spec: TensorSpec) -> TensorSpec:
    return TensorSpec.of(spec.dims, spec.dtype)


def _slice_spec(spec: TensorSpec, stack: Any) -> TensorSpec:
    return spec if spec.dims is not None or stack.dims is None else spec.with_dims(tuple(stack.dims[1:]))
