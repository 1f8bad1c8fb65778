"""The option for derivatives of targets that do not depend on a source."""

from __future__ import annotations

from enum import Enum

from graphad.core.errors import InvalidArgumentError


class UnconnectedGradients(Enum):
    """The gradient of an unconnected source: None, or zeros of its shape."""

    NONE = "none"
    ZERO = "zero"


def unconnected_mode(value: object) -> UnconnectedGradients:
    """The enum that `value` names. Raises: InvalidArgumentError."""
    if type(value) is UnconnectedGradients:
        return value
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise InvalidArgumentError(
            f"Unknown value for unconnected_gradients: {value!r}; use 'none' or 'zero'."
        ) from None
