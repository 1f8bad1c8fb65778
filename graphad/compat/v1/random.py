"""`random` with the arguments that functions had in TensorFlow 1."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
