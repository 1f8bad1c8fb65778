"""The names under which Keras users know graphad's layers, losses, metrics and optimizers."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
