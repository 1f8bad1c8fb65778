"""Ops of custom gradients: with a Python rule, and with a rule that is a graph.

The forward computation is recorded as usual; these ops only give its results new marks. So values that a rule closes over are
differentiable, and custom gradients nest and can be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Literal

from graphad.core.annotations import (
    Array,
    BatchContext,
    Cotangents,
    Ranked,
    RowAxes,
    RowAxis,
    Rows,
    VjpContext,
)
from graphad.core.bind import bind
from graphad.core.errors import MissingGradientError
from graphad.core.op import MIXED, Op, TupleOp, define, no_rows
from graphad.core.schema import Count, Kind, Text, declare
from graphad.core.spec import HandleSpec, TensorSpec
from graphad.core.tensor import Tensor
from graphad.graph.ir import Graph
from graphad.ops.array.support import same_row
from graphad.ops.control.call import Call
from graphad.ops.control.operands import require, require_operands
from graphad.ops.control.rows import rows_of
from graphad.ops.control.segments import Segments

PythonRule = Any  # a `Rule` of `gradient/custom.py`, which is on a higher floor
declare(Kind("PythonRule", lambda x: callable(getattr(x, "cotangents", None)), words="rule"))
declare(Kind("ClosedRule", lambda x: isinstance(x, ClosedRule), words="rule"))


@lru_cache(256)
def _places(n_inputs: int) -> Segments:
    return Segments(xs=n_inputs, ys=None)


@lru_cache(256)
def _closed_places(n_inputs: int, n_outputs: int) -> Segments:
    return Segments(xs=n_inputs, ys=n_outputs, closed=None)


@define
class CustomGradient(TupleOp):
    """(x..., y...) -> y, with the cotangents of x given by a Python rule.

    `rule` is a `graphad.gradient.custom.Rule`; `n_inputs` says how many inputs are x.
    """

    name = "custom_gradient"
    closes_over = True
    hands_on = True
    live = True
    transient = True
    extension = True
    foreign = True
    keeps = (True, True)
    rule: PythonRule
    n_inputs: Count

    @property
    def inputs(self) -> Segments:
        """The segments of the op's inputs."""
        return _places(self.n_inputs)

    def infer(self, *specs: TensorSpec | HandleSpec) -> tuple[TensorSpec, ...]:
        return tuple(self.inputs.ys(specs))

    def eval(self, *values: Array) -> tuple[Array, ...]:
        return tuple(self.inputs.ys(values))

    rows = no_rows("a rule in Python may do anything with the rows")

    def value_rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> tuple[RowAxis, ...]:
        return tuple(self.inputs.ys(axes))

    def vjp(self, ctx: VjpContext, *y_bars: Tensor | None) -> Cotangents:
        bars = [ctx.zeros(k) if bar is None else bar for k, bar in enumerate(y_bars)]
        return [*self.rule.cotangents(bars, self.inputs.xs(ctx.inputs)), *[None] * len(y_bars)]

    def batch(self, ctx: BatchContext, *xs: Ranked) -> tuple[Tensor, ...]:
        rule = self.rule.stacked(ctx, self.inputs)
        outputs = bind(CustomGradient(rule, self.n_inputs), *xs)
        stacked = [ctx.stacked(self.inputs.ys[k]) for k in range(len(outputs))]
        return tuple(y if s else ctx.unstacked(y) for y, s in zip(outputs, stacked, strict=True))


