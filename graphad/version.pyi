"""The version of graphad."""

from graphad.core.version import VERSION as VERSION
