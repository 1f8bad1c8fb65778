"""From Python and NumPy values to tensors: `lift`, and the adoption of one operand's dtype by the other.

Python floats are float32, ints int32 (int64 where they do not fit), NumPy arrays keep their dtype. In a list all integers are
int32, NumPy's too, and the first float decides whether all floats are float32. Python numbers and NumPy values next to a tensor
adopt the tensor's dtype if their kind fits into it (a bool may become an int, an int a float, and not the reverse).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphad.core import dtypes
from graphad.core.bind import constant_here
from graphad.core.conversions import converted_by_user, is_registered
from graphad.core.dtypes import DType
from graphad.core.errors import (
    ArgumentTypeError,
    DTypeError,
    GraphadError,
    InvalidArgumentError,
    ResourceExhaustedError,
    UnconvertibleError,
)
from graphad.core.ieee import REPORTED, unreported
from graphad.core.shapes import MOST_AXES, TensorShape
from graphad.core.tensor import Handle, Tensor

if TYPE_CHECKING:
    from graphad.core.annotations import Array, TensorLike


_NUMBERS = frozenset({float, int, bool, complex})
_ANY = np.logical_or.reduce
_FLOAT = np.dtype(np.float32)
_RANK = {"bool": 0, "uint": 1, "int": 1, "float": 2, "complex": 3}
_INT32 = np.iinfo(np.int32)
_FLOAT32 = float(np.finfo(np.float32).max) + 2.0**103  # from here on values round to infinity


def lift(x: object, dtype: DType | None = None) -> Tensor:
    """`x` as a tensor of the current level.

    Args:
      x: A tensor, variable, number, array, or nested list of these.
      dtype: The dtype of the result; a tensor of another dtype is refused, other values are converted.
    Raises: DTypeError, ArgumentTypeError: it cannot be converted.
    """
    if isinstance(x, Tensor):
        if dtype is not None and x.dtype is not dtype:
            raise _refused(
                DTypeError,
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype {x.dtype.name}: "
                f"{x!r}; use cast(x, {dtype.name}).",
            )
        return x
    if type(x) in _NUMBERS:
        return constant_here(_number(x, dtype))
    convert = getattr(x, "__graphad_tensor__", None)
    if convert is not None:
        return lift(convert(), dtype)
    if is_registered(x) and (made := converted_by_user(x, dtype)) is not NotImplemented:
        return lift(made, dtype)
    try:
        if isinstance(x, list | tuple):
            kinds = set(map(type, x))
            if kinds == _FLOATS and dtype is None:
                return constant_here(_float_list(x))
            if kinds == _INTEGERS and (found := _integer_list(x, dtype)) is not None:
                return constant_here(found)
            if _holds_tensors(x, kinds):
                return _stacked(x, dtype)
        return constant_here(to_numpy(x, dtype))
    except RecursionError as cause:
        if not _is_too_deep(x):
            raise
        raise _refused(
            InvalidArgumentError,
            f"a list is nested more than {MOST_AXES} deep, or holds itself; a tensor has at most {MOST_AXES} axes.",
        ) from cause


def lift_truths(x: object) -> Tensor:
    """`x` as a tensor of truth values: a list without numbers, or an array of zeros and ones alone, becomes bools."""
    return lift(x, dtypes.bool_ if isinstance(x, np.ndarray | np.generic) or is_empty_list(x) else None)


def is_empty_list(x: object) -> bool:
    """Whether `x` is a list that holds nothing but such lists: it has no number at any depth."""
    try:
        return isinstance(x, list | tuple) and all(map(is_empty_list, x))
    except RecursionError:
        return False  # the conversion to a tensor raises the error that it is nested too deeply


def lift_own(x: object) -> Tensor:
    """`x` as a tensor that may be returned to a caller. For a variable, `lift` returns a tensor that only ops may use."""
    return x.value() if isinstance(x, Handle) else lift(x)  # type: ignore[attr-defined]


def lift_pair(op: str, a: object, b: object) -> tuple[Tensor, Tensor]:
    """Two operands as tensors; one that is not a tensor yet adopts the dtype of the other."""
    if isinstance(a, Tensor):
        if isinstance(b, Tensor):
            return a, b
        if type(b) in _NUMBERS and not a.away:
            return a, _adopt(op, b, a.dtype)
        convert = getattr(b, "__graphad_tensor__", None)
        if convert is not None:
            return a, convert()
    elif type(a) in _NUMBERS and isinstance(b, Tensor) and not b.away:
        return _adopt(op, a, b.dtype), b
    a_known, b_known = _dtype_of(a), _dtype_of(b)
    if a_known is None and b_known is None:
        a = lift(a)
        a_known = a.dtype
    x = lift(a) if a_known is not None else _adopt(op, a, b_known)
    y = lift(b) if b_known is not None else _adopt(op, b, a_known)
    if y.away and a_known is None:
        x = y.beside(x)  # type: ignore[arg-type]
    elif x.away and b_known is None:
        y = x.beside(y)  # type: ignore[arg-type]
    return x, y


def lift_like(op: str, x: object, dtype: DType | None) -> Tensor:
    """`x` as a tensor that adopts `dtype` unless it has one of its own."""
    return lift(x) if dtype is None or _dtype_of(x) is not None else _adopt(op, x, dtype)


def stands_for_tensor(x: object) -> bool:
    """Whether `x` is a tensor, a variable, or another object that converts to a tensor by itself."""
    return isinstance(x, Tensor) or hasattr(x, "__graphad_tensor__")


def _dtype_of(x: Any) -> DType | None:
    return x.dtype if stands_for_tensor(x) else None


def _adopt(op: str, x: object, dtype: DType | None) -> Tensor:
    try:
        return lift(x, dtype)
    except (DTypeError, ResourceExhaustedError, UnconvertibleError) as cause:
        if dtype is not None and isinstance(cause, DTypeError) and exports_array(x):
            mine = dtypes.as_dtype(_exported(x).dtype)
            raise DTypeError(
                f"{_called() or op}: cannot combine an array of dtype {mine.name} with a tensor of dtype {dtype.name}; "
                "cast one of them."
            ) from cause
        raise refused_by(op, cause) from cause


E = TypeVar("E", bound=GraphadError)
R = TypeVar("R")


def _called() -> str | None:
    """The name of the public function that the user called, for the message of an error."""
    name: str | None = importlib.import_module("graphad.core.frames").called_function()
    return name


def _refused(kind: type[E], text: str) -> E:
    """The error of a value that is not converted; it names the public function that the user called."""
    name = _called()
    return kind(text if name is None else f"{name}: {text}")


def refused_by(op: str, cause: E, before: str = "") -> E:
    """The error `cause` of `lift`, with further words `before` its own; `op` is its name if the user called no function."""
    name = _called()
    return type(cause)(f"{name or op}: {before}{str(cause).removeprefix(f'{name}: ')}")


def _holds_tensors(x: list[Any] | tuple[Any, ...], kinds: set[type] | None = None) -> bool:
    """Whether a list, whose items have these types, holds a tensor or an object that converts to one."""
    return not _NUMBERS.issuperset(map(type, x) if kinds is None else kinds) and any(
        isinstance(item, Tensor)
        or hasattr(item, "__graphad_tensor__")
        or is_registered(item)
        or (isinstance(item, list | tuple) and _holds_tensors(item))
        for item in x
    )


def _stacked(items: Sequence[TensorLike], dtype: DType | None) -> Tensor:
    """A list with tensors as one tensor; where a dtype is asked for, its tensors are cast to it."""
    known = dtype
    if known is None:
        known = next((found for found in (_first_dtype(item) for item in items) if found is not None), None)
    tensors = [
        _stacked(item, known)
        if isinstance(item, list | tuple) and _holds_tensors(item)
        else _part(lift_like("stack", item, known), dtype)
        for item in items
    ]
    return tensors[0]._stacked(tensors[1:])


def _part(x: Tensor, dtype: DType | None) -> Tensor:
    """A tensor of a list as one of `dtype`."""
    if dtype is None or x.dtype is dtype:
        return x
    if _RANK[x.dtype.kind] > _RANK[dtype.kind]:
        raise _refused(
            DTypeError,
            f"Tensor conversion requested dtype {dtype.name} for a list that holds a Tensor with dtype {x.dtype.name}, which is "
            f"not rounded or reinterpreted unasked; use cast(x, {dtype.name}).",
        )
    return x._cast(dtype)


def _first_dtype(x: TensorLike) -> DType | None:
    if isinstance(x, list | tuple):
        return next((found for found in map(_first_dtype, x) if found is not None), None)
    return _dtype_of(x)


def to_numpy(x: object, dtype: DType | None = None) -> Any:
    """`x` as an array of its own (a NumPy scalar for rank 0), with the dtype rules of the module docstring."""
    kind = type(x)
    if kind in _NUMBERS:
        return _number(x, dtype)
    if dtype is None and isinstance(x, np.generic) and dtypes.is_known(x.dtype):
        return x  # immutable already
    if isinstance(x, TensorShape):
        sizes = x.as_list()
        if dtype is not None and not dtype.is_integer:
            raise DTypeError(
                f"Cannot convert TensorShape {x} to dtype {dtype.name}: sizes are integers; give an integer dtype, or cast."
            )
        if dtype is not None and any(size is not None and size > dtype.max for size in sizes):
            raise InvalidArgumentError(
                f"Cannot convert the shape {tuple(sizes)} to {dtype.name}: a size is too large; use int64."
            )
        x = sizes or np.zeros(0, np.int32)  # the shape of a scalar has no number to take a dtype from
    if isinstance(x, np.ndarray | np.generic):
        array = np.array(x)
        if not array.dtype.isnative:
            array = array.astype(array.dtype.newbyteorder("="))
    else:
        array = _from_python(x, dtype)
    try:
        mine = dtypes.as_dtype(array.dtype)
    except ArgumentTypeError as cause:
        _as_known(array, x)
        raise _refused(UnconvertibleError, str(cause).removeprefix("as_dtype: ")) from cause
    if dtype is not None and mine is not dtype:
        if not array.size:  # an empty array has no number of a wrong kind
            return np.zeros(array.shape, dtype.numpy)
        if _RANK[mine.kind] > _RANK[dtype.kind] and not (
            isinstance(x, np.ndarray | np.generic) and _are_whole(array, mine, dtype)
        ):
            raise _wrong_kind(_short(x), mine.kind, dtype)
        if dtype.is_integer and not (np.can_cast(array.dtype, dtype.numpy) or _are_within(array, dtype)):
            raise _out_of_range(x, dtype, f"; tf.cast(x, {dtype.name}) wraps around")
        array = _fitted(array, dtype, x)
    array = np.ascontiguousarray(array) if array.ndim and not array.flags.c_contiguous else array
    return array if array.ndim else array[()]


def _are_whole(numbers: np.ndarray, mine: DType, dtype: DType) -> bool:
    """Whether all values of an array belong to a narrower kind than its dtype: floats that are integers, as NumPy's `ceil`,
    `prod` and `zeros` return them, and numbers that are all 0 or 1 where bools are wanted.
    """
    if dtype.is_bool:
        return bool(((numbers == 0) | (numbers == 1)).all())
    if mine.kind != "float" or not dtype.is_integer:
        return False
    return bool((np.isfinite(numbers) & (numbers == np.trunc(numbers))).all()) and _are_within(numbers, dtype)


def _are_within(numbers: np.ndarray, dtype: DType) -> bool:
    """Whether an integer dtype can hold all of these whole numbers, of which there is at least one."""
    limits = np.iinfo(dtype.numpy)
    return limits.min <= int(numbers.min()) and int(numbers.max()) <= limits.max


def _out_of_range(x: object, dtype: DType, cure: str = "") -> InvalidArgumentError:
    return _refused(
        InvalidArgumentError,
        f"Cannot convert {_short(x)} to EagerTensor of dtype {dtype.name}: out of range{cure}.",
    )


def _number(x: Any, dtype: DType | None) -> Any:
    kind = type(x)
    if dtype is None:
        if kind is float:
            return _float(np.float32, x) if -_FLOAT32 < x < _FLOAT32 else _large(x)
        if kind is bool:
            return np.bool_(x)
        if kind is complex:
            return np.complex128(x)
        return np.int32(x) if _INT32.min <= x <= _INT32.max else _fitted(x, dtypes.int64, x)
    if kind is float and (dtype is dtypes.float32 or dtype is dtypes.float64):
        return _float(dtype.numpy.type, x)
    if kind is int and (dtype is dtypes.int64 or dtype is dtypes.int32) and _INT32.min <= x <= _INT32.max:
        return dtype.numpy.type(x)
    rank = 0 if kind is bool else 1 if kind is int else 2 if kind is float else 3
    if rank > _RANK[dtype.kind]:
        raise _wrong_kind(repr(x), ("bool", "int", "float", "complex")[rank], dtype)
    return _fitted(x, dtype, x)


def _wrong_kind(shown: str, kind: str, dtype: DType) -> DTypeError:
    what = {"float": "a number with a fraction", "complex": "a complex number"}.get(kind, "an integer")
    return _refused(
        DTypeError,
        f"Cannot convert {shown} to EagerTensor of dtype {dtype.name}: {what} is not rounded or reinterpreted unasked; give a "
        f"value of the kind of {dtype.name}, or another dtype: tf.cast the tensor beside it, or dtype= where it is made.",
    )


_CURES = {
    type(
        None
    ): " None is often a gradient that does not exist (tape.why_none says why), or the result of a function "
    "without `return`.",
    str: " graphad has tensors of numbers only.",
    bytes: " graphad has tensors of numbers only.",
    dict: " Pass its values one by one, or stack them.",
    set: " A set has no order; pass a list.",
}


def _float(kind: Any, x: float) -> Any:
    try:
        return kind(x)
    except REPORTED:
        return unreported(kind, x)


def _large(x: Array | float) -> Any:
    """A float, or an array of floats from a list; finite values must be within the range of float32."""
    found = unreported(np.asarray(x).astype, np.float32)
    large = np.isinf(found)
    if _ANY(large, None) and _ANY(large & np.isfinite(x), None):
        raise _refused(
            InvalidArgumentError,
            f"Cannot convert {_short(x)} to EagerTensor of dtype float32, the default for floats: out of range; "
            "give dtype=float64.",
        )
    return found if found.ndim else found[()]


def _float_list(x: Any) -> Any:
    """A list of Python's floats in float32, of which finite ones must be within its range."""
    found = unreported(np.array, x, np.float32)
    return found if np.isfinite(found).all() else _large(np.array(x))


