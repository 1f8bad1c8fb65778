"""The methods of NumPy's ufuncs on tensors: `np.add.reduce(t)`, `np.maximum.accumulate(t)`, `np.divide.outer(t, u)`, `reduceat`.

Those that a function of the namespace computes are that function. Any other ufunc of two operands is applied to slice after
slice, or where the order of its operands' pairs does not matter by doubling steps.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from graphad.core.annotations import AxisLike, DTypeLike, TensorLike
from graphad.core.bind import bind
from graphad.core.errors import InvalidArgumentError, OutOfRangeError, UnsupportedOptionError
from graphad.core.shapes import normalize_axes, normalize_axis
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.along import TakeAlong
from graphad.ops.array.support import static_here
from graphad.ops.directly import directly, is_eager
from graphad.ops.numpy import reductions, skipping
from graphad.ops.numpy.promotion import along, cast_to, dims_of, inexact, rank_of, tensor_of
from graphad.ops.numpy.shapes import moveaxis
from graphad.ops.numpy.types import default_dtype

_Function = Callable[..., Any]


def _logsumexp(
    x: Any,
    axis: AxisLike = None,
    keepdims: bool = False,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    x = inexact(x)
    if where is not None:
        x = math.where(tensor_of(where), x, cast_to(-np.inf, x.dtype))
    found = math.reduce_logsumexp(x, axis, keepdims)
    return found if initial is None else math.logaddexp(found, tensor_of(initial, x.dtype))


_REDUCED: dict[np.ufunc, _Function] = {
    np.add: reductions.sum,
    np.multiply: reductions.prod,
    np.maximum: reductions.max,
    np.minimum: reductions.min,
    np.logical_and: reductions.all,
    np.logical_or: reductions.any,
    np.fmax: skipping.nanmax,
    np.fmin: skipping.nanmin,
    np.logaddexp: _logsumexp,
}


def _running_logsumexp(x: Any, axis: int, dtype: DTypeLike | None) -> Tensor:
    return math.cumulative_logsumexp(_of_dtype(inexact(x), dtype), axis)


def _differences(x: Any, axis: int, dtype: DTypeLike | None) -> Tensor:
    """x[0] - x[1] - x[2] ..., rounded as the sum of x[0], -x[1], -x[2] is."""
    x = _of_dtype(x, dtype)
    if x.dtype.is_bool or x.dtype.is_unsigned:  # bools have no difference, unsigned integers no negative
        return _accumulated(math.subtract, x, axis)
    first, others = x[along(axis, slice(None, 1))], x[along(axis, slice(1, None))]
    return math.cumsum(array.concat([first, math.negative(others)], axis), axis)


_ACCUMULATED: dict[np.ufunc, _Function] = {
    np.add: reductions.cumsum,
    np.multiply: reductions.cumprod,
    np.logaddexp: _running_logsumexp,
    np.subtract: _differences,
}
# The comparison that is true if an element is a new extreme.
_EXTREMES: dict[np.ufunc, np.ufunc] = {np.maximum: np.greater, np.minimum: np.less}
# The op that computes all segments along the first axis at once.
_BY_SEGMENT: dict[np.ufunc, _Function] = {
    np.add: math.segment_sum,
    np.multiply: math.segment_prod,
    np.maximum: math.segment_max,
    np.minimum: math.segment_min,
}
# Ufuncs for which f(f(a, b), c) is f(a, f(b, c)), apart from rounding.
_ASSOCIATIVE = frozenset(
    (np.maximum, np.minimum, np.fmax, np.fmin, np.logaddexp, np.logaddexp2, np.hypot, np.gcd, np.lcm)
    + (np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_and, np.logical_or, np.logical_xor)
)
# The kinds of dtypes for which NumPy's `accumulate` gives the bits of one step after another: it takes single steps, or
# each step is exact.
_BY_NUMPY: dict[np.ufunc, str] = {
    np.divide: "f",
    np.gcd: "iu",
    np.lcm: "iu",
    np.bitwise_and: "iub",
    np.bitwise_or: "iub",
    np.bitwise_xor: "iub",
}
# The same of `reduceat`, in whatever order NumPy combines the elements of a segment.
_EXACT: dict[np.ufunc, str] = {np.maximum: "fiu", np.minimum: "fiu", np.add: "iu", np.multiply: "iu"}
# Options with the value that they have when they are left out.
_USELESS: dict[str, Any] = {"keepdims": False, "where": True, "initial": None, "dtype": None}


def method_of(ufunc: np.ufunc, method: str, own: _Function | None) -> _Function | None:
    """What a method of a ufunc is for tensors; None where there is nothing of the kind.

    Args:
      own: The ufunc for tensors.
    """
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        return None
    if method == "reduce":
        known = _REDUCED.get(ufunc)
        if known is not None:
            return functools.partial(_reduced_by, known)
        return (
            None
            if own is None
            else functools.partial(_reduced, own, ufunc in _ASSOCIATIVE, **_dtype_of(ufunc))
        )
    if method == "accumulate":
        known = _ACCUMULATED.get(ufunc)
        if known is not None:
            return functools.partial(_accumulated_by, known)
        if own is None:
            return None
        if ufunc in _EXTREMES:
            return functools.partial(_running_extreme, ufunc, own)
        by_steps = _doubled if ufunc in _ASSOCIATIVE else _accumulated
        return functools.partial(_running, ufunc, functools.partial(by_steps, own, **_dtype_of(ufunc)))
    if method == "reduceat":
        reduce = method_of(ufunc, "reduce", own)
        return (
            None if reduce is None else functools.partial(_reduced_at, ufunc, reduce, _BY_SEGMENT.get(ufunc))
        )
    return functools.partial(_outer, own) if method == "outer" and own is not None else None


def _dtype_of(ufunc: np.ufunc) -> dict[str, Any]:
    """The option that makes bools of what logical ufuncs take, a single element included."""
    return {"dtype": np.bool_} if ufunc in (np.logical_and, np.logical_or, np.logical_xor) else {}


def _of_dtype(x: Any, dtype: DTypeLike | None) -> Any:
    x = tensor_of(x)
    return x if dtype is None else cast_to(x, default_dtype(dtype))


def _reduced_by(
    function: _Function, x: Any, axis: AxisLike = 0, dtype: DTypeLike | None = None, **options: Any
) -> Any:
    given = {key: value for key, value in options.items() if value is not _USELESS.get(key, options)}
    if dtype is not None and function in (reductions.sum, reductions.prod):
        given["dtype"] = dtype
    elif dtype is not None and function not in (reductions.all, reductions.any):
        x = _of_dtype(x, dtype)
    return function(x, axis=axis, **given)


def _reduced(
    function: _Function,
    is_associative: bool,
    x: Any,
    axis: AxisLike = 0,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    initial: TensorLike | None = None,
    where: TensorLike | None = None,
) -> Tensor:
    """The slices along an axis, the first with the second, the result with the third and so on; then along the next axis."""
    x = _of_dtype(x, dtype)
    rank = rank_of("reduce", x)
    axes = normalize_axes("reduce", axis, rank)
    axes = tuple(range(rank)) if axes is None else axes
    if where is not None and where is not True:
        raise UnsupportedOptionError(
            "reduce: where= for this ufunc, which has no element that stands for none"
        )
    if len(axes) != 1 and not is_associative:
        raise UnsupportedOptionError(
            "reduce: one axis is needed for this ufunc, whose order of operands matters"
        )
    for k in sorted(axes, reverse=True):
        parts = array.unstack(x, axis=k)
        if initial is not None:
            parts = [array.broadcast_to(tensor_of(initial, x.dtype), array.shape(x[along(k, 0)])), *parts]
            initial = None
        if not parts:
            raise InvalidArgumentError("reduce: there is no element, and no initial= that stands for none.")
        x = functools.reduce(function, parts)
    for k in sorted(axes) if keepdims else ():
        x = array.expand_dims(x, k)
    return x  # type: ignore[no-any-return]


def _accumulated_by(function: _Function, x: Any, axis: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    x = tensor_of(x)
    return function(x, normalize_axis("accumulate", axis, rank_of("accumulate", x)), dtype)  # type: ignore[no-any-return]


def _running(
    ufunc: np.ufunc, by_steps: _Function, x: Any, axis: int = 0, dtype: DTypeLike | None = None
) -> Tensor:
    """`by_steps`, or NumPy's own loop where it has the same result."""
    if dtype is None:
        x = inexact(x) if ufunc is np.divide else tensor_of(x)
        found = directly(_if_exact(ufunc.accumulate, _BY_NUMPY.get(ufunc, "")), x, axis=axis)
        if found is not None:
            return found
    return by_steps(x, axis=axis, **({} if dtype is None else {"dtype": dtype}))  # type: ignore[no-any-return]


