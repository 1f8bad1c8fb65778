"""The scalar functions that are plain processor instructions, by the kind of their operands.

Separate from `lowering`, which prints them, so that planning needs no compiler.
"""

from __future__ import annotations

from graphad.compiler.source import code_of
from graphad.kernels.forms import Map, Statement

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
        "mulhigh",
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


def is_instruction(body: Map, statement: Statement) -> bool:
    """Whether a statement of a map is made of plain instructions."""
    operand = body.dtype_of(statement.args[1 if statement.fn == "select" else 0])
    return has_plain(statement.fn, code_of(operand))
