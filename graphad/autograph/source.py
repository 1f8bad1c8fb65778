"""From a function object to its syntax tree: the whole file is parsed once, and the function found by its place in it."""

from __future__ import annotations

import ast
import linecache
from types import CodeType, FunctionType
from typing import Any


class NoSourceError(Exception):
    """The syntax tree of a function cannot be had; the message says why."""


class Found:
    """A function in its file.

    Attributes:
      node: FunctionDef, AsyncFunctionDef or Lambda; it belongs to the file's tree and must not be changed.
      owner: The name of the class around it, which decides what `__name` stands for; None outside of classes.
    """

    __slots__ = ("node", "owner")

    def __init__(self, node: ast.AST, owner: str | None) -> None:
        self.node = node
        self.owner = owner


_files: dict[str, tuple[str, dict[int, list[Found]]]] = {}


def find(function: FunctionType) -> Found:
    """The syntax tree of a function. Raises: NoSourceError."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename, function.__globals__))
    if not text:
        raise NoSourceError(f"the source of {code.co_filename} is not available")
    known = _files.get(code.co_filename)
    if known is None or known[0] != text:
        try:
            tree = ast.parse(text, code.co_filename)
        except (SyntaxError, ValueError, RecursionError) as cause:
            raise NoSourceError(f"{code.co_filename} cannot be parsed: {cause}") from cause
        known = _files[code.co_filename] = text, _index(tree)
    fitting = [found for found in known[1].get(code.co_firstlineno, ()) if _fits(found.node, code)]
    if not fitting:
        raise NoSourceError(f"{code.co_filename} has changed since {code.co_name} was imported from it")
    return min(fitting, key=lambda found: _extent(found.node))


def _index(tree: ast.Module) -> dict[int, list[Found]]:
    """All functions of a file by their first line."""
    found: dict[int, list[Found]] = {}
    waiting: list[tuple[ast.AST, str | None]] = [(tree, None)]
    while waiting:
        node, owner = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            first = node.lineno
            if not isinstance(node, ast.Lambda) and node.decorator_list:
                first = node.decorator_list[0].lineno
            found.setdefault(first, []).append(Found(node, owner))
        inside = node.name if isinstance(node, ast.ClassDef) else owner
        waiting += [(child, inside) for child in ast.iter_child_nodes(node)]
    return found


def _fits(node: Any, code: CodeType) -> bool:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    if name != code.co_name:
        return False
    args = node.args
    named = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    named += [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    plain = [name for name in code.co_varnames[: len(named)] if not name.startswith("_")]
    if plain != [name for name in named if not name.startswith("_")]:  # names with underscores may be mangled
        return False
    places = [place for place in code.co_positions() if None not in place]
    start, end = (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)
    if isinstance(node, ast.Lambda):
        start, end = (
            (node.body.lineno, node.body.col_offset),
            (node.body.end_lineno, node.body.end_col_offset),
        )
        places = [p for p in places if p[2] != p[3]]  # what belongs to the lambda as such has no extent
    elif node.decorator_list:
        start = (node.decorator_list[0].lineno, 0)
    return all((p[0], p[2]) >= start and (p[1], p[3]) <= end for p in places if p[2] is not None and p[3])


def _extent(node: Any) -> tuple[int, int]:
    lines = node.end_lineno - node.lineno
    return lines, node.end_col_offset - node.col_offset if not lines else node.end_col_offset
