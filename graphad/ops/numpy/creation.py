"""Creating tensors: from values, filled, in steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, ShapeLike, TensorLike
from graphad.core.arrays import is_here
from graphad.core.blame import blaming
from graphad.core.convert import exports_array, lift, lift_own, stands_for_tensor
from graphad.core.device import require_cpu
from graphad.core.dlpack import imported, is_elsewhere
from graphad.core.dtypes import DType
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.refusal import refuse
from graphad.core.tensor import Tensor
from graphad.devices.tensor import taken
from graphad.ops import array, math
from graphad.ops.array.sizes import is_one_size
from graphad.ops.directly import directly, is_eager
from graphad.ops.numpy.promotion import (
    NUMBERS,
    by_numpy,
    cast_to,
    narrowed,
    promoted,
    rank_of,
    tensor_of,
    usual_float,
)
from graphad.ops.numpy.shapes import broadcast_arrays
from graphad.ops.numpy.types import default_dtype

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def given_dtype(dtype: DTypeLike | None, otherwise: DType) -> DType:
    return otherwise if dtype is None else default_dtype(dtype)


def _sizes(shape: ShapeLike) -> Any:
    if isinstance(shape, Tensor):
        return array.reshape(shape, [1]) if shape.ndim == 0 else shape
    return [shape] if is_one_size(shape) else shape


@blaming
def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    device: str | None = None,
    copy: bool | None = None,
) -> Tensor:
    """`a` as a tensor.

    Args:
      a: A tensor, an array, a number, or a nested list of these, of any shape.
      dtype: The dtype; by default that of `a`, float64, int64 and complex128 for Python numbers.
      order: Accepted for compatibility; a tensor has no memory order.
      device: "cpu" or None.
      copy: Whether to copy: always (True), never (False), or only if necessary (None).
    Returns: Tensor of the shape of `a`; `a` itself if it is such a tensor already.
    Raises: InvalidArgumentError (a ValueError): a copy is needed and refused. What is not a tensor is always copied.
    Example:
      >>> numpy.asarray([[1, 2], [3, 4]])
      <tf.Tensor: shape=(2, 2), dtype=int64, numpy=
      array([[1, 2],
             [3, 4]])>
    """
    require_cpu("asarray", device)
    if copy is False and (
        not stands_for_tensor(a) or (dtype is not None and a.dtype is not default_dtype(dtype))
    ):
        raise InvalidArgumentError(
            "asarray: tensors are immutable, so anything but a tensor of the requested dtype must be copied; omit copy=False."
        )
    return _tensor("asarray", a, dtype, copy)


def _tensor(op: str, obj: TensorLike, dtype: DTypeLike | None, copy: bool | None = None) -> Tensor:
    if dtype is not None and not stands_for_tensor(obj) and not exports_array(obj):
        wanted = default_dtype(dtype)
        if not (isinstance(obj, list | tuple) and _any_tensor(obj)):
            return lift(_converted(op, obj, wanted))
    x = lift_own(obj) if stands_for_tensor(obj) else tensor_of(obj)
    x = x if dtype is None else cast_to(x, default_dtype(dtype))
    return array.identity(x) if copy else x


def _converted(op: str, obj: TensorLike, dtype: DType) -> Array:
    with np.errstate(all="ignore"):
        try:
            found = np.asarray(obj, dtype.numpy)
        except (TypeError, ValueError) as cause:
            name = {"full": "fill_value", "asarray": "a"}.get(op, "object")
            refuse(cause, op, name, obj, f"a number or lists of numbers are needed for dtype {dtype.name}")
    return found if found.ndim else found[()]


def _any_tensor(x: list[Any] | tuple[Any, ...]) -> bool:
    return any(
        stands_for_tensor(item) or (isinstance(item, list | tuple) and _any_tensor(item)) for item in x
    )


def array_of(
    object: TensorLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    copy: bool | None = True,
    ndmin: int = 0,
    val: TensorLike | None = None,
) -> Tensor:
    """`object` as a tensor; as `asarray`, but a copy unless `copy` says otherwise.

    Args:
      object: A tensor, an array, a number, or a nested list of these, of any shape.
      dtype: The dtype; by default that of `object`, float64, int64 and complex128 for Python numbers.
      copy: Whether to copy: always (the default), never (False), or only if necessary (None).
      ndmin: The least rank of the result; missing axes are added in front, with size 1.
      val: TensorFlow's name of `object`.
    Returns: Tensor of the shape of `object`, or with axes of size 1 before it.
    Raises: InvalidArgumentError (a ValueError): a copy is needed and refused; ArgumentTypeError (a TypeError): both or neither of
      `object` and `val` are given.
    Example:
      >>> numpy.array([1.0, 2.0])
      <tf.Tensor: shape=(2,), dtype=float64, numpy=array([1., 2.])>
    """
    if (object is None) == (val is None):
        raise ArgumentTypeError(
            "array: object, which TensorFlow calls val, must be given once, and not be None."
        )
    x = asarray(val if object is None else object, dtype, copy=copy)
    for _ in range(ndmin - (ndmin if x.ndim is None else x.ndim)):
        x = array.expand_dims(x, 0)
    return x


def asanyarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """`a` as a tensor: `asarray` without its other options, since tensors have neither subclasses nor a memory order.

    Args:
      a: A tensor, an array, a number, or a nested list of these, of any shape.
      dtype: The dtype; by default that of `a`, float64, int64 and complex128 for Python numbers.
    Returns: Tensor of the shape of `a`.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    return asarray(a, dtype)


