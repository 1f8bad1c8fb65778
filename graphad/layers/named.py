"""What regularizers and constraints of weights share: they are found by name, and have numbers that are not negative."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.registered import made_again


def by_name(
    kind: str,
    known: Mapping[str, Callable[[], Any]],
    identifier: Callable[..., Any] | str | Mapping[str, Any] | None,
) -> Any:
    """What a name or a dict of class_name and config stands for; a function and None stay.

    Raises: InvalidArgumentError: there is no such name.
    """
    if identifier is None or callable(identifier):
        return identifier
    if isinstance(identifier, Mapping):
        return made_again(kind, identifier, known.get)
    make = known.get(identifier)
    if make is None:
        raise InvalidArgumentError(f"{kind}: {identifier!r} is none; there are {', '.join(known)}.")
    return make()


def not_negative(kind: str, name: str, given: float) -> float:
    """The number. Raises: InvalidArgumentError: it is negative or not finite."""
    number = float(given)
    if not 0 <= number < float("inf"):
        raise InvalidArgumentError(f"{kind}: {name} is {given}; a number that is not negative is needed.")
    return number
