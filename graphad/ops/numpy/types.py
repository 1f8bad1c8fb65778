"""Dtypes: promotion, limits, kinds; and the namespace's information about itself."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any, Literal

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import DTypeLike, TensorLike
from graphad.core.blame import blaming
from graphad.core.device import require_cpu
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import InvalidArgumentError
from graphad.core.refusal import refuse
from graphad.core.shapes import TensorShape, normalize_axes
from graphad.core.tensor import CPU_NAME, Tensor
from graphad.ops.numpy.promotion import NUMBERS, cast_to, joint_dtype, tensor_of

_KINDS = {
    "bool": ("bool",),
    "signed integer": ("int",),
    "unsigned integer": ("uint",),
    "integral": ("int", "uint"),
    "real floating": ("float",),
    "complex floating": ("complex",),
    "numeric": ("int", "uint", "float", "complex"),
}
_DEFAULTS = {
    "real floating": dtypes.float64,
    "complex floating": dtypes.complex128,
    "integral": dtypes.int64,
    "indexing": dtypes.int64,
}


@dataclass(frozen=True)
class FloatInfo:
    """The properties of a float dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType

    @property
    def tiny(self) -> float:
        return self.smallest_normal


@dataclass(frozen=True)
class IntInfo:
    """The properties of an integer dtype."""

    bits: int
    max: int
    min: int
    dtype: DType


def _dtype_of(x: Any) -> DType:
    return x.dtype if isinstance(x, Tensor) or hasattr(x, "__graphad_tensor__") else default_dtype(x)


def default_dtype(x: object) -> DType:
    """The dtype of a word; float and int are 64 bits wide, as in NumPy."""
    wide = {float: dtypes.float64, int: dtypes.int64, "float": dtypes.float64, "int": dtypes.int64}
    try:
        found = wide.get(x)
    except TypeError:  # not hashable
        found = None
    if found is not None:
        return found
    return dtypes.from_numpy(x.dtype) if isinstance(x, np.ndarray | np.generic) else as_dtype(x)


def finfo(type: DTypeLike | Tensor, /) -> FloatInfo:
    """The limits of a float dtype, or of the parts of a complex one, given as a dtype or as a tensor.

    Args: type: A float or complex dtype, its name, or a tensor of it.
    Returns: An object with `bits`, `eps`, `max`, `min`, `smallest_normal` and `dtype`.
    Raises: InvalidArgumentError (a ValueError): another dtype.
    Example:
      >>> numpy.finfo("float32").bits
      32
    """
    dtype = _dtype_of(type)
    if not dtype.is_differentiable:
        raise InvalidArgumentError(f"finfo: {dtype.name} is not a float dtype; use iinfo.")
    info, real = dtype.info, dtype.real_dtype
    return FloatInfo(
        8 * real.itemsize,
        float(info.eps),
        float(info.max),
        float(info.min),
        float(info.smallest_normal),
        real,
    )


def iinfo(type: DTypeLike | Tensor, /) -> IntInfo:
    """The limits of an integer dtype, given as a dtype or as a tensor.

    Args: type: An integer dtype, its name, or a tensor of it.
    Returns: An object with `bits`, `max`, `min` and `dtype`.
    Raises: InvalidArgumentError (a ValueError): another dtype.
    Example:
      >>> numpy.iinfo("int8").max
      127
    """
    dtype = _dtype_of(type)
    if not dtype.is_integer:
        raise InvalidArgumentError(f"iinfo: {dtype.name} is not an integer dtype; use finfo.")
    return IntInfo(8 * dtype.itemsize, int(dtype.max), int(dtype.min), dtype)


