"""Further functions on data sets."""

from graphad.data.dataset import cardinality as cardinality
from graphad.data.dataset import get_structure as get_structure
from graphad.data.dataset import ignore_errors as ignore_errors
from graphad.data.dataset import rejection_resample as rejection_resample
from graphad.data.iterators import Optional as Optional

AUTOTUNE: int
INFINITE_CARDINALITY: int
UNKNOWN_CARDINALITY: int
