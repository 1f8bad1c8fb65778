"""What programs written for several versions of Python and TensorFlow ask for."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
