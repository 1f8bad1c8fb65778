"""Which variables of enclosing functions are read and changed by calls of inner functions.

    def add(v):
        nonlocal total
        total = total + v
    for x in xs:
        add(x)               reads and changes `total`, though it names it nowhere

Each use of a name that may stand for such a function is marked with the variables that a call reads and changes (`reads`
and `changes` of its node), which `names.py` counts as the code's own. A name may stand for an inner function that is defined
under it, and for all whose names occur, other than as what is called, in a value that it is given: `g = add`, `fs.append(add)`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from graphad.autograph.names import names_of
from graphad.autograph.nodes import children, walk
from graphad.core.light import NamedTuple

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


class Effect(NamedTuple):
    """The variables of enclosing functions that a call reads and changes."""

    reads: frozenset[str] = frozenset()
    changes: frozenset[str] = frozenset()

    def joined(self, other: Effect) -> Effect:
        return Effect(self.reads | other.reads, self.changes | other.changes)

    def without(self, names: set[str]) -> Effect:
        return Effect(self.reads - names, self.changes - names)


def mark_shared(function: Any) -> None:
    """Mark the uses of inner functions in a function, and in those inside it."""
    if any(isinstance(node, _FUNCTIONS) for node in walk(function) if node is not function):
        _mark(function, {})


def _mark(function: Any, outer: dict[str, Effect]) -> None:
    body = function.body if isinstance(function.body, list) else [function.body]
    own = own_names(function)
    effects = {name: effect.without(own) for name, effect in outer.items() if name not in own}
    parts = [part for statement in body for part in _parts(statement)]
    inner: list[Any] = [part for part in parts if isinstance(part, _FUNCTIONS)]
    named = [(part.name, part) for part in inner if not isinstance(part, ast.Lambda)]
    for name, part in named:
        effects[name] = effects.get(name, Effect()).joined(_effect(part))
    _close(effects, named, list(_givings(parts)))
    for part in parts:
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Load) and part.id in effects:
            part.reads, part.changes = effects[part.id]  # type: ignore[attr-defined]
    for part in inner:
        _mark(part, effects)


def own_names(function: Any) -> set[str]:
    """The variables of a function, without those of the functions around it."""
    args = function.args
    listed = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
    names = names_of(function.body)
    own = {arg.arg for arg in listed if arg is not None}
    return own | (names.bound - names.declared_nonlocal - names.declared_global)


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of one scope: inner functions count as one node, besides their defaults and decorators."""
    yield node
    if isinstance(node, _FUNCTIONS):
        outside = [*node.args.defaults, *node.args.kw_defaults, *getattr(node, "decorator_list", ())]
        inside: Any = [child for child in outside if child is not None]
    else:
        inside = children(node)
    for child in inside:
        yield from _parts(child)


def _effect(function: Any) -> Effect:
    """The variables of enclosing functions that one function itself reads and changes."""
    body = function.body if isinstance(function.body, list) else [function.body]
    names = names_of(body)
    read, changed = set(names.read), set(names.declared_nonlocal)
    for part in [part for statement in body for part in _parts(statement)]:
        if isinstance(part, _FUNCTIONS):  # which may run in the call
            inside = _effect(part)
            read |= inside.reads
            changed |= inside.changes
    return Effect(frozenset(read | changed), frozenset(changed)).without(own_names(function))


def _close(
    effects: dict[str, Effect], named: list[tuple[str, Any]], givings: list[tuple[set[str], set[str]]]
) -> None:
    """Add the effects of the functions that a function mentions, and those of the values that a name is given."""
    links = [({name}, set(names_of(function.body).read)) for name, function in named] + givings
    changed = True
    while changed:
        changed = False
        for targets, mentioned in links:
            for source in mentioned & effects.keys():
                for target in targets - {source}:
                    joined = effects.get(target, Effect()).joined(effects[source])
                    if joined != effects.get(target):
                        effects[target], changed = joined, True


def _givings(parts: list[ast.AST]) -> Iterator[tuple[set[str], set[str]]]:
    """Names, and the names that occur in what they are given."""
    for part in parts:
        if isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            yield {name for target in targets for name in _bases(target)}, _passed(part.value)
        elif isinstance(part, ast.For | ast.AsyncFor | ast.comprehension):
            yield set(_bases(part.target)), _passed(part.iter)
        elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            given = [*part.args, *[keyword.value for keyword in part.keywords]]
            yield set(_bases(part.func.value)), {name for value in given for name in _passed(value)}


def _bases(node: ast.AST) -> Iterator[str]:
    """The names that an assignment to this changes: `a` of `a`, `a.b`, `a[i]` and `(a, *c)`."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute | ast.Subscript | ast.Starred):
        yield from _bases(node.value)
    elif isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from _bases(element)


def _passed(node: ast.AST | None) -> set[str]:
    """The names in an expression, other than those of what it calls."""
    if node is None:
        return set()
    if isinstance(node, ast.Lambda):
        return names_of(node).read
    if isinstance(node, ast.Name):
        return {node.id}
    parts = children(node)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Subscript):
        parts.remove(node.func)  # `f(x)` and `fs[0](x)` give a result; `fs.pop()` may give a function
    return {name for child in parts for name in _passed(child)}