def _if_exact(function: _Function, kinds: str) -> _Function:
    """A function of an array, of dtypes of `kinds` and no less than four bytes, that gives None for other dtypes."""

    def exactly(x: np.ndarray, *args: Any, **options: Any) -> np.ndarray | None:
        if x.dtype.kind not in kinds or (x.dtype.kind == "f" and x.dtype.itemsize < 4):
            return None
        found: np.ndarray = function(x, *args, **options)
        return found if found.dtype == x.dtype else None

    return exactly


def _accumulated(function: _Function, x: Any, axis: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """`_reduced` with all results on the way."""
    x = _of_dtype(x, dtype)
    axis = normalize_axis("accumulate", axis, rank_of("accumulate", x))
    found: list[Any] = []
    for part in array.unstack(x, axis=axis):
        found.append(function(found[-1], part) if found else part)
    return array.stack(found, axis) if found else x


def _doubled(function: _Function, x: Any, axis: int = 0, dtype: DTypeLike | None = None) -> Tensor:
    """The same in as many steps as the size has binary digits: each joins what neighbours of twice the width have joined.

    Source: Hillis and Steele, Data parallel algorithms, 1986.
    """
    x = _of_dtype(x, dtype)
    axis = normalize_axis("accumulate", axis, rank_of("accumulate", x))
    size = dims_of("accumulate", x)[axis]
    if not isinstance(size, int):
        raise UnsupportedOptionError("accumulate: the size of the axis must be known while tracing")
    width = 1
    while width < size:
        joined = function(x[along(axis, slice(None, -width))], x[along(axis, slice(width, None))])
        x = array.concat([cast_to(x[along(axis, slice(None, width))], joined.dtype), joined], axis)
        width *= 2
    return x  # type: ignore[no-any-return]


def _running_extreme(
    ufunc: np.ufunc, function: _Function, x: Any, axis: int = 0, dtype: DTypeLike | None = None
) -> Tensor:
    """The running maximum or minimum. Where there are data, its derivative goes at once to where each value came from: the first
    of equal ones, as in all steps of `_doubled`."""
    x = _of_dtype(x, dtype)
    axis = normalize_axis("accumulate", axis, rank_of("accumulate", x))
    found = directly(ufunc.accumulate, x, axis=axis)
    if found is not None:
        return found
    if is_eager(x) and type(x.data) is np.ndarray and x.data.dtype.kind in "fiu":
        return bind(TakeAlong(axis), x, array.constant(_places_of_extremes(ufunc, x.data, axis)))
    return _doubled(function, x, axis)


def _places_of_extremes(ufunc: np.ufunc, x: np.ndarray, axis: int) -> np.ndarray:
    """Where along the axis the extreme of all elements so far was first met; a NaN stays."""
    best = ufunc.accumulate(x, axis)[along(axis, slice(None, -1))]
    later = x[along(axis, slice(1, None))]
    is_new = _EXTREMES[ufunc](later, best) | ((later != later) & (best == best))
    count = np.arange(1, max(x.shape[axis], 1)).reshape(-1, *(1,) * (x.ndim - axis - 1))
    place = np.zeros(x.shape, np.int64)
    place[along(axis, slice(1, None))] = np.where(is_new, count, 0)
    return np.maximum.accumulate(place, axis, out=place)


def _reduced_at(
    ufunc: np.ufunc,
    reduce: _Function,
    by_segment: _Function | None,
    x: Any,
    indices: TensorLike,
    axis: int = 0,
    dtype: DTypeLike | None = None,
) -> Tensor:
    """For each index the slices up to the next index reduced, or the slice of the index where the next one is not behind it."""
    x = inexact(x) if ufunc is np.divide else tensor_of(x)
    axis = normalize_axis("reduceat", axis, rank_of("reduceat", x))
    known = static_here(indices)
    if known is None or known.ndim != 1 or known.dtype.kind not in "iu":
        raise UnsupportedOptionError(
            "reduceat: the indices must be known while tracing, a vector of integers"
        )
    size = dims_of("reduceat", x)[axis]
    if isinstance(size, int):
        outside = known[(known < 0) | (known >= size)]
        if outside.size:
            raise OutOfRangeError(f"reduceat: index {outside[0]} is out of range; the axis has size {size}.")
        exact = _if_exact(ufunc.reduceat, _EXACT.get(ufunc, ""))
        found = directly(exact, x, indices=known, axis=axis) if dtype is None else None
        if found is not None:
            return found
        if by_segment is not None and not x.dtype.is_bool and not _is_mixed(x, by_segment):
            return _reduced_by_segment(by_segment, x, known.astype(np.int64), axis, size, dtype)
    option = {} if dtype is None else {"dtype": dtype}
    parts = []
    for first, stop in pairwise([*known.tolist(), None]):
        is_one = stop is not None and stop <= first
        part = x[along(axis, slice(first, first + 1 if is_one else stop))]
        parts.append(reduce(part, axis=axis, keepdims=True, **option))
    return array.concat(parts, axis)


def _is_mixed(x: Tensor, by_segment: _Function) -> bool:
    """Whether x has no order, which extremes ask for."""
    return x.dtype.is_complex and by_segment in (math.segment_max, math.segment_min)


def _reduced_by_segment(
    by_segment: _Function, x: Tensor, starts: np.ndarray, axis: int, size: int, dtype: DTypeLike | None
) -> Tensor:
    is_sum = by_segment in (math.segment_sum, math.segment_prod)
    x = reductions.wide(x, dtype) if is_sum else _of_dtype(x, dtype)
    if not starts.size:
        return x[along(axis, slice(0, 0))]
    stops = np.append(starts[1:], size)
    lengths = np.where(stops > starts, stops - starts, 1)
    ends = np.cumsum(lengths)
    if (starts + lengths == stops).all():
        part = x[along(axis, slice(int(starts[0]), None))]
    else:
        part = array.gather(x, np.repeat(starts - ends + lengths, lengths) + np.arange(ends[-1]), axis=axis)
    found = by_segment(moveaxis(part, axis, 0), np.repeat(np.arange(len(starts)), lengths))
    return moveaxis(found, 0, axis)


def _outer(function: _Function, x: Any, y: Any, dtype: DTypeLike | None = None) -> Any:
    """Each element of x with each of y."""
    x, y = _of_dtype(x, dtype), _of_dtype(y, dtype)
    for _ in range(rank_of("outer", y)):
        x = array.expand_dims(x, -1)
    return function(x, y)
