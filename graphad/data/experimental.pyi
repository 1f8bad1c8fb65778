"""Further functions on data sets."""

from graphad.data.applied import Counter as Counter
from graphad.data.applied import RandomDataset as RandomDataset
from graphad.data.applied import assert_cardinality as assert_cardinality
from graphad.data.applied import bucket_by_sequence_length as bucket_by_sequence_length
from graphad.data.applied import choose_from_datasets as choose_from_datasets
from graphad.data.applied import enumerate_dataset as enumerate_dataset
from graphad.data.applied import from_list as from_list
from graphad.data.applied import get_next_as_optional as get_next_as_optional
from graphad.data.applied import get_single_element as get_single_element
from graphad.data.applied import get_structure as get_structure
from graphad.data.applied import group_by_window as group_by_window
from graphad.data.applied import ignore_errors as ignore_errors
from graphad.data.applied import map_and_batch as map_and_batch
from graphad.data.applied import parallel_interleave as parallel_interleave
from graphad.data.applied import rejection_resample as rejection_resample
from graphad.data.applied import sample_from_datasets as sample_from_datasets
from graphad.data.applied import scan as scan
from graphad.data.applied import shuffle_and_repeat as shuffle_and_repeat
from graphad.data.applied import take_while as take_while
from graphad.data.applied import unbatch as unbatch
from graphad.data.applied import unique as unique
from graphad.data.described import cardinality as cardinality
from graphad.data.iterators import Optional as Optional

AUTOTUNE: int
INFINITE_CARDINALITY: int
UNKNOWN_CARDINALITY: int
