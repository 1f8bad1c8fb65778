"""`losses` as TensorFlow 1 has them."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
