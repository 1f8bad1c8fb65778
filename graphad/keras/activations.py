"""Activation functions."""

from graphad.layers.activations import get
from graphad.ops.math import sigmoid, tanh
from graphad.ops.nn import elu, gelu, leaky_relu, relu, selu, silu, softmax, softplus

__all__ = [
    "elu",
    "gelu",
    "get",
    "leaky_relu",
    "relu",
    "selu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
]