def _integer_list(x: Any, dtype: DType | None) -> Any:
    """A short list of Python's integers in int32, or in the dtype asked for; None where the usual way has to look at them."""
    if len(x) > _SHORT or not (dtype is None or dtype is dtypes.int32 or dtype is dtypes.int64):
        return None
    if not _INT32.min <= min(x) <= max(x) <= _INT32.max:
        return None
    return np.array(x, np.int32 if dtype is None else dtype.numpy)


def _fitted(value: Array | complex | float, dtype: DType, x: object) -> Array:
    try:
        with np.errstate(all="ignore"):
            out = np.asarray(value, dtype=dtype.numpy)
    except (OverflowError, TypeError, ValueError) as cause:
        raise _out_of_range(x, dtype) from cause
    return out if out.ndim else out[()]


def _from_python(x: Any, dtype: DType | None) -> np.ndarray:
    is_list = type(x) is list or type(x) is tuple
    if not is_list:
        if x is None or isinstance(x, str | bytes | dict | set):
            raise _unsupported(x)
        if exports_array(x):
            return _as_known(np.array(_exported(x)), x)  # a copy, since its owner may change the array
        is_list = isinstance(x, list | tuple)
        if isinstance(x, Sequence) and not is_list:
            return _from_python(_walked(list, x), dtype)  # a range, or a user's class
    kinds = _kinds(x) if is_list else set()
    if dtype is None and kinds & _BOOLS and not kinds <= _BOOLS and not _counts_bools(x, kinds):
        raise _refused(
            InvalidArgumentError,
            "Can't convert Python sequence with mixed types to Tensor: it holds bools and numbers; make all of them bools or all "
            "numbers.",
        )
    try:
        array = _walked(np.array, x)
    except ValueError as cause:
        raise _not_rectangular(x) from cause
    if array.dtype.kind == "f" and dtype is dtypes.uint64 and kinds <= _INTEGERS and kinds:
        # NumPy has floats for integers of which int64 holds only some; what uint64 does not hold is refused below.
        with suppress(OverflowError, TypeError):
            array = np.array(x, np.uint64)
    array = _as_known(array, x)
    if not kinds:
        return array.astype(np.float32) if is_list else array
    if array.dtype.kind == "f" and dtype is None:
        wanted = _float_of(x)
        if array.dtype == wanted:
            return array
        made: np.ndarray = _large(array) if wanted == np.float32 else unreported(array.astype, wanted)
        return made
    if array.dtype.kind in "iu" and (
        not array.size or (array.min() >= _INT32.min and array.max() <= _INT32.max)
    ):
        return array.astype(np.int32)
    return array


