"""What a derivative is where nothing connects target and source."""

from __future__ import annotations

from enum import Enum
from typing import Any

from graphad.core.errors import InvalidArgumentError


class UnconnectedGradients(Enum):
    """What a gradient is where nothing connects source and target: None, or zeros of the source's shape."""

    NONE = "none"
    ZERO = "zero"


def unconnected_mode(value: Any) -> UnconnectedGradients:
    """The enum that `value` names. Raises: InvalidArgumentError."""
    if type(value) is UnconnectedGradients:
        return value
    try:
        return UnconnectedGradients(value)
    except ValueError:
        raise InvalidArgumentError(
            f"Unknown value for unconnected_gradients: {value!r}; it is 'none' or 'zero'."
        ) from None
