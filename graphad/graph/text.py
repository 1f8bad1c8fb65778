"""The printed form of a graph: one line per node, sub-graphs indented below the node that holds them.

    %2 = reshape(%0, shape=[%1, 3]): float32[None, 3]

Attributes are printed by the schema of the op; defaults are omitted. A size that refers to an input is printed as that value:
%1 is a scalar, %1[0] an entry of a vector, *%1 all entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from graphad.core.op import Op
from graphad.core.references import references
from graphad.core.schema import schema_of
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def print_graph(graph: Graph, lines: bool = False, indent: str = "") -> str:
    """The graph as text; with `lines` the user's source line follows each node."""
    heads = ", ".join(f"%{i}: {print_spec(spec)}" for i, spec in enumerate(graph.inputs))
    out = [f"{indent}{graph.name}({heads}):"]
    for k, array in enumerate(graph.constants):
        out.append(f"{indent}  %{len(graph.inputs) + k} = constant {_constant(array)}")
    for node in graph.nodes:
        left = ", ".join(f"%{i}" for i in node.outputs)
        given = [f"%{i}" for i in node.inputs]
        own = len(given) - _count_given(node.op)
        name, attributes, graphs = _op(node.op, given[own:])
        right = ", ".join(given[:own])
        specs = ", ".join(print_spec(spec) for spec in node.specs)
        joined = ", ".join(part for part in (right, attributes) if part)
        note = f"    # {node.line}" if lines and node.line else ""
        out.append(f"{indent}  {left} = {name}({joined}): {specs}{note}")
        out.extend(print_graph(inner, lines, indent + "    ") for inner in graphs)
    out.append(f"{indent}  return {', '.join(f'%{i}' for i in graph.outputs)}")
    return "\n".join(out)


def print_spec(spec: TensorSpec) -> str:
    """Such as "float32[None, 5]", "float32[...]" for unknown rank, "ref float32[5]" for a handle."""
    dims = "..." if spec.dims is None else ", ".join(str(size) for size in spec.dims)
    return f"{'ref ' if spec.is_handle else ''}{spec.dtype.name}[{dims}]"


def _count_given(op: Op) -> int:
    """How many of the last inputs are printed in attributes."""
    asked = (found[1] for field in op.attributes for found in references(getattr(op, field)))
    return op.given or max(asked, default=0)


def _op(op: Op, given: Sequence[str]) -> tuple[str, str, list[Graph]]:
    """Name, attributes and graphs of an op; `given` are the names of the inputs that its sizes refer to."""
    parts, graphs = [], []
    schema, defaults = schema_of(op.op_class), op.op_class.defaults
    for field, kind in schema.attributes.items():
        value = getattr(op, field)
        if isinstance(value, Graph):
            graphs.append(value)
        elif field not in defaults or value != defaults[field] or type(value) is not type(defaults[field]):
            text = kind.text(value, given)
            parts.append(f"{field}={text if len(text) <= 60 else text[:57] + '...'}")
    return op.name, ", ".join(parts), graphs


def _constant(array: Array) -> str:
    value = np.asarray(array)
    text = np.array2string(value, separator=", ", threshold=8, edgeitems=2).replace("\n", "")
    return f"{text}: {value.dtype.name}{list(value.shape)}"
