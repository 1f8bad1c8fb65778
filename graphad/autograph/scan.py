"""A cheap look at a function's bytecode: has it, or anything it calls by name, control flow that could meet a tensor?

The answer "no" must be certain; it saves reading and rewriting the source. If the code does not show what is called (a
parameter, a method of one, an item), the answer is "yes".
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from graphad.autograph.journal import noting
from graphad.core.memo import Memo

_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_FREE = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_LOCAL = frozenset(("LOAD_FAST", "LOAD_FAST_CHECK"))
# What an `if`, a loop, `and`, `or` and `not` are made of; a `with` has one such jump, behind its _WITH.
_CHOICES = frozenset(
    code
    for name, code in dis.opmap.items()
    if name in ("FOR_ITER", "UNARY_NOT") or ("JUMP" in name and "_IF_" in name)
)
_ASSIGNING = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "STORE_SUBSCR"))
_WITH = dis.opmap["WITH_EXCEPT_START"]
_HARMLESS_CALLS = frozenset(("CALL_INTRINSIC_1", "CALL_INTRINSIC_2"))
_UNKNOWN = object()
_NULL = object()
_NONE = object()
_called = Memo("calls in code", 4096)  # by code, since a loop may create many functions of one code


def needs_conversion(f: FunctionType) -> bool:
    """Whether converting the function may change what it does."""
    return _needs(f, set())


def _needs(f: FunctionType, seen: set[int]) -> bool:
    code = f.__code__
    if noting() and _assigns(code):
        return True
    if id(code) in seen:
        return False
    seen.add(id(code))
    cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
    return _code_needs(code, f.__globals__, cells, seen)


def _code_needs(code: CodeType, names: dict[str, Any], cells: dict[str, Any], seen: set[int]) -> bool:
    called = _called.get(code)
    if called is None:
        called = _called.keep(code, _calls_of(code))
    if called is True:
        return True
    for place in called:
        found = _found(place, names, cells)
        if found is _UNKNOWN or _may_branch(found, seen):
            return True
    return False


def _assigns(code: CodeType) -> bool:
    """Whether the code assigns attributes or items, which is noted in branches and steps."""
    return not _ASSIGNING.isdisjoint(code.co_code[::2])


def _chooses(code: CodeType) -> bool:
    """Whether there is control flow in the code, besides that of `with`."""
    ops = code.co_code[::2]
    return sum(op in _CHOICES for op in ops) > ops.count(_WITH)


def _calls_of(code: CodeType) -> Any:
    """The places of what some code calls; True if it must be converted anyway.

    A place is ("global" or "free", name, attributes...), or ("made" or "entered", place, attributes...) for what a call of
    that place gives, and for what the `with` of that gives.
    """
    if any(isinstance(const, CodeType) for const in code.co_consts) or _chooses(code):
        return True
    stack: list[Any] = []  # the places of the values on the stack, as far as they are known
    called: list[Any] = []
    steps = list(_steps(code))
    own = _set_once(code, steps)
    held: dict[str, Any] = {}  # the places of the variables that a `with` sets
    for before, step in zip([None, *steps], steps, strict=False):
        name, argument, value, effect = step
        if name in _GLOBAL:
            stack += [_NULL] * (effect - 1)
            stack.append(("global", value))
        elif name in _FREE:
            stack.append(("free", value))
        elif name in _ATTRIBUTE:
            base = stack.pop() if stack else _UNKNOWN
            named = (*base, value) if type(base) is tuple else _UNKNOWN
            stack += [named] + [_NULL] * effect
        elif name in _LOCAL:
            stack.append(held.get(value, _UNKNOWN))
        elif name == "LOAD_CONST":
            stack.append(_UNKNOWN if value is not None else _NONE)
        elif name == "STORE_FAST":
            given = stack.pop() if stack else _UNKNOWN
            if before is not None and before[0] == "BEFORE_WITH" and value in own:
                held[value] = given
        elif name == "BEFORE_WITH":
            manager: Any = stack.pop() if stack else _UNKNOWN
            is_made = type(manager) is tuple and manager[0] == "made"
            stack += [_UNKNOWN, ("entered", *manager[1:]) if is_made else _UNKNOWN]
        elif name == "PUSH_EXC_INFO":  # a handler begins, with values below its own that it does not call
            stack = [_UNKNOWN] * 8
        elif name == "PUSH_NULL":
            stack.append(_NULL)
        elif name == "KW_NAMES" or name == "PRECALL":
            pass
        elif name in ("CALL", "CALL_KW"):
            # Below the arguments: the function and NULL, in either order, or a method and its object. The end of a `with`
            # is a method with None as its object, that of the manager as it is.
            below = (argument or 0) + (2 if name == "CALL" else 3)
            callee = [x for x in stack[-below : len(stack) - below + 2] if x is not _NULL]
            made: Any = _UNKNOWN
            if len(stack) < below or not callee:
                return True
            if callee[-1] is not _NONE:
                if len(callee) != 1 or callee[0] is _UNKNOWN:
                    return True
                called.append(callee[0])
                made = "made", callee[0]
            del stack[-below:]
            stack.append(made)
        elif name.startswith("CALL"):
            if name not in _HARMLESS_CALLS:
                return True
            stack[-1:] = [_UNKNOWN]
        elif name in ("SWAP", "COPY"):
            stack = [_UNKNOWN] * (len(stack) + effect)
        else:
            depth = max(len(stack) + effect, 0)
            stack = [*stack[: max(min(len(stack), depth) - (effect <= 0), 0)]]
            stack += [_UNKNOWN] * (depth - len(stack))
    return tuple(called)


def _steps(code: CodeType) -> Iterator[tuple[str, int | None, Any, int]]:
    """The instructions: name, argument, what that stands for, effect on the depth of the stack. Those that load or store two
    variables are two."""
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        first, *more = name.split("_FAST_")
        if more and isinstance(value, tuple):
            for verb, variable in zip((first, more[0].removesuffix("_FAST")), value, strict=True):
                yield f"{verb}_FAST", None, variable, 1 if verb == "LOAD" else -1
        else:
            yield name, instruction.arg, value, dis.stack_effect(instruction.opcode, instruction.arg)


def _set_once(code: CodeType, steps: list[tuple[str, int | None, Any, int]]) -> set[str]:
    """The local variables that are no parameters and are given a value in one place."""
    once: set[str] = set()
    flags = code.co_flags
    parameters = code.co_argcount + code.co_kwonlyargcount
    parameters += bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    more = set(code.co_varnames[:parameters])
    for name, _, value, _ in steps:
        if name.startswith("STORE_FAST"):
            (more if value in once else once).add(value)
    return once - more


def _found(place: tuple[Any, ...], names: dict[str, Any], cells: dict[str, Any]) -> Any:
    """What is called: the value of a place as of now."""
    kind, name, *attributes = place
    if kind == "global":
        found = _global(name, names)
    elif kind == "free":
        found = _free(name, cells)
    elif attributes:
        method, *attributes = attributes
        found = _method(_found(name, names, cells), method, kind == "entered")
    else:
        return _UNKNOWN
    for attribute in attributes:
        found = _attribute(found, attribute)
    return found


def _method(made: object, name: str, is_entered: bool) -> Any:
    """A method of an object of one of graphad's classes, where a `with` of one gives the object itself."""
    if not isinstance(made, type) or not made.__module__.startswith("graphad."):
        return _UNKNOWN
    if is_entered:
        enters = inspect.getattr_static(made, "__enter__", None)
        if getattr(enters, "__annotations__", {}).get("return") != made.__name__:
            return _UNKNOWN
    method = inspect.getattr_static(made, name, None)
    return method if isinstance(method, FunctionType) else _UNKNOWN


