"""A cheap look at a function's bytecode: has it, or anything it calls, control flow that could meet a tensor?

The answer "no" must be certain; it saves reading and rewriting the source. If the code does not show what is called (an argument,
an item), or has the instructions of a Python that is not known here, the answer is "yes".

The code is read once: it gives the *places* of what it calls, loops over and tests, that is, expressions of names, arguments,
attributes and builtins. What they stand for is looked up each time. A loop over what is Python's own, `range` of numbers or a
list that a name or an attribute holds now, is no control flow that could meet a tensor, and neither is a test of a number.
So nothing that runs may give such a name or attribute another value before: the names that are asked and those that are given
values are collected. Not seen are assignments by properties, operators, context managers and metaclasses of the user's, and by
what graphad's own layers hold.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import sys
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from graphad.autograph.convert import CHANGING, noting
from graphad.core.memo import Memo

_ASSIGNING = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "STORE_SUBSCR"))
_FOR = dis.opmap["FOR_ITER"]
_STORING = frozenset(
    f"{verb}_{kind}" for verb in ("STORE", "DELETE") for kind in ("GLOBAL", "DEREF", "NAME", "ATTR")
)
_FREE = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
_ENTER = 0  # the argument of LOAD_SPECIAL for `__enter__`
_LEAVING = frozenset(("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE"))
# Instructions whose result is a bool, or the end of a `with`, which asks its manager.
_DECIDED = frozenset(("IS_OP", "CONTAINS_OP", "CHECK_EXC_MATCH", "WITH_EXCEPT_START"))
_SILENT = frozenset(("PRECALL", "TO_BOOL", "GET_ITER", "NOP", "NOT_TAKEN", "RESUME"))
# Instructions that are not followed.
_OPAQUE = frozenset(
    name
    for name in dis.opmap
    if name.startswith(("CALL_FUNCTION", "LOAD_SUPER", "MATCH", "UNPACK_EX", "SEND"))
)
# Builtins that may give any name or attribute another value.
_WILD = frozenset((delattr, eval, exec, globals, setattr, vars))
# Attributes through which values of others are set.
_INNARDS = frozenset(("__dict__", "__defaults__", "__kwdefaults__", "__code__"))
# Builtins that give numbers or series of Python's own if their arguments are such.
_NUMBERS = frozenset((abs, int, max, min))
_TESTS = frozenset((callable, hasattr, isinstance, issubclass))
_SERIES = frozenset((dict, list, range, str, tuple))
_PLAIN = frozenset((bool, bytes, complex, float, frozenset, set, type(None), FunctionType, ModuleType))
_CACHE = 0  # what follows some instructions
_LOCAL, _JUMPING = frozenset((*dis.haslocal, *dis.hasfree)), frozenset((*dis.hasjrel, *dis.hasjabs))
# Instructions with a name, and by how many bits their argument is shifted.
_NAMING = dict.fromkeys(dis.hasname, 0)
_NAMING[dis.opmap["LOAD_GLOBAL"]] = 1
if sys.version_info >= (3, 12):
    _NAMING[dis.opmap["LOAD_ATTR"]] = 1
    _NAMING[dis.opmap["LOAD_SUPER_ATTR"]] = 2
_IS_KNOWN = sys.version_info < (
    3,
    15,
)  # whether this Python's instructions are those that are told apart here
_MOST = 200  # functions that are looked at for one


class _Kind:
    """What is known of the result of a call."""

    def __init__(self, name: str) -> None:
        self.name = name


_UNKNOWN = _Kind("unknown")
_NUMBER = _Kind("number")
_COUNTS = _Kind("series")  # of numbers
_PAIRS = _Kind("series")  # of pairs of a number and something else
_PAIR = _Kind("series")
_SOME_SERIES = _Kind("series")


class _Made:
    """An object of one of graphad's classes, which a call makes."""

    def __init__(self, kind: type) -> None:
        self.kind = kind


_NULL = object()
_ANYTHING = ("anything",)
_A_BOOL = "value", True
_read = Memo("calls in code", 4096)  # by code, since a loop may create many functions of one code


def needs_conversion(f: FunctionType, *given: Any, settled: bool = True) -> bool:
    """Whether converting the function may change what it does.

    Args:
      f: The function.
      given: Its first arguments as far as they are known, such as the object whose method it is.
      settled: Whether it is called before any other code of the user's runs, so that names mean then what they mean now.
    """
    arguments = dict(zip(f.__code__.co_varnames[: f.__code__.co_argcount], given, strict=False))
    return _Look().says_yes(f, arguments, settled and not f.__code__.co_flags & inspect.CO_GENERATOR)


