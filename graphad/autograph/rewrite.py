"""Rewrites a function's syntax tree so that its control flow checks at run time whether a tensor decides.

    if c:            def if_body(): nonlocal y; y = a
        y = a   =>   def else_body(): nonlocal y; y = b
    else:            ag__.if_(c, if_body, else_body, ("y",))()
        y = b

The branches and loop bodies become inner functions that share the function's variables. `ag__` is `operators.py`: for a Python
condition it returns one of the two functions, which the user's own line then calls; for a tensor it traces both. Every node
keeps the user's line.

A statement that contains a yield or await stays in place, since an inner function cannot suspend this one. Its contents are
rewritten, and its test must not be a tensor, which `if ag__.decided(c, "if", "yield"): ...` checks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from graphad.autograph.generated import ag, alone, load, loaded, thunk
from graphad.autograph.jumps import Jumps
from graphad.autograph.names import (
    Names,
    assigned_places,
    binds_in_expression,
    late_parts,
    mark_liveness,
    names_of,
    suspends,
)
from graphad.autograph.nodes import FIELDS, like, walk
from graphad.autograph.shared import mark_shared, own_names
from graphad.autograph.state import MARKS

if TYPE_CHECKING:
    from graphad.autograph.nodes import AsyncFor, For, Function, If, Loop, Node, While

    Statements = ast.stmt | list[ast.stmt]

# Builtins that look at the frame they are called from.
_OF_FRAMES = frozenset(("super", "locals", "globals", "vars", "dir", "eval", "exec", "__import__"))
_COMPARISONS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}


def rewritten(
    node: Function | ast.Lambda, owner: str | None, features: frozenset[str], helpers: set[str]
) -> ast.expr | Function:
    """The converted form of a FunctionDef or Lambda, without decorators, defaults and annotations.

    Args:
      node: The function, also an AsyncFunctionDef; it becomes the converted one.
      owner: The name of the class around it.
      features: Names of optional features.
      helpers: Receives the names of the generated inner functions.
    """
    _strip(node)
    mark_shared(node)
    if isinstance(node, ast.Lambda):
        return _Rewriter(node, owner, features, helpers).expression(node)
    return _Rewriter(node, owner, features, helpers).function(node)


def _strip(node: Function | ast.Lambda) -> None:
    """Remove what was evaluated when the function was defined; the new function takes over these values."""
    args = node.args
    args.defaults = [like(ast.Constant(None), d) for d in args.defaults]
    args.kw_defaults = [None if d is None else like(ast.Constant(None), d) for d in args.kw_defaults]
    for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg):
        if arg is not None:
            arg.annotation = None
    if not isinstance(node, ast.Lambda):
        node.decorator_list = []
        node.returns = None
        if hasattr(node, "type_params"):
            node.type_params = []


class _Rewriter(ast.NodeTransformer):
    """Rewrites one function; inner functions have rewriters of their own."""

    def __init__(
        self, node: Function | ast.Lambda, owner: str | None, features: frozenset[str], helpers: set[str]
    ) -> None:
        self._owner = owner
        self._features = features
        self._helpers = helpers
        self._taken: set[str] = set()
        for child in walk(node):
            if isinstance(child, ast.Name):
                self._taken.add(child.id)
            elif isinstance(child, ast.arg):
                self._taken.add(child.arg)
            elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                self._taken.add(child.name)
        self._captured: set[str] = set()
        self._globals: set[str] = set()
        self._nonlocals: set[str] = set()  # shared with other functions, which may read them later
        self._moved: set[str] = set()  # names of this function that its helpers bind
        args = node.args
        listed = (*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg)
        self._parameters = [arg.arg for arg in listed if arg is not None]
        self._values: set[str] = set()  # the names of return values
        self._lambdas = 0  # how many lambdas are around, whose `:=` bind names of their own
        self._late = 0  # how many expressions are around of which a function is made
        self._is_suspended = True  # perhaps

    def _fresh(self, stem: str) -> str:
        name, number = stem, 0
        while name in self._taken:
            number += 1
            name = f"{stem.rstrip('_')}_{number}"
        self._taken.add(name)
        return name

    def expression(self, node: ast.expr) -> ast.expr:
        """A rewritten expression."""
        new: ast.expr = self.visit(node)
        return new

    def generic_visit(self, node: Node) -> Node:
        """Rewrite what is inside of a node."""
        for field in FIELDS[type(node)]:
            held = getattr(node, field, None)
            if isinstance(held, list):
                made: list[object] = []
                for item in held:
                    new = self.visit(item) if isinstance(item, ast.AST) else item
                    made += new if isinstance(new, list) else [new]
                held[:] = made
            elif isinstance(held, ast.AST):
                setattr(node, field, self.visit(held))
        return node

    def function(self, node: Function) -> Function:
        names, way = names_of(node.body), suspends(node.body)
        self._is_suspended = way is not None
        self._globals = names.declared_global
        own = own_names(node)
        self._nonlocals = names.declared_nonlocal | (names.changed - own)
        node.body = _without_declarations(node.body)
        if "LISTS" in self._features:
            node = _Lists().visit(node)
            names = names_of(node.body)
        jumps = Jumps(self._fresh)
        body = jumps.rewrite(node)
        self._values = jumps.values
        mark_liveness(body)
        self._captured = names.captured
        rest = self._statements(body)
        if way == "yield" and suspends(rest) != "yield":  # all yields were unreachable
            never = ast.If(test=ast.Constant(False), body=[ast.Expr(ast.Yield())], orelse=[])
            rest.append(like(never, node))
        head: list[ast.stmt] = []
        if rest and isinstance(rest[0], ast.Expr) and isinstance(rest[0].value, ast.Constant):
            head.append(rest.pop(0))  # the docstring
        if self._globals:
            head.append(ast.Global(names=sorted(self._globals)))
        if self._nonlocals:
            head.append(ast.Nonlocal(names=sorted(self._nonlocals)))
        known = {*self._parameters, *self._globals, *self._nonlocals}
        for name in sorted(self._moved - known):  # declares a variable of this function; has no other effect
            head.append(
                ast.AnnAssign(
                    target=ast.Name(name, ast.Store()), annotation=ast.Constant(None), value=None, simple=1
                )
            )
        node.body = [*[like(statement, node) for statement in head], *rest] or [like(ast.Pass(), node)]
        return node

    def _statements(self, body: Sequence[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            new = self.visit(statement)
            out += new if isinstance(new, list) else [new]
        return out

    def _suspends(self, nodes: Sequence[ast.AST]) -> str | None:
        return suspends(nodes) if self._is_suspended else None

    # -- statements ----------------------------------------------------------------------------------------------------

    def visit_If(self, node: If) -> Statements:  # type: ignore[override] # marked before
        way = self._suspends([*node.body, *node.orelse])
        if way is not None:
            node.test = like(
                ag("decided", self.visit(node.test), ast.Constant("if"), ast.Constant(way)), node.test
            )
            node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
            return node
        names = names_of([*node.body, *node.orelse])
        names.bound |= names.changed
        live = names.bound & (node.live_out | self._nonlocals)
        test = self.visit(node.test)
        then = self._helper("if_body", self._statements(node.body), names.bound, node)
        otherwise = self._helper("else_body", self._statements(node.orelse), names.bound, node)
        chosen = ag(
            "if_",
            test,
            load(then.name),
            load(otherwise.name),
            *self._state(node, names, live),
        )
        call = ast.Call(func=chosen, args=[], keywords=[])
        return [then, otherwise, like(ast.Expr(call), node)]

    def visit_While(self, node: While) -> Statements:  # type: ignore[override] # marked before
        options, body = _options(node.body)
        way = self._suspends(body)
        if way is not None:
            node.test = like(
                ag("decided", self.visit(node.test), ast.Constant("while"), ast.Constant(way)), node.test
            )
            node.body = self._statements(body)
            return node
        names = names_of([*body, node.test])
        names.bound |= names.changed
        test = self._helper("loop_test", [like(ast.Return(self.visit(node.test)), node.test)], set(), node)
        made = self._helper("loop_body", self._statements(body), names.bound, node)
        asked = ag("while_", load(test.name), load(made.name), *self._loop_state(node, names, options))
        loop = ast.While(test=asked, body=[alone(ast.Call(load(made.name), [], []), node)], orelse=[])
        return [test, made, like(loop, node)]

    def visit_For(self, node: For) -> Statements:  # type: ignore[override] # marked before
        options, body = _options(node.body)
        way = self._suspends([*body, node.target])
        if way is not None:
            node.iter = like(ag("counted", self.visit(node.iter), ast.Constant(way)), node.iter)
            return self._python_loop(node, body, way)
        names = names_of([*body, node.target])
        names.bound |= names.changed
        item = self._fresh("item")
        iterated = self.visit(node.iter)
        first = like(ast.Assign(targets=[self.visit(node.target)], value=load(item)), node.target)
        extra = node.extra_test
        before: list[ast.stmt] = []
        test: ast.expr = ast.Constant(None)
        if extra is not None:
            helper = self._helper("loop_test", [like(ast.Return(extra), node)], set(), node)
            before.append(helper)
            test = load(helper.name)
        made = self._helper("loop_body", [first, *self._statements(body)], names.bound, node, (item,))
        asked = ag("for_", iterated, test, load(made.name), *self._loop_state(node, names, options))
        call = alone(ast.Call(load(made.name), [load(item)], []), node)
        loop = ast.For(target=ast.Name(item, ast.Store()), iter=asked, body=[call], orelse=[])
        return [*before, made, like(loop, node)]

    def visit_AsyncFor(self, node: AsyncFor) -> ast.stmt:  # type: ignore[override] # marked before
        _, body = _options(node.body)
        node.iter = self.visit(node.iter)
        return self._python_loop(node, body, "await")

    def _python_loop(self, node: For | AsyncFor, body: list[ast.stmt], way: str) -> ast.stmt:
        """A loop that stays a Python loop: its flags are checked at the end of each step."""
        node.target = self.visit(node.target)
        node.body = self._statements(body)
        if node.extra_test is not None:
            stop = ag("not_", node.extra_test)
            test = ag("decided", stop, ast.Constant("break"), ast.Constant(way))
            node.body.append(like(ast.If(test=test, body=[ast.Break()], orelse=[]), node))
        return node

    def _helper(
        self,
        stem: str,
        body: list[ast.stmt],
        bound: set[str],
        place: ast.stmt,
        parameters: Iterable[str] = (),
    ) -> ast.FunctionDef:
        """An inner function that binds names of this one."""
        name = self._fresh(stem)
        self._helpers.add(name)
        head: list[ast.stmt] = []
        shared = sorted(bound - self._globals)
        if shared:
            self._moved.update(shared)
            head.append(ast.Nonlocal(names=shared))
        if bound & self._globals:
            head.append(ast.Global(names=sorted(bound & self._globals)))
        args = ast.arguments(
            posonlyargs=[],
            args=[ast.arg(arg=p) for p in parameters],
            kwonlyargs=[],
            kw_defaults=[],
            defaults=[],
        )
        made = ast.FunctionDef(
            name=name, args=args, body=[*head, *(body or [ast.Pass()])], decorator_list=[], returns=None
        )
        if hasattr(ast.FunctionDef, "type_params") or "type_params" in ast.FunctionDef._fields:
            made.type_params = []  # type: ignore[attr-defined]
        return like(made, place)

    def _state(self, node: If, names: Names, live: set[str]) -> list[ast.expr]:
        """The arguments that name what a branch changes: names needed later, other names, attributes and items."""
        local = names.bound - self._globals
        shown = [self._marked(name) for name in sorted(live & local)]
        maybe = self._captured | node.weak_out
        weak = [f"{name}?" for name in sorted((local - live) & maybe)]
        others = sorted(local - live - maybe)
        out: list[ast.expr] = [self._strings([*shown, *weak])]
        refs = self._references(names)
        if others or refs:
            out.append(self._strings(others))
        if refs:
            out.append(ast.Tuple(elts=refs, ctx=ast.Load()))
        return out

    def _loop_state(self, node: Loop, names: Names, options: ast.Call | None) -> list[ast.expr]:
        local = names.bound - self._globals
        carried = local & (node.live_head | self._nonlocals)
        needed = node.live_out | self._nonlocals
        target = set() if isinstance(node, ast.While) else names_of(node.target).bound
        after = (local & node.live_out) - carried
        weak = (local & (self._captured | node.weak_out)) - carried - after
        others = local - carried - after - weak
        out: list[ast.expr] = [
            self._strings([self._marked(name, "" if name in needed else "~") for name in sorted(carried)]),
            self._strings(
                [
                    *[self._marked(name, "^" if name in target else "") for name in sorted(after)],
                    *[f"{name}?" for name in sorted(weak)],
                ]
            ),
            self._strings(sorted(others)),
            ast.Tuple(elts=self._references(names), ctx=ast.Load()),
        ]
        if options is not None:
            out.append(thunk(self.visit(options)))
        while len(out) > 2 and isinstance(out[-1], ast.Tuple) and not out[-1].elts:
            out.pop()
        return out

    def _marked(self, name: str, mark: str = "") -> str:
        return name + ("!" if name in self._values else mark)

    def _strings(self, names: Sequence[str]) -> ast.Tuple:
        """Names as the compiled code has them."""
        return ast.Tuple(elts=[ast.Constant(self._mangled(name)) for name in names], ctx=ast.Load())

    def _mangled(self, name: str) -> str:
        """A private name of a class as Python stores it."""
        private = name.startswith("__") and not name.rstrip(MARKS).endswith("__")
        owner = (self._owner or "").lstrip("_")
        return f"_{owner}{name}" if private and owner else name

    def _references(self, names: Names) -> list[ast.expr]:
        """References to globals, attributes and items that are assigned."""
        refs: list[ast.expr] = []
        for name in sorted(names.bound & self._globals):
            refs.append(ag("global_", ast.Constant(self._mangled(name)), ast.Call(load("globals"), [], [])))
        for text, place in sorted(names.places.items()):
            if {node.id for node in walk(place) if isinstance(node, ast.Name)} & names.bound:
                continue  # the object of the attribute is reassigned too
            base = thunk(loaded(place.value))  # at the line of the `if` or loop, where debuggers stop anyway
            if isinstance(place, ast.Attribute):
                refs.append(
                    ag("attribute", ast.Constant(text), base, ast.Constant(self._mangled(place.attr)))
                )
            elif isinstance(place, ast.Subscript):
                refs.append(ag("item", ast.Constant(text), base, thunk(loaded(place.slice))))
        return refs

    def _assignment(self, node: ast.Assign | ast.AugAssign) -> ast.stmt:
        """A statement that assigns: between the value and the assignment the attributes and items are noted, see `journal.py`.

        A statement of its own would be a second one for debuggers in the user's line.
        """
        node = self.generic_visit(node)
        for place in assigned_places(node):
            text, base = ast.Constant(ast.unparse(place)), loaded(place.value)
            if isinstance(place, ast.Attribute):
                noted = ag("attribute_noted", node.value, text, base, ast.Constant(self._mangled(place.attr)))
            else:
                noted = ag("item_noted", node.value, text, base, loaded(place.slice))
            node.value = like(noted, node.value)
        return node

    visit_Assign = visit_AugAssign = _assignment

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        if node.value is None:
            return like(ast.Pass(), node)
        return self._assignment(like(ast.Assign(targets=[node.target], value=node.value), node))

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if "ASSERT_STATEMENTS" not in self._features or binds_in_expression(node):
            return self.generic_visit(node)
        message = ast.Constant(None) if node.msg is None else self.visit(node.msg)
        return alone(ag("assert_", thunk(self.visit(node.test)), thunk(message)), node)

    def visit_FunctionDef(self, node: Function) -> ast.stmt:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        if node.decorator_list:
            return node  # converted when it is called, if its decorators call it
        node.args = self.visit(node.args)
        return _Rewriter(node, self._owner, self._features, self._helpers).function(node)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self._lambdas += 1
        node = self.generic_visit(node)
        self._lambdas -= 1
        return node

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.expr:
        value = self.visit(node.value)
        if not self._late:
            node.value = value
            return node
        self._moved.add(node.target.id)
        return like(ag("bound", thunk(load(node.target.id)), value), node)

    # -- expressions ---------------------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> ast.expr:
        if getattr(node, "is_ours", False):
            return self.generic_visit(node)
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name == "super" and not node.args and not node.keywords and self._parameters:
            node.args = [like(load(n), node) for n in ("__class__", self._parameters[0])]
            return node
        new = self.generic_visit(node)
        if name not in _OF_FRAMES:
            of = ag("of", new.func)
            if any(isinstance(x, ast.Call) for given in (*new.args, *new.keywords) for x in ast.walk(given)):
                of.keywords = [ast.keyword("settled", ast.Constant(False))]
            new.func = like(of, new.func)
        return new

    def visit_comprehension(self, node: ast.comprehension) -> ast.comprehension:
        new = self.generic_visit(node)
        new.ifs = [like(ag("kept", test), test) for test in new.ifs]
        return new

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        shared = self._shared(node)
        if shared is None:
            return self.generic_visit(node)
        first, rest = self.visit(node.values[0]), [self._apart(value) for value in node.values[1:]]
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        call = ag(name, first, *rest)
        call.keywords += [ast.keyword("shared", value) for value in shared]
        return like(call, node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return like(ag("not_", operand), node)
        node.operand = operand
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        late = node.comparators[1:]
        shared = self._shared(node)
        if not late or shared is None:
            return self.generic_visit(node)
        first, second = self.visit(node.left), self.visit(node.comparators[0])
        rest = [self._apart(x) for x in late]
        signs = [ast.Constant(_COMPARISONS[type(op)]) for op in node.ops]
        pairs = [signs[0], second]
        for sign, value in zip(signs[1:], rest, strict=True):
            pairs += [sign, value]
        call = ag("compare", first, *pairs)
        call.keywords += [ast.keyword("shared", value) for value in shared]
        return like(call, node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        shared = self._shared(node)
        if shared is None:
            return self.generic_visit(node)
        test, body, orelse = self.visit(node.test), self._apart(node.body), self._apart(node.orelse)
        return like(ag("if_expression", test, body, orelse, *shared), node)

    def _apart(self, node: ast.expr) -> ast.Lambda:
        """An expression as a function, which a tensor may call or not."""
        self._late += 1
        value = self.visit(node)
        self._late -= 1
        return thunk(value)

    def _shared(self, node: ast.BoolOp | ast.IfExp | ast.Compare) -> list[ast.expr] | None:
        """A function whose cells are the variables that late parts of an expression change; empty if they change none, None if
        such a part cannot become a function."""
        late = late_parts(node)
        names = names_of(late)
        if self._suspends(late) is not None or (
            names.bound and (self._lambdas or names.bound & self._globals)
        ):
            return None
        changed: list[ast.expr] = [load(name) for name in sorted(names.changed | names.bound)]
        return [thunk(ast.Tuple(elts=changed, ctx=ast.Load()))] if changed else []


class _Lists(ast.NodeTransformer):
    """`l.append(x)` as `l = ag__.append(l, x)`, and `x = l.pop()` as `l, x = ag__.pop(l)`."""

    def _skip(self, node: Node) -> Node:
        return node

    visit_ClassDef = visit_AsyncFunctionDef = visit_Lambda = _skip

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node if node.decorator_list else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        name, args = self._method(node.value, "append")
        if name is None or len(args) != 1:
            return node
        return like(
            ast.Assign(targets=[ast.Name(name, ast.Store())], value=ag("append", load(name), *args)), node
        )

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        name, args = self._method(node.value, "pop")
        if name is None or args or len(node.targets) != 1:
            return node
        both = ast.Tuple(elts=[ast.Name(name, ast.Store()), node.targets[0]], ctx=ast.Store())
        return like(ast.Assign(targets=[both], value=ag("pop", load(name))), node)

    def _method(self, value: ast.AST, method: str) -> tuple[str | None, list[ast.expr]]:
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and not value.keywords:
            if value.func.attr == method and isinstance(value.func.value, ast.Name):
                return value.func.value.id, value.args
        return None, []


def _options(body: list[ast.stmt]) -> tuple[ast.Call | None, list[ast.stmt]]:
    """The call of `set_loop_options` at the top of a loop, and the rest of the body."""
    for k, statement in enumerate(body):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", None)
            if name == "set_loop_options":
                options = like(ast.Call(ag("options").func, call.args, call.keywords), call)
                options.is_ours = True  # type: ignore[attr-defined]
                return options, [*body[:k], *body[k + 1 :]]
    return None, body


def _without_declarations(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements without `global` and `nonlocal`."""
    out: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Global | ast.Nonlocal):
            out.append(like(ast.Pass(), node))
            continue
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                if getattr(node, field, None):
                    setattr(node, field, _without_declarations(getattr(node, field)))
            for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
                part.body = _without_declarations(part.body)
        out.append(node)
    return out
