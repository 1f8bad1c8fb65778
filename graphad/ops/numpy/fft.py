"""Fourier transforms by NumPy's names, see the stub beside."""

from graphad.core.late import attach

__getattr__, __dir__, __all__ = attach(__name__)
