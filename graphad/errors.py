"""The exceptions that graphad raises; each is also one of Python's own."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
