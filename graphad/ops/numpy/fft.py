"""Fourier transforms by NumPy's names; the stub file lists them."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
