"""Losses by name."""

from __future__ import annotations

from typing import Any

from graphad.core.errors import InvalidArgumentError
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
    """The loss function or class that a name stands for; what is not a name, as it is.

    Args:
      identifier: A name such as "mse", or anything else.
    Returns: A function, a class, or the identifier itself.
    Raises: InvalidArgumentError (a ValueError): no such name.
    """
    if not isinstance(identifier, str):
        return identifier
    short = _SHORT.get(identifier.lower(), identifier)
    for family in (classification, regression):
        found = vars(family).get(short)
        if isinstance(found, type) and issubclass(found, LossFunction) and found is not LossFunction:
            return found()
        if (
            not isinstance(found, type)
            and getattr(found, "__module__", "") == family.__name__
            and short[0] != "_"
        ):
            return found
    raise InvalidArgumentError(
        f"losses.get: there is none called {identifier!r}; dir(graphad.losses) lists them."
    )
