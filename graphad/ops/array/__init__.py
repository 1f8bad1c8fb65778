"""Create, reshape, join, slice, gather, scatter, sort.

Modules on which `math` stands (create, join, reshape, broadcast, shape) compute with the operators of tensors.

The modules by subject:

    making                create, identity_matrix, sequence, placeholder
    passing on            passing
    shapes as data        shape, sizes, static, ensure
    other shapes          reshape, expanding, squeezing, broadcast, transpose, join, tiling, padding,
                          mirroring
    x[key]                slice, strided, placed, adding, block, advanced, stepped, keys, inside
    by position           gather, along, scatter, masks, combine, positions, bad_indices, indicators,
                          partition
    order                 sorting, order, approximate, distinct
    for all of them       support
"""

from graphad.core.late import attach

__getattr__, __dir__ = attach(__name__, functions_first=True)
