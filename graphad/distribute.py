"""Strategies for a program that runs as one replica on one device."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
