"""A cheap look at a function's bytecode: has it, or anything it calls by name, control flow that could meet a tensor?

The answer "no" must be certain; it saves reading and rewriting the source. If the code does not show what is called (a
parameter, a method of one, an item), the answer is "yes".
"""

from __future__ import annotations

import builtins
import dis
from functools import partial
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from graphad.core.memo import Memo

_GLOBAL = frozenset(("LOAD_GLOBAL", "LOAD_NAME"))
_FREE = frozenset(("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"))
_ATTRIBUTE = frozenset(("LOAD_ATTR", "LOAD_METHOD"))
_JUMPS = frozenset(("FOR_ITER",))
_HARMLESS_CALLS = frozenset(("CALL_INTRINSIC_1", "CALL_INTRINSIC_2"))
_UNKNOWN = object()
_NULL = object()
_called = Memo("calls in code", 4096)  # by code, since a loop may create many functions of one code


def needs_conversion(f: FunctionType) -> bool:
    """Whether converting the function may change what it does."""
    return _needs(f, set())


def _needs(f: FunctionType, seen: set[int]) -> bool:
    code = f.__code__
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
    for kind, name, *attributes in called:
        found = _global(name, names) if kind == "global" else _free(name, cells)
        for attribute in attributes:
            found = _attribute(found, attribute)
        if found is _UNKNOWN or _may_branch(found, seen):
            return True
    return False


def _calls_of(code: CodeType) -> Any:
    """The names that some code calls, ("global" or "free", name, attributes...); True if it must be converted anyway."""
    if any(isinstance(const, CodeType) for const in code.co_consts):
        return True
    stack: list[Any] = []  # the names behind the values on the stack, as far as they are known
    called: list[Any] = []
    for instruction in dis.get_instructions(code):
        name, argument = instruction.opname, instruction.arg
        if name in _JUMPS or ("JUMP" in name and "_IF_" in name) or name == "UNARY_NOT":
            return True
        effect = dis.stack_effect(instruction.opcode, argument)
        if name in _GLOBAL:
            stack += [_NULL] * (effect - 1)
            stack.append(("global", instruction.argval))
        elif name in _FREE:
            stack.append(("free", instruction.argval))
        elif name in _ATTRIBUTE:
            base = stack.pop() if stack else _UNKNOWN
            named = (*base, instruction.argval) if type(base) is tuple else _UNKNOWN
            stack += [named] + [_NULL] * effect
        elif name == "PUSH_NULL":
            stack.append(_NULL)
        elif name == "KW_NAMES" or name == "PRECALL":
            pass
        elif name in ("CALL", "CALL_KW"):
            # Below the arguments: the function and NULL, in either order, or a method and its object.
            below = (argument or 0) + (2 if name == "CALL" else 3)
            callee = [x for x in stack[-below : len(stack) - below + 2] if x is not _NULL]
            if len(stack) < below or len(callee) != 1 or callee[0] is _UNKNOWN:
                return True
            called.append(callee[0])
            del stack[-below:]
            stack.append(_UNKNOWN)
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