def ascontiguousarray(a: TensorLike, dtype: DTypeLike | None = None) -> Tensor:
    """`a` as a tensor of at least one axis: `asarray`, but that a scalar becomes a vector of one element.

    Args:
      a: A tensor, an array, a number, or a nested list of these, of any shape.
      dtype: The dtype; by default that of `a`, float64, int64 and complex128 for Python numbers.
    Returns: Tensor of the shape of `a`, or [1] for a scalar.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    x = asarray(a, dtype)
    return array.reshape(x, [1]) if x.ndim == 0 else x


def copy(a: TensorLike) -> Tensor:
    """A tensor with the same elements.

    Args: a: Tensor of any shape and dtype.
    Returns: Another tensor of the same shape and dtype, with the same gradient.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    return asarray(a, copy=True)


@blaming
def from_dlpack(x: object, /, *, device: str | None = None, copy: bool | None = None) -> Tensor:
    """A copy of the elements of another library's array, passed by DLPack; of one on a CUDA device, a tensor on that device.

    Args:
      x: An object with `__dlpack__`: an array of NumPy, a tensor of PyTorch or of graphad.
      device: "cpu" or None.
      copy: None or True; a tensor of graphad is returned itself unless a copy is requested.
    Returns: Tensor of its shape and dtype. Gradients recorded by another library are not propagated.
    Raises: InvalidArgumentError (a ValueError): `copy` is False, since another library may write to its elements.
    Example:
      >>> numpy.from_dlpack(np.array([1.0, 2.0])).numpy()
      array([1., 2.])
    """
    require_cpu("from_dlpack", device)
    if isinstance(x, Tensor):
        return array.identity(x) if copy else x
    if copy is False:
        raise InvalidArgumentError(
            "from_dlpack: tensors are immutable, so memory that another library may write to is copied; omit copy=False."
        )
    if is_elsewhere(x):
        found: Tensor = by_numpy("from_dlpack", taken, x)
        return found
    return lift(by_numpy("from_dlpack", imported, x))


