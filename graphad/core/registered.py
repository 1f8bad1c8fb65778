"""Classes and functions by name: those that programs register, and those of a namespace with `get`, `serialize` and
`deserialize`.

An object with a configuration is written as a dict of the name of its class and the arguments it was made with; a function as its
name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from graphad.core.errors import InvalidArgumentError

Registered = TypeVar("Registered")
_by_name: dict[str, Any] = {}
_names: dict[Any, str] = {}


def register_keras_serializable(
    package: str = "Custom", name: str | None = None
) -> Callable[[Registered], Registered]:
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

    def register(made: Registered) -> Registered:
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


def get_registered_name(obj: type | Callable[..., object]) -> str:
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
    name: str, custom_objects: dict[str, Any] | None = None, module_objects: dict[str, Any] | None = None
) -> Callable[..., Any] | None:
    """The class or function of a name, None where there is none.

    Args:
      name: A name that something is registered under, "package>name".
      custom_objects: Others by name, which come first.
      module_objects: Others by name, which come last.
    Returns: A class, a function or None.
    Raises: Nothing.
    Example:
      >>> keras.utils.get_registered_object("My>other") is None
      True
    """
    for known in (custom_objects, _by_name, module_objects):
        if known is not None and name in known:
            return known[name]  # type: ignore[no-any-return]
    return None


def get_custom_objects() -> dict[str, Any]:
    """The classes and functions that are registered, by name; more may be put in, under names of any form.

    Returns: The dict itself, in which names are looked up before those of graphad's own classes.
    Raises: Nothing.
    Example:
      >>> keras.utils.get_custom_objects()["double"] = lambda x: 2 * x
      >>> keras.utils.get_custom_objects().pop("double")(3)
      6
    """
    return _by_name


def serialized(x: Any) -> Any:
    """A dict that describes an object with a configuration; of a class or function its name; anything else as it is."""
    if hasattr(x, "get_config") and not isinstance(x, type):
        config = {key: serialized(value) for key, value in x.get_config().items()}
        return {
            "class_name": type(x).__name__,
            "config": config,
            "registered_name": get_registered_name(type(x)),
        }
    return get_registered_name(x) if callable(x) and hasattr(x, "__name__") else x


def in_configuration(value: Any) -> Any:
    """An argument of a constructor as `get_config` gives it.

    An initializer, a regularizer, a constraint or a schedule is the dict of `serialized`, so that configurations can be written
    down; what no name would find again, and anything else, stays as it is. Numbers of NumPy
    become Python's, since JSON knows no others.
    """
    if isinstance(value, np.number | np.bool):
        return value.item()
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([in_configuration(each) for each in value])
    is_described = getattr(kind, "described_in_configurations", False)
    is_found = kind in _names or kind.__module__.partition(".")[0] == __name__.partition(".")[0]
    return serialized(value) if is_described and is_found else value


def made_again(
    kind: str,
    config: Any,
    find: Callable[[str], Any],
    custom_objects: Mapping[str, Any] | None = None,
) -> Any:
    """The object that a dict of `serialized` describes, or what a name stands for: a class or a function.

    Args:
      kind: What the objects are called in messages.
      find: Gives the class or function of a name, None where there is none.
      custom_objects: Others by name, which come first.
    Raises: InvalidArgumentError: there is nothing of that name, or the dict tells no class.
    """
    given: Any = config if isinstance(config, Mapping) else {"class_name": config}
    name, arguments = given.get("class_name"), given.get("config") or {}
    if isinstance(arguments, str):  # a function, in Keras' older form
        name, arguments = arguments, {}
    for known in (given.get("registered_name"), name):
        found = get_registered_object(known, dict(custom_objects or {})) if isinstance(known, str) else None
        if found is not None:
            break
    else:
        found = find(name) if isinstance(name, str) else None
    if found is None:
        raise InvalidArgumentError(
            f"{kind}: there is none called {name!r}; give the name of one, or a dict with class_name and config."
        )
    if not isinstance(found, type):
        return found
    own: Any = found
    inner = {key: _inner(kind, value, find, custom_objects) for key, value in arguments.items()}
    return own.from_config(inner)


def _inner(kind: str, value: Any, find: Callable[[str], Any], custom_objects: Any) -> Any:
    is_object = isinstance(value, Mapping) and {"class_name", "config"} <= value.keys()
    return made_again(kind, value, find, custom_objects) if is_object else value
