"""Checks of the operands of ops with sub-graphs in files; traced code satisfies them by construction."""

from __future__ import annotations

from collections.abc import Sequence

from graphad.core.errors import InvalidArgumentError
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.graph.ir import Graph


def require(holds: bool, op: str, reason: str) -> None:
    """Raises: InvalidArgumentError: the condition is false."""
    if not holds:
        raise InvalidArgumentError(f"{op}: {reason}.")


def fit(mine: TensorSpec, theirs: TensorSpec) -> bool:
    """Whether a value may have both specs: both variables or neither, one dtype, no sizes that differ."""
    return (
        mine.dtype is theirs.dtype
        and mine.is_handle == theirs.is_handle
        and are_compatible(mine.dims, theirs.dims)
    )


def require_operands(op: str, graph: Graph, operands: Sequence[TensorSpec], what: str) -> None:
    """Raises: InvalidArgumentError: the operands are not what `graph`, called `what`, takes."""
    require(
        len(graph.inputs) == len(operands),
        op,
        f"{what} takes {len(graph.inputs)} operands, it is given {len(operands)}",
    )
    for i, (mine, theirs) in enumerate(zip(graph.inputs, operands, strict=True)):
        require(fit(mine, theirs), op, f"{what} takes {mine} as operand {i}, it is given {theirs}")


def require_count(op: str, spec: TensorSpec, what: str) -> None:
    """Raises: InvalidArgumentError: a number of steps, or what counts as one, is no integer scalar."""
    if not spec.dtype.is_integer or spec.dims not in ((), None):
        raise InvalidArgumentError(
            f"{op}: {what} has dtype {spec.dtype.name} and shape {format_dims(spec.dims)}; it must be an integer scalar."
        )


def row_of(op: str, stack: TensorSpec) -> TensorSpec:
    """The spec of one row of a stack. Raises: InvalidArgumentError: it has none."""
    require(not stack.is_handle and stack.dims != (), op, f"{stack} has no rows")
    return stack.with_dims(None if stack.dims is None else tuple(stack.dims[1:]))