_BOOLS, _FLOATS = {bool, np.bool_}, {float}
_INTEGERS = {int}
_SHORT = 64  # items, of which Python finds the least and the largest sooner than NumPy


def array_of(x: object) -> np.ndarray:
    """`np.asarray(x)`. Raises: InvalidArgumentError: the items of nested lists differ in length."""
    try:
        return _walked(np.asarray, x)
    except ValueError as cause:
        raise _not_rectangular(x) from cause


def _walked(make: Callable[[Any], R], x: object) -> R:
    """`make(x)`. Raises: ResourceExhaustedError: x says that it has more items than memory holds."""
    try:
        return make(x)
    except MemoryError as cause:
        raise _refused(
            ResourceExhaustedError,
            f"Attempt to convert a value ({_short(x)}) with type ({type(x)}) to a Tensor: there is no memory for the items "
            "that it says it has.",
        ) from cause


def array_of_numbers(x: object) -> np.ndarray:
    """`array_of(x)`. Raises: UnconvertibleError: it holds something else than numbers."""
    return _as_known(array_of(x), x)


def _not_rectangular(x: object) -> InvalidArgumentError:
    return _refused(
        InvalidArgumentError,
        f"Can't convert non-rectangular Python sequence to Tensor.{_ragged(x)}",
    )


