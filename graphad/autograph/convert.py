"""Functions with their control flow converted: once for each code object, then bound to each function's own variables.

The converted code is compiled under the user's file name and line numbers, so tracebacks, breakpoints and coverage see the user's
lines. It shares the cells of the original function.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from inspect import CO_OPTIMIZED
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from graphad.core import forks
from graphad.core.frames import unconverted

if TYPE_CHECKING:
    import ast

    from graphad.autograph.directives import Feature
    from graphad.autograph.journal import Journal
    from graphad.autograph.nodes import Function


_FUTURES = 0x1FF0000  # the flags of `from __future__ import ...` in a code object


class Template:
    """The converted form of a code object.

    Attributes:
      code: The code, or None if the function runs unconverted.
      reason: Why it could not be converted; None if it needs no conversion.
    """

    __slots__ = ("code", "reason", "tree")

    def __init__(self, code: CodeType | None, reason: str | None = None, tree: ast.AST | None = None) -> None:
        self.code = code
        self.reason = reason
        self.tree = tree


_templates: dict[tuple[int, frozenset[str]], tuple[Any, Template]] = {}
_converted: dict[int, Any] = {}  # converted code objects, by id
_lock = forks.rlock()
NO_FEATURES: frozenset[str] = frozenset()


# Whether graphad converts user functions that it calls: True while a converted function runs.
_status: ContextVar[bool] = ContextVar("graphad_autograph", default=False)
# Functions that note which attributes and items are assigned while a branch or a step is traced.
noting: ContextVar[Journal | None] = ContextVar("graphad_journal", default=None)
# Names of the methods that move the items of a list or deque, and of what else changes attributes and items.
CHANGING = frozenset(
    "append appendleft clear extend extendleft insert pop popleft remove reverse rotate sort setattr update".split()
)


@contextmanager
def converting(on: bool) -> Iterator[None]:
    """Switch conversion of called functions on or off inside the block."""
    token = _status.set(on)
    try:
        yield
    finally:
        _status.reset(token)


def converted(f: object, options: Feature | None = None) -> Any:
    """The function to call instead of `f`, whose control flow may depend on tensors; `f` itself if nothing has to change."""
    from graphad.autograph.call import of

    return of(f, features_of(options))


def converted_here(f: Callable[..., Any]) -> Callable[..., Any]:
    """As `converted`, if `f` is called for a function that is converted itself."""
    return converted(f) if _status.get() else f


def features_of(options: Feature | None) -> frozenset[str]:
    """The names of optional features, from one or several of `Feature`."""
    if options is None:
        return NO_FEATURES
    listed = options if isinstance(options, list | tuple | set | frozenset) else [options]
    names = frozenset(str(getattr(item, "value", item)) for item in listed)
    return names | frozenset(("ASSERT_STATEMENTS", "LISTS")) if "ALL" in names else names


def is_converted(code: CodeType) -> bool:
    """Whether a code object is the result of a conversion."""
    return id(code) in _converted


def converted_function(
    f: FunctionType, features: frozenset[str] = NO_FEATURES, *given: Any, settled: bool = True
) -> FunctionType:
    """`f` with its control flow converted; `f` itself if there is nothing to convert, or no source.

    Args:
      f: The function.
      features: Names of optional features.
      given: Its first arguments as far as they are known, such as the object whose method it is.
      settled: Whether it is called before any other code of the user's runs.
    """
    template = template_of(f, features, *given, settled=settled)
    return f if template.code is None else bound(f, template.code)


def _forget(table: dict[Any, Any], key: tuple[Any, ...], _: object) -> None:
    table.pop(key, None)


def template_of(
    f: FunctionType,
    features: frozenset[str] = NO_FEATURES,
    *given: Any,
    always: bool = False,
    settled: bool = True,
) -> Template:
    """The converted form of a function's code; with `always` even if nothing in it needs conversion."""
    code = f.__code__
    key = id(code), features
    known = _templates.get(key)
    if known is not None and known[0]() is code:
        return known[1]
    from graphad.autograph.scan import needs_conversion

    # Not cached: the functions that it calls may change.
    if not always and not needs_conversion(f, *given, settled=settled):
        return _NOTHING_TO_DO
    with _lock:
        known = _templates.get(key)
        if known is None or known[0]() is not code:
            # Binds the table: at interpreter exit a module's names vanish before the code objects do.
            known = weakref.ref(code, partial(_forget, _templates, key)), _make(f, features)
            _templates[key] = known
    if known[1].reason is not None:
        unconverted[code] = known[1].reason
    return known[1]


