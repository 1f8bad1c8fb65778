"""Activation functions by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphad.core.errors import InvalidArgumentError
from graphad.ops import nn
from graphad.ops.math import exp, sigmoid, tanh

_BY_NAME: dict[str, Callable[[Any], Any]] = {
    "elu": nn.elu,
    "exponential": exp,
    "gelu": nn.gelu,
    "leaky_relu": nn.leaky_relu,
    "log_softmax": nn.log_softmax,
    "relu": nn.relu,
    "selu": nn.selu,
    "sigmoid": sigmoid,
    "softmax": nn.softmax,
    "softplus": nn.softplus,
    "swish": nn.silu,
    "silu": nn.silu,
    "tanh": tanh,
}


def get(activation: Any) -> Callable[[Any], Any] | None:
    """The function that a name or a callable stands for; None and "linear" mean none."""
    if activation is None or activation == "linear":
        return None
    if callable(activation):
        return activation  # type: ignore[no-any-return]
    found = _BY_NAME.get(activation)
    if found is None:
        raise InvalidArgumentError(
            f"activation: there is none called {activation!r}; there are {', '.join(_BY_NAME)}."
        )
    return found
