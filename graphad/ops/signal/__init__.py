"""Fourier and cosine transforms, windows, frames, short-time spectra."""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
