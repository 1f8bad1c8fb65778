"""The default dtype of weights, and the small number that keeps losses away from log(0)."""

from __future__ import annotations

from typing import Any

from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError

_ALLOWED = ("float16", "bfloat16", "float32", "float64")
_settings: dict[str, Any] = {"floatx": as_dtype("float32"), "epsilon": 1e-7}


def floatx() -> str:
    """The name of the default dtype of layers, initializers and metrics.

    Returns: A name such as "float32".
    """
    return floatx_dtype().name


def floatx_dtype() -> DType:
    """The default dtype of layers, initializers and metrics."""
    return _settings["floatx"]  # type: ignore[no-any-return]


def set_floatx(value: object) -> None:
    """Set the default dtype of layers, initializers and metrics that are created later.

    Args:
      value: "float16", "bfloat16", "float32" or "float64".
    Raises: InvalidArgumentError (a ValueError): any other value.
    """
    if value not in _ALLOWED:
        raise InvalidArgumentError(
            f"set_floatx: Unknown `floatx` value: {value!r}; it is one of {', '.join(_ALLOWED)}."
        )
    _settings["floatx"] = as_dtype(value)


def epsilon() -> float:
    """The smallest distance of probabilities from 0 and 1 in losses.

    Returns: A float.
    """
    return _settings["epsilon"]  # type: ignore[no-any-return]


def set_epsilon(value: float) -> None:
    """Set the smallest distance of probabilities from 0 and 1 in losses; traced functions keep the value of their trace.

    Args:
      value: A small number.
    Raises: TypeError: it is not a number.
    """
    _settings["epsilon"] = float(value)


def clear_session(free_memory: bool = True) -> None:
    """Does nothing: graphad has no sessions.

    Args:
      free_memory: Accepted for compatibility.
    Raises: Nothing.
    """
