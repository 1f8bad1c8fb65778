"""The names of TensorFlow 2, which are graphad's own."""

from graphad import *

__version__: str
