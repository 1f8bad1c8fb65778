"""What programs ask of the machine before their tests."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
