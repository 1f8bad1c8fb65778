"""A cheap look at a function's bytecode: has it, or anything it calls by name, control flow that could meet a tensor?

The answer "no" must be certain; it saves reading and rewriting the source. If the code does not show what is called (a
parameter, a method of one, an item), the answer is "yes".

A loop over what is Python's own is no control flow that could meet a tensor: over a list that a name outside of the function
holds now, over `range` of numbers, over `zip` and `enumerate` of such.
"""

from __future__ import annotations

import builtins
import dis
import inspect
from collections.abc import Iterator
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from graphad.autograph.convert import CHANGING, noting
from graphad.core.memo import Memo

_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_FREE = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_LOCAL = frozenset(("LOAD_FAST", "LOAD_FAST_CHECK"))
# What an `if`, a `while`, `and`, `or` and `not` are made of; a `with` has one such jump, behind its _WITH.
_CHOICES = frozenset(
    code for name, code in dis.opmap.items() if name == "UNARY_NOT" or ("JUMP" in name and "_IF_" in name)
)
_ASSIGNING = frozenset(dis.opmap[name] for name in ("STORE_ATTR", "STORE_SUBSCR"))
_WITH = dis.opmap["WITH_EXCEPT_START"]
_FOR = dis.opmap["FOR_ITER"]
_STORING = frozenset(f"{verb}_{kind}" for verb in ("STORE", "DELETE") for kind in ("GLOBAL", "DEREF", "NAME"))
_CALLABLE = frozenset(("global", "free", "made", "entered"))
# Builtins that give numbers or series of Python's own if their arguments are such.
_PLAIN: dict[str, Any] = {f.__name__: f for f in (enumerate, len, range, reversed, zip)}
_SERIES = frozenset((dict, list, range, str, tuple))
_LOOPS, _STORES = (
    object(),
    object(),
)  # seen: a loop that is left as it is; a name outside that is given another value
_HARMLESS_CALLS = frozenset(("CALL_INTRINSIC_1", "CALL_INTRINSIC_2"))
_UNKNOWN = object()
_NULL = object()
_NONE = object()
_called = Memo("calls in code", 4096)  # by code, since a loop may create many functions of one code


def needs_conversion(f: FunctionType) -> bool:
    """Whether converting the function may change what it does."""
    seen: set[Any] = set()
    # What a loop goes over is looked at now, so nothing may change it before the loop begins.
    return _needs(f, seen) or (_LOOPS in seen and _STORES in seen)


def _needs(f: FunctionType, seen: set[Any]) -> bool:
    code = f.__code__
    if noting.get() is not None and _assigns(code):
        return True
    if id(code) in seen:
        return False
    seen.add(id(code))
    cells = dict(zip(code.co_freevars, f.__closure__ or (), strict=True))
    return _code_needs(code, f.__globals__, cells, seen)


def _code_needs(code: CodeType, names: dict[str, Any], cells: dict[str, Any], seen: set[Any]) -> bool:
    called = _called.get(code)
    if called is None:
        called = _called.keep(code, _calls_of(code))
    if called is True:
        return True
    for place in called:
        if place is _STORES:
            seen.add(place)
            continue
        if place[0] in ("looped", "plain"):
            kind = _kind(place[1] if place[0] == "looped" else place, names, cells)
            if kind is None or (place[0] == "looped" and kind != "series"):
                return True
            seen.add(_LOOPS)
            continue
        found = _found(place, names, cells)
        if found is _UNKNOWN or _may_branch(found, seen):
            return True
    return False


def _assigns(code: CodeType) -> bool:
    """Whether the code assigns attributes or items, which is noted in branches and steps."""
    return not (_ASSIGNING.isdisjoint(code.co_code[::2]) and CHANGING.isdisjoint(code.co_names))


def _chooses(code: CodeType) -> bool:
    """Whether there is control flow in the code, besides that of `with`."""
    ops = code.co_code[::2]
    return sum(op in _CHOICES for op in ops) > ops.count(_WITH)


