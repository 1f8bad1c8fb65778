"""`break`, `continue` and `return` inside of control flow, written with flags and conditions.

    while c:                      stop = False
        a                         while not stop and c:
        if d: break       =>          a
        b                             if d: stop = True
                                      else: b

If one side of an `if` always jumps, the code after it moves to the other side. Code after a statement that may jump is guarded
by the flags that this may set. A `return` at the top level stays unchanged.

A jump out of a `finally` replaces the jump or exception that was in progress:

    try: a                        with ag__.leaving() as left:
    finally:                          try: a
        b                             finally:
        if d: break       =>              stop_1 = False
                                          b
                                          if d: stop_1 = True
                                          if stop_1: stop, do_return = True, False
                                          left(stop_1)            # drops the exception
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Sequence
from typing import Any

from graphad.autograph.names import binds_in_expression, names_of, suspends
from graphad.autograph.nodes import blocks, like

RETURN_VALUE = "return_value"
DO_RETURN = "do_return"


class Loop:
    """The flags of a loop that is being rewritten."""

    def __init__(self, breaks: str, continues: str) -> None:
        self.breaks = breaks
        self.continues = continues
        self.has_break = False
        self.has_continue = False
        self.has_return = False


class Jumps:
    """Rewrites the body of one function.

    Attributes:
      value, flag: The names for the value to return, and for whether to return it.
      values: All names for such values; each `finally` has its own.
      lowered: Whether returns have been rewritten.
    """

    def __init__(self, fresh: Callable[[str], str]) -> None:
        self._fresh = fresh
        self.value = self.flag = ""
        self.values: set[str] = set()
        self.lowered = False
        self._flag_read = False
        self._catching = 0  # how many enclosing statements may stop an exception

    def rewrite(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.stmt]:
        """The function's body without jumps."""
        body = list(node.body)
        self.lowered = any(_has_inner_return(statement) for statement in body)
        if self.lowered:
            self._name_return()
            if not ends(body):
                nothing = ast.Return(value=_call("no_step" if _ends_in_a_step(body) else "no_return"))
                body.append(like(nothing, _last(body)))
        body, _ = self._block(body, None)
        if self.lowered:
            first, last = node.body[0], _last(node.body)
            if self._flag_read:
                body.insert(0, like(_assign(self.flag, ast.Constant(False)), first))
            else:
                _drop(body, self.flag)
            # An asynchronous generator returns no value.
            if not (isinstance(node, ast.AsyncFunctionDef) and suspends(node.body) == "yield"):
                result = _call("returned", ast.Name(self.value, ast.Load()))
                body.append(like(ast.Return(value=result), last))
        return body

    def _name_return(self) -> None:
        self.value, self.flag = self._fresh(RETURN_VALUE), self._fresh(DO_RETURN)
        self.values.add(self.value)

    # -- statements ----------------------------------------------------------------------------------------------------

    def _block(self, body: Sequence[ast.stmt], loop: Loop | None) -> tuple[list[ast.stmt], set[str]]:
        """The statements without jumps, and the flags they may set."""
        out: list[ast.stmt] = []
        for k, statement in enumerate(body):
            rest = list(body[k + 1 :])
            if isinstance(statement, ast.If) and rest and self._jumps_out(statement, loop):
                then_ends, else_ends = ends(statement.body), ends(statement.orelse)
                if then_ends and else_ends:
                    rest = []
                elif then_ends:
                    statement = _copy(statement, orelse=[*statement.orelse, *rest])
                    rest = []
                elif else_ends:
                    statement = _copy(statement, body=[*statement.body, *rest])
                    rest = []
            rewritten, flags = self._statement(statement, loop)
            out += rewritten
            if isinstance(statement, ast.Return | ast.Break | ast.Continue | ast.Raise):
                return out, flags  # nothing behind it ever runs
            if flags and rest:
                following, more = self._block(rest, loop)
                self._flag_read |= self.flag in flags
                guard = ast.If(test=_go_on(flags), body=following, orelse=[])
                out.append(like(guard, rest[0]))
                return out, flags | more
            if flags:
                return out, flags
            if not rest:
                return out, set()
        return out, set()

    def _jumps_out(self, statement: ast.If, loop: Loop | None) -> bool:
        return (self.lowered and _has_return(statement)) or (
            loop is not None
            and (_jumps_of_loop(statement, ast.Break) or _jumps_of_loop(statement, ast.Continue))
        )

    def _statement(self, node: ast.stmt, loop: Loop | None) -> tuple[list[ast.stmt], set[str]]:
        if isinstance(node, ast.Return):
            if not self.lowered:
                return [node], set()
            value = node.value or ast.Constant(None)
            if loop is not None:
                loop.has_return = True
            return [
                like(_assign(self.value, value), node),
                like(_assign(self.flag, ast.Constant(True)), node),
            ], {self.flag}
        if isinstance(node, ast.Break):
            assert loop is not None
            loop.has_break = True
            return [like(_assign(loop.breaks, ast.Constant(True)), node)], {loop.breaks}
        if isinstance(node, ast.Continue):
            assert loop is not None
            loop.has_continue = True
            return [like(_assign(loop.continues, ast.Constant(True)), node)], {loop.continues}
        if isinstance(node, ast.If):
            body, a = self._block(node.body, loop)
            orelse, b = self._block(node.orelse, loop)
            return [_copy(node, body=body, orelse=orelse)], a | b
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            return self._loop(node, loop)
        if isinstance(node, ast.With | ast.AsyncWith):
            self._catching += 1
            body, flags = self._block(node.body, loop)
            self._catching -= 1
            return self._undone_by_errors([_copy(node, body=body)], flags), flags
        if isinstance(node, ast.Try | ast.TryStar):
            return self._try(node, loop)
        if isinstance(node, ast.Match):
            flags = set()
            cases = []
            for case in node.cases:
                body, more = self._block(case.body, loop)
                flags |= more
                cases.append(_copy(case, body=body))
            return [_copy(node, cases=cases)], flags
        return [node], set()

    def _try(self, node: Any, loop: Loop | None) -> tuple[list[ast.stmt], set[str]]:
        jumps = any(self._jumps_out(statement, loop) for statement in node.finalbody)
        self._catching += jumps + bool(node.handlers)
        body, flags = self._block(node.body, loop)
        self._catching -= bool(node.handlers)
        orelse, more = self._block(node.orelse, loop)
        if flags and orelse:
            self._flag_read |= self.flag in flags
            guard = ast.If(test=_go_on(flags), body=orelse, orelse=[])
            orelse = [like(guard, node.orelse[0])]
        flags |= more
        handlers = []
        for handler in node.handlers:
            inside, more = self._block(handler.body, loop)
            flags |= more
            handlers.append(_copy(handler, body=inside))
        self._catching -= jumps
        made = _copy(node, body=body, handlers=handlers, orelse=orelse)
        if not jumps:
            final, _ = self._block(node.finalbody, loop)
            made.finalbody = self._undone_by_errors(final, flags)
            return [made], flags
        left = self._fresh("left_")
        final, more = self._final(node.finalbody, loop, left)
        made.finalbody = self._undone_by_errors(final, flags)
        manager = ast.withitem(_call("leaving"), ast.Name(left, ast.Store()))
        return [like(ast.With(items=[manager], body=[made]), node)], flags | more

    def _undone_by_errors(self, body: list[ast.stmt], flags: set[str]) -> list[ast.stmt]:
        """Statements that run while a jump is in progress: their exception would replace it and may be caught further out."""
        if not (body and flags and self._catching):
            return body
        self._flag_read |= self.flag in flags
        undone: list[ast.stmt] = [_assign(name, ast.Constant(False)) for name in sorted(flags)]
        handler = ast.ExceptHandler(type=None, name=None, body=[*undone, ast.Raise(exc=None, cause=None)])
        return [like(ast.Try(body=body, handlers=[handler], orelse=[], finalbody=[]), body[0])]

    def _final(
        self, body: Sequence[ast.stmt], loop: Loop | None, left: str
    ) -> tuple[list[ast.stmt], set[str]]:
        """A `finally` that may jump, and the flags it may set. Its jumps get flags of their own and take precedence."""
        first, last = body[0], _last(body)
        own = Loop(self._fresh("break_"), self._fresh("continue_"))
        value, flag, read = self.value, self.flag, self._flag_read
        if self.lowered:
            self._name_return()
        own_value, own_flag = self.value, self.flag
        out, _ = self._block(body, own)
        self.value, self.flag, self._flag_read = value, flag, read
        jumps: list[tuple[str, list[ast.stmt]]] = []  # a flag, and what its jump means outside the `finally`
        undone = [_assign(flag, ast.Constant(False))] if self.lowered else []
        flags = set()
        if own.has_return:
            # The value for a flag that a tensor decides is read even if no `return` was traced.
            nothing = ast.ExceptHandler(type=None, name=None, body=[ast.Pass()])
            taken = _assign(value, ast.Name(own_value, ast.Load()))
            given = ast.Try(body=[taken], handlers=[nothing], orelse=[], finalbody=[])
            jumps.append((own_flag, [given, _assign(flag, ast.Constant(True))]))
            flags.add(flag)
            if loop is not None:
                loop.has_return = True
        if own.has_break:
            assert loop is not None
            jumps.append((own.breaks, [_assign(loop.breaks, ast.Constant(True)), *undone]))
            flags.add(loop.breaks)
            loop.has_break = True
        if own.has_continue:
            assert loop is not None
            over = [_assign(name, ast.Constant(False)) for name in [loop.breaks] if loop.has_break]
            jumps.append((own.continues, [_assign(loop.continues, ast.Constant(True)), *over, *undone]))
            flags.add(loop.continues)
            loop.has_continue = True
        names = [name for name, _ in jumps]
        before = [like(_assign(name, ast.Constant(False)), first) for name in names]
        after = []
        for name, meaning in jumps:
            test = ast.UnaryOp(op=ast.Not(), operand=_go_on([name]))
            after.append(like(ast.If(test=test, body=meaning, orelse=[]), last))
        told = ast.Call(
            func=ast.Name(left, ast.Load()), args=[ast.Name(name, ast.Load()) for name in names], keywords=[]
        )
        told.is_ours = True  # type: ignore[attr-defined]
        return [*before, *out, *after, like(ast.Expr(told), last)], flags

    def _asked_before(self, test: ast.expr) -> tuple[ast.expr, ast.stmt]:
        """A name for a loop's test, and the statement that sets it before each step.

        A test that binds names, by `:=` or in a function that it calls, must share them with the step, so it becomes a statement.
        """
        name = self._fresh("goes_on_")
        return ast.Name(name, ast.Load()), like(_assign(name, test), test)

    def _loop(self, node: Any, outer: Loop | None) -> tuple[list[ast.stmt], set[str]]:
        loop = Loop(self._fresh("break_"), self._fresh("continue_"))
        body, _ = self._block(node.body, loop)
        stops = [loop.breaks] if loop.has_break else []
        if loop.has_return:
            stops.append(self.flag)
            self._flag_read = True
            if outer is not None:
                outer.has_return = True
        first = node.body[0]
        resets = [*stops, *([loop.continues] if loop.has_continue else [])]
        body = [*[like(_assign(name, ast.Constant(False)), first) for name in resets], *body]
        before: list[ast.stmt] = (
            [like(_assign(loop.breaks, ast.Constant(False)), node)] if loop.has_break else []
        )
        if isinstance(node, ast.While):
            test = node.test
            if binds_in_expression(test) or names_of(test).changed:
                test, again = self._asked_before(node.test)
                before.append(again)
                body.append(_guarded(copy.deepcopy(again), stops, node.test))
            if stops:
                test = ast.BoolOp(op=ast.And(), values=[_go_on(stops), test])
            made: Any = _copy(node, test=like(test, node.test), body=body, orelse=[])
        else:
            made = _copy(node, body=body, orelse=[])
            made.extra_test = like(_go_on(stops), node) if stops else None
        out: list[ast.stmt] = [*before, made]
        flags = {self.flag} if loop.has_return else set()
        if node.orelse:
            orelse, more = self._block(node.orelse, outer)
            if stops:
                guard = ast.If(test=_go_on(stops), body=orelse, orelse=[])
                orelse = [like(guard, node.orelse[0])]
            out += orelse
            flags |= more
        return out, flags


