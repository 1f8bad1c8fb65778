"""The NumPy namespace: `import graphad.numpy as np`."""

from numpy import complexfloating as complexfloating
from numpy import floating as floating
from numpy import generic as generic
from numpy import index_exp as index_exp
from numpy import inexact as inexact
from numpy import integer as integer
from numpy import number as number
from numpy import s_ as s_
from numpy import signedinteger as signedinteger
from numpy import unsignedinteger as unsignedinteger

from graphad.core.dtypes import DType as DType
from graphad.core.dtypes import bfloat16 as bfloat16
from graphad.core.dtypes import bool_ as bool_
from graphad.core.dtypes import complex64 as complex64
from graphad.core.dtypes import complex128 as complex128
from graphad.core.dtypes import float16 as float16
from graphad.core.dtypes import float32 as float32
from graphad.core.dtypes import float64 as float64
from graphad.core.dtypes import int8 as int8
from graphad.core.dtypes import int16 as int16
from graphad.core.dtypes import int32 as int32
from graphad.core.dtypes import int64 as int64
from graphad.core.dtypes import uint8 as uint8
from graphad.core.dtypes import uint16 as uint16
from graphad.core.dtypes import uint32 as uint32
from graphad.core.dtypes import uint64 as uint64
from graphad.core.tensor import Tensor
from graphad.functional.arrays import apply_along_axis as apply_along_axis
from graphad.functional.arrays import vectorize as vectorize
from graphad.numpy import fft as fft
from graphad.numpy import linalg as linalg
from graphad.numpy import random as random
from graphad.ops.methods import __array_api_version__ as __array_api_version__
from graphad.ops.numpy import *
from graphad.ops.numpy.types import __array_namespace_info__ as __array_namespace_info__

e: float
euler_gamma: float
inf: float
nan: float
newaxis: None
pi: float

bool = bool_
byte = int8
cdouble = complex128
complex_ = complex128
csingle = complex64
double = float64
float_ = float64
half = float16
int_ = int64
intc = int32
intp = int64
longlong = int64
short = int16
single = float32
ubyte = uint8
uint = uint64
uintc = uint32
uintp = uint64
ulonglong = uint64
ushort = uint16
ndarray = Tensor
