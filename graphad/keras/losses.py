"""Losses: functions of (labels, predictions), and classes that average them."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
