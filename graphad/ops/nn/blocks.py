"""Blocks of an image, or of any tensor, moved to the batch axis and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import ShapeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.dtypes import int32
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import format_dims
from graphad.core.tensor import Tensor
from graphad.ops.array.join import stack
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import reshape
from graphad.ops.array.shape import shape
from graphad.ops.array.support import static_array, static_integers
from graphad.ops.array.transpose import transpose
from graphad.ops.math.cast import cast


def _block(op: str, block_shape: object) -> list[int]:
    known = static_integers(block_shape)
    if known is None or known.dtype.kind not in "iu":
        raise ArgumentTypeError(
            f"{op}: block_shape {block_shape!r} must be integers of at least 1, known while tracing."
        )
    if known.ndim > 1 or (known.size and known.min() < 1):
        raise InvalidArgumentError(
            f"{op}: block_shape {known.tolist()} must be a vector of integers of at least 1."
        )
    return [int(n) for n in known.ravel()]


def _pairs(op: str, word: str, given: TensorLike, count: int) -> list[list[Any]]:
    """A pair of numbers, known or not, for each axis of a block."""
    known = static_array(given)
    if known is not None:
        if known.shape != (count, 2) or (known.size and known.min() < 0):
            raise InvalidArgumentError(
                f"{op}: {word} has shape {known.shape} and is {known.tolist()}; {count} pairs of numbers, 0 or more, are needed."
            )
        return [[int(a), int(b)] for a, b in known]
    found: Any = cast(given, int32)
    return [[found[k, 0], found[k, 1]] for k in range(count)]


def _sizes(x: Any) -> list[Any]:
    """The sizes of a tensor of known rank, as numbers where they are known."""
    vector: Any = shape(x)
    return [vector[k] if size is None else size for k, size in enumerate(x.dims)]


def _of_rank(op: str, input: object, count: int) -> Any:
    x = lift(input)
    if x.dims is None or len(x.dims) < count + 1:
        raise InvalidArgumentError(
            f"{op}: input has shape {format_dims(x.dims)}; a known rank, with a batch and {count} axes after it, is needed."
        )
    return x


def space_to_batch(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """Blocks of a padded tensor moved to the batch axis: element (i, j) of each block goes to part i * block width + j of the
    batch.

    Args:
      input: Tensor [batch, size 1, ..., size m, ...], any dtype, of known rank.
      block_shape: m integers of at least 1: the size of a block along each of the axes after the batch.
      paddings: Integers [m, 2]: the zeros before and after along these axes. The padded sizes must be multiples of the block.
    Returns: Tensor [batch * product of the block, padded size 1 / block 1, ..., padded size m / block m, ...] of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    Example:
      >>> nn.space_to_batch([[1, 2, 3, 4]], [2], [[0, 0]]).numpy()
      array([[1, 3],
             [2, 4]], dtype=int32)
    """
    op = "space_to_batch"
    block = _block(op, block_shape)
    m = len(block)
    x: Any = _of_rank(op, input, m)
    pads = _pairs(op, "paddings", paddings, m)
    if any(type(n) is not int or n for pair in pads for n in pair):
        x = pad(x, [[0, 0], *pads, *[[0, 0]] * (len(x.dims) - m - 1)])
    sizes = _sizes(x)
    for k, (size, b) in enumerate(zip(sizes[1:], block, strict=False)):
        if isinstance(size, int) and size % b:
            raise InvalidArgumentError(
                f"{op}: axis {k + 1} has size {size} with its padding; it must be a multiple of the block's {b}."
            )
    apart: list[Any] = [sizes[0]]
    for size, b in zip(sizes[1 : m + 1], block, strict=True):
        apart += [size // b, b]
    order = [*range(2, 2 * m + 1, 2), 0, *range(1, 2 * m + 1, 2), *range(2 * m + 1, m + x.ndim)]
    y = transpose(reshape(x, [*apart, *sizes[m + 1 :]]), order)
    inner = [size // b for size, b in zip(sizes[1 : m + 1], block, strict=True)]
    return reshape(y, [sizes[0] * int(np.prod(block)), *inner, *sizes[m + 1 :]])


def space_to_batch_nd(
    input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: str | None = None
) -> Tensor:
    """`space_to_batch`.

    Args:
      input: Tensor [batch, size 1, ..., size m, ...], any dtype.
      block_shape: m integers of at least 1.
      paddings: Integers [m, 2].
    Returns: Tensor with blocks moved to the batch axis, of the same dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    return space_to_batch(input, block_shape, paddings)


