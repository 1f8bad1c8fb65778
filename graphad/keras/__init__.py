"""The names under which Keras users know graphad's layers, losses, metrics and optimizers."""

from graphad import layers, losses, metrics, optimizers
from graphad.keras import activations, initializers
from graphad.layers import Sequential

__all__ = ["Sequential", "activations", "initializers", "layers", "losses", "metrics", "optimizers"]