def zeros(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """Zeros, of dtype float64 unless `dtype` is given.

    Args:
      shape: The sizes, also as a tensor, or the one size of a vector.
      dtype: The dtype.
      device: "cpu" or None.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> numpy.zeros([2, 3]).dtype
      tf.float64
    """
    require_cpu("zeros", device)
    return array.zeros(_sizes(shape), given_dtype(dtype, usual_float()))


def ones(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """Ones, of dtype float64 unless `dtype` is given.

    Args:
      shape: The sizes, also as a tensor, or the one size of a vector.
      dtype: The dtype.
      device: "cpu" or None.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    Example:
      >>> numpy.ones(3).numpy()
      array([1., 1., 1.])
    """
    require_cpu("ones", device)
    return array.ones(_sizes(shape), given_dtype(dtype, usual_float()))


def empty(shape: ShapeLike, dtype: DTypeLike | None = None, *, device: str | None = None) -> Tensor:
    """Zeros, of dtype float64 unless `dtype` is given: a tensor cannot be filled later, so its elements are never undefined.

    Args:
      shape: The sizes, also as a tensor, or the one size of a vector.
      dtype: The dtype.
      device: "cpu" or None.
    Returns: Tensor of that shape and dtype.
    Raises: InvalidArgumentError (a ValueError): a size is negative.
    """
    return zeros(shape, dtype, device=device)


def full(
    shape: ShapeLike, fill_value: TensorLike, dtype: DTypeLike | None = None, *, device: str | None = None
) -> Tensor:
    """A tensor filled with `fill_value`, which is broadcast to `shape`; differentiable.

    Args:
      shape: The sizes, also as a tensor, or the one size of a vector.
      fill_value: A number, or a tensor that broadcasts to `shape`.
      dtype: The dtype; by default that of `fill_value`.
      device: "cpu" or None.
    Returns: Tensor of that shape and dtype; the gradient by `fill_value` is summed.
    Raises: InvalidArgumentError (a ValueError): a size is negative, or `fill_value` does not broadcast.
    Example:
      >>> numpy.full([2, 2], 7.0).numpy()
      array([[7., 7.],
             [7., 7.]])
    """
    require_cpu("full", device)
    value = _tensor("full", fill_value, dtype)
    return array.broadcast_to(value, _sizes(shape)) if value.ndim else array.fill(_sizes(shape), value)


def _like(name: str, make: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def function(
        a: TensorLike,
        dtype: DTypeLike | None = None,
        *,
        shape: ShapeLike | None = None,
        device: str | None = None,
    ) -> Tensor:
        require_cpu(name, device)
        a = tensor_of(a)
        wanted = given_dtype(dtype, a.dtype)
        if shape is not None:
            return make(_sizes(shape), wanted)
        same = {"zeros_like": array.zeros_like, "ones_like": array.ones_like}[
            name if name != "empty_like" else "zeros_like"
        ]
        return same(a, wanted)

    function.__name__ = function.__qualname__ = name
    word = "Ones" if name == "ones_like" else "Zeros"
    why = (
        ": a tensor cannot be filled later, so its elements are never undefined"
        if name == "empty_like"
        else ""
    )
    shown = "[1., 1.]" if name == "ones_like" else "[0., 0.]"
    function.__doc__ = f"""{word} of the shape and dtype of a tensor, unless others are given{why}.

Args:
  a: Tensor of any shape and dtype; its elements are not read.
  dtype: The dtype; by default that of a.
  shape: The sizes; by default those of a.
  device: "cpu" or None.
Returns: Tensor of that shape and dtype. No gradient goes to a.
Raises: InvalidArgumentError (a ValueError): a size is negative.
Example:
  >>> numpy.{name}([3.0, 4.0]).numpy()
  array({shown})
"""
    return function


zeros_like = _like("zeros_like", array.zeros)
ones_like = _like("ones_like", array.ones)
empty_like = _like("empty_like", array.zeros)


def full_like(
    a: TensorLike,
    fill_value: TensorLike,
    dtype: DTypeLike | None = None,
    *,
    shape: Any = None,
    device: str | None = None,
) -> Tensor:
    """A tensor filled with `fill_value`, of the shape and dtype of `a` unless others are given.

    Args:
      a: Tensor of any shape and dtype; its elements are not read.
      fill_value: A number, or a tensor that broadcasts to the shape.
      dtype: The dtype; by default that of `a`.
      shape: The sizes; by default those of `a`.
      device: "cpu" or None.
    Returns: Tensor of that shape and dtype, differentiable in `fill_value`.
    Raises: InvalidArgumentError (a ValueError): `fill_value` does not broadcast to the shape.
    Example:
      >>> numpy.full_like([1, 2], 5).numpy()
      array([5, 5])
    """
    a = tensor_of(a)
    if dtype is shape is device is None and isinstance(fill_value, int | float) and a.dtype.is_floating:
        if -float(a.dtype.max) <= fill_value <= float(a.dtype.max):
            found = directly(np.full_like, a, fill_value=fill_value)
            if found is not None:
                return found
    return full(array.shape(a) if shape is None and None in _dims(a) else shape if shape is not None else _dims(a),
                fill_value, given_dtype(dtype, a.dtype), device=device)  # fmt: skip


def _dims(x: Tensor) -> list[int | None] | tuple[None]:
    return (None,) if x.dims is None else [size if isinstance(size, int) else None for size in x.dims]


def _floats(start: TensorLike, stop: TensorLike) -> list[Tensor]:
    """The ends of a progression in their common dtype, integers and bools as floats."""
    ends = promoted(start, stop)
    if ends[0].dtype.is_differentiable:
        return ends
    return [math.cast(end, usual_float()) for end in ends]


def _are_known(*xs: Any) -> bool:
    """Whether none is a tensor, nor bfloat16, of which NumPy makes float64."""
    return not any(stands_for_tensor(x) or (is_here(x) and x.dtype.kind == "V") for x in xs)


@blaming
def arange(
    start: TensorLike,
    stop: TensorLike | None = None,
    step: TensorLike = 1,
    dtype: DTypeLike | None = None,
    *,
    device: str | None = None,
) -> Tensor:
    """start, start + step, ... up to `stop`, excluded; from 0 if only one number is given.

    Args:
      start: The first number; if `stop` is not given, this is the end and 0 is the first.
      stop: The end, excluded.
      step: The step, not 0.
      dtype: The dtype; by default that of the numbers, int64 for Python integers.
      device: "cpu" or None.
    Returns: Vector of that dtype, empty if `step` leads away from `stop`.
    Raises: ZeroDivisionError: `step` is 0; InvalidArgumentError (a ValueError): it is a tensor of 0, or, for tensors in a traced
      function, leads away from `stop`.
    Example:
      >>> numpy.arange(1, 7, 2).numpy()
      array([1, 3, 5])
    """
    require_cpu("arange", device)
    if stop is None:
        start, stop = 0, start
    if _are_known(start, stop, step):
        wanted: Any = None if dtype is None else default_dtype(dtype).numpy
        found = by_numpy("arange", np.arange, start, stop, step, wanted)
        return lift(found if wanted else narrowed([start, stop, step], found))
    start, stop, step = promoted(start, stop, step)
    ends = [x.data for x in (start, stop, step) if is_eager(x) and not x.ndim]
    if len(ends) == 3 and ends[2] and (ends[1] - ends[0]) * np.sign(ends[2]) <= 0:
        stop = start  # the end lies on the other side of the start: the range is empty
    return cast_to(array.range(start, stop, step), given_dtype(dtype, start.dtype))


@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | Tensor = ...,
    endpoint: bool = ...,
    retstep: Literal[False] = ...,
    dtype: DTypeLike | None = ...,
    axis: int = ...,
    *,
    device: str | None = ...,
) -> Tensor: ...
@overload
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | Tensor = ...,
    endpoint: bool = ...,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = ...,
    axis: int = ...,
    device: str | None = ...,
) -> tuple[Tensor, Tensor]: ...
@blaming
def linspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | Tensor = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """`num` evenly spaced numbers from `start` to `stop`, which is included with `endpoint`.

    Args:
      start, stop: Numbers, or tensors that broadcast together.
      num: The number of elements, 0 or more.
      endpoint: Whether `stop` is the last number.
      retstep: Whether the step is returned too.
      dtype: The dtype; float64 for Python numbers.
      axis: The axis of the result along which the numbers lie.
      device: "cpu" or None.
    Returns: Tensor with a new axis of size `num`; with `retstep` also the step. Differentiable in `start` and `stop`.
    Raises: ValueError: `num` is negative.
    Example:
      >>> numpy.linspace(0.0, 1.0, 5).numpy()
      array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """
    require_cpu("linspace", device)
    if _are_known(start, stop, num):
        wanted: Any = None if dtype is None else default_dtype(dtype).numpy
        found, step = by_numpy("linspace", np.linspace, start, stop, num, endpoint, True, wanted, axis)
        found = found if wanted else narrowed([start, stop, 1.0], found)
        return (lift(found), tensor_of(step)) if retstep else lift(found)
    start, stop = _floats(start, stop)
    whole = array.linspace(start, stop, num if endpoint else num + 1, axis=axis)
    if not endpoint:
        whole = whole[(*(slice(None),) * (axis % rank_of("linspace", whole)), slice(None, -1))]
    if dtype is not None:
        whole = cast_to(whole, default_dtype(dtype))
    if not retstep:
        return whole
    steps = math.cast(math.subtract(num, 1) if endpoint else num, start.dtype)
    return whole, math.divide(math.subtract(stop, start), steps)


@blaming
def logspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | Tensor = 50,
    endpoint: bool = True,
    base: TensorLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """`base` raised to evenly spaced powers from `start` to `stop`.

    Args:
      start, stop: The first and the last power: numbers, or tensors that broadcast together.
      num: The number of elements, 0 or more.
      endpoint: Whether `stop` is the last number.
      base: The base.
      dtype: The dtype; by default that of the powers, float64 for Python numbers.
      axis: The axis of the result along which the numbers lie.
    Returns: Tensor with a new axis of size `num`; differentiable in `start`, `stop` and `base`.
    Raises: ValueError: `num` is negative.
    Example:
      >>> numpy.logspace(0.0, 2.0, 3).numpy()
      array([  1.,  10., 100.])
    """
    if type(base) not in NUMBERS and (base := tensor_of(base)).ndim:  # one base for each pair of ends
        start, stop, _ = broadcast_arrays(start, stop, base)
        base = array.expand_dims(broadcast_arrays(base, start)[0], axis)
    powers = linspace(start, stop, num, endpoint, axis=axis)
    base, powers = promoted(base, powers)
    found = math.pow(base, powers)
    return found if dtype is None else cast_to(found, default_dtype(dtype))


@blaming
def geomspace(
    start: TensorLike,
    stop: TensorLike,
    num: int | Tensor = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Tensor:
    """`num` numbers from `start` to `stop` in geometric progression; complex ones lie on a spiral.

    Args:
      start, stop: The first and the last number, not 0, real ones of one sign; or tensors that broadcast together.
      num: The number of elements, 0 or more.
      endpoint: Whether `stop` is the last number.
      dtype: The dtype; by default that of the ends, float64 for Python numbers.
      axis: The axis of the result along which the numbers lie.
    Returns: Tensor with a new axis of size `num`; differentiable in `start` and `stop`.
    Raises: ValueError: `num` is negative; InvalidArgumentError (a ValueError): an end is 0, for which a traced function gives NaN
      or 0.
    Example:
      >>> numpy.geomspace(1.0, 8.0, 4).numpy()
      array([1., 2., 4., 8.])
    """
    given = start, stop
    start, stop = _floats(start, stop)
    if any(is_eager(x) and not np.all(x.data) for x in (start, stop)):
        raise InvalidArgumentError("geomspace: an end is 0, to which no geometric progression leads.")
    if _are_known(*given, num):
        wanted: Any = None if dtype is None else default_dtype(dtype).numpy
        found = by_numpy("geomspace", np.geomspace, *given, num, endpoint, wanted, axis)
        return lift(found if wanted else narrowed([*given, 1.0], found))
    start, stop = broadcast_arrays(start, stop)
    turned = math.sign(start)  # computed from positive numbers, and turned back at the end
    first, last = math.divide(start, turned), math.divide(stop, turned)
    found = logspace(math.log10(first), math.log10(last), num, endpoint, axis=axis)
    # The ends are what was given, to the last bit.
    place = axis % rank_of("geomspace", found)
    edge = [None if k == place else slice(None) for k in range(rank_of("geomspace", found))]
    first, last, turned = (x[tuple(edge)] if x.ndim else x for x in (first, last, turned))
    size = array.shape(found, dtypes.int64)[place]
    places = array.reshape(array.range(size), [-1 if k == place else 1 for k in range(len(edge))])
    found = math.where(math.equal(places, 0), first, found)
    if endpoint:
        found = math.where(math.logical_and(math.equal(places, size - 1), math.greater(size, 1)), last, found)
    found = math.multiply(found, turned)
    return found if dtype is None else cast_to(found, default_dtype(dtype))
