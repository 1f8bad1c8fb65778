"""Which names a piece of code reads and binds, and which are still needed after it.

Reads and bindings are those of one function's own scope; of comprehensions, lambdas and inner functions only the outer names
that they read count. Liveness is computed backwards over the statements. `jumps.py` has replaced break, continue and return by
flags, so control flows only forwards, around loops, and from exceptions to their handlers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Any

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Names:
    """What a piece of code does with the names of its scope.

    Attributes:
      read: Names it reads, including those that its inner functions read.
      bound: Names it gives a value (or deletes).
      captured: Names that inner functions and lambdas read, maybe later.
      changed: Names that the inner functions it calls, or may call, give a value; see `shared.py`.
      places: Attributes and items that it assigns, by their text: `self.x`, `d['k']`.
      declared_global, declared_nonlocal: Names it declares so.
    """

    def __init__(self) -> None:
        self.read: set[str] = set()
        self.bound: set[str] = set()
        self.captured: set[str] = set()
        self.changed: set[str] = set()
        self.places: dict[str, ast.expr] = {}
        self.declared_global: set[str] = set()
        self.declared_nonlocal: set[str] = set()


def names_of(nodes: Any) -> Names:
    """The names of one node, or of several."""
    names = Names()
    for node in nodes if isinstance(nodes, list | tuple) else [nodes]:
        _visit(node, names)
    return names


def _visit(node: ast.AST, names: Names) -> None:
    if isinstance(node, ast.Name):
        (names.read if isinstance(node.ctx, ast.Load) else names.bound).add(node.id)
        names.read.update(getattr(node, "reads", ()))
        names.changed.update(getattr(node, "changes", ()))
        return
    if isinstance(node, _SCOPES):
        _visit_scope(node, names)
        return
    if isinstance(node, _COMPREHENSIONS):
        _visit_comprehension(node, names)
        return
    if isinstance(node, ast.Global):
        names.declared_global.update(node.names)
        return
    if isinstance(node, ast.Nonlocal):
        names.declared_nonlocal.update(node.names)
        return
    if isinstance(node, ast.Import | ast.ImportFrom):
        names.bound.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        return
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        names.read.add(node.target.id)
    if isinstance(node, ast.AnnAssign) and node.value is None and isinstance(node.target, ast.Name):
        return
    if isinstance(node, ast.Delete):
        names.read.update(target.id for target in node.targets if isinstance(target, ast.Name))
    if isinstance(node, ast.ExceptHandler) and node.name:
        names.bound.add(node.name)
    if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        names.bound.add(node.name)
    if isinstance(node, ast.MatchMapping) and node.rest:
        names.bound.add(node.rest)
    if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
        if _is_place(node):
            names.places[ast.unparse(node)] = node
    for child in ast.iter_child_nodes(node):
        _visit(child, names)
    if isinstance(node, ast.BoolOp | ast.IfExp | ast.Compare):
        names.read |= names_of(late_parts(node)).bound  # which keep their value where `:=` is not reached


def late_parts(node: ast.BoolOp | ast.IfExp | ast.Compare) -> list[ast.expr]:
    """The parts of an expression that are evaluated only where earlier ones say so."""
    if isinstance(node, ast.BoolOp):
        return node.values[1:]
    return [node.body, node.orelse] if isinstance(node, ast.IfExp) else node.comparators[1:]


def _visit_scope(node: Any, names: Names) -> None:
    if isinstance(node, ast.ClassDef):
        outside: list[Any] = [*node.decorator_list, *node.bases, *node.keywords]
        inside = names_of(node.body)
        free = inside.read
        names.bound.add(node.name)
    else:
        args = node.args
        outside = [*args.defaults, *[d for d in args.kw_defaults if d is not None]]
        own = {a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)}
        own |= {a.arg for a in (args.vararg, args.kwarg) if a is not None}
        if isinstance(node, ast.Lambda):
            inside = names_of(node.body)
            names.changed |= inside.changed - own
        else:
            outside += node.decorator_list
            inside = names_of(node.body)
            names.bound.add(node.name)
            own |= inside.bound - inside.declared_nonlocal - inside.declared_global
        free = inside.read - own
        names.captured |= free | inside.declared_nonlocal
    for child in outside:
        _visit(child, names)
    names.read |= free


def _visit_comprehension(node: Any, names: Names) -> None:
    inside = Names()
    own: set[str] = set()
    for generator in node.generators:
        own |= names_of(generator.target).bound
        _visit(generator.iter, inside)
        for test in generator.ifs:
            _visit(test, inside)
    for part in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
        _visit(part, inside)
    names.read |= inside.read - own
    names.captured |= inside.captured - own
    names.changed |= inside.changed
    names.bound |= inside.bound - own  # by `:=`


def _is_place(node: ast.expr) -> bool:
    """Whether an attribute or item can be followed: names, attributes and constant or named keys only."""
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Attribute):
        return _is_place(node.value)
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant | ast.Name) and _is_place(node.value)
    return False


def binds_in_expression(node: ast.AST) -> bool:
    """Whether `:=`, `yield` or `await` occurs in an expression, which must then stay in its own function."""
    return any(isinstance(child, ast.NamedExpr) for child in ast.walk(node)) or suspends(node) is not None


def suspends(nodes: object) -> str | None:
    """How a function is suspended in these statements or expressions: by "yield" or "await"; None where it is not."""
    ways = set(_suspensions(nodes))
    return "yield" if "yield" in ways else "await" if ways else None


def _suspensions(nodes: Any) -> Iterator[str]:
    waiting = list(nodes) if isinstance(nodes, list | tuple) else [nodes]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            yield "yield"
        elif isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith) or getattr(node, "is_async", False):
            yield "await"
        if not isinstance(node, _SCOPES):
            waiting += ast.iter_child_nodes(node)


def mark_liveness(body: Sequence[ast.stmt]) -> None:
    """Give each `if` and loop of a function the attribute `live_out`, and each loop `live_head`.

    Attribute `weak_out` has the names that are read where a later exception may end: in the handlers and the `finally` of an
    enclosing `try`, and after a `with`, whose manager may swallow it.
    """
    _block(body, set(), frozenset())


def _block(body: Sequence[ast.stmt], out: set[str], escape: frozenset[str]) -> set[str]:
    for statement in reversed(body):
        out = _statement(statement, out, escape)
    return out


def _statement(node: ast.AST, out: set[str], escape: frozenset[str]) -> set[str]:
    if isinstance(node, ast.If):
        node.live_out = out  # type: ignore[attr-defined]
        node.weak_out = escape  # type: ignore[attr-defined]
        return names_of(node.test).read | _block(node.body, out, escape) | _block(node.orelse, out, escape)
    if isinstance(node, ast.While | ast.For | ast.AsyncFor):
        return _loop(node, out, escape)
    if isinstance(node, ast.With | ast.AsyncWith):
        names = names_of([*node.items])
        inside = _block(node.body, out, escape | out)
        if isinstance(node.body[-1], ast.Raise):  # what follows runs if the manager swallows the exception
            inside |= out
        return (inside - names.bound) | names.read
    if isinstance(node, ast.Try | ast.TryStar):
        end = _block(node.finalbody, out, escape)
        caught: set[str] = set(end) if node.finalbody else set()
        handled = escape | caught
        for handler in node.handlers:
            inside_handler = _block(handler.body, end, handled) - ({handler.name} if handler.name else set())
            caught |= inside_handler | (names_of(handler.type).read if handler.type is not None else set())
        return _block(node.body, _block(node.orelse, end, handled), escape | caught) | caught
    if isinstance(node, ast.Match):
        live = set(out)
        for case in node.cases:
            pattern = names_of(case.pattern)
            guard = names_of(case.guard).read if case.guard is not None else set()
            live |= ((_block(case.body, out, escape) | guard) - pattern.bound) | pattern.read
        return live | names_of(node.subject).read
    if isinstance(node, ast.Return | ast.Raise):
        return names_of(node).read
    names = names_of(node)
    return (out - names.bound) | names.read


def _loop(node: Any, out: set[str], escape: frozenset[str]) -> set[str]:
    node.live_out = out
    node.weak_out = escape
    if isinstance(node, ast.While):
        target: set[str] = set()
        test = names_of(node.test).read
    else:
        target = names_of(node.target).bound
        extra = getattr(node, "extra_test", None)
        test = names_of(extra).read if extra is not None else set()
        test = test | names_of(node.target).read
    # First what one step needs from the previous one; then, with the code after the loop, the final marks inside.
    head = _fixed_point(node, test, target, escape)
    node.live_head = head
    return _fixed_point(node, head | out, target, escape) | (
        set() if isinstance(node, ast.While) else names_of(node.iter).read
    )


def _fixed_point(node: Any, head: set[str], target: set[str], escape: frozenset[str]) -> set[str]:
    while True:
        more = head | (_block(node.body, head, escape) - target)
        if more == head:
            return head
        head = more
