"""Helpers of rules: checks of dtypes, alignment of stacked operands, and sums that undo broadcasting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphad.core.annotations import BatchContext, RowAxes, RowAxis, VjpContext
from graphad.core.bind import bind, constant_here
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.ieee import SHORT_WAY_ENDS, unreported
from graphad.core.kinds import (
    ANY as ANY,
)
from graphad.core.kinds import (
    BOOLEAN as BOOLEAN,
)
from graphad.core.kinds import (
    FLOATING as FLOATING,
)
from graphad.core.kinds import (
    INEXACT as INEXACT,
)
from graphad.core.kinds import (
    INTEGER as INTEGER,
)
from graphad.core.kinds import (
    NUMERIC as NUMERIC,
)
from graphad.core.kinds import (
    REAL as REAL,
)
from graphad.core.kinds import (
    require_kind as require_kind,
)
from graphad.core.kinds import (
    require_numeric as require_numeric,
)
from graphad.core.kinds import (
    require_same_dtype as require_same_dtype,
)
from graphad.core.kinds import (
    same_dtype as same_dtype,
)
from graphad.core.op import MIXED
from graphad.core.shapes import are_compatible, broadcast_dims, format_dims
from graphad.core.spec import TensorSpec
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.accumulate import MANY, PLAIN_SUM, summed
from graphad.ops.array.broadcast import sum_to_input
from graphad.ops.array.reshape import ExpandDims

# `keeps_alone` of a product, and of the x with a x = b: what the cotangents of the first and of the second operand read.
OF_THE_OTHER = ((1,), False), ((0,), False)
OF_A_SOLUTION = ((0,), True), ((0,), False)


def broadcast_specs(op: str, specs: Sequence[TensorSpec], dtype: DType) -> TensorSpec:
    """The spec of an elementwise result."""
    return TensorSpec.of(broadcast_dims(op, *[spec.dims for spec in specs]), dtype)


def require_fit(op: str, x: Tensor, y: Tensor, names: tuple[str, str]) -> None:
    """Raise under the name of `op` unless two operands of a composed function have one dtype and broadcast together.

    Raises: DTypeError: the dtypes differ; InvalidArgumentError: the shapes do not fit.
    """
    require_same_dtype(op, x, y, names)
    try:
        broadcast_dims(op, x.dims, y.dims)
    except InvalidArgumentError as cause:
        raise InvalidArgumentError(
            f"{op}: Incompatible shapes: {names[0]} has shape {format_dims(x.dims)}, {names[1]} {format_dims(y.dims)}; "
            "they do not broadcast together."
        ) from cause


def require_same_shape(op: str, x: Tensor, y: Tensor, names: tuple[str, str]) -> None:
    """Raise under the name of `op` unless two operands of a composed function have one dtype and, as far as is known, one shape.

    Labels [batch] beside logits [batch, 1] would broadcast to a loss for each pair.
    Raises: DTypeError: the dtypes differ; InvalidArgumentError: the shapes do.
    """
    require_same_dtype(op, x, y, names)
    if not are_compatible(x.dims, y.dims):
        raise InvalidArgumentError(
            f"{op}: Incompatible shapes: {names[0]} has shape {format_dims(x.dims)}, {names[1]} {format_dims(y.dims)}; they must "
            "be the same. Use reshape or broadcast_to."
        )


def require_rank(op: str, spec: TensorSpec, least: int, name: str = "x") -> None:
    """Raises: InvalidArgumentError: the rank is known and below `least`."""
    if spec.dims is not None and len(spec.dims) < least:
        raise InvalidArgumentError(
            f"{op}: {name} has shape {format_dims(spec.dims)}; it must have rank {least} at least."
        )


_LEADING = ((), (0,), (0, 1), (0, 1, 2))


def unbroadcast(ctx: VjpContext, i: int, g: Tensor) -> Tensor:
    """The cotangent `g` of a broadcast result, summed back to the shape of input i."""
    if ctx.is_free:
        data = g.data
        sizes: Any = ctx.inputs[i].dims
        if data.shape == sizes:
            return g
        lead = data.ndim - len(sizes)
        if lead > 0 and sizes and data.shape[lead:] == sizes and data.dtype.char in "fd":
            axes = _LEADING[lead] if lead < len(_LEADING) else tuple(range(lead))
            try:
                # The gradient of a bias, in nearly every model.
                return EagerTensor(PLAIN_SUM(data, axes) if data.size < MANY else summed(data, axes))
            except SHORT_WAY_ENDS:
                pass
    return sum_to_input(ctx, i, g)


def align_stacked(ctx: BatchContext, xs: Sequence[Any]) -> list[Any]:
    """Operands whose axes are aligned from the right, made to broadcast when some carry the loop axis first.

    A stacked operand of lower row rank gets axes of size 1 after the loop axis.
    """
    rank = max(len(x.dims) - ctx.stacked(i) for i, x in enumerate(xs))
    out = []
    for i, x in enumerate(xs):
        missing = rank - (len(x.dims) - 1)
        out.append(bind(ExpandDims(tuple(range(1, 1 + missing))), x) if ctx.stacked(i) and missing else x)
    return out


def elementwise_rows(specs: Sequence[TensorSpec], axes: RowAxes) -> RowAxis:
    """The row axis of an elementwise result: that of the operands, counted from the right.

    A row axis of size 1 that is broadcast along another operand's axis is not the row axis of the result.
    """
    shapes = [spec.dims or () for spec in specs]
    found = {axis - len(dims) for dims, axis in zip(shapes, axes, strict=True) if axis is not None}
    if len(found) != 1:
        return MIXED if found else None
    place = found.pop()
    sizes = {dims[place] for dims, axis in zip(shapes, axes, strict=True) if axis is not None}
    if any(type(size) is int and size == 1 for size in sizes):
        for dims in shapes:
            if len(dims) >= -place and not (type(dims[place]) is int and dims[place] == 1):
                return MIXED
    return place + max(map(len, shapes))


_scalars: dict[tuple[float, int], Any] = {}


def scalar_like(value: float, x: Tensor) -> Tensor:
    """A number as a constant of the dtype of `x`, at the current level. It does not distinguish 0.0 and -0.0."""
    dtype = x.dtype
    data = _scalars.get((value, id(dtype)))  # DTypes live for ever, so their ids are unique
    if data is None:
        data = _scalars[value, id(dtype)] = unreported(dtype.numpy.type, value)
    return constant_here(data)
