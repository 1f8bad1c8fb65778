"""The conversion of operands to tensors of their promoted dtype, the first step of all functions of the namespace.

Arrays and lists have the dtype that `numpy.asarray` gives them: a list of floats is float64 here. Python numbers take the dtype
of the tensors with which they are combined. NumPy's own ufunc determines the dtype in which an elementwise function computes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core import dtypes
from graphad.core.conversions import is_registered
from graphad.core.convert import array_of_numbers, lift, stands_for_tensor
from graphad.core.dtypes import DType, as_dtype
from graphad.core.errors import (
    ArgumentTypeError,
    DTypeError,
    InvalidArgumentError,
    OutOfRangeError,
    UnsupportedOptionError,
)
from graphad.core.flags import flags
from graphad.core.memo import Memo
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops import array, math
from graphad.ops.numpy.modes import combined

if TYPE_CHECKING:
    from graphad.core.annotations import AxisLike, TensorLike


NUMBERS = (bool, int, float, complex)
_RANKS = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
_OF_NUMBERS = {float: dtypes.float32, complex: dtypes.complex64}  # where they are preferred
_loops = Memo("loops", 2048)


def require_no_out(op: str, out: object) -> None:
    """Raises: UnsupportedOptionError: there is an array for the result, which stands where NumPy has it."""
    if out is not None:
        raise UnsupportedOptionError(f"{op}: out is {out!r}; it must be None, since tensors are immutable.")


def tensor_of(x: object, dtype: DType | None = None) -> Tensor:
    """`x` as a tensor of `dtype`, or of the dtype that NumPy gives it."""
    if not isinstance(x, Tensor):
        if stands_for_tensor(x) or is_registered(x):
            x = lift(x)
        elif isinstance(x, list | tuple) and holds_tensors(x):
            x = array.stack(promoted(*x), 0)
        else:
            x = lift(narrowed(x, array_of_numbers(x)))
    return x if dtype is None else cast_to(x, as_dtype(dtype))


def usual_float() -> DType:
    """The float dtype of what has none."""
    return dtypes.float64 if flags.numpy_mode == "legacy" else dtypes.float32


def narrowed(x: object, found: np.ndarray) -> np.ndarray:
    """An array that was made of Python's numbers `x`, in the dtype that they have in the mode."""
    if flags.numpy_mode == "legacy" and not flags.prefers_float32:
        return found
    number = _number_of(x)
    narrow: Any = None
    if flags.prefers_float32:
        narrow = {float: np.float32, complex: np.complex64}.get(number)  # type: ignore[arg-type]
    if flags.numpy_mode != "legacy" and (number is float or (number is int and _fits(found))):
        narrow = {float: np.float32, int: np.int32}[number]
    return found if narrow is None else found.astype(narrow)


def _fits(x: np.ndarray) -> bool:
    info = np.iinfo(np.int32)
    return x.dtype.kind == "i" and bool(((x >= info.min) & (x <= info.max)).all())


def _number_of(x: object) -> type | None:
    """The class of a Python number, and of a list of such alone that of the last kind; else None."""
    if not isinstance(x, list | tuple):
        return type(x) if type(x) in NUMBERS else None
    kinds = {_number_of(item) for item in x}
    return None if None in kinds or not kinds else max(kinds, key=NUMBERS.index)


def holds_tensors(x: list[Any] | tuple[Any, ...]) -> bool:
    """Whether there is a tensor, or what becomes one, in a nest of lists."""
    try:
        return _holds_tensors(x)
    except RecursionError:
        lift(x)  # says that it is too deep
        raise


def _holds_tensors(x: list[Any] | tuple[Any, ...]) -> bool:
    return any(
        stands_for_tensor(item)
        or is_registered(item)
        or (isinstance(item, list | tuple) and _holds_tensors(item))
        for item in x
    )


