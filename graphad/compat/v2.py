"""The names of TensorFlow 2, which are graphad's own."""

from graphad.compat.aliases import aliases
from graphad.core.late import attach
from graphad.core.version import GIT_VERSION, TENSORFLOW

__git_version__ = GIT_VERSION
__version__ = TENSORFLOW

__path__: list[str] = []  # a package, whose modules are graphad's own
__getattr__, __dir__ = attach(__name__)
aliases.add(__name__)
