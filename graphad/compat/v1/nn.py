"""What of the neural networks of TensorFlow 1 has the same meaning in TensorFlow 2."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
