"""`tf.experimental`: the NumPy namespace under TensorFlow's path."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
