"""Indices as rows that hold one value at the index and another elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import Array, BatchContext, DTypeLike, Ranked, RowAxes, RowAxis, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Size
from graphad.core.dtypes import as_dtype
from graphad.core.kinds import BOOLEAN, REAL, require_same_dtype
from graphad.core.op import MIXED, Op, define, no_gradient
from graphad.core.references import AT
from graphad.core.schema import Axis, Given, IntegerSpec
from graphad.core.shapes import normalize_axis
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.reshape import ExpandDims
from graphad.ops.array.sequence import Steps
from graphad.ops.array.sizes import whole_numbers
from graphad.ops.array.support import (
    index_tensor,
    requested_size,
    require_scalar,
    shifted,
)
from graphad.ops.math.cast import cast
from graphad.ops.math.compare import equal
from graphad.ops.math.select import where


def depth_was_input(attributes: dict[str, Any]) -> dict[str, Any]:
    """Its `depth` is the last input, an integer scalar."""
    return {"depth": (AT, 1), **attributes}


@define
class OneHot(Op):
    """y[..., k, ...] is `on` where k = indices[...] along a new axis of size `depth`, else `off`; an index out of range gives
    `off` only. `axis` counts in the result; `on` and `off` are scalars, the result has their dtype.
    """

    name = "one_hot"
    keeps = (False, False)
    depth: Given[Size]
    axis: Axis
    formerly = {"one_hot_to": depth_was_input}

    def infer(self, indices: IntegerSpec, on: TensorSpec, off: TensorSpec) -> TensorSpec:
        require_same_dtype("one_hot", on, off, ("on_value", "off_value"))
        require_scalar("one_hot", on, "on_value")
        require_scalar("one_hot", off, "off_value")
        if indices.dims is None:
            return TensorSpec.of(None, on.dtype)
        place = normalize_axis("one_hot", self.axis, len(indices.dims) + 1)
        return TensorSpec.of((*indices.dims[:place], self.depth, *indices.dims[place:]), on.dtype)

    def eval(self, indices: Array, on: Array, off: Array) -> Array:
        return _one_hot(indices, on, off, self.depth, self.axis)

    def expand(self, indices: Ranked, on: Tensor, off: Tensor, *given: Tensor) -> Tensor | None:
        if given or on.dtype.kind not in REAL | BOOLEAN:
            return None  # which have no kernels on the CPU
        is_narrow = indices.dtype is dtypes.int32 and type(self.depth) is int and self.depth < 2**31
        dtype = dtypes.int32 if is_narrow else dtypes.int64
        place = self.axis % (len(indices.dims) + 1)
        steps = bind(Steps(0, self.depth, 1, dtype))
        behind = len(indices.dims) - place
        if behind:
            steps = bind(ExpandDims(tuple(range(1, behind + 1))), steps)
        return where(equal(bind(ExpandDims((place,)), cast(indices, dtype)), steps), on, off)

    vjp = no_gradient("an index is an integer")

    def batch(self, ctx: BatchContext, indices: Ranked, on: Ranked, off: Ranked, *given: Ranked) -> Tensor:
        if ctx.stacked(1) or ctx.stacked(2):
            return ctx.rowwise(self, indices, on, off, *given)
        return bind(OneHot(self.depth, shifted(self.axis, len(indices.dims))), indices, on, off, *given)

    def rows(self, specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
        if axes[1] is not None or axes[2] is not None:
            return MIXED
        if axes[0] is None:
            return None
        place = self.axis % (len(specs[0].dims or ()) + 1)
        return axes[0] + (place <= axes[0])


def _one_hot(indices: Array, on: Array, off: Array, depth: int, axis: int) -> Array:
    place = axis % (np.ndim(indices) + 1)
    if type(indices) is np.ndarray and place == indices.ndim:
        return _rows(indices, on, off, depth)
    steps = np.arange(depth).reshape((-1,) + (1,) * (np.ndim(indices) - place))
    return np.where(np.expand_dims(indices, place) == steps, on, off)


def _rows(indices: np.ndarray, on: Array, off: Array, depth: int) -> Array:
    """The same with the new axis last: `on` is written where it belongs, instead of comparing each element."""
    flat = indices.reshape(-1)
    there = np.flatnonzero((flat >= 0) & (flat < depth))
    found = np.full((flat.size, depth), off)
    found[there, flat[there].astype(np.intp)] = on
    return found.reshape(*indices.shape, depth)


def one_hot(
    indices: TensorLike,
    depth: TensorLike,
    on_value: TensorLike | None = None,
    off_value: TensorLike | None = None,
    axis: int | None = -1,
    dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Indices as rows that are `on_value` at the index and `off_value` elsewhere.

    Args:
      indices: Integer tensor [...], or an array of NumPy whose floats are whole; an index outside 0 to depth - 1 gives a row
        of `off_value`.
      depth: The size of the new axis: an int, or an integer scalar tensor.
      on_value, off_value: Scalars, 1 and 0 by default.
      axis: Where the new axis goes in the result; the last for None.
      dtype: The dtype of the result; that of the values, or float32.
    Returns: Tensor with an axis of size `depth` more than `indices`.
    Raises: InvalidArgumentError (a ValueError): `depth` is negative, or the axis is out of range; DTypeError (a TypeError):
      indices that are not integers.
    Example:
      >>> one_hot([2, 0], 3).numpy()
      array([[0., 0., 1.],
             [1., 0., 0.]], dtype=float32)
    """
    indices = index_tensor(
        "one_hot", whole_numbers(indices) if isinstance(indices, np.ndarray) else indices, "indices"
    )
    wanted = None if dtype is None else as_dtype(dtype)
    if wanted is None:
        given = next((lift(v).dtype for v in (on_value, off_value) if v is not None), None)
        wanted = dtypes.float32 if given is None else given
    on = lift(wanted.numpy.type(1)) if on_value is None else lift(on_value, wanted)
    off = lift(wanted.numpy.type(0)) if off_value is None else lift(off_value, wanted)
    axis = -1 if axis is None else axis
    if indices.ndim is not None:
        axis = normalize_axis("one_hot", axis, indices.ndim + 1)
    count, given_depth = requested_size("one_hot", depth, "depth")
    return bind(OneHot(count, axis), indices, on, off, *given_depth)
