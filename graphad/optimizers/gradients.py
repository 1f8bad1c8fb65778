"""What an optimizer is given as gradients: checked, scaled, and rows of slices summed."""

from __future__ import annotations

from collections.abc import Sequence

from graphad.core.annotations import TensorLike, Value
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, GraphadError, InvalidArgumentError
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.shapes import format_dims
from graphad.core.tensor import Handle, Tensor
from graphad.eager.variable import Variable
from graphad.ops.array import size, unique
from graphad.ops.array.scatter import unsorted_segment_sum

Gradient = Tensor | IndexedSlices


def summed_rows(gradient: IndexedSlices) -> tuple[Tensor, Tensor]:
    """The rows that a gradient names, each once, and the sum of the slices of each."""
    rows, part = unique(gradient.indices)
    return rows, unsorted_segment_sum(gradient.values, part, size(rows))


def divided(gradient: Gradient, scale: float) -> Gradient:
    if isinstance(gradient, IndexedSlices):
        return gradient.with_values(gradient.values / scale)
    return gradient / scale


def as_gradient(name: str, gradient: TensorLike | IndexedSlices, variable: Variable) -> Value | IndexedSlices:
    """The gradient as a tensor or IndexedSlices. Raises: it cannot belong to the variable."""
    if isinstance(gradient, Tensor) and gradient.dims is not None and gradient.dims == variable.dims:
        return gradient
    if not isinstance(gradient, Tensor | Handle | IndexedSlices):
        try:
            gradient = lift(gradient, variable.dtype)
        except GraphadError as cause:
            raise ArgumentTypeError(
                f"{name}: the gradient of variable {variable.name!r} is no tensor. {cause}"
            ) from cause
    dims = gradient.spec.dims if isinstance(gradient, Handle) else gradient.dims
    mine = variable.dims
    if dims is None or mine is None:
        return gradient
    pairs = zip(dims[::-1], mine[::-1], strict=False)
    if len(dims) > len(mine) or any(type(a) is int and type(b) is int and a not in (1, b) for a, b in pairs):
        raise InvalidArgumentError(
            f"{name}: the gradient of variable {variable.name!r} has shape {format_dims(dims)}, the variable "
            f"{format_dims(variable.dims)}; is it the gradient of another variable?"
        )
    return gradient


def names_of(pairs: Sequence[tuple[object, object]]) -> str:
    named = [repr(getattr(variable, "name", variable)) for _, variable in pairs]
    return ", ".join(named[:4]) + (f" and {len(named) - 4} more" if len(named) > 4 else "")
