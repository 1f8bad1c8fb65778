"""Rounding to the values of integers of few bits."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
