"""Activation functions."""

from graphad.layers.activations import (
    elu,
    gelu,
    get,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    silu,
    softmax,
    softplus,
    tanh,
)

__all__ = [
    "elu",
    "gelu",
    "get",
    "leaky_relu",
    "log_softmax",
    "relu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]
