"""What an optimizer makes of a weight after each update."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
