"""Pickling of functions: by module and name, a method through its object, else by the Python function inside.

Traces are not pickled; an unpickled function is traced again. Imported when the first function is pickled.
"""

from __future__ import annotations

import pickle
import sys
from types import FrameType, FunctionType
from typing import Any

from graphad.core.errors import FailedPreconditionError

_CODE_PICKLERS = frozenset({"cloudpickle", "dill", "_dill"})


class UnpicklableError(FailedPreconditionError, pickle.PicklingError):
    """A function that another process could not find, or a graph, which can be saved but not pickled."""


def reduced(function: Any, instance: Any, attribute: str, again: object, options: tuple[Any, ...]) -> Any:
    """What `__reduce__` of a function returns.

    Args:
      function: The `Function`.
      instance: The object that it is a method of, else None.
      attribute: The name of that method.
      again: Builds a `Function` from the Python function and `options`.
      options: The options of the function.
    Raises: UnpicklableError (a pickle.PicklingError): another process could not find the Python function.
    """
    if instance is not None:
        return getattr, (instance, attribute)
    python = function._python
    path = _path_of(function, python)
    if path is not None:
        return path
    if isinstance(python, FunctionType) and not _is_found(python) and not _packs_code():
        where = "a lambda" if python.__name__ == "<lambda>" else "not found under that name"
        if "<locals>" in python.__qualname__ and python.__name__ != "<lambda>":
            where = "made inside another function"
        raise UnpicklableError(
            f"{function.name}: a tf.function is pickled by its module and name, and {python.__module__}."
            f"{python.__qualname__} is {where}; define it at the top level of a module or as a method, or keep it with "
            "tf.saved_model.save."
        )
    return again, (python, *options)


def graph_refused(name: str) -> UnpicklableError:
    """The error for a traced graph."""
    return UnpicklableError(
        f"{name}: a concrete function is a traced graph with the values it captured and is not pickled; pickle the tf.function "
        "it comes from, which is traced again, or keep the graph with tf.saved_model.save."
    )


def loaded_refused(name: str) -> UnpicklableError:
    """The error for a function that comes from a file."""
    return UnpicklableError(
        f"{name}: a function of a loaded model cannot be pickled; pass the path of the model and load it there."
    )


def _path_of(function: object, python: object) -> str | None:
    """The name under which a module of this process holds this very function."""
    module = sys.modules.get(getattr(python, "__module__", None) or "")
    if module is None:
        return None
    path = getattr(python, "__qualname__", "")
    if _at(module, path) is function:
        return path
    return next((name for name, value in vars(module).items() if value is function), None)


def _is_found(python: FunctionType) -> bool:
    return _at(sys.modules.get(python.__module__), python.__qualname__) is python


def _at(x: object, path: str) -> Any:
    for name in path.split("."):
        x = getattr(x, name, None)
    return x


def _packs_code() -> bool:
    """Whether the current pickler pickles functions with their code."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if not _CODE_PICKLERS.isdisjoint(frame.f_globals.get("__name__", "").split(".")):
            return True
        frame = frame.f_back
    return False
