"""The names of TensorFlow 2, which are graphad's own."""

from graphad import *
from graphad.core.enabled import enable_v2_behavior as enable_v2_behavior

__git_version__: str
__version__: str
