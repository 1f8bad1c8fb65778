"""`slice`: a block of a tensor, given by the first index and the number of elements along each axis.

Python's slices clip, but a block must be inside the tensor. Known bounds are checked while tracing; others by an op that
returns the checked bounds, so that the elements cannot be read without the check.
"""

from __future__ import annotations

import operator
from builtins import slice as slice_of
from collections.abc import Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.annotations import (
    Array,
    BatchContext,
    FoldContext,
    Ranked,
    RowAxes,
    Rows,
    TensorLike,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import UNKNOWN
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import MIXED, TupleOp, define, no_gradient
from graphad.core.refusal import refuse
from graphad.core.schema import IntegerSpec
from graphad.core.shapes import format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.keys import FULL, encode_bound
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import partly_known
from graphad.ops.array.slice import GetItem, getitem
from graphad.ops.array.support import INTEGERS, index_tensor, same_row, static_array


@define
class BlockBounds(TupleOp):
    """Two outputs, the first index of a block and the one behind its last, for each axis of a tensor with these sizes:
    begin, and begin + size, or the size of the axis where size is -1. A block that is not inside is an error.
    """

    name = "block_bounds"
    known_as = "slice"
    words = {"sizes": "input_"}
    keeps = (False, False)
    vjp = no_gradient("its results are integers")

    def infer(self, sizes: IntegerSpec, begin: IntegerSpec, size: IntegerSpec) -> tuple[TensorSpec, ...]:
        dims: Any = None
        for spec, word in ((sizes, "input_"), (begin, "begin"), (size, "size")):
            if spec.dims is not None and not spec.dims:
                raise InvalidArgumentError(f"slice: {word} is a scalar; one number for each axis is needed.")
            if spec.dims is not None and (dims is None or len(spec.dims) > len(dims)):
                dims = spec.dims
        lengths = [spec.dims[-1] for spec in (sizes, begin, size) if spec.dims is not None]
        lengths = [length for length in lengths if length is not None]
        if any(length != lengths[0] for length in lengths):
            raise InvalidArgumentError(
                f"slice: begin with shape {format_dims(begin.dims)} and size with shape {format_dims(size.dims)} must have one "
                f"entry for each of the {lengths[0]} axes of input_."
            )
        if dims is not None and lengths:
            dims = (*dims[:-1], lengths[0])
        return begin.with_dims(dims), begin.with_dims(dims)

    def eval(self, sizes: Array, begin: Array, size: Array) -> tuple[Array, ...]:
        rest = sizes - begin
        bad = (begin < 0) | (rest < 0) | (size < -1) | (size > rest)
        if bad.any():
            at = np.unravel_index(int(np.argmax(bad)), bad.shape)
            total, first, many = (np.broadcast_to(x, bad.shape)[at] for x in (sizes, begin, size))
            raise _outside(int(at[-1]), total, first, many)
        stops = np.where(size == -1, sizes, begin + size)
        return arrays.copy(np.broadcast_to(begin, stops.shape)), stops.astype(begin.dtype, copy=False)

    def lower(self, sizes: TensorSpec, begin: TensorSpec, size: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Bounded()

    def batch(self, ctx: BatchContext, sizes: Ranked, begin: Ranked, size: Ranked) -> tuple[Tensor, ...]:
        return bind(self, sizes, begin, size)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> Rows:
        """All three are stacked in front, or the same for all rows."""
        row = same_row(
            [
                None if axis is None else axis - len(spec.dims or ())
                for spec, axis in zip(specs, axes, strict=True)
            ]
        )
        rank = max(len(spec.dims or ()) for spec in specs)
        return row if not isinstance(row, int) else row + rank if row != -1 else MIXED

    def fold(self, ctx: FoldContext, sizes: Tensor, begin: Tensor, size: Tensor) -> tuple[Tensor, ...] | None:
        totals, starts, counts = ctx.known(sizes), ctx.known(begin), ctx.known(size)
        if totals is None or starts is None or counts is None:
            return None
        stops = []
        for axis, (total, first, many) in enumerate(zip(totals, starts, counts, strict=True)):
            rest = total - first
            if first < 0 or rest < 0 or many < -1 or many > rest:
                raise _outside(axis, total, first, many)
            stops.append(total if many == -1 else first + many)
        return ctx.sizes(starts, begin.dtype), ctx.sizes(stops, begin.dtype)


def _outside(axis: int, total: Any, first: Array | int, many: Array | int) -> InvalidArgumentError:
    rest = None if total is None else total - first
    return InvalidArgumentError(
        f"slice: Expected begin[{axis}] in [0, {total}] and size[{axis}] in [-1, {rest}], but got {first} and {many}."
    )


def slice(input_: TensorLike, begin: TensorLike, size: TensorLike, name: str | None = None) -> Tensor:
    """A block of `input_`.

    Args:
      input_: Tensor [...] of any dtype.
      begin: The first index along each axis; may be a tensor.
      size: The number of elements along each axis, -1 for all that follow; may be a tensor.
    Returns: Tensor of the sizes asked for, and of the dtype of `input_`.
    Raises: InvalidArgumentError: the block does not lie inside.
    Example:
      >>> slice([10, 20, 30, 40], [1], [2]).numpy()
      array([20, 30], dtype=int32)
    """
    x: Any = lift(input_)
    firsts, counts = _entries("begin", begin), _entries("size", size)
    bounds: Any = None
    entries: list[Any] = []
    given: list[Any] = []
    known = (*(firsts or ()), *(counts or ()))
    is_plain = x.has_value and len(known) == 2 * len(x.dims) and None not in known  # a key of Python's
    for axis in range(_rank(x, firsts, counts)):
        total = None if x.dims is None else x.dims[axis]
        first, many = _at(firsts, axis), _at(counts, axis)
        if first == 0 and many == -1:
            entries.append(slice_of(None) if is_plain else FULL)
            continue
        if first is not None and many is not None:
            if first < 0 or many < -1 or (total is not None and first + max(many, 0) > total):
                raise _outside(axis, total, first, many)
            if total is not None:
                last = total if many == -1 else first + many
                entries.append(slice_of(first, last) if is_plain else ("slice", first, last, None, None))
                continue
        if bounds is None:
            starts, sizes = index_tensor("slice", begin, "begin"), index_tensor("slice", size, "size")
            bounds = bind(BlockBounds(), shape(x, starts.dtype), starts, sizes)
        low, high = (encode_bound(bound[axis], given) for bound in bounds)
        entries.append(("slice", low, high, None, None if many == -1 else many))
    if is_plain:
        return getitem(x, tuple(entries))
    return bind(GetItem(tuple(entries)), x, *given)


def _entries(name: str, x: TensorLike) -> Sequence[int | None] | None:
    """The numbers in begin or size, None for those that are known only at run time."""
    if isinstance(x, list | tuple):
        if INTEGERS.issuperset(map(type, x)):
            return x
        values = [static_array(item) for item in x]
        try:
            return [None if value is None else operator.index(value[()]) for value in values]
        except (TypeError, ValueError, OverflowError) as cause:
            refuse(cause, "slice", name, x, "one integer for each axis is needed")
    vector = lift(x)
    found = partly_known(vector)
    if found is not None:
        try:
            return [None if value == UNKNOWN else operator.index(value) for value in np.ravel(found)]
        except (TypeError, ValueError, OverflowError) as cause:
            refuse(cause, "slice", name, x, "one integer for each axis is needed")
    return None if not vector.dims or vector.dims[0] is None else [None] * vector.dims[0]


def _at(entries: Sequence[Any] | None, axis: int) -> Any:
    return None if entries is None else entries[axis]


def _rank(x: Tensor, *given: Sequence[Any] | None) -> int:
    ranks = {len(entries) for entries in given if entries is not None}
    if x.ndim is not None:
        ranks.add(x.ndim)
    if not ranks:
        raise InvalidArgumentError("slice: the rank of input_ must be known while tracing.")
    if len(ranks) > 1:
        shown = " and ".join(f"{len(entries)} entries" for entries in given if entries is not None)
        raise InvalidArgumentError(
            f"slice: begin and size have {shown}; they must have one for each axis of input_ with shape {format_dims(x.dims)}."
        )
    return ranks.pop()
