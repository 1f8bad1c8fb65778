"""`variable_creator_scope`: functions that change or replace the variables that a block makes."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from graphad.core.errors import ArgumentTypeError

if TYPE_CHECKING:
    from graphad.eager.variable import Variable


class _Scopes(threading.local):
    creators: tuple[Callable[..., Any], ...] = ()  # the creators of the enclosing blocks, the outermost first


_scopes = _Scopes()


class Created(type):
    """The metaclass of variables: calling the class calls the creators of the enclosing blocks, the innermost first."""

    if not TYPE_CHECKING:  # type checkers see the constructor instead

        def __call__(cls, *args: Any, **kwargs: Any) -> Variable:
            creators = _scopes.creators
            # A subclass makes its own.
            if not creators or any(type(base) is Created for base in cls.__mro__[1:]):
                return type.__call__(cls, *args, **kwargs)
            bound = _parameters_of(cls).bind(None, *args, **kwargs)
            bound.apply_defaults()
            arguments = dict(bound.arguments)
            del arguments["self"]
            return _maker(cls, creators)(**arguments)

        @property
        def __signature__(cls) -> inspect.Signature:
            """The parameters of the constructor, which `__call__` would hide from editors."""
            given = inspect.signature(cls.__init__).parameters.values()
            return inspect.Signature(list(given)[1:])


@cache
def _parameters_of(cls: type) -> inspect.Signature:
    return inspect.signature(vars(cls)["__init__"])


def _maker(cls: type, creators: tuple[Callable[..., Any], ...]) -> Callable[..., Any]:
    """The `next_creator` of a creator: the creator of the enclosing block, and for the outermost one the class itself."""

    def make(**kwargs: Any) -> Any:
        if not creators:
            return type.__call__(cls, **kwargs)
        return creators[-1](_maker(cls, creators[:-1]), **kwargs)

    return make


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Within the block, `Variable(...)` calls `variable_creator(next_creator, **kwargs)` and gives what that returns.

    `kwargs` are all arguments of `Variable` by name. A creator may change them and call `next_creator(**kwargs)`, which calls the
    creator of the enclosing block, or makes the variable if there is none; or it may return another object. Creators apply in
    this thread, and in functions that are traced in the block.

    Args: variable_creator: A function of the next creator and the arguments of `Variable`.
    Returns: A context manager.
    Raises: ArgumentTypeError (a TypeError): `variable_creator` cannot be called.
    Example:
      >>> def frozen(next_creator, **kwargs):
      ...     return next_creator(**{**kwargs, "trainable": False})
      >>> with variable_creator_scope(frozen):
      ...     v = Variable(1.0)
      >>> v.trainable
      False
    """
    if not callable(variable_creator):
        raise ArgumentTypeError(
            f"variable_creator_scope: {variable_creator!r} cannot be called; give a function of next_creator and **kwargs."
        )
    before = _scopes.creators
    _scopes.creators = (*before, variable_creator)
    try:
        yield
    finally:
        _scopes.creators = before
