"""`ensure_shape`: a declared shape, checked as soon as the actual shape is known."""

from __future__ import annotations

from typing import Any

from graphad.core.annotations import (
    Array,
    BatchContext,
    Ranked,
    ShapeLike,
    TensorLike,
)
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.dims import Size
from graphad.core.errors import InvalidArgumentError
from graphad.core.op import define
from graphad.core.schema import Count
from graphad.core.shapes import are_compatible, as_dims, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.passing import Passing


@define
class EnsureShape(Passing):
    """x, whose shape is `dims`, where None stands for any size."""

    name = "ensure_shape"
    total = False
    dims: tuple[Count | None, ...]

    def infer(self, x: TensorSpec) -> TensorSpec:
        self._check(x.dims)
        if x.dims is None:
            return TensorSpec.of(self.dims, x.dtype)
        sizes = [mine if size is None else size for mine, size in zip(self.dims, x.dims, strict=True)]
        return TensorSpec.of(tuple(sizes), x.dtype)

    def eval(self, x: Array) -> Array:
        self._check(x.shape)
        return x

    def batch(self, ctx: BatchContext, x: Ranked) -> Tensor:
        return bind(EnsureShape((None, *self.dims)), x)

    def _check(self, dims: tuple[Size | None, ...] | None) -> None:
        if not are_compatible(self.dims, dims):
            raise InvalidArgumentError(
                f"ensure_shape: the tensor has shape {format_dims(dims)}, which is not compatible with the expected shape "
                f"{format_dims(self.dims)}."
            )


def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Tensor:
    """`x`, whose shape is `shape`: checked at once where it is known, else when the function runs.

    Args:
      x: Tensor of any dtype; differentiable.
      shape: Sizes, None for any size; or None, for any shape.
    Returns: `x`, of which the sizes that were unknown while tracing are now those of `shape`.
    Raises: InvalidArgumentError (a ValueError): `x` has another shape.
    Example:
      >>> ensure_shape([[1, 2], [3, 4]], [None, 2]).shape
      TensorShape([2, 2])
    """
    x, dims = lift(x), as_dims(shape)
    if dims is None:
        return x
    return bind(EnsureShape(ranked(dims)), x)


def set_shape(x: Any, shape: ShapeLike) -> None:
    """`Tensor.set_shape`: from now on `x` has the sizes of `shape` where its own are unknown.

    The actual shape of a traced tensor is checked at run time, as by `ensure_shape`.
    """
    dims = as_dims(shape)
    if dims is None:
        return
    op = EnsureShape(ranked(dims))
    if x.has_value:
        op._check(x.dims)
        return
    if op.infer(x.spec).dims != x.dims:
        x.trace.place(x, bind(op, x))