def _counts_bools(x: list[TensorLike], kinds: set[type]) -> bool:
    """Whether Python bools count as 0 and 1 in a list with numbers, as they do if a number comes first."""
    return np.bool_ not in kinds and type(list(_leaves(x))[-1]) is not bool  # `_leaves` starts from the end


def _float_of(x: object) -> Any:
    """The dtype of a list of floats: that of its first item if it is a NumPy float, else float32."""
    while isinstance(x, list | tuple):
        if x and type(x[0]) is float:
            return _FLOAT
        x = next(
            (item for item in x if not isinstance(item, list | tuple) or any(True for _ in _leaves(item))),
            0.0,
        )
    mine = x.dtype if isinstance(x, np.generic | np.ndarray) else _FLOAT
    return mine if mine.kind == "f" else _FLOAT


_EXPORTS = ("__array__", "__dlpack__", "__array_interface__", "__array_struct__")


def exports_array(x: Any) -> bool:
    """Whether `x` exports an array of numbers: an array, a data frame, a tensor of another library, a buffer."""
    if isinstance(x, np.ndarray | np.generic):
        return True
    if isinstance(x, type | str | bytes):
        return False
    if any(hasattr(x, name) for name in _EXPORTS):
        return True
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def _exported(x: object) -> np.ndarray:
    """The array that `x` exports. Raises: UnconvertibleError: the export fails."""
    try:
        if hasattr(x, "__dlpack__") and not hasattr(x, "__array__"):
            return importlib.import_module("graphad.core.dlpack").imported(x)  # type: ignore[no-any-return]
        return np.asarray(x)
    except Exception as cause:  # code of another library, which may raise anything
        raise _refused(
            UnconvertibleError,
            f"Attempt to convert a value of type {type(x)} to a Tensor, but it gave no array: {cause}",
        ) from cause


