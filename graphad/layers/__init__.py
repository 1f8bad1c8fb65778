"""Layers: modules that make their variables when they first see an input."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
