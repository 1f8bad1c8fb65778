"""The structural key of a graph: equal for equal graphs, in every process.

Names, source lines and object identities do not enter it; op names, versions, attributes, specs and constants do.
"""

from __future__ import annotations

import numpy as np

from graphad.core.dtypes import DType
from graphad.core.op import Op
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph


def digest(graph: Graph) -> str:
    """The sha256 of the graph's canonical text, as 64 hex digits."""
    if graph._digest is None:
        import hashlib  # imported here: it loads a library that eager programs do not need

        hasher = hashlib.sha256()
        for spec in graph.inputs:
            hasher.update(f"i{_spec(spec)};".encode())
        for array in graph.constants:
            value = np.asarray(array)
            hasher.update(f"c{value.dtype.str}{value.shape};".encode())
            hasher.update(value.tobytes())
        for node in graph.nodes:
            hasher.update(f"{op_key(node.op)}{node.inputs}{[_spec(s) for s in node.specs]};".encode())
        hasher.update(f"o{graph.outputs}".encode())
        graph._digest = hasher.hexdigest()
    return graph._digest


def op_key(op: Op) -> str:
    """The op with its attributes as text that is the same in every process."""
    return f"{op.name}.{op.version}({','.join(_attribute(getattr(op, field)) for field in op.attributes)})"


def _attribute(x: object) -> str:
    if isinstance(x, Graph):
        return f"graph:{digest(x)}"
    if isinstance(x, tuple):
        return f"({','.join(_attribute(item) for item in x)},)"
    if isinstance(x, DType):
        return f"dtype:{x.name}"
    if isinstance(x, float):
        return f"float:{x.hex()}"
    key = getattr(x, "digest_key", None)
    return f"{type(x).__name__}:{x!r}" if key is None else f"key:{key}"


def _spec(spec: TensorSpec) -> str:
    return f"{'h' if spec.is_handle else ''}{spec.dtype.name}{spec.dims}"
