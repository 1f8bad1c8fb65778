"""What programs written for several versions of Python and TensorFlow ask for."""

from graphad.compat import v1 as v1
from graphad.compat import v2 as v2
from graphad.core.dimension import dimension_at_index as dimension_at_index
from graphad.core.dimension import dimension_value as dimension_value
from graphad.core.texts import as_bytes as as_bytes
from graphad.core.texts import as_str_any as as_str_any
from graphad.core.texts import as_text as as_text
from graphad.core.texts import bytes_or_text_types as bytes_or_text_types
from graphad.core.texts import complex_types as complex_types
from graphad.core.texts import forward_compatible as forward_compatible
from graphad.core.texts import integral_types as integral_types
from graphad.core.texts import path_to_str as path_to_str
from graphad.core.texts import real_types as real_types

as_str = as_text
