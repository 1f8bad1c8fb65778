"""`variable_creator_scope`: functions that change or replace the variables that a block makes."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from graphad.core.errors import ArgumentTypeError


class _Scopes(threading.local):
    creators: tuple[Callable[..., Any], ...] = ()  # those of the blocks around, the outermost first


_scopes = _Scopes()


class Created(type):
    """The class of the class of variables: a call of it asks the creators of the blocks around, the innermost first."""

    if not TYPE_CHECKING:  # a checker sees the constructor

        def __call__(cls, *args: Any, **kwargs: Any) -> Any:
            creators = _scopes.creators
            if not creators or any(
                type(base) is Created for base in cls.__mro__[1:]
            ):  # a subclass makes its own
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
    """What a creator is given to make the variable by: the next creator outwards, in the end the class."""

    def make(**kwargs: Any) -> Any:
        if not creators:
            return type.__call__(cls, **kwargs)
        return creators[-1](_maker(cls, creators[:-1]), **kwargs)

    return make


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """Within the block, `Variable(...)` calls `variable_creator(next_creator, **kwargs)` and gives what that returns.

    `kwargs` are all arguments of `Variable` by name. A creator may change them, call `next_creator(**kwargs)`, which is the
    creator of the block around or makes the variable, or return something else. It holds for this thread, and for functions that
    are traced in the block.

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
