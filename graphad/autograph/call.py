"""Calls in converted code: functions are converted before they are called.

User functions are converted, library code is called unchanged. A few builtins accept tensors.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from graphad.autograph.convert import NO_FEATURES, converted_function, is_converted, noting
from graphad.core.frames import is_own

# Packages that are never converted, besides graphad, the standard library, and installed packages that do not use graphad.
LIBRARIES = frozenset(
    "numpy scipy numba llvmlite pandas PIL matplotlib sklearn tqdm optree msgpack ml_dtypes mpi4py pytest _pytest pluggy "
    "hypothesis IPython ipykernel pdb ipdb pydevd debugpy coverage keras tensorflow jax torch".split()
)
# Functions of graphad that call a user's function, which is then converted too.
_TAKE_FUNCTIONS = frozenset(
    "cond case switch_case while_loop map_fn scan foldl foldr vectorized_map custom_gradient recompute_grad "
    "grad_pass_through".split()
)
# Builtins that accept tensors; see `builtins.py`.
_OVERLOADED = frozenset((len, int, float, range, sorted, enumerate, zip, map, iter))
# The directory of the standard library. Importing `sysconfig` would take longer than converting a small function.
_PATHS = (
    os.path.dirname(os.__file__),
    os.path.join(sys.exec_prefix, sys.platlibdir, f"python{sys.version_info[0]}.{sys.version_info[1]}"),
)
_SITES = ("site-packages", "dist-packages")
_libraries: dict[str, bool] = {}


def of(f: Any, features: frozenset[str] = NO_FEATURES, settled: bool = True) -> Any:
    """The function to call instead of `f`; not `settled` if other code of the user runs before the call."""
    kind = type(f)
    if kind is FunctionType:
        return _function(f, features, settled)
    if kind is MethodType:
        inner = f.__func__
        if type(inner) is not FunctionType:
            return f
        made = _function(inner, features, settled, f.__self__)
        return f if made is inner else MethodType(made, f.__self__)
    if kind is BuiltinFunctionType or kind is type:
        if not is_overloaded(f):
            journal = noting.get()
            return f if journal is None else journal.noted_call(f)
        from graphad.autograph.builtins import OVERLOADS

        return OVERLOADS[f]
    if kind is functools.partial:
        made = of(f.func, features, settled)
        return f if made is f.func else functools.partial(made, *f.args, **f.keywords)
    if isinstance(f, type):
        return f
    call = call_method(kind)
    if type(call) is FunctionType:
        made = _function(call, features, settled, f)
        return f if made is call else MethodType(made, f)
    return f


def is_overloaded(f: object) -> bool:
    """Whether a builtin accepts tensors."""
    return f.__class__.__hash__ is not None and f in _OVERLOADED


def call_method(kind: type) -> Any:
    """The `__call__` that a class or one of its bases defines."""
    return next((vars(base)["__call__"] for base in kind.__mro__ if "__call__" in vars(base)), None)


def _function(f: FunctionType, features: frozenset[str], settled: bool, *given: Any) -> Callable[..., Any]:
    code = f.__code__
    if is_converted(code):
        return f
    if is_own(code.co_filename):
        return functools.partial(_with_functions, f) if takes_functions(f) else f
    if not may_convert(f):
        generator = behind_context_manager(f)
        if generator is None or not may_convert(generator):
            return f
        made = converted_function(generator, features, settled=False)
        return f if made is generator else _MANAGERS[f.__code__](made)
    return converted_function(f, features, *given, settled=settled)


def takes_functions(f: FunctionType) -> bool:
    """Whether a function is one of graphad's that call a user's function."""
    return f.__name__ in _TAKE_FUNCTIONS and "." not in f.__qualname__ and is_own(f.__code__.co_filename)


def behind_context_manager(f: FunctionType) -> FunctionType | None:
    """The generator function behind a `contextlib.contextmanager` or `asynccontextmanager`."""
    if f.__code__ not in _MANAGERS:
        return None
    generator = getattr(f, "__wrapped__", None)
    return generator if type(generator) is FunctionType else None


def _nothing() -> Any:
    return None


_MANAGERS: dict[Any, Callable[..., Any]] = {
    make(_nothing).__code__: make for make in (contextlib.contextmanager, contextlib.asynccontextmanager)
}


def _with_functions(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function of graphad, with the functions among its arguments converted."""
    return f(*[_inside(x) for x in args], **{key: _inside(x) for key, x in kwargs.items()})


def _inside(x: object) -> Any:
    if isinstance(x, FunctionType | MethodType | functools.partial):
        return of(x, settled=False)
    if isinstance(x, list | tuple) and type(x) in (list, tuple):
        return type(x)([_inside(item) for item in x])
    if type(x) is dict:
        return {key: _inside(item) for key, item in x.items()}
    return x


def may_convert(f: Callable[..., Any]) -> bool:
    """Whether a function is the user's."""
    filename = f.__code__.co_filename
    module = f.__globals__.get("__name__", "")
    key = f"{filename}\0{module}"
    known = _libraries.get(key)
    if known is None:
        known = _libraries[key] = _is_library(filename, module, f.__globals__)
    return not known


def _is_library(filename: str, module: str, names: dict[str, Any]) -> bool:
    if is_own(filename) or module.partition(".")[0] in LIBRARIES:
        return True
    installed = any(site in filename for site in _SITES)
    if not installed and (filename.startswith(_PATHS) or filename.startswith("<frozen")):
        return True
    return installed and not _uses_graphad(module, names)


def _uses_graphad(module: str, names: dict[str, Any]) -> bool:
    """Whether an installed module refers to anything of graphad."""
    for value in list(names.values()):
        home = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
        if isinstance(home, str) and (home == "graphad" or home.startswith("graphad.")):
            return True
    return False