def _as_known(array: np.ndarray, x: object) -> np.ndarray:
    if array.dtype.kind in "USOV" and array.dtype.name != dtypes.bfloat16.name:
        raise _unsupported(x, _of_objects(array) if exports_array(x) else "")
    return array


def _of_objects(array: np.ndarray) -> str:
    """What is in an array that does not hold numbers."""
    if array.dtype.kind != "O":
        return f" Its dtype is {array.dtype}; graphad has tensors of numbers only."
    kinds = sorted({type(item).__name__ for item in array.flat})
    return (
        f" It is an array of objects ({', '.join(kinds[:3])}{', ...' if kinds[3:] else ''}), as of rows of different lengths or "
        "columns of texts; make it one of numbers, as by astype, or take the columns of numbers alone."
    )


def _unsupported(x: object, more: str = "") -> UnconvertibleError:
    return _refused(
        UnconvertibleError,
        f"Attempt to convert a value ({_short(x)}) with an unsupported type ({type(x)}) to a Tensor.{_strange(x) or more}",
    )


_PAD = " Pad the shorter, or keep a list of tensors."


def _ragged(x: object) -> str:
    """Where the lengths of nested lists differ."""
    nested = [(x, 1)]
    while nested:
        x, depth = nested.pop()
        if not (isinstance(x, list | tuple) and x):
            continue
        if depth > MOST_AXES:
            return f" It is nested more than {MOST_AXES} deep, and a tensor has at most {MOST_AXES} axes."
        lengths = [len(item) if isinstance(item, list | tuple) else None for item in x]
        other = next((k for k, length in enumerate(lengths) if length != lengths[0]), None)
        if other is not None:
            told = ["is a number" if n is None else f"has length {n}" for n in (lengths[0], lengths[other])]
            return f" Item 0 {told[0]}, item {other} {told[1]}.{_PAD}"
        if lengths[0] is not None:
            nested += [(item, depth + 1) for item in reversed(x)]
    return _PAD


