"""Small branches are both computed and one result is selected, so that a loop around them can be compiled.

before:  %2 = cond(%0, %1), then: %1 = exp(x);  return %1, else: %1 = neg(x);  return %1
after:   %2 = exp(%1);  %3 = neg(%1);  %4 = select(%0, %2, %3);  return %4

Only branches without effects that cannot raise and cost less than the decision. Since this runs after all differentiation, the
branch that is not selected does not influence a result. A residual that only one branch has is read only if that branch was
selected.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from graphad.compiler.passes.canonical import same_dims
from graphad.compiler.passes.rewrite import RuleTable, Sweep
from graphad.compiler.raising import cannot_raise, form_of
from graphad.core.dims import product
from graphad.core.shapes import are_numbers, is_definite
from graphad.graph.ir import Graph, Node
from graphad.kernels import forms
from graphad.ops.control.kinds import branches, is_branch
from graphad.ops.math.select import SELECT

if TYPE_CHECKING:
    from graphad.core.spec import TensorSpec
    from graphad.ops.control.cond import Cond


TABLE = RuleTable()
ELEMENTS = 128  # the most elements that both branches together compute


@TABLE.rewrite(branches)
def both_branches(s: Sweep, node: Node[Cond]) -> list[int] | None:
    """Both branches inlined, and a select for each result that both have."""
    op = node.op
    if op.depth:
        return None
    graphs = op.then_graph, op.else_graph
    costs = [cost(graph) for graph in graphs]
    if any(c is None for c in costs) or sum(costs) > ELEMENTS:  # type: ignore[arg-type]
        return None
    for mine, theirs in zip(*_by_output(op), strict=True):
        if mine is not None and theirs is not None:
            if (
                not same_dims(mine.dims, theirs.dims)
                or mine.dtype is not theirs.dtype
                or not is_definite(mine.dims)
            ):
                return None
    (predicate,), operands = op.inputs.predicate(node.inputs), op.passed(node.inputs)
    then_values, else_values = (iter(inlined(s, graph, operands)) for graph in graphs)
    out = []
    for kind in op.kinds:
        if kind == "then":
            out.append(next(then_values))
        elif kind == "else":
            out.append(next(else_values))
        else:
            a, b = next(then_values), next(else_values)
            out.append(a if a == b else s.bind(SELECT, predicate, a, b))
    return out


def _by_output(op: Cond) -> tuple[list[TensorSpec | None], list[TensorSpec | None]]:
    """The spec of each output in either branch, None if a branch does not have it."""
    specs = iter(op.then_graph.output_specs), iter(op.else_graph.output_specs)
    return (
        [None if kind == "else" else next(specs[0]) for kind in op.kinds],
        [None if kind == "then" else next(specs[1]) for kind in op.kinds],
    )


def cost(graph: Graph) -> int | None:
    """The number of elements that the graph computes, inner branches included; None if it must run only when selected."""
    total = 0
    for node in graph.nodes:
        if is_branch(node):
            op = node.op
            inner = [cost(op.then_graph), cost(op.else_graph)]
            if op.depth or None in inner:
                return None
            total += sum(inner) + len(op.kinds)  # type: ignore[arg-type]
            continue
        if not cannot_raise(graph, node) or not isinstance(form_of(graph, node), forms.Map | forms.View):
            return None
        sizes = [product(spec.dims) for spec in node.specs]
        if not are_numbers(sizes):
            return None
        total += sum(sizes)
    return total


def inlined(s: Sweep, graph: Graph, inputs: Sequence[int]) -> list[int]:
    """The outputs of an inlined graph."""
    known = [*inputs, *[s.constant(array) for array in graph.constants]]
    for node in graph.nodes:
        known += s.add(node.op, [known[i] for i in node.inputs], node.specs, node.line)
    return [known[i] for i in graph.outputs]
