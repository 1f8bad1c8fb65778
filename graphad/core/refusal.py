"""Errors of Python and NumPy about arguments, turned into graphad's errors that name the function, the argument and what is
needed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Any, NoReturn

from graphad.core.errors import (
    ArgumentTypeError,
    GraphadError,
    InvalidArgumentError,
    OutOfRangeError,
)

_SHOWN = 60
_MOST = 2**20  # limit for sequences of unknown length: nothing else shows that one never ends


def refuse(cause: Exception, op: str, name: str, given: object, needed: str) -> NoReturn:
    """Raises graphad's error of the same Python class as `cause`, or `cause` itself if it is graphad's own.

    Args:
      cause: What Python or NumPy raised for an argument.
      op: The function.
      name: The argument.
      given: Its value.
      needed: What is allowed, a sentence without its full stop.
    """
    if isinstance(cause, GraphadError):
        raise cause
    kind: type[GraphadError] = InvalidArgumentError
    if isinstance(cause, TypeError | AttributeError):
        kind = ArgumentTypeError
    elif isinstance(cause, IndexError):
        kind = OutOfRangeError
    shown = " ".join(repr(given).split())
    shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
    raise kind(f"{op}: {name} is {shown} of type {type(given).__name__}; {needed}.") from cause


def members(op: str, name: str, given: Iterable[Any], needed: str) -> list[Any]:
    """The items of an argument, as a list.

    Raises: ArgumentTypeError: it cannot be iterated over; InvalidArgumentError: it does not end, or its length is invalid.
    """
    if isinstance(given, list | tuple):
        return list(given)
    try:
        found = list(islice(iter(given), _MOST + 1))
    except TypeError as cause:
        refuse(cause, op, name, given, needed)
    if len(found) > _MOST:
        refuse(ValueError(), op, name, given, f"it holds more than {_MOST} elements, or has no end; {needed}")
    return found


def require_one_of(op: str, name: str, given: object, allowed: tuple[Any, ...], needed: str) -> None:
    """Raises: InvalidArgumentError: an argument is none of the values allowed, or an array of several."""
    try:
        found = given in allowed
    except ValueError as cause:
        refuse(cause, op, name, given, needed)
    if not found:
        raise InvalidArgumentError(f"{op}: {name} is {given!r}; {needed}.")


def check_function(name: str, f: object) -> None:
    """Raises: ArgumentTypeError: `f` cannot be called."""
    if not callable(f):
        raise ArgumentTypeError(f"{name}: expected a function, got {f!r} of type {type(f).__name__}.")
