"""Initializers as TensorFlow 1 has them; the names of `compat.v1` end in `_initializer`."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
