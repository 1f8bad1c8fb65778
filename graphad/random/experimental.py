"""`tf.random.experimental`: seeds made of seeds, shuffles that depend on a seed alone."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
