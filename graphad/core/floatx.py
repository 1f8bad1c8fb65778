"""The dtype of weights for which none is named, and the number that keeps losses away from logarithms of 0."""

from __future__ import annotations

from typing import Any

from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError

_ALLOWED = ("float16", "bfloat16", "float32", "float64")
_settings: dict[str, Any] = {"floatx": as_dtype("float32"), "epsilon": 1e-7}


def floatx() -> str:
    """The name of the dtype that layers, initializers and metrics have by default.

    Returns: A name such as "float32".
    """
    return floatx_dtype().name


def floatx_dtype() -> DType:
    """The dtype that layers, initializers and metrics have by default."""
    return _settings["floatx"]  # type: ignore[no-any-return]


def set_floatx(value: object) -> None:
    """Let layers, initializers and metrics that are made from now on have another dtype.

    Args:
      value: "float16", "bfloat16", "float32" or "float64".
    Raises: InvalidArgumentError (a ValueError): any other.
    """
    if value not in _ALLOWED:
        raise InvalidArgumentError(
            f"set_floatx: Unknown `floatx` value: {value!r}; it is one of {', '.join(_ALLOWED)}."
        )
    _settings["floatx"] = as_dtype(value)


def epsilon() -> float:
    """How far losses keep probabilities from 0 and 1.

    Returns: A float.
    """
    return _settings["epsilon"]  # type: ignore[no-any-return]


def set_epsilon(value: float) -> None:
    """Let losses keep probabilities another distance from 0 and 1; functions that were traced keep theirs.

    Args:
      value: A small number.
    Raises: TypeError: it is no number.
    """
    _settings["epsilon"] = float(value)


def clear_session(free_memory: bool = True) -> None:
    """Forget what belongs to a session: nothing, there are no sessions.

    Args:
      free_memory: Accepted for compatibility.
    Raises: Nothing.
    """
