"""Create, reshape, join, slice, gather, scatter, sort.

Modules on which `math` stands (create, join, reshape, broadcast, shape) compute with the operators of tensors.

The modules by subject:

    making                create, sequence, placeholder
    shapes as data        shape, sizes, static, ensure
    other shapes          reshape, squeezing, broadcast, transpose, join, tiling, padding
    x[key]                slice, placed, adding, block, advanced, stepped, keys
    by position           gather, along, scatter, masks, combine, positions, bad_indices, indicators,
                          partition
    order                 sorting, order, approximate, distinct
    for all of them       support
"""

# Before the functions of the same names are bound: `slice` of `block`, and what that stands on.
import graphad.ops.array.along
import graphad.ops.array.block
import graphad.ops.array.gather
import graphad.ops.array.reshape
import graphad.ops.array.shape
import graphad.ops.array.transpose
from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__)
