"""The step of summaries, and scopes of their tags."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
