"""Lists, tuples and dicts of values: flatten, compare, rebuild."""

from graphad.core.nests import assert_same_structure as assert_same_structure
from graphad.core.nests import flatten as flatten
from graphad.core.nests import is_nested as is_nested
from graphad.core.nests import map_structure as map_structure
from graphad.core.nests import pack_sequence_as as pack_sequence_as
