"""In-memory data sets: slices of arrays, batches, shuffles, maps."""

from graphad.data import experimental as experimental
from graphad.data.dataset import Dataset as Dataset
from graphad.data.elements import DatasetSpec as DatasetSpec
from graphad.data.options import Options as Options

AUTOTUNE: int
INFINITE_CARDINALITY: int
UNKNOWN_CARDINALITY: int
