"""Fourier transforms by NumPy's names."""

from graphad.ops.numpy.fft import *
