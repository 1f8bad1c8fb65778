"""The version of graphad."""

from graphad.core.version import GIT_VERSION as GIT_VERSION
from graphad.core.version import VERSION as VERSION
