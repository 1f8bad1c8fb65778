"""TensorFlow's names for the settings of compilation."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