def by_numpy(op: str, function: Callable[..., Any], *args: object) -> Any:
    """The result of a NumPy function for known values. Raises: ArgumentTypeError, InvalidArgumentError: it refuses them."""
    try:
        return function(*args)
    except (TypeError, AttributeError) as cause:
        raise ArgumentTypeError(f"{op}: NumPy refuses the arguments {_briefly(args)}: {cause}") from cause
    except IndexError as cause:
        raise OutOfRangeError(f"{op}: NumPy refuses the arguments {_briefly(args)}: {cause}") from cause
    except ValueError as cause:
        raise InvalidArgumentError(f"{op}: NumPy refuses the arguments {_briefly(args)}: {cause}") from cause


def _briefly(args: Sequence[Any]) -> str:
    texts = [" ".join(repr(x).split()) for x in args]
    return ", ".join(text if len(text) <= 40 else f"{text[:40]}..." for text in texts)


def cast_to(x: object, dtype: DType) -> Tensor:
    """A tensor, or a Python number, as a tensor of `dtype`."""
    if not isinstance(x, Tensor):
        return lift(x, dtype)
    return x if x.dtype is dtype else math.cast(x, dtype)


def inexact(x: TensorLike) -> Tensor:
    """`x` as a tensor of a float or complex dtype; integers and bools become floats."""
    if type(x) is EagerTensor and x.data.dtype.kind in "fc":
        return x
    x = tensor_of(x)
    return x if x.dtype.is_differentiable else math.cast(x, usual_float())


def promoted(*xs: object) -> list[Tensor]:
    """Operands as tensors of their promoted dtype."""
    if flags.numpy_mode != "legacy":
        return _by_mode(xs)
    if xs and type(xs[0]) is EagerTensor:
        dtype = xs[0].data.dtype
        if not [x for x in xs if type(x) is not EagerTensor or x.data.dtype is not dtype]:
            return list(xs)  # type: ignore[arg-type]
    xs = tuple([x if isinstance(x, Tensor) or type(x) in NUMBERS else tensor_of(x) for x in xs])
    joint = joint_dtype(xs)
    return [cast_to(x, joint) for x in xs]


def _by_mode(xs: Sequence[Any]) -> list[Tensor]:
    numbers = [None if isinstance(x, Tensor) else _number_of(x) for x in xs]
    given = [tensor_of(x) for x in xs]
    dtype = combined(
        [x.dtype if number is None else number for x, number in zip(given, numbers, strict=True)],
        flags.numpy_mode == "safe",
    )
    return [cast_to(x, dtype) for x in given]


def joint_dtype(xs: Sequence[Any]) -> DType:
    """The dtype of tensors, dtypes and Python numbers together."""
    if flags.numpy_mode != "legacy":
        given = [type(x) if type(x) in NUMBERS else x if isinstance(x, DType) else x.dtype for x in xs]
        return combined(given, flags.numpy_mode == "safe")
    known = {x if isinstance(x, DType) else x.dtype for x in xs if type(x) not in NUMBERS}
    weak = [x for x in xs if type(x) in NUMBERS]
    if flags.prefers_float32 and not any(dtype.is_differentiable for dtype in known):
        known |= {_OF_NUMBERS[type(x)] for x in weak if type(x) in _OF_NUMBERS}
        weak = [x for x in weak if type(x) not in _OF_NUMBERS]
    if len(known) == 1:
        (dtype,) = known
        if all(_RANKS[_kind(x)] <= _RANKS[dtype.kind] for x in weak):
            return dtype
    return of_numpys([dtype.numpy for dtype in known], weak)


def of_numpys(known: Sequence[np.dtype[Any]], weak: Sequence[Any]) -> DType:
    """The dtype of NumPy's dtypes and Python numbers together. bfloat16, which NumPy cannot join with every other one, is a
    float32 beside those; so ufuncs take it too.
    """
    try:
        return dtypes.from_numpy(np.result_type(*known, *weak))
    except np.exceptions.DTypePromotionError:
        return dtypes.from_numpy(np.result_type(np.float32, *[x for x in known if x.kind != "V"], *weak))


def _kind(x: object) -> str:
    return {bool: "bool", int: "int", float: "float", complex: "complex"}[type(x)]


