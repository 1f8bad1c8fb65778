"""Numbers of each distribution, and the order of rows, as functions of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift, lift_like
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.kinds import REAL, require_kind_of
from graphad.core.tensor import Tensor
from graphad.ops.array.gather import Gather
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import requested, require_sizes
from graphad.ops.array.sorting import ArgSort
from graphad.ops.random.draw import Distribution, Draw

if TYPE_CHECKING:
    from collections.abc import Sequence


def drawn(
    kind: Distribution, key: Tensor, size: object, dtype: DType, limits: Sequence[Tensor] = ()
) -> Tensor:
    """Numbers of the distribution `kind`, of the shape `size`, which may hold tensors."""
    sizes, given = requested("random", size)
    require_sizes(f"random.{kind}", sizes)
    return bind(Draw(kind, sizes, dtype), key, *limits, *given)


def normal_of(
    kind: Distribution,
    key: Tensor,
    size: object,
    mean: TensorLike,
    stddev: TensorLike,
    dtype: DTypeLike | None,
) -> Tensor:
    """Normal or truncated normal numbers with a mean and a standard deviation, which may be tensors with gradients."""
    dtype = as_dtype(dtype)
    z = drawn(kind, key, size, dtype)
    if not (isinstance(stddev, int | float) and stddev == 1):
        z = z * lift_like("random.normal", stddev, dtype)
    if not (isinstance(mean, int | float) and mean == 0):
        z = z + lift_like("random.normal", mean, dtype)
    return z


def uniform_of(key: Tensor, size: Any, minval: Any, maxval: Any, dtype: DTypeLike | None) -> Tensor:
    """Uniform numbers from `minval`, included, to `maxval`, excluded; without limits floats below 1, or all integers."""
    dtype = as_dtype(dtype)
    if dtype.is_floating:
        u = drawn("uniform", key, size, dtype)
        high = 1 if maxval is None else maxval
        if type(minval) in (int, float) and type(high) in (int, float):
            if (minval, high) == (0, 1):
                return u
            return u * lift(float(high) - minval, dtype) + lift(minval, dtype)
        low = lift_like("random.uniform", minval, dtype)
        return u * (lift_like("random.uniform", high, dtype) - low) + low
    require_kind_of("random.uniform", dtype, REAL)
    if minval is None and maxval is None:
        return drawn("bits", key, size, dtype)
    if maxval is None:
        raise InvalidArgumentError(f"random.uniform: Must specify maxval for integer dtype {dtype.name}.")
    if isinstance(minval, int) and isinstance(maxval, int) and minval >= maxval:
        raise InvalidArgumentError(f"random.uniform: Need minval < maxval, got {minval} >= {maxval}.")
    limits = [lift_like("random.uniform", limit, dtype) for limit in (minval, maxval)]
    return drawn("integers", key, size, dtype, limits)


def shuffled(key: Tensor, value: TensorLike) -> Tensor:
    """The rows of a value in a random order."""
    x = lift(value)
    if x.dims is not None and not x.dims:
        raise InvalidArgumentError("random.shuffle: value is a scalar; it must have rank 1 or more.")
    size = [x.dims[0]] if x.dims is not None and x.dims[0] is not None else shape(x)[:1]
    order = bind(ArgSort(0, False, dtypes.int32), drawn("bits", key, size, dtypes.int64))
    return bind(Gather(0, 0, False), x, order)