def _calls_of(code: CodeType) -> Any:
    """The places of what some code calls; True if it must be converted anyway.

    A place is ("global" or "free", name, attributes...), or ("made" or "entered", place, attributes...) for what a call of
    that place gives, and for what the `with` of that gives. What must be Python's own is there as ("looped", place), or as a call
    ("plain", name of a builtin, places of its arguments...); a place is then also ("value", constant) or ("operated", places...).
    """
    if any(isinstance(const, CodeType) for const in code.co_consts) or _chooses(code):
        return True
    stack: list[Any] = []  # the places of the values on the stack, as far as they are known
    called: list[Any] = []
    steps = list(_steps(code))
    own = _set_once(code, steps)
    is_named = False  # whether the next call has named arguments
    held: dict[str, Any] = {}  # the places of the variables that a `with` sets
    ends: dict[int, list[Any]] = {}  # the stack where a loop ends, and where a jump leads to
    for before, step in zip([None, *steps], steps, strict=False):
        name, argument, value, effect, offset = step
        stack = ends.pop(offset, stack)
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
            stack.append(("value", value) if value is not None else _NONE)
        elif name == "FOR_ITER":
            if not stack or type(stack[-1]) is not tuple:
                return True
            called.append(("looped", stack[-1]))
            left = len(stack) + dis.stack_effect(_FOR, argument, jump=True)
            ends[value] = [*stack[: min(len(stack) - 1, left)], *[_UNKNOWN] * (left - len(stack) + 1)]
            stack.append(_UNKNOWN)
        elif name == "JUMP_FORWARD":
            ends.setdefault(value, stack)
        elif name == "BINARY_OP":
            stack = [*stack[:-2], _operated(stack[-2:])]
        elif name in _STORING:
            called.append(_STORES)
            stack = stack[:-1]
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
        elif name in ("GET_ITER", "KW_NAMES", "PRECALL"):
            is_named = name == "KW_NAMES"
        elif name in ("CALL", "CALL_KW"):
            by_position = name == "CALL" and not is_named
            is_named = False
            # Below the arguments: the function and NULL, in either order, or a method and its object. The end of a `with`
            # is a method with None as its object, that of the manager as it is.
            below = (argument or 0) + (2 if name == "CALL" else 3)
            callee = [x for x in stack[-below : len(stack) - below + 2] if x is not _NULL]
            made: Any = _UNKNOWN
            if len(stack) < below or not callee:
                return True
            if callee[-1] is not _NONE:
                if len(callee) != 1 or type(callee[0]) is not tuple or callee[0][0] not in _CALLABLE:
                    return True
                if callee[0][0] == "global" and callee[0][1] in _PLAIN and by_position:
                    given = stack[len(stack) - (argument or 0) :]
                    made = "plain", callee[0][1], *given
                    called.append(made)
                else:
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


def _operated(operands: list[Any]) -> Any:
    return ("operated", *operands) if all(type(x) is tuple for x in operands) else _UNKNOWN


def _kind(place: Any, names: dict[str, Any], cells: dict[str, Any]) -> str | None:
    """What a value is that is Python's own: "number" or "series"; None for all else."""
    what, *parts = place if type(place) is tuple else (None,)
    if what == "operated":
        return "number" if all(_kind(part, names, cells) == "number" for part in parts) else None
    if what == "plain":
        name, *given = parts
        kinds = [_kind(x, names, cells) for x in given]
        f = _PLAIN[name]
        if _global(name, names) is not f:
            return None
        if f is len:
            return "number" if kinds == ["series"] else None
        if f is enumerate and kinds[1:] == ["number"]:
            kinds.pop()
        wanted = "number" if f is range else "series"
        return "series" if all(kind == wanted for kind in kinds) else None
    if what == "value":
        found = parts[0]
    elif what in ("global", "free") and len(parts) == 1:
        found = _found(place, names, cells)
    else:
        return None
    return "number" if type(found) is int else "series" if type(found) in _SERIES else None


def _steps(code: CodeType) -> Iterator[tuple[str, int | None, Any, int, int]]:
    """The instructions: name, argument, what that stands for, effect on the depth of the stack, place in the code. Those that
    load or store two variables are two."""
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        first, *more = name.split("_FAST_")
        if more and isinstance(value, tuple):
            for verb, variable in zip((first, more[0].removesuffix("_FAST")), value, strict=True):
                yield f"{verb}_FAST", None, variable, 1 if verb == "LOAD" else -1, instruction.offset
        else:
            effect = dis.stack_effect(instruction.opcode, instruction.arg)
            yield name, instruction.arg, value, effect, instruction.offset


def _set_once(code: CodeType, steps: list[tuple[str, int | None, Any, int, int]]) -> set[str]:
    """The local variables that are no parameters and are given a value in one place."""
    once: set[str] = set()
    flags = code.co_flags
    parameters = code.co_argcount + code.co_kwonlyargcount
    parameters += bool(flags & inspect.CO_VARARGS) + bool(flags & inspect.CO_VARKEYWORDS)
    more = set(code.co_varnames[:parameters])
    for name, _, value, _, _ in steps:
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
    """An attribute of a module, or a method of an object of one of graphad's classes, which is called as it is."""
    if isinstance(base, ModuleType):
        return getattr(base, name, _UNKNOWN)
    if type(base).__module__.startswith("graphad."):
        method = inspect.getattr_static(base, name, None)
        return method if isinstance(method, FunctionType) else _UNKNOWN
    return _UNKNOWN


def _may_branch(found: object, seen: set[Any]) -> bool:
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
