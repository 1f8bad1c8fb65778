"""Metrics by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.registered import made_again, serialized
from graphad.metrics import accuracies, base, counts, means
from graphad.module import snake_case

_SHORT = {
    "mse": "mean_squared_error",
    "mae": "mean_absolute_error",
    "mape": "mean_absolute_percentage_error",
    "msle": "mean_squared_logarithmic_error",
    "kld": "kl_divergence",
    "bce": "binary_crossentropy",
    "logcosh": "log_cosh_error",
}
_BY_NAME: dict[str, type[base.Metric]] = {
    spelling: kind
    for module in (base, accuracies, counts, means)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, base.Metric) and name[0] != "_"
    for spelling in (name, snake_case(name))
}


def _named(name: str) -> Any:
    return _BY_NAME.get(_SHORT.get(name.lower(), name))


def get(identifier: object) -> Any:
    """The metric that a name, a class or a dict stands for; a metric, a function and None stay.

    Args: identifier: A name such as "mse" or "AUC", a metric or its class, a dict with class_name and config, a function, or
      None.
    Returns: A metric, a function or None.
    Raises: InvalidArgumentError (a ValueError): no such name, or something else.
    Example:
      >>> keras.metrics.get("mse").name
      'mean_squared_error'
    """
    if isinstance(identifier, Mapping | str):
        return deserialize(identifier)
    if isinstance(identifier, type):
        return identifier()
    if identifier is not None and not callable(identifier) and not isinstance(identifier, base.Metric):
        raise InvalidArgumentError(
            f"metrics.get: {identifier!r} is no metric; dir(graphad.metrics) lists them."
        )
    return identifier


def serialize(metric: object) -> dict[str, Any] | str:
    """A metric as a dict of the name of its class and its arguments; of a function its name.

    Args: metric: A metric or a function.
    Returns: A dict or a name, which `deserialize` takes.
    Raises: Nothing.
    Example:
      >>> keras.metrics.serialize(keras.metrics.Precision(0.3))["class_name"]
      'Precision'
    """
    return serialized(metric)  # type: ignore[no-any-return]


def deserialize(config: Mapping[str, Any] | str, custom_objects: dict[str, Any] | None = None) -> Any:
    """A metric that a dict or a name of `serialize` describes.

    Args:
      config: A dict with class_name and config, or a name.
      custom_objects: Classes and functions of one's own by name.
    Returns: A metric, or a function.
    Raises: InvalidArgumentError (a ValueError): there is nothing of that name.
    Example:
      >>> keras.metrics.deserialize({"class_name": "Mean", "config": {"name": "loss"}}).name
      'loss'
    """
    return made_again("metrics", config, _named, custom_objects)
