"""The printed form of a graph: one line per node, sub-graphs indented below the node that holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphad.core.op import Op
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph


def print_graph(graph: Graph, lines: bool = False, indent: str = "") -> str:
    """The graph as text; with `lines` the user's source line follows each node."""
    heads = ", ".join(f"%{i}: {print_spec(spec)}" for i, spec in enumerate(graph.inputs))
    out = [f"{indent}{graph.name}({heads}):"]
    for k, array in enumerate(graph.constants):
        out.append(f"{indent}  %{len(graph.inputs) + k} = constant {_constant(array)}")
    for node in graph.nodes:
        left = ", ".join(f"%{i}" for i in node.outputs)
        right = ", ".join(f"%{i}" for i in node.inputs)
        specs = ", ".join(print_spec(spec) for spec in node.specs)
        name, attributes, graphs = _op(node.op)
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


def _op(op: Op) -> tuple[str, str, list[Graph]]:
    parts, graphs = [], []
    for field in op.attributes:
        value = getattr(op, field)
        if isinstance(value, Graph):
            graphs.append(value)
        else:
            parts.append(f"{field}={_attribute(value)}")
    return op.name, ", ".join(parts), graphs


def _attribute(x: Any) -> str:
    text = str(getattr(x, "name", x)) if not isinstance(x, str) else repr(x)
    return text if len(text) <= 60 else text[:57] + "..."


def _constant(array: Any) -> str:
    value = np.asarray(array)
    text = np.array2string(value, separator=", ", threshold=8, edgeitems=2).replace("\n", "")
    return f"{text}: {value.dtype.name}{list(value.shape)}"
