"""Saving and loading models; see the package `serialization`."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
