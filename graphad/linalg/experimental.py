"""`tf.linalg.experimental`: systems solved by products alone."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
