"""Classes and functions that programs register under a name, so that they can be asked for by it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from graphad.core.errors import InvalidArgumentError

T = TypeVar("T")
_by_name: dict[str, Any] = {}
_names: dict[Any, str] = {}


def register_keras_serializable(package: str = "Custom", name: str | None = None) -> Callable[[T], T]:
    """A decorator that registers a class or a function under "package>name".

    Args:
      package: The first part of the name.
      name: The second; by default the name of the class or function.
    Returns: A decorator, which returns what it is given.
    Raises: InvalidArgumentError (a ValueError), from the decorator: a class without `get_config`.
    Example:
      >>> @keras.utils.register_keras_serializable("My")
      ... def double(x):
      ...     return 2 * x
      >>> keras.utils.get_registered_name(double)
      'My>double'
    """

    def register(made: T) -> T:
        own: Any = made
        if isinstance(made, type) and not hasattr(made, "get_config"):
            raise InvalidArgumentError(
                f"register_keras_serializable: {made.__name__} has no get_config; define it, or register a function."
            )
        full = f"{package}>{name or own.__name__}"
        _by_name[full] = made
        _names[made] = full
        return made

    return register


def get_registered_name(obj: Any) -> str:
    """The name that a class or function is registered under, else its own.

    Args: obj: A class or a function.
    Returns: A string.
    Raises: AttributeError: it is not registered and has no name.
    Example:
      >>> keras.utils.get_registered_name(keras.layers.Dense)
      'Dense'
    """
    name: str = _names.get(obj, obj.__name__)
    return name


def get_registered_object(
    name: str, custom_objects: dict[str, Any] | None = None
) -> Callable[..., Any] | None:
    """The class or function of a name, None where there is none.

    Args:
      name: A name that something is registered under, "package>name".
      custom_objects: Others by name, which come first.
    Returns: A class, a function or None.
    Raises: Nothing.
    Example:
      >>> keras.utils.get_registered_object("My>other") is None
      True
    """
    return (custom_objects or {}).get(name, _by_name.get(name))