class _Look:
    """What was found in the bytecode of a function and of the functions that it calls.

    Attributes:
      asked: Names outside of functions, and of attributes, whose values loops and tests depend on.
      called: Those that say what is called, and with what.
      stored: Those that are given values.
      aside: Functions of the user's that run as they are; they may give names values.
    """

    def __init__(self) -> None:
        self._seen: dict[Any, Any] = {}
        self.asked: set[str] = set()
        self.called: set[str] = set()
        self.stored: set[str] = set()
        self.aside: list[FunctionType] = []

    def says_yes(self, f: FunctionType, arguments: dict[str, Any], settled: bool) -> bool:
        """Whether the function needs conversion."""
        if self.needs(f, arguments) or (self.asked and not settled):
            return True
        while self.asked and self.aside:
            if self.needs(self.aside.pop(), {}):
                return True
        return not self.stored.isdisjoint(self.asked | self.called)

    def needs(self, f: FunctionType, arguments: dict[str, Any]) -> bool:
        """Whether the code may meet a tensor; `arguments` has the values of parameters, as far as they are known."""
        code = f.__code__
        if noting.get() is not None and _assigns(code):
            return True
        key = id(f), *[(name, id(value)) for name, value in sorted(arguments.items(), key=_first)]
        if key in self._seen:
            return False
        self._seen[key] = f, arguments  # held, so that no other object gets the id of one
        parts = _read.get(code)
        if parts is None:
            parts = _read.keep(code, _parts_of(code))
        return parts is None or len(self._seen) > _MOST or _Scope(f, arguments, self).needs(parts)


def _first(pair: tuple[str, Any]) -> str:
    return pair[0]


def _bound(f: FunctionType, given: list[Any], named: dict[str, Any]) -> dict[str, Any]:
    """The values of parameters for a call with all of its arguments."""
    code = f.__code__
    names = code.co_varnames[: code.co_argcount]
    defaults = f.__defaults__ or ()
    # Decorators may leave more defaults than names.
    found = dict(zip(reversed(names), reversed(defaults), strict=False))
    found.update(f.__kwdefaults__ or {})
    found.update(named)
    found.update(zip(names, given, strict=False))
    return found


def _assigns(code: CodeType) -> bool:
    """Whether the code assigns attributes or items, which is noted in branches and steps."""
    return not (_ASSIGNING.isdisjoint(code.co_code[::2]) and CHANGING.isdisjoint(code.co_names))


# -- what the code says ----------------------------------------------------------------------------------------------------


