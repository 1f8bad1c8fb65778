"""Logic and shifts of the bits of integers."""

from graphad.ops.math.bitwise import bitwise_and as bitwise_and
from graphad.ops.math.bitwise import bitwise_or as bitwise_or
from graphad.ops.math.bitwise import bitwise_xor as bitwise_xor
from graphad.ops.math.bitwise import invert as invert
from graphad.ops.math.bitwise import left_shift as left_shift
from graphad.ops.math.bitwise import right_shift as right_shift
