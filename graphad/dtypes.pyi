"""Element types and conversion between them."""

from graphad.core.dtypes import DType as DType
from graphad.core.dtypes import as_dtype as as_dtype
from graphad.core.dtypes import bfloat16 as bfloat16
from graphad.core.dtypes import bool_
from graphad.core.dtypes import complex64 as complex64
from graphad.core.dtypes import complex128 as complex128
from graphad.core.dtypes import double as double
from graphad.core.dtypes import float16 as float16
from graphad.core.dtypes import float32 as float32
from graphad.core.dtypes import float64 as float64
from graphad.core.dtypes import half as half
from graphad.core.dtypes import int8 as int8
from graphad.core.dtypes import int16 as int16
from graphad.core.dtypes import int32 as int32
from graphad.core.dtypes import int64 as int64
from graphad.core.dtypes import uint8 as uint8
from graphad.core.dtypes import uint16 as uint16
from graphad.core.dtypes import uint32 as uint32
from graphad.core.dtypes import uint64 as uint64
from graphad.ops.math import cast as cast
from graphad.ops.math import complex as complex
from graphad.ops.math import saturate_cast as saturate_cast

bool = bool_