def isdtype(dtype: DTypeLike, kind: DTypeLike | tuple[Any, ...]) -> bool:
    """Whether a dtype is of a kind.

    Args:
      dtype: A dtype.
      kind: Another dtype; "bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating" or
        "numeric"; or a tuple of these.
    Returns: A Python bool.
    Raises: InvalidArgumentError (a ValueError): the kind is unknown.
    Example:
      >>> numpy.isdtype("float32", "real floating")
      True
    """
    if isinstance(kind, tuple):
        return any(isdtype(dtype, one) for one in kind)
    found = default_dtype(dtype)
    if not isinstance(kind, str):
        return found is default_dtype(kind)
    if kind not in _KINDS:
        raise InvalidArgumentError(
            f"isdtype: kind {kind!r} is unknown; it is one of {', '.join(map(repr, _KINDS))}."
        )
    return found.kind in _KINDS[kind]


def result_type(*arrays_and_dtypes: TensorLike | DTypeLike) -> DType:
    """The promoted dtype of tensors, dtypes and Python numbers.

    Args: arrays_and_dtypes: Tensors of any shapes, arrays, dtypes, and numbers, which take the dtype of the others if possible.
    Returns: The dtype.
    Raises: InvalidArgumentError (a ValueError): there is no argument.
    Example:
      >>> numpy.result_type("float32", "int8", 1.0)
      tf.float32
    """
    if not arrays_and_dtypes:
        raise InvalidArgumentError("result_type: no arguments; give at least one tensor or dtype.")
    xs = [x if builtin(x) else _dtype_of(x) for x in arrays_and_dtypes]
    return joint_dtype([tensor_of(x) for x in xs] if all(map(builtin, xs)) else xs)


def promote_types(type1: DTypeLike, type2: DTypeLike) -> DType:
    """The smallest dtype that holds the elements of two.

    Args: type1, type2: Dtypes or their names.
    Returns: The dtype.
    Raises: ArgumentTypeError (a TypeError): the dtype is unknown.
    Example:
      >>> numpy.promote_types("int8", "uint8")
      tf.int16
    """
    return result_type(default_dtype(type1), default_dtype(type2))


def issubdtype(arg1: DTypeLike, arg2: DTypeLike) -> bool:
    """Whether a dtype equals another one, or is a subtype of an abstract type of NumPy's, such as `numpy.floating`.

    Args:
      arg1: A dtype or its name.
      arg2: Another one, or an abstract type of NumPy's.
    Returns: A Python bool.
    Raises: ArgumentTypeError (a TypeError): the dtype is unknown.
    Example:
      >>> numpy.issubdtype("float32", np.floating)
      True
    """
    above = arg2 if isinstance(arg2, type) and issubclass(arg2, np.generic) else default_dtype(arg2).numpy
    return bool(np.issubdtype(default_dtype(arg1).numpy, above))


def builtin(x: object) -> bool:
    """Whether x is a Python number."""
    return type(x) in NUMBERS


@blaming
def can_cast(
    from_: DTypeLike | Tensor,
    to: DTypeLike,
    casting: Literal["no", "equiv", "safe", "same_kind", "unsafe"] = "safe",
) -> bool:
    """Whether elements of a dtype, or of a tensor, can be cast to another dtype; with "safe" without losing values.

    Args:
      from_: A dtype, or a tensor of any shape.
      to: The other dtype.
      casting: "no", "equiv", "safe", "same_kind" or "unsafe", as NumPy means them.
    Returns: A Python bool.
    Raises: ArgumentTypeError (a TypeError): the dtype is unknown; ValueError: another word for `casting`.
    Example:
      >>> numpy.can_cast("int32", "float32")
      False
    """
    return bool(np.can_cast(_dtype_of(from_).numpy, default_dtype(to).numpy, casting))