def operands(ufunc: np.ufunc, *xs: TensorLike) -> list[Tensor]:
    """Operands as tensors of the dtypes in which a ufunc takes them.

    Raises: DTypeError (a TypeError): it takes no such dtypes.
    """
    if len(xs) > 1 and flags.numpy_mode != "legacy":
        xs = tuple(_by_mode(xs))
    elif flags.prefers_float32 and not any(isinstance(x, Tensor) and x.dtype.is_differentiable for x in xs):
        xs = tuple([tensor_of(x) if type(x) in _OF_NUMBERS else x for x in xs])
    xs = tuple([x if isinstance(x, Tensor) or type(x) in NUMBERS else tensor_of(x) for x in xs])
    if all(type(x) in NUMBERS for x in xs):
        xs = tuple([tensor_of(x) for x in xs])
    given = tuple([x.dtype if isinstance(x, Tensor) else type(x) for x in xs])
    found = _loops.get((ufunc, given))
    if found is None:
        found = _loops.keep((ufunc, given), _resolved(ufunc, given))
    if flags.numpy_mode != "legacy" and len(xs) == 1 and found[0].is_floating:
        found = (inexact(xs[0]).dtype,)
    return [cast_to(x, dtype) for x, dtype in zip(xs, found, strict=True)]


def _resolved(ufunc: np.ufunc, given: Sequence[Any]) -> tuple[DType, ...]:
    known = {x for x in given if isinstance(x, DType)}
    if len(known) == 1:
        (dtype,) = known
        is_taken = dtype.is_differentiable and (
            not dtype.is_complex or any("D" in loop for loop in ufunc.types)
        )
        if is_taken and all(isinstance(x, DType) or _RANKS[_kind(x())] <= _RANKS[dtype.kind] for x in given):
            return (dtype,) * len(given)
    asked = [x.numpy if isinstance(x, DType) else np.dtype(bool) if x is bool else x for x in given]
    try:
        loop = ufunc.resolve_dtypes((*asked, *[None] * ufunc.nout))
    except TypeError as cause:
        names = ", ".join(x.name if isinstance(x, DType) else x.__name__ for x in given)
        raise DTypeError(f"{ufunc.__name__}: takes no operands of dtype {names}; cast them first.") from cause
    return tuple([dtypes.from_numpy(dtype) for dtype in loop[: ufunc.nin]])


def by_value(x: Any, other: Any) -> Any:
    """A Python integer that is compared with integers whose dtype has no such number: of a dtype that has, or a float."""
    if type(x) is not int or 0 <= x < 128 or type(other) in NUMBERS:
        return x
    dtype = tensor_of(other).dtype
    if not dtype.is_integer or dtype.min <= x <= dtype.max:
        return x
    if -(2**63) <= x < 2**64:
        return lift(np.uint64(x) if x >= 2**63 else np.int64(x))
    return lift(np.float64(x))


def rank_of(name: str, x: Tensor) -> int:
    """The rank of a tensor. Raises: InvalidArgumentError: it is not known while tracing."""
    return len(dims_of(name, x))


def dims_of(name: str, x: Tensor) -> tuple[Any, ...]:
    """The shape of a tensor, with None for unknown sizes. Raises: InvalidArgumentError: its rank is not known while tracing."""
    dims = x.dims
    if dims is None:
        raise InvalidArgumentError(
            f"{name}: the rank of the tensor must be known while tracing; set its shape."
        )
    return dims


def known_sizes(name: str, sizes: Sequence[Any], what: str) -> tuple[int, ...]:
    """Sizes as numbers. Raises: InvalidArgumentError: one of them is not known while tracing."""
    found = tuple([size for size in sizes if isinstance(size, int)])
    if len(found) < len(sizes):
        raise InvalidArgumentError(f"{name}: {what} must be known while tracing.")
    return found


def along(axis: int, item: object) -> tuple[Any, ...]:
    """The indexing key that has `item` at a non-negative axis."""
    return (*(slice(None),) * axis, item)


def numpys_axes(axis: AxisLike) -> Any:
    """One axis or several as NumPy takes them: not in a list."""
    return tuple(axis) if isinstance(axis, list) else axis


def on_axis(x: Tensor, axis: int | None) -> tuple[Tensor, Any]:
    """A tensor and its axis; without an axis the flattened tensor and its axis 0."""
    return (array.reshape(x, [-1]), 0) if axis is None else (x, axis)