def _free(name: str, cells: dict[str, Any]) -> Any:
    try:
        return cells[name].cell_contents
    except (KeyError, ValueError):
        return _UNKNOWN


def _global(name: str, names: dict[str, Any]) -> Any:
    found = names.get(name, _UNKNOWN)
    return getattr(builtins, name, _UNKNOWN) if found is _UNKNOWN else found


def _attribute(base: object, name: str) -> Any:
    if isinstance(base, ModuleType):
        return getattr(base, name, _UNKNOWN)
    return _UNKNOWN


def _may_branch(found: object, seen: set[int]) -> bool:
    """Whether calling this may run the user's control flow."""
    from graphad.autograph.call import (
        behind_context_manager,
        call_method,
        is_overloaded,
        may_convert,
        takes_functions,
    )

    while isinstance(found, MethodType | partial):
        found = found.__func__ if isinstance(found, MethodType) else found.func
    if isinstance(found, FunctionType):
        found = behind_context_manager(found) or found
        return takes_functions(found) or (may_convert(found) and _needs(found, seen))
    if isinstance(found, ModuleType):
        return False
    if isinstance(found, type):
        return is_overloaded(found)
    if type(found).__module__ == "builtins":
        return callable(found) and is_overloaded(found)
    call = call_method(type(found))
    return type(call) is FunctionType and may_convert(call)
