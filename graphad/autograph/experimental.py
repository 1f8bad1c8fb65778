"""What a program can say about the conversion of its control flow."""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__)
