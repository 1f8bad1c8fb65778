"""Which nodes of a specialised graph have results for all values of their inputs, and which may raise."""

from __future__ import annotations

from graphad.core.dims import UndecidedSize
from graphad.core.op import Op
from graphad.core.shapes import is_definite
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import gives_result
from graphad.kernels import forms
from graphad.trace.numbered import symbols_of


def is_view(op: Op) -> bool:
    """Whether the outputs are views of the input."""
    return type(op).views is not Op.views and not op.refers


def is_moved(op: Op) -> bool:
    """Whether an op on definite shapes only moves elements."""
    return is_view(op) or (type(op).parts_of is not Op.parts_of and not op.refers)


def may_fail(graph: Graph, node: Node) -> bool:
    """Whether an elementwise node must raise for some operands, such as integers divided by 0; kernels cannot raise."""
    return node.op.refuses is not None and not gives_result(graph, node)


def cannot_raise(graph: Graph, node: Node) -> bool:
    """Whether a node of a specialised graph has no effect, and a result for all values of its inputs."""
    op = node.op
    if op.effects or op.structured or op.extension or op.transient:
        return False
    if not all(is_definite(graph.specs[i].dims) for i in node.inputs):
        return False
    if not all(is_definite(spec.dims) for spec in node.specs):
        return False
    if not node.inputs:
        return True
    if is_moved(op):
        return not symbols_of(op)  # the slice that it takes may be out of range
    form = form_of(graph, node)
    if isinstance(form, forms.View):
        return form.kind != "slice" or not symbols_of(op)
    return gives_result(graph, node)


def form_of(graph: Graph, node: Node) -> forms.Form | None:
    """The form of a node on definite shapes, None if it has none."""
    if node.op.structured or node.op.multiple or not node.inputs:
        return None
    specs = [graph.specs[i] for i in node.inputs]
    if any(spec.is_handle or not is_definite(spec.dims) for spec in specs):
        return None
    try:
        return node.op.lower(*specs)
    except UndecidedSize:
        return None
