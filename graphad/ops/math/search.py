"""Positions in sorted sequences, and masks of the first positions of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays, dtypes
from graphad.core.annotations import Array, BatchContext, DTypeLike, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift, lift_pair
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import INTEGER, require_kind_of
from graphad.core.op import MIXED, Op, define, else_eval, no_gradient
from graphad.core.shapes import are_compatible, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.join import concat
from graphad.ops.array.order import in_order
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.sequence import range as range_of
from graphad.ops.array.shape import shape
from graphad.ops.array.support import all_stacked, index_tensor
from graphad.ops.math.cast import cast
from graphad.ops.math.reduce import reduce_max
from graphad.ops.math.rounding import ceil
from graphad.ops.math.select import maximum
from graphad.ops.rules import REAL, require_kind, require_rank, same_dtype


@define
class SearchSorted(Op):
    """For each of `values` [..., k] the insertion position, of `dtype`, in the ascending `sequence` [..., n] of the same row:
    before equal elements, or with `right` after them.
    """

    name = "searchsorted"
    keeps = (False, False)
    right: bool
    dtype: DType

    def infer(self, sequence: TensorSpec, values: TensorSpec) -> TensorSpec:
        same_dtype("searchsorted", (sequence, values))
        require_kind_of("searchsorted", self.dtype, INTEGER, "out_type")
        require_kind("searchsorted", sequence, REAL, "sorted_sequence")
        for spec, word in ((sequence, "sorted_sequence"), (values, "values")):
            require_rank("searchsorted", spec, 1, word)
        if sequence.dims is not None and values.dims is not None:
            if not are_compatible(sequence.dims[:-1], values.dims[:-1]):
                raise InvalidArgumentError(
                    f"searchsorted: sorted_sequence has shape {format_dims(sequence.dims)}, values {format_dims(values.dims)}; "
                    "all sizes but the last must be equal."
                )
        return TensorSpec.of(values.dims, self.dtype)

    def eval(self, sequence: Array, values: Array) -> Array:
        if not arrays.is_here(sequence):
            return self._by_halves(sequence, values)  # type: ignore[no-any-return]
        side: Literal["left", "right"] = "right" if self.right else "left"
        sequence, values = in_order(sequence), in_order(values)
        out = np.empty(values.shape, self.dtype.numpy)
        for index in np.ndindex(values.shape[:-1]):
            out[index] = np.searchsorted(sequence[index], values[index], side)
        return out

    def _by_halves(self, sequence: Any, values: Any) -> Any:
        """For all rows of a device at once: whether the element at each power of two further on comes before the value."""
        n = sequence.shape[-1]
        found = arrays.zeros(values.shape, np.int64, values)
        if not n or not values.size:
            return found.astype(self.dtype.numpy)
        is_number = values == values  # NaN comes last
        for k in range(n.bit_length() - 1, -1, -1):
            there = found + 2**k
            near = np.take_along_axis(sequence, np.minimum(there, n) - 1, -1)
            is_before = near <= values if self.right else near < values
            is_before = np.where(is_number, is_before, (near == near) | self.right)
            found = np.where((there <= n) & is_before, there, found)
        return found.astype(self.dtype.numpy)

    @else_eval("a position is told by all elements of its row")
    def lower(self, sequence: TensorSpec, values: TensorSpec) -> kernels.forms.Form | None:
        return kernels.forms.Searched(self.right, self.dtype)

    vjp = no_gradient("a position is piecewise constant")

    def batch(self, ctx: BatchContext, sequence: Ranked, values: Ranked) -> Tensor:
        return bind(self, *all_stacked(ctx, (sequence, values)))

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        of_sequence, of_values = axes
        if of_sequence is None:
            return of_values
        last = len(specs[0].dims or ()) - 1
        return of_sequence if of_sequence < last and of_values in (None, of_sequence) else MIXED


@blaming
def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """The position at which each value would be inserted into a sorted sequence to keep it sorted. No gradient.

    Args:
      sorted_sequence: Real tensor [..., n], sorted along the last axis.
      values: Tensor [..., m] of the same dtype, with as many rows; the leading sizes may differ in form, [1, m] for [m].
      side: "left" puts a value before equal ones, "right" after them.
      out_type: int32 or int64.
    Returns: Tensor [..., m] of positions from 0 to n.
    Raises: InvalidArgumentError (a ValueError): the leading sizes differ, or `side` is unknown; DTypeError (a TypeError):
      dtypes that differ.
    Example:
      >>> searchsorted([1.0, 3.0, 5.0], [0.0, 3.0, 9.0]).numpy()
      array([0, 1, 3], dtype=int32)
    """
    if side not in ("left", "right"):
        raise InvalidArgumentError(f"searchsorted: side {side!r} is unknown; it is 'left' or 'right'.")
    sequence, x = lift_pair("searchsorted", sorted_sequence, values)
    if sequence.dims and x.dims and len(sequence.dims) != len(x.dims):
        n_rows = x.shape[:-1].num_elements()
        if n_rows is not None and n_rows == sequence.shape[:-1].num_elements():
            sequence = reshape(sequence, concat([shape(x)[:-1], shape(sequence)[-1:]], 0))
    return bind(SearchSorted(side == "right", as_dtype(out_type)), sequence, x)


def sequence_mask(
    lengths: TensorLike,
    maxlen: TensorLike | None = None,
    dtype: DTypeLike = dtypes.bool_,
    name: str | None = None,
) -> Tensor:
    """For each length n a row of which the first n elements are True, the others False.

    Args:
      lengths: Integer tensor [...]; of floats what is behind the point is cut off, or counts as one
        more where there is no `maxlen`.
      maxlen: The length of the rows, by default the largest length.
      dtype: The dtype of the result.
    Returns: Tensor [..., maxlen].
    Raises: DTypeError (a TypeError): lengths that are no numbers; InvalidArgumentError (a ValueError): `maxlen` is no scalar.
    Example:
      >>> sequence_mask([1, 3], 3).numpy()
      array([[ True, False, False],
             [ True,  True,  True]])
    """
    n = lift(lengths)
    if n.dtype.is_floating:  # as TensorFlow does, of numbers of steps that were computed
        n = cast(ceil(n) if maxlen is None else n, dtypes.int32 if n.dtype.size < 8 else dtypes.int64)
    n = index_tensor("sequence_mask", n, "lengths")
    if maxlen is not None and not isinstance(maxlen, int):
        size = lift(maxlen)
        if size.dims:
            raise InvalidArgumentError(f"sequence_mask: `maxlen` must be scalar, it has shape {size.shape}.")
    places = range_of(maximum(reduce_max(n), 0) if maxlen is None else maxlen)
    mask = cast(places, n.dtype) < expand_dims(n, -1)
    return cast(mask, as_dtype(dtype))
