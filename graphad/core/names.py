"""Name scopes: prefixes for the names of variables, per thread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ContextDecorator
from contextvars import ContextVar
from typing import Any

from graphad.core.errors import InvalidArgumentError

# The current prefix, and the stack of outer ones.
_scopes: ContextVar[tuple[str, Any]] = ContextVar("graphad_name_scopes", default=("", None))


def current_scope() -> str:
    """The current prefix, "" or "outer/inner/"."""
    return _scopes.get()[0]


def get_current_name_scope() -> str:
    """The current name scope, "outer/inner", or "" outside all scopes.

    Returns: A string.
    """
    return current_scope().removesuffix("/")


class name_scope(ContextDecorator):
    """A block, or a decorated function, in which names of variables are prefixed with `name`.

    Args:
      name: The prefix; one that ends in "/" replaces all outer scopes, and "" leaves all scopes.
    Raises: InvalidArgumentError (a ValueError): `name` is not a string.

    The value of the `with` block is the whole prefix. A scope may be entered again, even inside itself.

    Attributes:
      name: The given name.
    """

    def __init__(self, name: str) -> None:
        if name is not None and not isinstance(name, str):
            raise InvalidArgumentError(f"name_scope: name for name_scope must be a string, got {name!r}.")
        self._name = name

    @property
    def name(self) -> str:
        return self._name

    def __enter__(self) -> str:
        name = self._name or ""
        prefix = name if not name or name.endswith("/") else f"{current_scope()}{name}/"
        _scopes.set((prefix, _scopes.get()))
        return prefix

    def __exit__(self, *error: object) -> None:
        _scopes.set(_scopes.get()[1])

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str]]:
        return name_scope, (self._name,)


def named_by_default(name: str | None, default_name: str | None = None, values: object = None) -> name_scope:
    """A `name_scope` of `name` or, if that is None, of `default_name`: the `name_scope` of `compat.v1`.

    Args:
      name, default_name: Names of scopes.
      values: Ignored; accepted for compatibility.
    Raises: InvalidArgumentError (a ValueError): neither name is a string.
    """
    found = default_name if name is None else name
    if not isinstance(found, str):
        raise InvalidArgumentError(
            f"name_scope: name is {name!r} and default_name is {default_name!r}; one of them must be a string."
        )
    return name_scope(found)
