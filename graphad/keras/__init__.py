"""The names under which Keras users know graphad's layers, losses, metrics and optimizers."""

from graphad import layers, losses, metrics, optimizers
from graphad.keras import activations, initializers

__all__ = ["activations", "initializers", "layers", "losses", "metrics", "optimizers"]
