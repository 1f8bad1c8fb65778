"""Which scalar functions are plain instructions of a processor, by the kind of their operands.

Kept apart from `lowering`, which prints them, so that a planner can ask without importing a compiler.
"""

from __future__ import annotations

import numpy as np

from graphad.graph.ir import Graph, Node

ALWAYS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "select", "cast", "copy"))
FLOAT = frozenset(
    (
        "add",
        "sub",
        "mul",
        "div",
        "floordiv",
        "neg",
        "abs",
        "sign",
        "square",
        "reciprocal",
        "sqrt",
        "rsqrt",
        "complement",
        "floor",
        "ceil",
        "round",
        "trunc",
        "maximum",
        "minimum",
        "isnan",
        "isinf",
        "isfinite",
    )
)
INTEGER = frozenset(
    (
        "add",
        "sub",
        "mul",
        "floordiv",
        "mod",
        "neg",
        "abs",
        "sign",
        "square",
        "maximum",
        "minimum",
        "and",
        "or",
        "xor",
        "not",
        "shl",
        "shr",
    )
)
BOOL = frozenset(("add", "mul", "abs", "maximum", "minimum", "and", "or", "xor", "not"))


def has_plain(fn: str, code: str) -> bool:
    """Whether a scalar function on operands of this code is made of plain instructions."""
    if fn in ALWAYS:
        return True
    if code == "b1":
        return fn in BOOL
    return fn in (FLOAT if code[0] in "fb" else INTEGER)


def may_fail(graph: Graph, node: Node) -> bool:
    """Whether an elementwise node has to raise for some operands, which kernels cannot: integers divided by 0."""
    if node.op.name not in ("floordiv", "mod") or not graph.specs[node.inputs[1]].dtype.is_integer:
        return False
    number = node.inputs[1] - len(graph.inputs)
    return not (0 <= number < len(graph.constants) and np.all(graph.constants[number]))