def _parts_of(code: CodeType) -> tuple[tuple[str, Any], ...] | None:
    """What some code does with places: ("called", place), ("looped", place), ("tested", place) or ("stored", name), in order;
    None if it must be converted anyway.

    A place is a tuple: ("global", name), ("free", name), ("argument", name), ("value", constant), ("attribute", place, name),
    ("made", names of the last arguments, place of the function, places of its arguments...), ("entered", place) for what a
    `with` gives, ("item", place) of a series, ("first", place) of a pair, ("operated", place, place), ("compared", place, place),
    ("anything",).
    """
    if not _IS_KNOWN or not _INNARDS.isdisjoint((*code.co_names, *code.co_consts)):
        return None
    if any(isinstance(const, CodeType) for const in code.co_consts):
        return None
    parts: list[tuple[str, Any]] = []
    stack: list[Any] | None = []  # the places of the values on the stack, None where no instruction leads to
    steps = _steps(code)
    parameters, once = _variables(code, steps)
    held: dict[str, Any] = {}  # the places of the variables that are set once
    names: tuple[str, ...] = ()  # those of the arguments of the next call
    ends: dict[int, list[Any]] = {}  # the stack where jumps lead to
    for name, argument, value, effect, offset in steps:
        if offset in ends:
            stack = _joined(stack, ends.pop(offset))
        if stack is None or name == "PUSH_EXC_INFO":  # a handler begins, above values that it does not call
            stack = [_ANYTHING] * code.co_stacksize
        if name == "LOAD_CONST":
            stack.append(("value", code.co_consts[argument]))
        elif name == "LOAD_SMALL_INT":
            stack.append(("value", argument))
        elif name.startswith("LOAD_FAST"):
            stack.append(held.get(value, ("argument", value) if value in parameters else _ANYTHING))
        elif name in ("LOAD_GLOBAL", "LOAD_NAME"):
            stack += [_NULL] * (effect - 1)
            stack.append(("global", value))
        elif name in _FREE:
            stack.append(("free", value))
        elif name in ("LOAD_ATTR", "LOAD_METHOD"):
            stack[-1:] = [("attribute", stack[-1], value)] + [_NULL] * effect
        elif name == "PUSH_NULL":
            stack.append(_NULL)
        elif name in ("POP_TOP", "POP_ITER"):
            del stack[-1:]
        elif name == "STORE_FAST":
            place = stack.pop()
            if value in once:
                held[value] = place
        elif name in _STORING:
            parts.append(("stored", value))
            del stack[len(stack) + effect :]
        elif name == "COPY":
            stack.append(stack[-argument] if argument <= len(stack) else _ANYTHING)
        elif name == "SWAP" and argument <= len(stack):
            stack[-1], stack[-argument] = stack[-argument], stack[-1]
        elif name in ("BINARY_OP", "COMPARE_OP"):
            stack[-2:] = [("operated" if name == "BINARY_OP" else "compared", *stack[-2:])]
        elif name in _DECIDED:
            del stack[len(stack) + effect - 1 :]
            stack.append(_A_BOOL)
        elif name == "UNARY_NOT":
            parts.append(("tested", stack[-1]))
            stack[-1] = _A_BOOL
        elif name == "UNPACK_SEQUENCE":
            stack[-1:] = [_ANYTHING] * (argument - 1) + [("first", stack[-1])]
        elif name == "FOR_ITER":
            parts.append(("looped", stack[-1]))
            left = len(stack) + dis.stack_effect(_FOR, argument, jump=True)
            end = [*stack[: min(len(stack) - 1, left)], *[_ANYTHING] * (left - len(stack) + 1)]
            ends[value] = _joined(ends.get(value), end)
            stack.append(("item", stack[-1]))
        elif "JUMP" in name:
            if "_IF_" in name:
                if "NONE" not in name:
                    parts.append(("tested", stack[-1]))
                if not name.endswith("_OR_POP"):
                    del stack[-1:]
            ends[value] = _joined(ends.get(value), stack)
            if name.endswith("_OR_POP"):
                stack = stack[:-1]
            elif "_IF_" not in name:
                stack = None
        elif name in _LEAVING:
            stack = None
        elif name == "BEFORE_WITH":
            stack[-1:] = [_ANYTHING, ("entered", stack[-1])]
        # A manager's method and the manager: how its `with` ends, and then how it begins.
        elif name == "LOAD_SPECIAL":
            stack[-1:] = [("enter", stack[-1]), _NULL] if argument == _ENTER else [_ANYTHING, ("value", None)]
        elif name == "KW_NAMES":
            names = code.co_consts[argument]
        elif name in ("CALL", "CALL_KW"):
            if name == "CALL_KW":
                names = stack.pop()[1]
            # Below the arguments: the function and NULL, in either order, or a method and its object. The end of a `with`
            # is a method with None as its object, that of the manager as it is.
            count = argument
            below = stack[-count - 2 : len(stack) - count]
            callee = [x for x in below if x is not _NULL]
            if len(below) < 2 or not callee:
                return None
            made: Any = _ANYTHING
            if callee[-1][0] == "enter":
                made = "entered", callee[-1][1]
            elif callee[-1] != ("value", None):
                if len(callee) != 1:
                    return None
                made = "made", names, callee[0], *stack[len(stack) - count :]
                parts.append(("called", made))
            stack[-count - 2 :] = [made]
            names = ()
        elif name not in _SILENT:
            if name in _OPAQUE:
                return None
            depth = max(len(stack) + effect, 0)
            del stack[max(min(len(stack), depth) - (effect <= 0), 0) :]
            stack += [_ANYTHING] * (depth - len(stack))
    return tuple(parts)


def _joined(one: list[Any] | None, other: list[Any]) -> list[Any]:
    """The stack where two ways meet; their lengths differ below what is known of a handler."""
    if one is None:
        return list(other)
    pairs = zip(reversed(one), reversed(other), strict=False)
    return [a if a == b else _ANYTHING for a, b in pairs][::-1]


