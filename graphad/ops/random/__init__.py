"""Random numbers: counter-based, seeded, the same on every machine."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
