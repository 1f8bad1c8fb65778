"""The names of TensorFlow 2, which are graphad's own."""

from graphad.core.late import attach
from graphad.core.version import TENSORFLOW

__version__ = TENSORFLOW

__getattr__, __dir__ = attach(__name__)
