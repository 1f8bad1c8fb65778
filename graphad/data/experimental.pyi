"""Further functions on data sets."""

from graphad.data.dataset import cardinality as cardinality

AUTOTUNE: int
INFINITE_CARDINALITY: int
UNKNOWN_CARDINALITY: int
