"""Name scopes: prefixes for the names of variables, per thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_scope: ContextVar[str] = ContextVar("graphad_name_scope", default="")


def current_scope() -> str:
    """The prefix in force, "" or "outer/inner/"."""
    return _scope.get()


@contextmanager
def name_scope(name: str) -> Iterator[str]:
    """Put `name` in front of the names of variables made inside; a name ending in "/" replaces the whole prefix."""
    prefix = name if name.endswith("/") else f"{_scope.get()}{name}/"
    token = _scope.set(prefix)
    try:
        yield prefix
    finally:
        _scope.reset(token)
