"""In-memory data sets: slices of arrays, batches, shuffles, maps."""

from graphad.core.late import attach

AUTOTUNE = -1
INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2

__getattr__, __dir__ = attach(__name__)
