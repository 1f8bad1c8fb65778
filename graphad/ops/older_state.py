"""Functions of TensorFlow 1 that have become methods of variables, or a few lines of other functions; `compat.v1` lists them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.convert import lift, lift_like
from graphad.core.indexed_slices import IndexedSlices
from graphad.core.tensor import Handle, Tensor
from graphad.ops import array, math, random, sparse


def _scatter(name: str) -> Callable[..., Handle]:
    def scatter(
        ref: Handle,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
    ) -> Handle:
        values = lift_like(scatter.__name__, updates, ref.spec.dtype)
        places = lift(indices)
        values = array.broadcast_to(values, array.concat([array.shape(places), array.shape(ref)[1:]], 0))
        if places.dims != (None,):
            places, values = (
                array.reshape(places, [-1]),
                array.reshape(values, array.concat([[-1], array.shape(ref)[1:]], 0)),
            )
        changed: Handle = getattr(ref, scatter.__name__)(IndexedSlices(values, places))
        return changed

    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"`ref.{name}` of updates of slices under indices of the first axis; a number is used for all of them."
    return scatter


def _scatter_nd(name: str) -> Callable[..., Handle]:
    def scatter(
        ref: Handle,
        indices: TensorLike,
        updates: TensorLike,
        use_locking: bool = True,
        name: str | None = None,
    ) -> Handle:
        changed: Handle = getattr(ref, scatter.__name__)(indices, updates)
        return changed

    scatter.__name__ = scatter.__qualname__ = name
    scatter.__doc__ = f"`ref.{name}(indices, updates)`."
    return scatter


scatter_add = _scatter("scatter_add")
scatter_div = _scatter("scatter_div")
scatter_max = _scatter("scatter_max")
scatter_min = _scatter("scatter_min")
scatter_mul = _scatter("scatter_mul")
scatter_sub = _scatter("scatter_sub")
scatter_update = _scatter("scatter_update")
scatter_nd_add = _scatter_nd("scatter_nd_add")
scatter_nd_sub = _scatter_nd("scatter_nd_sub")
scatter_nd_update = _scatter_nd("scatter_nd_update")


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: ShapeLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """A tensor of `output_shape` that holds `default_value`, and `sparse_values`, one or one for all, at `sparse_indices`.

    Args:
      sparse_indices: A number, numbers [n] of a vector, or places [n, rank].
      output_shape: The shape of the result.
      sparse_values: A scalar, or a vector [n].
      default_value: A scalar of the same dtype.
      validate_indices: Whether places that are out of order or repeated are an error.
    Returns: Tensor of `output_shape`, in the dtype of `sparse_values`.
    Raises: InvalidArgumentError (a ValueError): a place is out of order, repeated or outside.
    """
    values, sizes = lift(sparse_values), math.cast(lift(output_shape), dtypes.int64)
    places = math.cast(sparse_indices, dtypes.int64)
    places = array.reshape(places, array.stack([-1, array.size(sizes)]))
    values = array.broadcast_to(values, array.shape(places)[:1])
    return sparse.to_dense(sparse.SparseTensor(places, values, sizes), default_value, validate_indices)


def multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: int | None = None,
    name: str | None = None,
    output_dtype: DTypeLike | None = None,
) -> Tensor:
    """As `graphad.random.categorical`."""
    return random.categorical(logits, num_samples, output_dtype, seed)


def random_poisson(
    lam: TensorLike,
    shape: ShapeLike,
    dtype: DTypeLike = dtypes.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Tensor:
    """As `graphad.random.poisson`, with the operands in the other order."""
    return random.poisson(shape, lam, dtype, seed)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Tensor:
    """`t`, scaled so that its norm divided by the number of its elements is at most `clip_norm`."""
    x = lift(t)
    count = math.cast(array.size(x), x.dtype)
    largest = lift_like("clip_by_average_norm", clip_norm, x.dtype)
    total = math.sqrt(math.reduce_sum(x * x))
    return math.multiply(x * largest, math.minimum(count / total, 1 / largest))


def tuple(
    tensors: Sequence[Any], name: str | None = None, control_inputs: Sequence[Any] | None = None
) -> list[Any]:
    """The tensors, all of them computed before one is used: as they are here."""
    return [None if x is None else array.identity(x) for x in tensors]
