"""Kinds of functions, for `isinstance`, and what can be a tensor, for annotations."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
