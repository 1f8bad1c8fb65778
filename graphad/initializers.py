"""Initial values of weights: the names of `tf.keras.initializers`."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