def _is_too_deep(x: object) -> bool:
    nested = [(x, 1)]
    while nested:
        x, depth = nested.pop()
        if isinstance(x, list | tuple):
            if depth > MOST_AXES:
                return True
            nested += [(item, depth + 1) for item in x]
    return False


def _strange(x: object) -> str:
    """The first item that is not a number, and what to do about it."""
    if not isinstance(x, list | tuple):
        return _CURES.get(type(x), "")
    for k, item in enumerate(x):
        if isinstance(item, list | tuple):
            found = _strange(item)
            if found:
                return found
        elif not isinstance(item, int | float | complex) and not exports_array(item):
            return f" Item {k} is {_short(item)}, of type {type(item).__name__}.{_CURES.get(type(item), '')}"
    return ""


def _leaves(x: Sequence[TensorLike]) -> Any:
    stack = [x]
    while stack:
        item = stack.pop()
        if isinstance(item, list | tuple):
            stack.extend(item)
        else:
            yield item


def _kinds(x: Any) -> set[type]:
    """The types of the leaves."""
    kinds = set(map(type, x))
    if _NUMBERS.issuperset(kinds):
        return kinds
    return (
        {type(item) for item in _leaves(x)}
        if any(issubclass(kind, list | tuple) for kind in kinds)
        else kinds
    )


def _short(x: object) -> str:
    text = repr(x)
    return text if len(text) <= 80 else text[:77] + "..."
