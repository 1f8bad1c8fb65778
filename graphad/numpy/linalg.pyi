"""Linear algebra by NumPy's names."""

from numpy.linalg import LinAlgError as LinAlgError

from graphad.ops.numpy.linalg import *
