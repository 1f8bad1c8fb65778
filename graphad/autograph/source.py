"""From a function object to its syntax tree, found by its place in the file.

The lines of a `def` are parsed alone, which in a long file saves most of the work. What does not fit the code object then, and
lambdas, are looked for in the tree of the whole file.
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Iterator, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphad.autograph.nodes import Function


class NoSourceError(Exception):
    """The syntax tree of a function is not available; the message says why."""


class Found:
    """A function in its file.

    Attributes:
      node: FunctionDef, AsyncFunctionDef or Lambda; whoever asked for it may change it.
      owner: The name of the class around it, which decides what `__name` stands for; None outside of classes.
    """

    __slots__ = ("node", "owner")

    def __init__(self, node: Function | ast.Lambda, owner: str | None) -> None:
        self.node = node
        self.owner = owner


_files: dict[str, tuple[str, ast.Module]] = {}


def find(function: FunctionType) -> Found:
    """The syntax tree of a function. Raises: NoSourceError."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__) or _typed(function)
    if not lines:
        raise NoSourceError(f"the source of {code.co_filename} is not available")
    return _alone(lines, code) or _in_file("".join(lines), code)


def _typed(function: FunctionType) -> list[str]:
    """The lines that were typed into the interpreter, which keeps them from Python 3.13 on."""
    import inspect

    try:
        return inspect.findsource(function)[0]
    except (OSError, TypeError):
        return []


def _in_file(text: str, code: CodeType) -> Found:
    """A function of a file that is parsed as a whole."""
    known = _files.get(code.co_filename)
    if known is None or known[0] != text:
        try:
            tree = ast.parse(text, code.co_filename)
        except (SyntaxError, ValueError, RecursionError) as cause:
            raise NoSourceError(f"{code.co_filename} cannot be parsed: {cause}") from cause
        known = _files[code.co_filename] = text, tree
    fitting = _fitting(known[1], code)
    if not fitting:
        raise NoSourceError(f"{code.co_filename} has changed since {code.co_name} was imported from it")
    found = min(fitting, key=lambda found: _extent(found.node))
    return Found(copy.deepcopy(found.node), found.owner)  # the tree of the file stays as it is


def _alone(lines: Sequence[str], code: CodeType) -> Found | None:
    """A function of which only its own lines are parsed; None where that does not give the code's function for sure."""
    first, name = code.co_firstlineno, code.co_qualname
    head = lines[first - 1] if first <= len(lines) else ""
    rest = head.lstrip(" \t")
    indent = head[: len(head) - len(rest)]
    if not rest.startswith(("def ", "async ", "@")) or (indent and first == 1):
        return None
    end = min(_last_line(code), len(lines))
    while end < len(lines) and not _is_behind(lines[end], indent):
        end += 1
    text = "".join(lines[first - 1 : end])
    owner = _owner(name.split("."))
    if owner is None and indent and "__" in text:
        return None  # a name that was declared global does not say which class it stands in
    above = "\n" * (first - 2) + "if 1:\n" if indent else "\n" * (first - 1)
    try:
        tree = ast.parse(above + text, code.co_filename)
    except (SyntaxError, ValueError, RecursionError):  # a string or a bracket reaches further
        return None
    fitting = _fitting(tree, code)
    return Found(fitting[0].node, owner) if len(fitting) == 1 else None


def _last_line(code: CodeType) -> int:
    """The last line that a code object, or one inside of it, has instructions for."""
    last = max([end or 0 for _, end, _, _ in code.co_positions()], default=0)
    return max(
        [last, code.co_firstlineno, *[_last_line(c) for c in code.co_consts if isinstance(c, CodeType)]]
    )


def _is_behind(line: str, indent: str) -> bool:
    """Whether a line below a function is no longer part of it. Those within strings and brackets may seem not to be."""
    text = line.strip()
    return bool(text) and text[0] != "#" and not (line.startswith(indent) and line[len(indent)].isspace())


def _owner(parts: list[str]) -> str | None:
    """The innermost class in a qualified name; "<locals>" stands behind the names of functions."""
    for k in range(len(parts) - 2, -1, -1):
        if parts[k] != "<locals>" and parts[k + 1] != "<locals>":
            return parts[k]
    return None


def _fitting(tree: ast.Module, code: CodeType) -> list[Found]:
    """The functions of a tree that a code object may have been made of."""
    return [found for found in _functions_at(tree, None, code.co_firstlineno) if _fits(found.node, code)]


def _functions_at(node: Any, owner: str | None, line: int) -> Iterator[Found]:
    """The functions inside of a node whose first line is this one."""
    for child in ast.iter_child_nodes(node):
        first = getattr(child, "lineno", None)
        if first is not None:
            decorators = getattr(child, "decorator_list", None)
            first = decorators[0].lineno if decorators else first
            if not first <= line <= child.end_lineno:  # type: ignore[attr-defined]
                continue
            if first == line and isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                yield Found(child, owner)
        yield from _functions_at(child, child.name if isinstance(child, ast.ClassDef) else owner, line)


def _fits(node: Function | ast.Lambda, code: CodeType) -> bool:
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
        places = [p for p in places if p[2] != p[3]]  # instructions of the lambda itself have no extent
    elif node.decorator_list:
        start = (node.decorator_list[0].lineno, 0)
    return all((p[0], p[2]) >= start and (p[1], p[3]) <= end for p in places if p[2] is not None and p[3])


def _extent(node: Any) -> tuple[int, int]:
    lines = node.end_lineno - node.lineno
    return lines, node.end_col_offset - node.col_offset if not lines else node.end_col_offset
