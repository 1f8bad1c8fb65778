"""Lists, tuples and dicts of values: flatten, compare, rebuild."""

from graphad.core.nest_functions import assert_same_structure as assert_same_structure
from graphad.core.nest_functions import flatten as flatten
from graphad.core.nest_functions import is_nested as is_nested
from graphad.core.nest_functions import map_structure as map_structure
from graphad.core.nest_functions import pack_sequence_as as pack_sequence_as