def batch_to_space(
    input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: str | None = None
) -> Tensor:
    """The inverse of `space_to_batch`: parts of the batch become the elements of blocks, and the margins are cropped.

    Args:
      input: Tensor [batch, size 1, ..., size m, ...], any dtype, of known rank.
      block_shape: m integers of at least 1, whose product divides the batch.
      crops: Integers [m, 2]: the elements to remove before and after along these axes.
    Returns: Tensor [batch / product of the block, size 1 * block 1 - crops, ..., size m * block m - crops, ...], the same dtype.
    Raises: InvalidArgumentError (a ValueError): the shapes do not fit.
    """
    op = "batch_to_space"
    block = _block(op, block_shape)
    m, whole = len(block), int(np.prod(block))
    x = _of_rank(op, input, m)
    rims = _pairs(op, "crops", crops, m)
    sizes = _sizes(x)
    if isinstance(sizes[0], int) and sizes[0] % whole:
        raise InvalidArgumentError(
            f"{op}: the batch has size {sizes[0]}; it must be a multiple of the block's {whole}."
        )
    batch = sizes[0] // whole
    y = reshape(x, [*block, batch, *sizes[1:]])
    order: list[int] = [m]
    for k in range(m):
        order += [m + 1 + k, k]
    y = transpose(y, [*order, *range(2 * m + 1, m + x.ndim)])
    joined = [size * b for size, b in zip(sizes[1 : m + 1], block, strict=True)]
    y = reshape(y, [batch, *joined, *sizes[m + 1 :]])
    for k, (size, (before, after)) in enumerate(zip(joined, rims, strict=True)):
        if all(isinstance(n, int) for n in (size, before, after)) and before + after > size:
            raise InvalidArgumentError(
                f"{op}: axis {k + 1} has {size} elements; {before} and {after} cannot be cropped."
            )
    key: Any = (slice(None), *[slice(b, size - a) for size, (b, a) in zip(joined, rims, strict=True)])
    return y[key]


@blaming
def required_space_to_batch_paddings(
    input_shape: ShapeLike,
    block_shape: TensorLike,
    base_paddings: TensorLike | None = None,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """The padding that makes sizes multiples of the block, and the crops that undo it.

    Args:
      input_shape: m integers: the sizes to be split into blocks; a shape or an integer tensor.
      block_shape: m integers of at least 1.
      base_paddings: Integers [m, 2]: the least padding, none by default.
    Returns: (paddings, crops), both int32 [m, 2], for `space_to_batch` and `batch_to_space`.
    Raises: InvalidArgumentError (a ValueError): the lengths differ.
    """
    op = "required_space_to_batch_paddings"
    block = _block(op, block_shape)
    given: Any = input_shape
    sizes: Any = cast(list(given) if isinstance(given, tuple) else given, int32)
    if sizes.dims is not None and sizes.dims != (len(block),):
        raise InvalidArgumentError(
            f"{op}: input_shape has shape {format_dims(sizes.dims)}; {len(block)} sizes are needed."
        )
    none = np.zeros((len(block), 2), np.int32)
    pads = lift(none) if base_paddings is None else cast(base_paddings, int32)
    before, after = pads[:, 0], pads[:, 1]
    steps = lift(np.array(block, np.int32))
    more = (steps - (sizes + before + after) % steps) % steps
    return stack([before, after + more], 1), stack([lift(none[:, 0]), more], 1)


@blaming
def with_space_to_batch(
    input: TensorLike,
    dilation_rate: TensorLike,
    padding: str,
    op: Callable[..., Tensor],
    filter_shape: ShapeLike | None = None,
    spatial_dims: Sequence[int] | None = None,
    data_format: str | None = None,
) -> Tensor:
    """`op`, which has no dilation of its own, applied with windows whose elements are `dilation_rate` apart.

    Args:
      input: Tensor [batch, size 1, ..., size m, channels], any dtype that `op` takes.
      dilation_rate: m integers of at least 1.
      padding: "SAME", for which `filter_shape` is needed, or "VALID".
      op: Called with a tensor, the numbers of the axes, and "VALID"; returns a tensor.
      filter_shape: The sizes of a window, m integers, which others may follow.
      spatial_dims: The axes of the windows, ascending and adjacent after the batch; 1 to m by default.
      data_format: None, or an order of axes with the channels last.
    Returns: Tensor: the results of `op`, reassembled.
    Raises: InvalidArgumentError (a ValueError): an order of axes that is not supported, or no `filter_shape` for "SAME".
    """
    rates = _block("with_space_to_batch", dilation_rate)
    m = len(rates)
    places = list(range(1, m + 1)) if spatial_dims is None else [int(k) for k in spatial_dims]
    if places != list(range(1, m + 1)) or (data_format is not None and data_format.startswith("NC")):
        raise InvalidArgumentError(
            f"with_space_to_batch: spatial_dims {places} with data_format {data_format!r}; the axes must follow the batch, "
            "with the channels last."
        )
    if all(rate == 1 for rate in rates):
        return op(lift(input), places, padding)
    x = _of_rank("with_space_to_batch", input, m)
    base = np.zeros((m, 2), np.int32)
    if padding == "SAME":
        if filter_shape is None:
            raise InvalidArgumentError("with_space_to_batch: filter_shape is needed for padding 'SAME'.")
        spans = [(int(n) - 1) * rate for n, rate in zip(static_array(filter_shape)[:m], rates, strict=True)]
        base = np.array([[span // 2, span - span // 2] for span in spans], np.int32)
    sizes = shape(x)[1 : m + 1] if None in x.dims[1 : m + 1] else list(x.dims[1 : m + 1])
    pads, crops = required_space_to_batch_paddings(sizes, rates, base)
    return batch_to_space(op(space_to_batch(x, rates, pads), places, "VALID"), rates, crops)
