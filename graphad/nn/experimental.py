"""`tf.nn.experimental`: dropout by a seed alone, or by numbers of one's own."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
