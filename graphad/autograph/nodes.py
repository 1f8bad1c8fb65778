"""Walks over syntax trees, and the positions of new nodes.

Contexts and operators hold no nodes and are not visited: with them, a walk over a function takes twice as long.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    Function = ast.FunctionDef | ast.AsyncFunctionDef

    # Statements with what `names.mark_liveness` and `jumps.py` note in them.
    class If(ast.If):
        live_out: set[str]
        weak_out: frozenset[str]

    class While(ast.While):
        live_out: set[str]
        live_head: set[str]
        weak_out: frozenset[str]

    class For(ast.For):
        live_out: set[str]
        live_head: set[str]
        weak_out: frozenset[str]
        extra_test: ast.expr | None  # asked before each step, so that flags end the loop

    class AsyncFor(ast.AsyncFor):
        live_out: set[str]
        live_head: set[str]
        weak_out: frozenset[str]
        extra_test: ast.expr | None

    Loop = For | AsyncFor | While
    Place = ast.Attribute | ast.Subscript
    Node = TypeVar("Node", bound=ast.AST)

SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
# Fields without nodes that are worth a visit.
_PLAIN = frozenset(("ctx", "op", "ops", "id", "attr", "arg", "kind", "type_comment", "simple", "is_async"))


class _Fields(dict[type, tuple[str, ...]]):
    """The fields of each kind of node in which there may be nodes."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        found = self[kind] = tuple([field for field in kind._fields if field not in _PLAIN])
        return found


FIELDS = _Fields({ast.Constant: ()})


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly inside of a node."""
    found: list[ast.AST] = []
    for field in FIELDS[type(node)]:
        held = getattr(node, field, None)
        if type(held) is list:
            found += [item for item in held if isinstance(item, ast.AST)]
        elif isinstance(held, ast.AST):
            found.append(held)
    return found


def walk(node: ast.AST) -> list[ast.AST]:
    """A node and all nodes inside of it."""
    found: list[ast.AST] = [node]
    for one in found:  # which grows meanwhile
        found += children(one)
    return found


def blocks(statement: Any) -> Iterator[list[ast.stmt]]:
    """The lists of statements directly inside of a statement, none for those that begin a scope."""
    if isinstance(statement, SCOPES):
        return
    for field in ("body", "orelse", "finalbody"):
        if held := getattr(statement, field, None):
            yield held
    for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield part.body


def like(node: Node, place: ast.AST) -> Node:
    """Give a new node, and new nodes inside it, the position of another node; the first line if that has several."""
    ast.copy_location(node, place)
    made: Any = node  # only what has a position has these attributes
    if made.end_lineno != made.lineno:
        made.end_lineno, made.end_col_offset = made.lineno, made.col_offset + 1
    for child in children(node):
        _place(child, node)
    return node


def _place(node: Any, parent: Any) -> None:
    """Give the position of `parent` to a node that has none, and to those inside it. What is the user's has its own."""
    if node._attributes:
        if hasattr(node, "lineno"):
            return
        node.lineno, node.col_offset = parent.lineno, parent.col_offset
        node.end_lineno, node.end_col_offset = parent.end_lineno, parent.end_col_offset
        parent = node
    for child in children(node):
        _place(child, parent)
