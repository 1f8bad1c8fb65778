"""Which names a piece of code reads and binds, and which are still needed after it.

Reads and bindings are those of one function's own scope; of comprehensions, lambdas and inner functions only the outer names
that they read count. Liveness is computed backwards over the statements. `jumps.py` has replaced break, continue and return by
flags, so control flows only forwards, around loops, and from exceptions to their handlers.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphad.autograph.nodes import SCOPES, children, walk

if TYPE_CHECKING:
    from graphad.autograph.nodes import Place

_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# Kinds of nodes, besides names, attributes and items, that do something with names.
_NAMING = frozenset(
    (
        *SCOPES,
        *_COMPREHENSIONS,
        ast.Global,
        ast.Nonlocal,
        ast.Import,
        ast.ImportFrom,
        ast.AugAssign,
        ast.AnnAssign,
        ast.Delete,
        ast.ExceptHandler,
        ast.MatchAs,
        ast.MatchStar,
        ast.MatchMapping,
        ast.BoolOp,
        ast.IfExp,
        ast.Compare,
    )
)


class Names:
    """How a piece of code uses the names of its scope.

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
        self.places: dict[str, Place] = {}
        self.declared_global: set[str] = set()
        self.declared_nonlocal: set[str] = set()


def names_of(nodes: Any) -> Names:
    """The names of one node, or of several."""
    names = Names()
    for node in nodes if isinstance(nodes, list | tuple) else [nodes]:
        _visit(node, names)
    return names


def _visit(node: Any, names: Names) -> None:
    kind = type(node)
    if kind is ast.Name:
        (names.read if type(node.ctx) is ast.Load else names.bound).add(node.id)
        names.read.update(getattr(node, "reads", ()))
        names.changed.update(getattr(node, "changes", ()))
        return
    if kind is ast.Attribute or kind is ast.Subscript:
        if type(node.ctx) is not ast.Load and _is_place(node):
            names.places[ast.unparse(node)] = node
    elif kind in _NAMING and _names_itself(node, names):
        return
    for child in children(node):
        _visit(child, names)


def _names_itself(node: ast.AST, names: Names) -> bool:
    """Record what a node of these kinds does with names; whether the nodes inside of it have been visited too."""
    if isinstance(node, SCOPES):
        _visit_scope(node, names)
        return True
    if isinstance(node, _COMPREHENSIONS):
        _visit_comprehension(node, names)
        return True
    if isinstance(node, ast.Global):
        names.declared_global.update(node.names)
    elif isinstance(node, ast.Nonlocal):
        names.declared_nonlocal.update(node.names)
    elif isinstance(node, ast.Import | ast.ImportFrom):
        names.bound.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name):
            names.read.add(node.target.id)
    elif isinstance(node, ast.AnnAssign):
        return node.value is None and isinstance(node.target, ast.Name)
    elif isinstance(node, ast.Delete):
        names.read.update(target.id for target in node.targets if isinstance(target, ast.Name))
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        names.bound.update([node.name] if node.name else ())
    elif isinstance(node, ast.MatchMapping):
        names.bound.update([node.rest] if node.rest else ())
    elif isinstance(node, ast.BoolOp | ast.IfExp | ast.Compare):
        names.read |= names_of(late_parts(node)).bound  # which keep their value where `:=` is not reached
    return False


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
        return _is_key(node.slice) and _is_place(node.value)
    return False


def _is_key(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):  # -1
        return isinstance(node.operand, ast.Constant)
    return isinstance(node, ast.Constant | ast.Name)


def assigned_places(node: ast.Assign | ast.AugAssign) -> list[Place]:
    """The attributes and items that a statement assigns, as far as their objects and keys may be computed twice, and are not
    computed from what it assigns itself."""
    waiting: list[ast.expr] = [node.target] if isinstance(node, ast.AugAssign) else list(node.targets)
    out: list[Place] = []
    while waiting:
        target = waiting.pop(0)
        if isinstance(target, ast.Tuple | ast.List):
            waiting += target.elts
        elif isinstance(target, ast.Starred):
            waiting.append(target.value)
        elif isinstance(target, ast.Attribute | ast.Subscript) and all(
            isinstance(part, _PLAIN) for part in walk(target)
        ):
            out.append(target)
    bound = names_of(node).bound if out else set()
    return [
        place
        for place in out
        if bound.isdisjoint(part.id for part in walk(place) if isinstance(part, ast.Name))
    ]


