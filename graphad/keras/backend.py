"""Settings of layers and losses, and Keras' own functions of arrays."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
