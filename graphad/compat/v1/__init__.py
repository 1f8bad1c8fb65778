"""What TensorFlow 1 and 2 have in common, and the switches that ask for TensorFlow 2."""

from graphad.compat.aliases import aliases
from graphad.core.late import attach
from graphad.core.version import GIT_VERSION, TENSORFLOW

__git_version__ = GIT_VERSION
__version__ = TENSORFLOW

__getattr__, __dir__ = attach(__name__)
aliases.add(__name__)
