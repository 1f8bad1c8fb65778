"""Linear algebra by NumPy's names."""

from graphad.ops.numpy.linalg import *
