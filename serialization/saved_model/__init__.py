"""Saving and loading whole models."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__, functions_first=True)