_NOTHING_TO_DO = Template(None)


def _make(f: FunctionType, features: frozenset[str]) -> Template:
    import ast

    from graphad.autograph.nodes import like
    from graphad.autograph.rewrite import rewritten
    from graphad.autograph.source import NoSourceError, find

    code = f.__code__
    try:
        found = find(f)
    except NoSourceError as cause:
        _say(1, "AutoGraph could not transform %s and will run it as-is: %s", f, cause)
        return Template(None, str(cause))
    helpers: set[str] = set()
    tree = rewritten(found.node, found.owner, features, helpers)
    node: ast.Return | Function
    if isinstance(tree, ast.expr):
        node = ast.copy_location(ast.Return(tree), tree)
    else:
        node = type(tree)(**{field: getattr(tree, field) for field in tree._fields})
        node.name = _NAME  # under its own name it would find itself instead of what the user's function finds
        node.lineno = code.co_firstlineno
        node.end_lineno, node.col_offset, node.end_col_offset = tree.end_lineno, 0, tree.end_col_offset
    free = [name for name in code.co_freevars if name != "__class__"]
    inner: list[ast.stmt] = [node]
    if found.owner is not None:
        if isinstance(node, ast.Return):  # a lambda in a class, where `return` is not allowed
            inner = [ast.copy_location(ast.Expr(node.value or ast.Constant(None)), node)]
        around = ast.ClassDef(name=found.owner, bases=[], keywords=[], body=inner, decorator_list=[])
        if "type_params" in ast.ClassDef._fields:
            around.type_params = []  # type: ignore[attr-defined]
        inner = [like(around, node)]
        if found.owner not in free:  # the class is a name of the module; here it would be one of `make`
            inner.insert(0, like(ast.Global(names=[found.owner]), node))
    outer = ast.parse(f"def make({', '.join(['ag__', *free])}): pass")
    outer.body[0].body = inner  # type: ignore[attr-defined]
    flags = code.co_flags & _FUTURES
    module = compile(outer, code.co_filename, "exec", flags, dont_inherit=True)
    made = _first(module, "<lambda>" if isinstance(tree, ast.Lambda) else _NAME)
    made = _renamed(made.replace(co_name=code.co_name), code.co_qualname, helpers)
    _note(made)
    return Template(made, None, tree)


def _first(code: CodeType, name: str) -> CodeType:
    """The outermost function of this name inside a code object."""
    level = [code]
    while True:
        level = [const for outer in level for const in outer.co_consts if isinstance(const, CodeType)]
        for const in level:
            if const.co_name == name:
                return const


def _renamed(code: CodeType, qualname: str, helpers: set[str]) -> CodeType:
    """The code with helpers renamed to the function they belong to, for tracebacks and messages."""
    consts = []
    is_class = not code.co_flags & CO_OPTIMIZED  # the body of a class, whose names are no local ones
    inside = qualname if is_class else f"{qualname}.<locals>"
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_name in helpers:
                const = _renamed(const.replace(co_name=code.co_name), qualname, helpers)
            else:
                const = _renamed(const, f"{inside}.{const.co_name}", helpers)
        elif is_class and const == code.co_qualname:
            const = qualname  # which the body gives to the class
        consts.append(const)
    return code.replace(co_consts=tuple(consts), co_qualname=qualname)


def _note(code: CodeType) -> None:
    """Record the converted code objects; methods of inner classes and decorated inner functions are converted when they are
    called."""
    if "ag__" in code.co_freevars:
        _converted[id(code)] = code
    for const in code.co_consts:
        if isinstance(const, CodeType):
            _note(const)


def bound(f: FunctionType, code: CodeType) -> FunctionType:
    """A function with the converted code and all other attributes of `f`."""
    import graphad.autograph.operators as operators

    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    closure = tuple([_AG if name == "ag__" else cells[name] for name in code.co_freevars])
    if _AG.cell_contents is None:
        _AG.cell_contents = operators
    made = FunctionType(code, f.__globals__, f.__name__, f.__defaults__, closure)
    made.__kwdefaults__ = f.__kwdefaults__
    made.__qualname__ = f.__qualname__
    made.__module__ = f.__module__
    made.__doc__ = f.__doc__
    made.__annotations__ = f.__annotations__
    made.__dict__.update(f.__dict__)
    return made


_AG = CellType(None)
_NAME = "ag__function"


def _say(level: int, message: str, *values: Any) -> None:
    from graphad.autograph.verbosity import say

    say(level, message, *values)
