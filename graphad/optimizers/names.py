"""Optimizers and schedules by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.registered import made_again, serialized
from graphad.optimizers import adafactor, adam, adaptive, decay, sgd
from graphad.optimizers.base import Optimizer

_BY_NAME: dict[str, type[Optimizer]] = {
    spelling: kind
    for module in (adafactor, adam, adaptive, sgd)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Optimizer) and kind is not Optimizer
    for spelling in (name, name.lower())
}


def _named(name: str) -> type[Optimizer] | type[decay.LearningRateSchedule] | None:
    """An optimizer's class, or that of a schedule, which its dict holds."""
    return _BY_NAME.get(name) or decay.named(name)


def get(identifier: object) -> Any:
    """The optimizer that a name or a dict stands for; an optimizer and None stay.

    Args: identifier: A name such as "adam", an optimizer, a dict with class_name and config, or None.
    Returns: An optimizer or None.
    Raises: InvalidArgumentError (a ValueError): no such name, or something else.
    Example:
      >>> float(optimizers.get({"class_name": "SGD", "config": {"learning_rate": 0.5}}).learning_rate)
      0.5
    """
    if identifier is None or isinstance(identifier, Optimizer):
        return identifier
    if isinstance(identifier, Mapping | str):
        return deserialize(identifier)
    raise InvalidArgumentError(
        f"optimizers.get: {identifier!r} is no optimizer; give one, its name, or a dict with class_name and config."
    )


def serialize(optimizer: object) -> dict[str, Any] | str:
    """An optimizer, without what it has learned, as a dict of the name of its class and its arguments; of a function its name.

    Args: optimizer: An optimizer.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> optimizers.serialize(optimizers.SGD(0.5))["config"]["learning_rate"]
      0.5
    """
    return serialized(optimizer)  # type: ignore[no-any-return]


def deserialize(config: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """An optimizer, without what it has learned, that a dict or a name of `serialize` describes.

    Args:
      config: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: An optimizer.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> type(optimizers.deserialize(optimizers.serialize(optimizers.Adam(0.5)))).__name__
      'Adam'
    """
    return made_again("optimizers", config, _named, custom_objects)
