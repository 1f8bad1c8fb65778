"""Sets, patches, blocks and sparse tensors with the arguments that their functions had in TensorFlow 1.

`compat.v1` lists them; each calls the newer function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.errors import ArgumentTypeError
from graphad.core.tensor import Tensor
from graphad.ops import array, image, math, sparse
from graphad.ops.math import where
from graphad.ops.math.search import searchsorted
from graphad.ops.nn import blocks
from graphad.ops.older_arguments import newer
from graphad.ops.sparse.tensor import SparseTensor


class ListDiff(NamedTuple):
    """What `setdiff1d` gives: elements, and their places."""

    out: Tensor
    idx: Tensor


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: DTypeLike = dtypes.int32, name: str | None = None
) -> ListDiff:
    """The elements of x [n] that are not in y [m], in their order and as often as they are there, and their places in x."""
    x = lift(x)
    y = array.sort(lift_like("setdiff1d", y, x.dtype))
    at = searchsorted(y, x)
    beside = array.gather(array.concat([y, array.zeros([1], y.dtype)], 0), at)  # y may have no elements
    left = math.logical_not(math.logical_and(math.less(at, array.size(y)), math.equal(beside, x)))
    return ListDiff(array.boolean_mask(x, left), math.cast(where(left)[:, 0], index_dtype))


def extract_image_patches(
    images: TensorLike,
    ksizes: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
    rates: Sequence[int] | None = None,
    padding: str | None = None,
    name: str | None = None,
    sizes: Sequence[int] | None = None,
) -> Tensor:
    """As `graphad.image.extract_patches`; `ksizes` is an older name of `sizes`."""
    given: Any = {"sizes": newer("extract_image_patches", "sizes", sizes, "ksizes", ksizes)}
    given |= {"strides": strides, "rates": rates, "padding": padding}
    for word, value in given.items():
        if value is None:
            raise ArgumentTypeError(f"extract_image_patches: {word} is missing.")
    return image.extract_patches(images, **given)


def space_to_batch(
    input: TensorLike,
    paddings: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """As `graphad.space_to_batch`; `block_size` is the size of a block along two axes."""
    return blocks.space_to_batch(input, _block("space_to_batch", block_size, block_shape), paddings)


def batch_to_space(
    input: TensorLike,
    crops: TensorLike,
    block_size: int | None = None,
    name: str | None = None,
    block_shape: TensorLike | None = None,
) -> Tensor:
    """As `graphad.batch_to_space`; `block_size` is the size of a block along two axes."""
    return blocks.batch_to_space(input, _block("batch_to_space", block_size, block_shape), crops)


def _block(op: str, size: int | None, shape: TensorLike | None) -> TensorLike:
    found: Any = newer(op, "block_shape", shape, "block_size", None if size is None else [size, size])
    if found is None:
        raise ArgumentTypeError(f"{op}: block_size or block_shape is missing.")
    return found  # type: ignore[no-any-return]


def sparse_add(
    a: SparseTensor | TensorLike,
    b: SparseTensor | TensorLike,
    threshold: TensorLike | None = None,
    thresh: TensorLike | None = None,
) -> Tensor | SparseTensor:
    """As `graphad.sparse.add`; `thresh` is an older name of `threshold`."""
    least = newer("sparse_add", "threshold", threshold, "thresh", thresh)
    return sparse.add(a, b, 0 if least is None else least)


def sparse_concat(
    axis: int,
    sp_inputs: Sequence[SparseTensor],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """As `graphad.sparse.concat`; `expand_nonconcat_dim` is an older name of `expand_nonconcat_dims`."""
    newer("sparse_concat", "axis", axis, "concat_dim", concat_dim)
    wide = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    return sparse.concat(axis, sp_inputs, wide)


def _reduction(name: str, newest: Callable[..., Any], is_sparse: bool) -> Callable[..., Any]:
    def reduce(
        sp_input: SparseTensor,
        axis: AxisLike = None,
        keepdims: bool | None = None,
        reduction_axes: AxisLike = None,
        keep_dims: bool | None = None,
    ) -> Tensor | SparseTensor:
        axes = newer(name, "axis", axis, "reduction_axes", reduction_axes)
        keep = newer(name, "keepdims", keepdims, "keep_dims", keep_dims)
        found: Tensor | SparseTensor = newest(sp_input, axes, keep, is_sparse)
        return found

    reduce.__name__ = reduce.__qualname__ = name
    reduce.__doc__ = (
        f"As `graphad.sparse.{newest.__name__}`{', a SparseTensor' if is_sparse else ''}; `reduction_axes` is an older "
        "name of `axis`, `keep_dims` of `keepdims`."
    )
    return reduce


sparse_reduce_sum = _reduction("sparse_reduce_sum", sparse.reduce_sum, False)
sparse_reduce_sum_sparse = _reduction("sparse_reduce_sum_sparse", sparse.reduce_sum, True)
sparse_reduce_max = _reduction("sparse_reduce_max", sparse.reduce_max, False)
sparse_reduce_max_sparse = _reduction("sparse_reduce_max_sparse", sparse.reduce_max, True)