# -- what a statement holds ------------------------------------------------------------------------------------------------


def ends(body: Sequence[ast.stmt]) -> bool:
    """Whether control never reaches the end of the statements."""
    return any(_ends(statement) for statement in body)


def _ends(node: ast.AST) -> bool:
    if isinstance(node, ast.Return | ast.Break | ast.Continue | ast.Raise):
        return True
    if isinstance(node, ast.If):
        return ends(node.body) and ends(node.orelse)
    # A loop that ends by itself goes on with its `else`.
    if isinstance(node, ast.While | ast.For | ast.AsyncFor):
        always = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        return (always or ends(node.orelse)) and not any(_jumps_of_loop(x, ast.Break) for x in node.body)
    if isinstance(node, ast.With | ast.AsyncWith):
        return False  # a context manager may swallow the exception of any statement in it
    if isinstance(node, ast.Try | ast.TryStar):
        inside = ends(node.body) or ends(node.orelse)
        return ends(node.finalbody) or (inside and all(ends(handler.body) for handler in node.handlers))
    return False


def _ends_in_a_step(body: Sequence[ast.stmt]) -> bool:
    """Whether control reaches the end of the statements only where their last loop takes no step, or by a caught exception."""
    last = body[-1]
    if isinstance(last, ast.While | ast.For):
        leaves = any(_jumps_of_loop(child, kind) for child in last.body for kind in (ast.Break, ast.Continue))
        sides = [] if leaves or last.orelse else [last.body]
    elif isinstance(last, ast.If):
        sides = [last.body, last.orelse] if last.orelse else []
    elif isinstance(last, ast.With | ast.AsyncWith):
        sides = [last.body]
    elif isinstance(last, ast.Try | ast.TryStar):
        sides = [last.orelse or last.body, *[handler.body for handler in last.handlers]]
    else:
        return False
    return bool(sides) and all(ends(side) or _ends_in_a_step(side) for side in sides)