class ClosedRule:
    """A gradient function as a graph of (y cotangents..., closed values...).

    Attributes:
      name: The function's name and the digest of the graph: the key under which files and processes know the rule.
      positions: For each x the output of `graph` that is its cotangent, or -1.
      graph: None only while a file is read, since rules may refer to each other in cycles. A function instead of a graph is
      called at first use and returns the graph, so that a rule that uses itself can be batched.
    """

    __slots__ = ("__weakref__", "_graph", "name", "positions")
    _graph: Any

    def __init__(
        self, name: str, graph: Graph | Callable[[], Graph] | None, positions: tuple[int, ...]
    ) -> None:
        self.name = name
        self.graph = graph
        self.positions = positions

    @property
    def graph(self) -> Any:
        if callable(self._graph):
            self._graph = self._graph()
        return self._graph

    @graph.setter
    def graph(self, graph: Graph | Callable[[], Graph] | None) -> None:
        self._graph = graph

    @property
    def digest_key(self) -> str:
        return f"rule:{self.name}"

    def check_use(self, op: ClosedCustom, specs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> None:
        """Check a use of the rule in a file; its graph has been read. Raises: InvalidArgumentError: the rule does not fit the
        node."""
        graph, what = self.graph, f"the rule {self.name!r}"
        assert graph is not None
        require(len(self.positions) == op.n_inputs, op.name, f"{what} has gradients for other inputs")
        given = sum(position >= 0 for position in self.positions)
        require(
            given == len(graph.outputs),
            op.name,
            f"{what} gives {len(graph.outputs)} gradients for {given} inputs",
        )
        require_operands(op.name, graph, [*outputs, *op.inputs.closed(specs)], what)


class _PassesOutputs(TupleOp):
    """The forward half of an op that was read from a file: its inputs are (x..., y..., closed...), its outputs y."""

    @property
    def inputs(self) -> Segments:
        """The segments of the op's inputs. Its own classes have these attributes, behind the rule."""
        op: Any = self
        return _closed_places(op.n_inputs, op.n_outputs)

    def infer(self, *specs: TensorSpec | HandleSpec) -> tuple[TensorSpec, ...]:
        return tuple(self.inputs.ys(specs))

    def check_operands(self, specs: Sequence[TensorSpec]) -> None:
        places = self.inputs
        require(
            places.total <= len(specs), self.name, f"it takes {places.total} inputs, there are {len(specs)}"
        )
        shown = places.ys(specs)
        require(not any(spec.is_handle for spec in shown), self.name, "a variable is not an output")

    def eval(self, *values: Array) -> tuple[Array, ...]:
        return tuple(self.inputs.ys(values))

    def value_rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> tuple[RowAxis, ...]:
        return tuple(self.inputs.ys(axes))


@define
class ClosedCustom(_PassesOutputs):
    """(x..., y..., closed...) -> y, with the cotangents of x given by `rule`; see "Ops that hold graphs" in OPS.md."""

    name = "closed_custom"
    hands_on = True
    known_as = "custom_gradient"
    transient = True
    foreign = True
    keeps = (True, True)
    rule: ClosedRule
    n_inputs: Count
    n_outputs: Count

    def vjp(self, ctx: VjpContext, *y_bars: Tensor) -> Cotangents:
        bars = [ctx.zeros(k) if bar is None else bar for k, bar in enumerate(y_bars)]
        graph = self.rule.graph
        x_bars = bind(Call(graph), *bars, *self.inputs.closed(ctx.inputs)) if graph.outputs else ()
        rest = [None] * (len(ctx.inputs) - self.n_inputs)
        return [*[None if k < 0 else x_bars[k] for k in self.rule.positions], *rest]

    def batch(self, ctx: BatchContext, *xs: Ranked) -> tuple[Tensor, ...]:
        places = self.inputs
        closed = places.closed(xs)
        stacked = [True] * self.n_outputs + [ctx.stacked(places.closed[k]) for k in range(len(closed))]
        graph = ctx.batched_later(self.rule.graph, stacked)
        rule = ClosedRule(f"{self.rule.name}/rows", graph, self.rule.positions)
        of_rows = [xs[i] if ctx.stacked(i) else ctx.stack(xs[i]) for i in (*places.xs, *places.ys)]
        return bind(ClosedCustom(rule, self.n_inputs, self.n_outputs), *of_rows, *closed)

    def rows(self, specs: Sequence[TensorSpec], axes: Sequence[RowAxis]) -> Rows:
        """Determined by the rule: the cotangent of x has the row axis of x, if the cotangents of y have that of y."""
        places = self.inputs
        found = same_row(places.xs(axes))
        if not isinstance(found, int):
            return (found,) * self.n_outputs
        y_axes: list[RowAxis] = [found if axis is None or axis == MIXED else axis for axis in places.ys(axes)]
        taken = [*places.ys(specs), *places.closed(specs)]
        x_axes = rows_of(self.rule.graph, [*y_axes, *places.closed(axes)], taken, by_value=True)
        for place, axis in zip(self.rule.positions, places.xs(axes), strict=True):
            if place >= 0 and axis is not None and x_axes[place] not in (None, axis):
                return MIXED
        return tuple(y_axes)


@define
class UnsavedCustom(_PassesOutputs):
    """(x..., y..., closed...) -> y, from a file without its custom gradients; only the rule's name is known."""

    name = "unsaved_custom"
    hands_on = True
    known_as = "custom_gradient"
    live = True
    structured = True
    layered = True
    foreign = True
    keeps = (True, True)
    rule_name: Text
    n_inputs: Count
    n_outputs: Count | Literal[-1]  # as many as the node has

    rows = no_rows("its rule is not in the file")

    def augmented(self, transforms: object, needs: Sequence[bool]) -> Op:
        raise missing_rule(self.rule_name)

    def vjp(self, ctx: VjpContext, *y_bars: Tensor) -> Cotangents:
        raise missing_rule(self.rule_name)

    def batch(self, ctx: BatchContext, *xs: Ranked) -> tuple[Tensor, ...]:
        outputs = bind(self, *xs)
        return tuple(y if ctx.stacked(self.inputs.ys[k]) else ctx.unstacked(y) for k, y in enumerate(outputs))


def missing_rule(rule_name: str) -> MissingGradientError:
    """The error under a tape for a custom gradient that was not saved."""
    return MissingGradientError(
        f"No gradient defined for operation 'IdentityN' (op type: IdentityN): the custom gradient {rule_name!r} was not "
        "saved with the model, and this process has not saved it. Save the model with "
        "SaveOptions(experimental_custom_gradients=True). See also RegisterGradient."
    )
