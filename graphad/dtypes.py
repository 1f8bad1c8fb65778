"""Element types and conversion between them."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
