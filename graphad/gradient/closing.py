"""Closing a graph: its Python rules of custom gradients become graphs, one level deep.

A rule is traced with the values it closes over as extra operands. Then the graph can be differentiated, batched or saved
without its Python objects. This happens when a pullback, a batch or a file first needs it.
"""

from __future__ import annotations

from typing import Any

from graphad.core.errors import FailedPreconditionError, InternalError
from graphad.core.frames import note_user_line
from graphad.core.tensor import EagerTensor, Handle, Tensor
from graphad.graph.builder import GraphBuilder
from graphad.graph.digest import digest
from graphad.graph.ir import Graph, Node, derived_once
from graphad.ops.control.custom import ClosedCustom, ClosedRule, CustomGradient
from graphad.trace.specialise import set_rule_closing
from graphad.trace.tracer import SymbolicTensor, trace_flat
from graphad.vectorize.closing import set_closing


class UnclosedRuleError(Exception):
    """The gradient function of a custom gradient raised an error while it was traced, or uses a value that is computed after its
    call.

    Attributes:
      error: What was raised.
    """

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def closed(graph: Graph) -> Graph:
    """The graph without Python rules; itself if it has none. Raises: whatever a gradient function raises."""
    try:
        return closed_or_refused(graph)
    except UnclosedRuleError as refused:
        error = refused.error
    raise error


def closed_or_refused(graph: Graph) -> Graph:
    """`closed` for callers that can proceed without it. Raises: UnclosedRuleError."""
    if not any(node.op.closes_over for node in graph.nodes):
        return graph
    return derived_once(graph, closed, lambda: _close(graph))  # type: ignore[no-any-return]


set_closing(closed)


def _closed_where_possible(graph: Graph) -> Graph:
    try:
        return closed_or_refused(graph)
    except UnclosedRuleError:  # raised again where the graph is differentiated or batched
        return graph


set_rule_closing(_closed_where_possible)


def _close(graph: Graph) -> Graph:
    builder = GraphBuilder()
    number = {i: builder.add_input(spec) for i, spec in enumerate(graph.inputs)}
    for k, array in enumerate(graph.constants):
        number[len(graph.inputs) + k] = builder.add_constant(array)
    for node in graph.nodes:
        op, inputs = node.op, [number[i] for i in node.inputs]
        if isinstance(op, CustomGradient):
            op, more = _closed_node(node, graph, number, builder)
            inputs += more
        start = builder.add_node(op, inputs, node.specs, node.line)
        number.update((value, start + k) for k, value in enumerate(node.outputs))
    return builder.finish([number[i] for i in graph.outputs], graph.name, keep_all=True)[0]


def _closed_node(
    node: Node, graph: Graph, number: dict[int, int], builder: GraphBuilder
) -> tuple[ClosedCustom, list[int]]:
    op: Any = node.op
    rule = op.rule
    n_outputs = len(node.specs)
    x_specs = [graph.specs[i] for i in op.inputs.xs(node.inputs)]
    positions: list[int] = []

    def run(*bars: Tensor) -> list[Any]:
        x_bars = rule.cotangents(bars, x_specs)
        kept = [bar for bar in x_bars if bar is not None]
        places = iter(range(len(kept)))
        positions.extend(-1 if bar is None else next(places) for bar in x_bars)
        return kept

    try:
        traced = trace_flat(run, node.specs, f"{rule.name}_gradient", keep_all=True, adopted=rule.trace)
    except Exception as error:  # a user's rule may raise anything; the caller decides whether it matters
        note_user_line(error, f"the gradient function of {rule.name}")
        raise UnclosedRuleError(error) from error
    try:
        operands = [_operand(outer, rule, number, builder) for outer in traced.captures]
    except FailedPreconditionError as error:
        raise UnclosedRuleError(error) from error
    # One function may have several closed forms, by dtype or captures; the digest distinguishes them.
    marks = "".join("-" if position < 0 else "+" for position in positions) if -1 in positions else ""
    closed_rule = ClosedRule(
        f"{rule.name}:{digest(traced.graph)[:16]}{marks}", traced.graph, tuple(positions)
    )
    rule.register(closed_rule)
    closed_op = ClosedCustom(closed_rule, op.n_inputs, n_outputs)
    return closed_op, operands


def _operand(outer: object, rule: Any, number: dict[int, int], builder: GraphBuilder) -> int:
    """The operand for a value that the rule closes over."""
    trace = rule.trace
    if type(outer) is EagerTensor:
        known = trace.serial_if_known(outer) if trace is not None else None
        return builder.add_constant(outer.data) if known is None else number[trace.number[known]]
    if trace is None:
        raise InternalError(
            f"closed: the rule {rule.name!r} was made outside of a trace but closes over {outer!r}."
        )
    serial = (
        outer.index
        if type(outer) is SymbolicTensor and outer.trace is trace
        else trace.serial_if_known(outer)
    )
    if serial is None or serial not in trace.number:
        what = (
            f"the variable {getattr(outer, 'name', 'of a generator')!r}"
            if isinstance(outer, Handle)
            else f"{outer!r}"
        )
        raise FailedPreconditionError(
            f"custom_gradient: the gradient function of {rule.name!r} uses {what}, which the function it belongs to "
            "does not. Use it in the function too, or let the gradient function refer to it by a local name."
        )
    operand = number.get(trace.number[serial])
    if operand is None:  # a name of the enclosing function to which a new value was assigned since
        raise FailedPreconditionError(
            f"custom_gradient: the gradient function of {rule.name!r} uses {outer!r}, which is computed after the call it "
            "belongs to. Let the gradient function refer to the value before that by a name that is not assigned again."
        )
    return operand
