"""What weights add to the loss for being large."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