def _has_return(node: ast.AST) -> bool:
    return isinstance(node, ast.Return) or any(_has_return(child) for body in blocks(node) for child in body)


def _has_inner_return(node: ast.AST) -> bool:
    """Whether there is a `return` inside an `if` or a loop."""
    if isinstance(node, ast.If | ast.While | ast.For | ast.AsyncFor):
        return _has_return(node)
    return any(_has_inner_return(child) for body in blocks(node) for child in body)


def _jumps_of_loop(node: Any, kind: type) -> bool:
    """Whether the statement contains a `break` or `continue` of the enclosing loop."""
    if isinstance(node, kind):
        return True
    if isinstance(node, ast.While | ast.For | ast.AsyncFor):
        return any(_jumps_of_loop(child, kind) for child in node.orelse)
    return any(_jumps_of_loop(child, kind) for body in blocks(node) for child in body)


def _drop(body: list[ast.stmt], name: str) -> None:
    """Remove the assignments to an unused flag."""
    for node in list(body):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and node.targets[0].id == name
        ):
            body.remove(node)
            continue
        for field in ("body", "orelse", "finalbody"):
            _drop(getattr(node, field, []), name)
        for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            _drop(part.body, name)


# -- small makers ----------------------------------------------------------------------------------------------------------


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign(targets=[ast.Name(name, ast.Store())], value=value)


def _call(name: str, *args: ast.expr) -> ast.Call:
    made = ast.Call(
        func=ast.Attribute(value=ast.Name("ag__", ast.Load()), attr=name, ctx=ast.Load()),
        args=list(args),
        keywords=[],
    )
    made.is_ours = True  # type: ignore[attr-defined]
    return made


def _guarded(statement: ast.stmt, stops: Sequence[str], place: ast.expr) -> ast.stmt:
    """A statement that runs unless one of the flags is set."""
    if not stops:
        return statement
    guard = ast.If(test=_go_on(stops), body=[statement], orelse=[])
    return like(guard, place)


def _go_on(flags: Any) -> ast.expr:
    return _call("go_on", *[ast.Name(name, ast.Load()) for name in sorted(flags)])


def _copy(node: Any, **fields: Any) -> Any:
    """A node with other fields."""
    given = {name: getattr(node, name, None) for name in node._fields}
    made = type(node)(**{**given, **fields})
    if hasattr(node, "extra_test"):
        made.extra_test = node.extra_test
    return ast.copy_location(made, node) if hasattr(node, "lineno") else made


def _last(body: Sequence[ast.stmt]) -> ast.stmt:
    return body[-1]