def astype(x: TensorLike, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None) -> Tensor:
    """x converted to another dtype.

    Args:
      x: Tensor of any shape and dtype.
      dtype: The dtype; a real one keeps the real part of complex numbers.
      copy: Accepted for compatibility; tensors are immutable.
      device: "cpu" or None.
    Returns: Tensor of the shape of x; its gradient is 0 or None if a dtype has no derivatives.
    Raises: ArgumentTypeError (a TypeError): the dtype is unknown.
    Example:
      >>> numpy.astype([1.7, -1.7], "int32").numpy()
      array([ 1, -1], dtype=int32)
    """
    require_cpu("astype", device)
    return cast_to(tensor_of(x), default_dtype(dtype))


class Information:
    """The result of `__array_namespace_info__`: devices, dtypes and capabilities."""

    def capabilities(self) -> dict[str, Any]:
        """The capabilities of the namespace."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 64}

    def default_device(self) -> str:
        """The device on which tensors are created."""
        return CPU_NAME

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """The default dtypes of created tensors."""
        require_cpu("default_dtypes", device)
        return dict(_DEFAULTS)

    def devices(self) -> tuple[str, ...]:
        """The devices that tensors can be on."""
        return (CPU_NAME,)

    def dtypes(self, *, device: str | None = None, kind: str | None = None) -> dict[str, DType]:
        """The dtypes of the standard, or those of a given kind."""
        require_cpu("dtypes", device)
        left_out = ("float16", "bfloat16")  # which the standard does not name
        return {
            dtype.name: dtype
            for dtype in dtypes.ALL
            if dtype.name not in left_out and (kind is None or isdtype(dtype, kind))
        }


def __array_namespace_info__() -> Information:
    """The information about the namespace; see `Information`."""
    return Information()


def shape(a: TensorLike) -> TensorShape:
    """The sizes of a tensor's axes, None for unknown ones.

    Args: a: Tensor of any shape and dtype.
    Returns: A `TensorShape`, which is similar to a tuple.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.shape([[1, 2, 3]])
      TensorShape([1, 3])
    """
    return tensor_of(a).shape


def ndim(a: TensorLike) -> int | None:
    """The number of axes of a tensor, None if unknown.

    Args: a: Tensor of any shape and dtype.
    Returns: An int or None.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.ndim([[1, 2, 3]])
      2
    """
    return tensor_of(a).ndim


def size(a: TensorLike, axis: int | tuple[int, ...] | None = None) -> int | None:
    """The number of elements of a tensor, in total or along axes; None if unknown.

    Args:
      a: Tensor of any shape and dtype.
      axis: The axis or axes.
    Returns: An int or None.
    Raises: OutOfRangeError (an IndexError): the axis is out of range; ArgumentTypeError (a TypeError): it is not an integer.
    Example:
      >>> numpy.size([[1, 2, 3]])
      3
    """
    x = tensor_of(a)
    if axis is None:
        return x.shape.num_elements()
    if isinstance(axis, tuple):
        places = normalize_axes("size", axis, x.ndim) or ()
        sizes = [x.shape[k] for k in places]
        return None if None in sizes else prod(sizes)
    try:
        found: int | None = x.shape[axis]
    except (TypeError, IndexError) as cause:
        refuse(cause, "size", "axis", axis, f"the tensor has shape {x.shape}; an axis of it is needed")
    return found


def iscomplexobj(x: TensorLike) -> bool:
    """Whether x has a complex dtype.

    Args: x: Tensor of any shape and dtype, an array or a number.
    Returns: A Python bool.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    return bool(tensor_of(x).dtype.is_complex)


def isrealobj(x: TensorLike) -> bool:
    """Whether the dtype of x is not complex.

    Args: x: Tensor of any shape and dtype, an array or a number.
    Returns: A Python bool.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    return not iscomplexobj(x)


def isscalar(element: object) -> bool:
    """Whether `element` is a number and not a tensor.

    Args: element: Any object.
    Returns: A Python bool; False for a tensor of shape [].
    Raises: Nothing.
    Example:
      >>> numpy.isscalar(3.0), numpy.isscalar(constant(3.0))
      (True, False)
    """
    return isinstance(element, int | float | complex | np.generic)