_PLAIN = (
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.Constant,
    ast.Tuple,
    ast.UnaryOp,
    ast.BinOp,
    ast.operator,
    ast.unaryop,
    ast.expr_context,
)


def binds_in_expression(node: ast.AST) -> bool:
    """Whether `:=`, `yield` or `await` occurs in an expression, which must then stay in its own function."""
    return any(isinstance(child, ast.NamedExpr) for child in walk(node)) or suspends(node) is not None


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
        if not isinstance(node, SCOPES):
            waiting += children(node)


def mark_liveness(body: Sequence[ast.stmt]) -> None:
    """Give each `if` and loop of a function the attribute `live_out`, and each loop `live_head`.

    Attribute `weak_out` has the names that are read where a later exception may end: in the handlers and the `finally` of an
    enclosing `try`, and after a `with`, whose manager may swallow it.
    """
    _Liveness().block(body, set(), frozenset())


class _Liveness:
    """One walk backwards. A loop's body is walked several times, so the names of its parts are kept."""

    def __init__(self) -> None:
        self._known: dict[int, Names] = {}

    def _names(self, node: ast.AST) -> Names:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = names_of(node)
        return known

    def block(self, body: Sequence[ast.stmt], out: set[str], escape: frozenset[str]) -> set[str]:
        for statement in reversed(body):
            out = self._statement(statement, out, escape)
        return out

    def _statement(self, node: ast.AST, out: set[str], escape: frozenset[str]) -> set[str]:
        if isinstance(node, ast.If):
            node.live_out = out  # type: ignore[attr-defined]
            node.weak_out = escape  # type: ignore[attr-defined]
            return (
                self._names(node.test).read
                | self.block(node.body, out, escape)
                | self.block(node.orelse, out, escape)
            )
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            return self._loop(node, out, escape)
        if isinstance(node, ast.With | ast.AsyncWith):
            names = names_of(node.items)
            inside = self.block(node.body, out, escape | out)
            # What follows runs if the manager swallows the exception.
            if isinstance(node.body[-1], ast.Raise):
                inside = inside | out
            return (inside - names.bound) | names.read
        if isinstance(node, ast.Try | ast.TryStar):
            end = self.block(node.finalbody, out, escape)
            caught: set[str] = set(end) if node.finalbody else set()
            handled = escape | caught
            for handler in node.handlers:
                inside_handler = self.block(handler.body, end, handled) - (
                    {handler.name} if handler.name else set()
                )
                caught |= inside_handler | (
                    self._names(handler.type).read if handler.type is not None else set()
                )
            return self.block(node.body, self.block(node.orelse, end, handled), escape | caught) | caught
        if isinstance(node, ast.Match):
            live = set(out)
            for case in node.cases:
                pattern = self._names(case.pattern)
                guard = self._names(case.guard).read if case.guard is not None else set()
                live |= ((self.block(case.body, out, escape) | guard) - pattern.bound) | pattern.read
            return live | self._names(node.subject).read
        if isinstance(node, ast.Return | ast.Raise):
            return self._names(node).read
        names = self._names(node)
        return (out - names.bound) | names.read

    def _loop(self, node: Any, out: set[str], escape: frozenset[str]) -> set[str]:
        node.live_out = out
        node.weak_out = escape
        if isinstance(node, ast.While):
            target: set[str] = set()
            test = self._names(node.test).read
        else:
            target = self._names(node.target).bound
            extra = getattr(node, "extra_test", None)
            test = self._names(extra).read if extra is not None else set()
            test = test | self._names(node.target).read
        # First what one step needs from the previous one; then, with the code after the loop, the final marks inside.
        head = self._fixed_point(node, test, target, escape)
        node.live_head = head
        return self._fixed_point(node, head | out, target, escape) | (
            set() if isinstance(node, ast.While) else self._names(node.iter).read
        )

    def _fixed_point(self, node: Any, head: set[str], target: set[str], escape: frozenset[str]) -> set[str]:
        while True:
            more = head | (self.block(node.body, head, escape) - target)
            if more == head:
                return head
            head = more
