"""Summaries of a training run, which are not recorded: there is no writer of event files."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
