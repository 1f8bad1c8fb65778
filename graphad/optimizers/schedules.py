"""Learning rates as functions of the number of steps."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
