"""Create, reshape, join, slice, gather, scatter, sort.

This family stands below all others: what it needs of arithmetic it writes with the tensors' own operators.
"""

from graphad.ops.array.block import slice
from graphad.ops.array.create import (
    constant,
    convert_to_tensor,
    eye,
    fill,
    identity,
    one_hot,
    ones,
    ones_like,
    rank,
    size,
    stop_gradient,
    zeros,
    zeros_like,
)
from graphad.ops.array.gather import gather, gather_nd
from graphad.ops.array.join import concat, meshgrid, split, stack, unstack
from graphad.ops.array.pad import pad, repeat, tile
from graphad.ops.array.scatter import (
    boolean_mask,
    scatter_nd,
    tensor_scatter_nd_add,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
    unsorted_segment_sum,
)
from graphad.ops.array.sequence import linspace, range
from graphad.ops.array.shape import broadcast_to, expand_dims, reshape, shape
from graphad.ops.array.squeeze import squeeze
from graphad.ops.array.slice import slice_update, strided_slice
from graphad.ops.array.sort import TopK, argsort, sort, top_k
from graphad.ops.array.transpose import matrix_transpose, reverse, roll, transpose

__all__ = [
    "TopK",
    "argsort",
    "boolean_mask",
    "broadcast_to",
    "concat",
    "constant",
    "convert_to_tensor",
    "expand_dims",
    "eye",
    "fill",
    "gather",
    "gather_nd",
    "identity",
    "linspace",
    "matrix_transpose",
    "meshgrid",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "range",
    "rank",
    "repeat",
    "reshape",
    "reverse",
    "roll",
    "scatter_nd",
    "shape",
    "size",
    "slice",
    "slice_update",
    "sort",
    "split",
    "squeeze",
    "stack",
    "stop_gradient",
    "strided_slice",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tile",
    "top_k",
    "transpose",
    "unsorted_segment_sum",
    "unstack",
    "zeros",
    "zeros_like",
]
