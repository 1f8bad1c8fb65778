"""Initial values of weights."""

from graphad.layers.initializers import (
    get,
    glorot_normal,
    glorot_uniform,
    he_normal,
    he_uniform,
    ones,
    random_normal,
    random_uniform,
    zeros,
)

__all__ = [
    "get",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "ones",
    "random_normal",
    "random_uniform",
    "zeros",
]
