"""Elements of several sizes as two tensors: padded and stacked, [n, *largest sizes], and the shape of each, [n, rank].

A `TensorArray` has this form in a loop or branch whose elements may differ in shape. The sizes of an element that was never
written are -1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.light import NamedTuple
from graphad.core.shapes import RawSize
from graphad.ops.array.block import slice as part
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.create import fill, zeros
from graphad.ops.array.ensure import ensure_shape
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat, stack
from graphad.ops.array.masks import boolean_mask
from graphad.ops.array.padding import pad
from graphad.ops.array.reshape import expand_dims, reshape
from graphad.ops.array.scatter import tensor_scatter_nd_update
from graphad.ops.array.sequence import range as numbers
from graphad.ops.array.shape import shape
from graphad.ops.array.slice import getitem
from graphad.ops.math import equal, maximum, reduce_all, reduce_max
from graphad.ops.state.effects import SLOT, require

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike
    from graphad.core.dtypes import DType
    from graphad.core.tensor import Tensor


class Varied(NamedTuple):
    """Elements of several sizes.

    Attributes:
      rows: The padded elements.
      sizes: Their shapes, int32.
    """

    rows: Tensor
    sizes: Tensor

    @classmethod
    def blank(cls, count: TensorLike, dims: Sequence[RawSize], dtype: DType) -> Varied:
        """Elements none of which is written."""
        sizes = fill(stack([count, len(dims)]), lift(np.int32(-1)))
        return cls(zeros(stack([count, *[size or 0 for size in dims]]), dtype), sizes)

    @classmethod
    def alike(cls, rows: Tensor) -> Varied:
        """Elements that have one shape, already stacked."""
        dims = shape(rows)
        every = expand_dims(getitem(dims, slice(1, None)), 0)
        return cls(rows, broadcast_to(every, concat([getitem(dims, slice(0, 1)), shape(every)[1:]], 0)))

    @classmethod
    def of(cls, items: Sequence[Tensor | None], dims: Sequence[RawSize], dtype: DType) -> Varied:
        """These elements; None stands for an element that was not written."""
        made = cls.blank(len(items), dims, dtype)
        for k, item in enumerate(items):
            if item is not None:
                made = made.written(lift(np.int32(k)), item, False, dims)
        return made

    def written(self, index: Tensor, value: Tensor, grows: bool, dims: Sequence[RawSize]) -> Varied:
        """The elements with another one under a number. If the number is too large, the array grows if `grows` is true; else the
        number is out of range. All elements have the known ones of the sizes `dims`."""
        own, there = shape(value), shape(self.rows)
        wide = maximum(getitem(there, slice(1, None)), own)
        missing = maximum(index + 1 - getitem(there, 0), 0) if grows else lift(np.int32(0))
        more = concat([reshape(missing, [1]), wide - getitem(there, slice(1, None))], 0)
        rows = ensure_shape(_padded(self.rows, more), (None if grows else self.rows.dims[0], *dims))  # type: ignore[index]
        place = reshape(index, [1, 1])
        sizes = (
            concat([self.sizes, fill(stack([missing, len(dims)]), lift(np.int32(-1)))], 0)
            if grows
            else self.sizes
        )
        return Varied(
            tensor_scatter_nd_update(rows, place, expand_dims(_padded(value, wide - own), 0)),
            tensor_scatter_nd_update(sizes, place, expand_dims(own, 0)),
        )

    def read(self, index: TensorLike) -> Tensor:
        """The element under a number."""
        sizes = gather(self.sizes, index)
        require(
            reduce_all(sizes >= 0),
            f"Could not read index {SLOT} of the TensorArray because it has not been written to, and the shape of its elements "
            "is not known.",
            [lift(index)],
            None,
        )
        return part(gather(self.rows, index), [0] * _rank(self), sizes)

    def gathered(self, indices: TensorLike) -> Tensor:
        """The elements under several numbers along a new first axis; they have one shape."""
        return Varied(gather(self.rows, indices), gather(self.sizes, indices)).stacked()

    def stacked(self) -> Tensor:
        """The elements along a new first axis; they have one shape."""
        largest = reduce_max(concat([[[0] * _rank(self)], self.sizes], 0), 0)
        require(
            reduce_all(equal(self.sizes, largest)),
            f"TensorArray has inconsistent shapes: those of its elements are {SLOT}; stack needs equal ones.",
            [self.sizes],
            None,
        )
        return part(self.rows, [0] * (1 + _rank(self)), concat([[-1], largest], 0))

    def joined(self) -> Tensor:
        """The elements one after another along their first axis; their other sizes are equal."""
        there = shape(self.rows)
        is_one = reduce_all(equal(self.sizes[:, 1:], there[2:])) & reduce_all(self.sizes >= 0)
        require(
            is_one,
            f"TensorArray has inconsistent shapes: those of its elements are {SLOT}; concat needs equal ones but for the first "
            "size.",
            [self.sizes],
            None,
        )
        return boolean_mask(self.rows, numbers(there[1]) < expand_dims(self.sizes[:, 0], 1))


def _rank(elements: Varied) -> int:
    dims: Any = elements.sizes.dims
    return int(dims[1])


def _padded(x: Tensor, more: Tensor) -> Tensor:
    """x with zeros behind each axis."""
    return pad(x, stack([more * 0, more], axis=1))
