"""Type guards for ops with branches and loops, so that type checkers know their attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from graphad.core.op import Op
    from graphad.graph.ir import Node
    from graphad.ops.control.cond import Cond
    from graphad.ops.control.loop import Loop


def loops(kind: type[Op]) -> TypeGuard[type[Loop]]:
    """Whether a class of ops is that of loops; see `repeats` of `Op`."""
    return kind.repeats


def branches(kind: type[Op]) -> TypeGuard[type[Cond]]:
    """Whether a class of ops is that of branches; see `branches` of `Op`."""
    return kind.branches


def is_loop(node: Node) -> TypeGuard[Node[Loop]]:
    """Whether a node is a loop."""
    return node.op.repeats


def is_branch(node: Node) -> TypeGuard[Node[Cond]]:
    """Whether a node runs one of two graphs."""
    return node.op.branches
