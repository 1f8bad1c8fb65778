"""Making tensors: from values, filled, in steps, grids and masks of indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.convert import exports_array, lift, lift_own, stands_for_tensor
from graphad.core.device import require_cpu
from graphad.core.dtypes import DType
from graphad.core.errors import InvalidArgumentError
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.numpy.promotion import cast_to, promoted, rank_of, tensor_of
from graphad.ops.numpy.types import default_dtype


def _of(dtype: DTypeLike | None, otherwise: DType) -> DType:
    return otherwise if dtype is None else default_dtype(dtype)


def _sizes(shape: ShapeLike) -> Any:
    if isinstance(shape, Tensor):
        return array.reshape(shape, [1]) if shape.ndim == 0 else shape
    return [shape] if hasattr(shape, "__index__") else shape


def asarray(
    obj: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """`obj` as a tensor.

    Args:
      obj: A tensor, an array, a number, or a nested list of these.
      dtype: The dtype; by default that of `obj`, float64, int64 and complex128 for Python's numbers.
      copy: Whether a new tensor is made: always, never (False), or where it has to be (None).
    Raises: InvalidArgumentError (a ValueError): a copy is needed and refused. What is no tensor is always copied.
    """
    require_cpu("asarray", device)
    if copy is False and (
        not stands_for_tensor(obj) or (dtype is not None and obj.dtype is not default_dtype(dtype))
    ):
        raise InvalidArgumentError(
            "asarray: tensors are immutable, so what is no tensor of the dtype wanted must be copied; leave copy=False out."
        )
    if dtype is not None and not stands_for_tensor(obj) and not exports_array(obj):
        wanted = default_dtype(dtype)
        if not (isinstance(obj, list | tuple) and _any_tensor(obj)):
            return lift(_converted(obj, wanted))
    x = lift_own(obj) if stands_for_tensor(obj) else tensor_of(obj)
    x = x if dtype is None else cast_to(x, default_dtype(dtype))
    return array.identity(x) if copy else x


def _converted(obj: Any, dtype: DType) -> Any:
    with np.errstate(all="ignore"):
        found = np.asarray(obj, dtype.numpy)
    return found if found.ndim else found[()]


def _any_tensor(x: Any) -> bool:
    return any(
        stands_for_tensor(item) or (isinstance(item, list | tuple) and _any_tensor(item)) for item in x
    )


def array_of(object: Any, dtype: DTypeLike | None = None, *, copy: bool | None = True) -> Tensor:
    """`object` as a tensor; see `asarray`."""
    return asarray(object, dtype, copy=copy)


def asanyarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """`a` as a tensor; see `asarray`."""
    return asarray(a, dtype)


ascontiguousarray = asanyarray


def copy(a: TensorLike) -> Tensor:
    """A tensor with the same elements."""
    return asarray(a, copy=True)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """The elements that another library hands out by DLPack, copied.

    Raises: InvalidArgumentError (a ValueError): `copy` is False.
    """
    require_cpu("from_dlpack", device)
    if isinstance(x, Tensor):
        return array.identity(x) if copy else x
    if copy is False:
        raise InvalidArgumentError(
            "from_dlpack: tensors are immutable, so what another library may write to is copied; leave copy=False out."
        )
    return lift(np.from_dlpack(x))


def zeros(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """Zeros, float64 unless `dtype` says otherwise."""
    require_cpu("zeros", device)
    return array.zeros(_sizes(shape), _of(dtype, dtypes.float64))


def ones(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """Ones, float64 unless `dtype` says otherwise."""
    require_cpu("ones", device)
    return array.ones(_sizes(shape), _of(dtype, dtypes.float64))


def empty(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """Zeros: a tensor cannot be filled later."""
    return zeros(shape, dtype, device=device)


def full(
    shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """`fill_value` everywhere, broadcast to `shape`; differentiable."""
    require_cpu("full", device)
    value = asarray(fill_value, dtype)
    return array.broadcast_to(value, _sizes(shape)) if value.ndim else array.fill(_sizes(shape), value)


def _like(name: str, make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        x: TensorLike,
        /,
        dtype: DTypeLike | None = None,
        *,
        shape: ShapeLike | None = None,
        device: str | None = None,
    ) -> Tensor:
        require_cpu(name, device)
        x = tensor_of(x)
        wanted = _of(dtype, x.dtype)
        if shape is not None:
            return make(_sizes(shape), wanted)
        same = {"zeros_like": array.zeros_like, "ones_like": array.ones_like}[
            name if name != "empty_like" else "zeros_like"
        ]
        return same(x, wanted)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"`numpy.{name}` of a tensor: of its shape and dtype unless others are given."
    return function


zeros_like = _like("zeros_like", array.zeros)
ones_like = _like("ones_like", array.ones)
empty_like = _like("empty_like", array.zeros)


def full_like(
    x: Any, /, fill_value: Any, dtype: Any = None, *, shape: Any = None, device: Any = None
) -> Tensor:
    """`fill_value` everywhere, of the shape and dtype of `x` unless others are given."""
    x = tensor_of(x)
    return full(array.shape(x) if shape is None and None in _dims(x) else shape if shape is not None else x.dims,
                fill_value, _of(dtype, x.dtype), device=device)  # fmt: skip


def _dims(x: Any) -> Any:
    return (None,) if x.dims is None else [size if isinstance(size, int) else None for size in x.dims]


def _are_known(*xs: Any) -> bool:
    return not any(stands_for_tensor(x) for x in xs)


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """start, start + step, ... as far as `stop`, which is left out; from 0 where only one number is given."""
    require_cpu("arange", device)
    if stop is None:
        start, stop = 0, start
    if _are_known(start, stop, step):
        wanted: Any = None if dtype is None else default_dtype(dtype).numpy
        return lift(np.arange(start, stop, step, wanted))  # type: ignore[call-overload]
    start, stop, step = promoted(start, stop, step)
    return cast_to(array.range(start, stop, step), _of(dtype, start.dtype))


def linspace(
    start: Any,
    stop: Any,
    /,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Any:
    """`num` numbers in equal steps from `start` to `stop`, which is among them with `endpoint`.

    Returns: Tensor, float64 for Python's numbers; with `retstep` also the step. Differentiable in `start` and `stop`.
    """
    require_cpu("linspace", device)
    if _are_known(start, stop, num):
        wanted: Any = None if dtype is None else default_dtype(dtype).numpy
        found, step = np.linspace(start, stop, num, endpoint, True, wanted, axis)  # type: ignore[call-overload]
        return (lift(found), lift(step)) if retstep else lift(found)
    start, stop = promoted(start, stop)
    if not start.dtype.is_differentiable:
        start, stop = math.cast(start, dtypes.float64), math.cast(stop, dtypes.float64)
    whole = array.linspace(start, stop, num if endpoint else num + 1, axis=axis)
    if not endpoint:
        whole = whole[(*(slice(None),) * (axis % rank_of("linspace", whole)), slice(None, -1))]
    if dtype is not None:
        whole = cast_to(whole, default_dtype(dtype))
    if not retstep:
        return whole
    steps = math.cast(math.subtract(num, 1) if endpoint else num, start.dtype)
    return whole, math.divide(math.subtract(stop, start), steps)


def logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: TensorLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """`base` to the powers from `start` to `stop` in equal steps."""
    powers = linspace(start, stop, num, endpoint, axis=axis)
    found = math.pow(cast_to(tensor_of(base), powers.dtype), powers)
    return found if dtype is None else cast_to(found, default_dtype(dtype))


def geomspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: DTypeLike | None = None, axis: int = 0
) -> Tensor:
    """`num` numbers from `start` to `stop`, of one sign, each the same multiple of the one before."""
    start, stop = promoted(start, stop)
    if not start.dtype.is_differentiable:
        start, stop = math.cast(start, dtypes.float64), math.cast(stop, dtypes.float64)
    steps = linspace(math.log(math.abs(start)), math.log(math.abs(stop)), num, endpoint, axis=axis)
    found = math.multiply(math.exp(steps), math.sign(start))
    return found if dtype is None else cast_to(found, default_dtype(dtype))


def eye(
    n_rows: Any,
    n_cols: Any = None,
    /,
    k: int = 0,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """A matrix with ones on diagonal `k` and zeros elsewhere, float64 unless `dtype` says otherwise."""
    require_cpu("eye", device)
    return lift(np.eye(n_rows, n_cols, k, _of(dtype, dtypes.float64).numpy))


def identity(n: int, dtype: DTypeLike | None = None) -> Tensor:
    """A square matrix with ones on its diagonal."""
    return eye(n, dtype=dtype)


def tri(N: int, M: int | None = None, k: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """A matrix with ones at and below diagonal `k`, and zeros above."""
    return lift(np.tri(N, M, k, _of(dtype, dtypes.float64).numpy))


def _band(x: TensorLike, k: int, lower: bool) -> Tensor:
    sizes = array.shape(x)
    rows = array.expand_dims(array.range(sizes[-2]), 1)
    columns = array.range(sizes[-1]) - k
    kept = math.greater_equal(rows, columns) if lower else math.less_equal(rows, columns)
    return math.where(kept, x, array.zeros_like(x))


def tril(x: TensorLike, /, k: int = 0) -> Tensor:
    """The lower triangle of the last two axes, up to diagonal `k`, and zeros elsewhere."""
    return _band(tensor_of(x), k, True)


def triu(x: TensorLike, /, k: int = 0) -> Tensor:
    """The upper triangle of the last two axes, from diagonal `k`, and zeros elsewhere."""
    return _band(tensor_of(x), k, False)


def ix_(*args: Any) -> tuple[Tensor, ...]:
    """Vectors shaped to index together: number k has its elements along axis k. One of bools stands for where it is True."""
    found = []
    for k, vector in enumerate(args):
        x = tensor_of(vector)
        if rank_of("ix_", x) != 1:
            raise InvalidArgumentError(f"ix_: argument {k} has shape {x.shape}; a vector is needed.")
        x = array.reshape(math.where(x), [-1]) if x.dtype.is_bool else x
        found.append(array.reshape(x, [1] * k + [-1] + [1] * (len(args) - 1 - k)))
    return tuple(found)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """Grids of coordinates of vectors, as many as there are vectors; the second varies along axis 0 with "xy"."""
    return array.meshgrid(*[tensor_of(x) for x in arrays], indexing=indexing) if arrays else []


def vander(x: TensorLike, N: int | None = None, increasing: bool = False) -> Tensor:
    """A matrix whose columns are powers of x, falling unless `increasing`."""
    x = tensor_of(x)
    count = x.shape[0] if N is None else N
    powers = np.arange(count) if increasing else np.arange(count)[::-1]
    return math.pow(array.expand_dims(x, 1), cast_to(lift(powers), x.dtype))


def indices(dimensions: Any, dtype: DTypeLike | None = int) -> Tensor:
    """The index along each axis of each element of a grid: [rank, *dimensions]."""
    return lift(np.indices(tuple(dimensions), default_dtype(dtype).numpy))


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices of the lower triangle of an n by m matrix, up to diagonal `k`."""
    return tuple([lift(found) for found in np.tril_indices(n, k, m)])


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Tensor, ...]:
    """The indices of the upper triangle of an n by m matrix, from diagonal `k`."""
    return tuple([lift(found) for found in np.triu_indices(n, k, m)])


def diag_indices(n: int, ndim: int = 2) -> tuple[Tensor, ...]:
    """The indices of the diagonal of a tensor whose `ndim` axes have size n."""
    return tuple([lift(found) for found in np.diag_indices(n, ndim)])
