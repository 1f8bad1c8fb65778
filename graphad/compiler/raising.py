"""Which nodes of a specialised graph give results whatever their inputs hold, and which may raise."""

from __future__ import annotations

from typing import Any

from graphad.core.dims import UndecidedSize
from graphad.core.op import Op
from graphad.core.shapes import is_definite
from graphad.graph.ir import Graph, Node
from graphad.graph.walk import gives_result
from graphad.kernels import forms
from graphad.trace.numbered import symbols_of


def is_view(op: Op) -> bool:
    """Whether the outputs are parts of the input."""
    return type(op).views is not Op.views and not op.refers


def is_moved(op: Op) -> bool:
    """Whether an op only puts elements elsewhere, where its shapes are definite."""
    return is_view(op) or (type(op).parts_of is not Op.parts_of and not op.refers)


def may_fail(graph: Graph, node: Node) -> bool:
    """Whether an elementwise node has to raise for some operands, which kernels cannot: integers divided by 0."""
    return node.op.refuses is not None and not gives_result(graph, node)


def cannot_raise(graph: Graph, node: Node) -> bool:
    """Whether a node of a specialised graph has no effect and gives results for all values of its inputs, whose sizes fit."""
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
        return not symbols_of(op)  # what it takes of its input may not be there
    form = form_of(graph, node)
    if isinstance(form, forms.View):
        return form.kind != "slice" or not symbols_of(op)
    return gives_result(graph, node)


def form_of(graph: Graph, node: Node) -> Any:
    """The form of a node on definite shapes, None where it has none."""
    if node.op.structured or node.op.multiple or not node.inputs:
        return None
    specs = [graph.specs[i] for i in node.inputs]
    if any(spec.is_handle or not is_definite(spec.dims) for spec in specs):
        return None
    try:
        return node.op.lower(*specs)
    except UndecidedSize:
        return None
