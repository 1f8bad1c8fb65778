"""Which nodes of a specialised graph give results whatever their inputs hold, and which may raise."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.dims import UndecidedSize
from graphad.core.op import Op
from graphad.core.shapes import is_definite
from graphad.graph.ir import Graph, Node
from graphad.kernels import forms
from graphad.ops.elementwise import Elementwise
from graphad.trace.numbered import symbols_of


def is_view(op: Op) -> bool:
    """Whether the outputs are parts of the input."""
    return type(op).views is not Op.views and not op.refers


def is_moved(op: Op) -> bool:
    """Whether an op only puts elements elsewhere, where its shapes are definite."""
    return is_view(op) or (type(op).parts_of is not Op.parts_of and not op.refers)


def may_fail(graph: Graph, node: Node) -> bool:
    """Whether an elementwise node has to raise for some operands, which kernels cannot: integers divided by 0."""
    if not node.op.divides or not graph.specs[node.inputs[1]].dtype.is_integer:
        return False
    number = node.inputs[1] - len(graph.inputs)
    return not (0 <= number < len(graph.constants) and np.all(graph.constants[number]))


def cannot_raise(graph: Graph, node: Node) -> bool:
    """Whether a node has no effect and gives results for all values of its inputs: what kernels and copies do, and the like."""
    op = node.op
    if op.effects or op.structured or op.extension or op.transient:
        return False
    specs = [graph.specs[i] for i in node.inputs]
    if any(spec.is_handle for spec in specs) or not all(
        is_definite(spec.dims) for spec in (*specs, *node.specs)
    ):
        return False
    if not specs:
        return True
    if is_moved(op):
        return not symbols_of(op)
    if may_fail(graph, node):
        return False
    form = form_of(graph, node)
    if isinstance(form, forms.View):
        return form.kind != "slice" or not symbols_of(op)
    if isinstance(op, Elementwise) and not any(spec.dtype.is_integer for spec in specs):
        return True
    return isinstance(form, forms.Map | forms.Reduce | forms.Contract)


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