def _steps(code: CodeType) -> list[tuple[str, int, Any, int, int]]:
    """The instructions: name, argument, name of the variable or place of the jump, effect on the depth of the stack, place in
    the code. Those that load or store two variables are two. The iterator of `dis` takes five times as long.
    """
    steps: list[tuple[str, int, Any, int, int]] = []
    text, names = code.co_code, code.co_names
    cells = [name for name in code.co_cellvars if name not in code.co_varnames]
    variables = (*code.co_varnames, *cells, *code.co_freevars)
    argument, end = 0, len(text)
    for offset in range(0, end, 2):
        op = text[offset]
        argument += text[offset + 1]
        if op == _CACHE:
            continue
        if op == dis.EXTENDED_ARG:
            argument <<= 8
            continue
        name = dis.opname[op].replace("_BORROW", "")  # without a reference of its own
        value: Any = None
        if op in _NAMING:
            value = names[argument >> _NAMING[op]]
        elif op in _LOCAL:
            first, *more = name.split("_FAST_")
            if more and more[0] not in ("CHECK", "AND_CLEAR"):
                for verb, k in ((first, argument >> 4), (more[0].removesuffix("_FAST"), argument & 15)):
                    steps.append((f"{verb}_FAST", k, variables[k], 1 if verb == "LOAD" else -1, offset))
                argument = 0
                continue
            value = variables[argument]
        elif op in _JUMPING and "BACKWARD" not in name:
            value = offset + 2 + 2 * argument
            while value < end and text[value - 2 * argument] == _CACHE:
                value += 2
        effect = dis.stack_effect(op, argument if op >= dis.HAVE_ARGUMENT else None, jump=False)
        steps.append((name, argument, value, effect, offset))
        argument = 0
    return steps


def _variables(code: CodeType, steps: list[tuple[str, int, Any, int, int]]) -> tuple[set[str], set[str]]:
    """The parameters that are not given another value, and the other variables that are given a value in one place."""
    listed = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    more = 0 if code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS) == 0 else 2
    all_parameters = set(code.co_varnames[: len(listed) + more])
    stored = [value for name, _, value, _, _ in steps if name.startswith(("STORE_FAST", "DELETE_FAST"))]
    return set(listed) - set(stored), {x for x in stored if stored.count(x) == 1} - all_parameters


# -- what it stands for ----------------------------------------------------------------------------------------------------


class _Scope:
    """The names of a function, as of now."""

    def __init__(self, f: FunctionType, arguments: dict[str, Any], look: _Look) -> None:
        self._globals = f.__globals__
        self._cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        self._arguments = arguments
        self._look = look
        self._names: set[str] = look.called  # where the names go that are looked up

    def needs(self, parts: tuple[tuple[str, Any], ...]) -> bool:
        """Whether one of the parts may need conversion."""
        for what, place in parts:
            if what == "stored":
                self._look.stored.add(place)
            elif what == "called":
                self._names = self._look.called
                if self._may_branch(place):
                    return True
            else:
                self._names = self._look.asked
                kind = _kind(self.value(place))
                if kind is None or (what == "looped" and kind != "series"):
                    return True
        return False

    def value(self, place: tuple[Any, ...]) -> Any:
        """The value of a place: an object, a `_Made` or a `_Kind`."""
        what, *parts = place
        if what == "value":
            return parts[0]
        if what in ("global", "free"):
            self._names.add(parts[0])
        if what == "global":
            found = self._globals.get(parts[0], _UNKNOWN)
            return getattr(builtins, parts[0], _UNKNOWN) if found is _UNKNOWN else found
        if what == "free":
            try:
                return self._cells[parts[0]].cell_contents
            except (KeyError, ValueError):
                return _UNKNOWN
        if what == "argument":
            return self._arguments.get(parts[0], _UNKNOWN)
        if what == "anything":
            return _UNKNOWN
        if what == "made":
            names, callee, *arguments = parts
            return _made(self.value(callee), [self.value(x) for x in arguments], bool(names))
        base = self.value(parts[0])
        if what == "attribute":
            self._names.add(parts[1])
            return _attribute(base, parts[1])
        if what == "entered":
            return base if isinstance(base, _Made) and _enters_itself(base.kind) else _UNKNOWN
        if what == "item":
            if base is _PAIRS:
                return _PAIR
            return _NUMBER if base is _COUNTS or type(base) is range else _UNKNOWN
        if what == "first":
            return _NUMBER if base is _PAIR else _UNKNOWN
        kinds = [_kind(base), _kind(self.value(parts[1]))]
        is_number = None not in kinds if what == "compared" else kinds == ["number", "number"]
        return _NUMBER if is_number else _UNKNOWN

    def _may_branch(self, made: tuple[Any, ...]) -> bool:
        """Whether a call may run the user's control flow."""
        from graphad.autograph.call import (
            behind_context_manager,
            call_method,
            is_overloaded,
            may_convert,
            takes_functions,
        )

        _, names, callee, *places = made
        found = self.value(callee)
        given: list[Any] = []
        is_whole = not isinstance(found, partial)  # whether these are all arguments of the function that runs
        while isinstance(found, partial):
            found = found.func
        if isinstance(found, MethodType):
            given = [found.__self__]
            found = found.__func__
        if isinstance(found, FunctionType):
            found = behind_context_manager(found) or found
            if takes_functions(found):
                return True
        elif isinstance(found, _Kind):
            return True
        elif isinstance(found, ModuleType | _Made):
            return False
        elif isinstance(found, type) or type(found).__module__ == "builtins":
            if any(found is f for f in _WILD):
                return True
            if callable(found) and is_overloaded(found):
                return _kind(self.value(made)) is None
        else:
            given, found = [found], call_method(type(found))
        values = [*given, *[self.value(x) for x in places]]
        if not isinstance(found, FunctionType) or not may_convert(found):
            self._set_aside(found, values)
            return False
        split = len(values) - len(names)
        named = dict(zip(names, values[split:], strict=True))
        return self._look.needs(found, _bound(found, values[:split], named) if is_whole else {})

    def _set_aside(self, called: Any, values: list[Any]) -> None:
        """Note the user's functions that a call may run though it is of no function of the user's: what is wrapped, how a class
        begins its objects, what a layer does, functions among the arguments.
        """
        from graphad.autograph.call import may_convert

        own = [getattr(called, name, None) for name in ("__wrapped__", "__new__", "__init__")]
        own += [getattr(type(x), "call", None) for x in values[:1]]
        for f in (*own, *values):
            while isinstance(f, partial):
                f = f.func
            if isinstance(f, MethodType):
                f = f.__func__
            if isinstance(f, FunctionType) and may_convert(f):
                self._look.aside.append(f)


