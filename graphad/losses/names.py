"""Losses by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.registered import made_again, serialized
from graphad.losses import classification, regression
from graphad.losses.base import LossFunction

_SHORT = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "kld": "kl_divergence",
    "kullback_leibler_divergence": "kl_divergence",
    "logcosh": "log_cosh",
}


def get(identifier: object) -> Any:
    """The loss that a name, a class or a dict stands for; a loss, a function and None stay.

    Args:
      identifier: A name such as "mse", a loss or its class, a dict with class_name and config, a function, or None.
    Returns: A function or a loss, or None.
    Raises: InvalidArgumentError (a ValueError): no such name, or something else.
    """
    if isinstance(identifier, Mapping):
        return deserialize(identifier)
    if isinstance(identifier, type):
        return identifier()
    if identifier is None or callable(identifier):
        return identifier
    found = _named(identifier) if isinstance(identifier, str) else None
    if found is None:
        raise InvalidArgumentError(
            f"losses.get: there is none called {identifier!r}; dir(graphad.losses) lists them."
        )
    return found() if isinstance(found, type) else found


def _named(identifier: str) -> Any:
    """The class or function of a name, None where there is none."""
    short = _SHORT.get(identifier.lower(), identifier)
    for family in (classification, regression):
        found = vars(family).get(short)
        if isinstance(found, type) and issubclass(found, LossFunction) and found is not LossFunction:
            return found
        if (
            not isinstance(found, type)
            and getattr(found, "__module__", "") == family.__name__
            and short[0] != "_"
        ):
            return found
    return None


def serialize(loss: object) -> dict[str, Any] | str:
    """A loss as a dict of the name of its class and its arguments; of a function its name.

    Args: loss: A loss or a function.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> losses.serialize(losses.Huber(2.0))["config"]["delta"]
      2.0
    """
    return serialized(loss)  # type: ignore[no-any-return]


def deserialize(name: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """A loss that a dict or a name of `serialize` describes.

    Args:
      name: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: A loss, or a function.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> losses.deserialize({"class_name": "Huber", "config": {"delta": 2.0}}).get_config()["delta"]
      2.0
    """
    return made_again("losses", name, _named, custom_objects)
