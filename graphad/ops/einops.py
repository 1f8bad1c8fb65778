"""Tensors in `einops`, whose functions ask a backend for the ops of a tensor's library.

It looks for backends among the subclasses of its `AbstractBackend`, so that defining one is enough; `core/guests.py` calls `meet`
once that class is there. All steps are ops: tapes record them, functions trace them, and a size that is not known while tracing
is a tensor.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import VALUES
from graphad.ops import array, linalg, math
from graphad.ops.array.shape import sizes_of

if TYPE_CHECKING:
    from graphad.core.annotations import Array, TensorLike
    from graphad.core.tensor import Tensor

_REDUCTIONS = {
    "sum": math.reduce_sum,
    "mean": math.reduce_mean,
    "max": math.reduce_max,
    "min": math.reduce_min,
    "prod": math.reduce_prod,
    "any": math.reduce_any,
    "all": math.reduce_all,
}

_known: list[type] = []  # a class that nothing holds is no longer a subclass of its base


def meet(backends: ModuleType) -> None:
    """Define the backend, on the base class in that module of einops."""
    base = getattr(backends, "AbstractBackend", None)
    if isinstance(base, type):
        _known.append(type("GraphadBackend", (_Backend, base), {}))


class _Sizes(tuple[Any, ...]):
    """Sizes of which some are tensors: einops keeps what it has worked out for sizes of before, by their hash."""

    def __hash__(self) -> int:
        raise TypeError("sizes that are tensors have no hash")


class _Backend:
    framework_name = "graphad"

    def is_appropriate_type(self, tensor: Any) -> bool:
        return isinstance(tensor, VALUES)

    def from_numpy(self, x: Array) -> Tensor:
        return array.constant(x)

    def to_numpy(self, x: Tensor) -> Array:
        return x.numpy()

    def arange(self, start: int, stop: int) -> Tensor:
        return array.range(start, stop)

    def shape(self, x: Tensor) -> tuple[Any, ...]:
        known = x.shape
        if known.rank is None:
            raise InvalidArgumentError(
                "einops: the tensor's rank is not known while tracing; give the function an input_signature with a rank, or "
                "call tf.ensure_shape first."
            )
        if all(size is not None for size in known):
            return tuple(known)
        sizes = sizes_of(x)
        return _Sizes(sizes[k] if size is None else size for k, size in enumerate(known))

    def reshape(self, x: Tensor, shape: Sequence[Any]) -> Tensor:
        return array.reshape(x, list(shape))

    def transpose(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        return array.transpose(x, list(axes))

    def reduce(self, x: Tensor, operation: str, axes: Sequence[int]) -> Tensor:
        return _REDUCTIONS[operation](x, axis=list(axes))

    def stack_on_zeroth_dimension(self, tensors: TensorLike) -> Tensor:
        return array.stack(tensors)

    def tile(self, x: Tensor, repeats: Sequence[Any]) -> Tensor:
        return array.tile(x, list(repeats))

    def concat(self, tensors: TensorLike, axis: int) -> Tensor:
        return array.concat(tensors, axis)

    def add_axis(self, x: Tensor, new_position: int) -> Tensor:
        return array.expand_dims(x, new_position)

    def is_float_type(self, x: Tensor) -> bool:
        return x.dtype.is_floating

    def einsum(self, pattern: str, *xs: TensorLike) -> Tensor:
        return linalg.einsum(pattern, *xs)