def _kind(value: object) -> str | None:
    """What a value is that is Python's own: a "number", an integer that is; a "series"; "plain" for others; None for all else."""
    kind = type(value)
    if kind is _Kind:
        return None if value is _UNKNOWN else value.name  # type: ignore[attr-defined]
    if kind is int or kind is bool:
        return "number"
    return "series" if kind in _SERIES else "plain" if kind in _PLAIN else None


def _made(f: object, given: list[Any], is_named: bool) -> Any:
    """The result of a call; `is_named` if some arguments are passed by name."""
    if isinstance(f, type) and f.__module__.startswith("graphad."):
        return _Made(f)
    if is_named or f.__class__.__hash__ is None or getattr(f, "__module__", None) != "builtins":
        return _UNKNOWN
    kinds = [_kind(x) for x in given]
    if f in _TESTS:
        return _NUMBER
    if f in _NUMBERS:
        return _NUMBER if given and all(kind == "number" for kind in kinds) else _UNKNOWN
    if f is len:
        return _NUMBER if kinds == ["series"] else _UNKNOWN
    if f is range:
        return _COUNTS if all(kind == "number" for kind in kinds) else _UNKNOWN
    if f is enumerate and kinds[1:] == ["number"]:
        kinds.pop()
    if f in (enumerate, reversed, zip) and all(kind == "series" for kind in kinds):
        return (
            _PAIRS if f is enumerate else _COUNTS if f is reversed and given[0] is _COUNTS else _SOME_SERIES
        )
    return _UNKNOWN


def _attribute(base: Any, name: str) -> Any:
    """An attribute of a module or of an object, where no code of the user's gives it."""
    if isinstance(base, ModuleType):
        return getattr(base, name, _UNKNOWN)
    kind: Any = base.kind if isinstance(base, _Made) else type(base)
    if kind is _Kind or kind.__getattribute__ is not object.__getattribute__:
        return _UNKNOWN
    found = next((vars(c)[name] for c in kind.__mro__ if name in vars(c)), _UNKNOWN)
    if kind.__module__.startswith("graphad."):  # a method, which is called as it is
        own = inspect.getattr_static(base, name, None) if kind is type(base) else found
        return own if isinstance(own, FunctionType) else _UNKNOWN
    held = getattr(base, "__dict__", {})
    if name in held and not hasattr(type(found), "__set__"):
        return held[name]
    return MethodType(found, base) if type(found) is FunctionType else _UNKNOWN


def _enters_itself(kind: type) -> bool:
    """Whether a `with` of an object of one of graphad's classes gives the object itself."""
    enters = inspect.getattr_static(kind, "__enter__", None)
    return getattr(enters, "__annotations__", {}).get("return") == kind.__name__
