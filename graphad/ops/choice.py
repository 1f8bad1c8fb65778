"""`np.where`, `np.maximum`, `np.minimum`, `np.sign`, `np.negative` and products for large arrays, without a branch for each
element, and without a pass over what a tape begins with.

NumPy branches on each element of the condition, and for random conditions the processor mispredicts half of the branches. A bit
mask and three bitwise steps give the same bits with vector instructions.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.devices.array import DeviceArray

FEW = 1024  # numbers; for more of them a look at how they lie pays
_BOUNDED = 16384  # numbers; fewer are limited by one bound as quickly one by one
_LIMITED = 4096  # the same for two bounds
_LARGE = 2048  # elements; fewer are quicker one by one
_SOME = FEW_CHOSEN = 512  # the same where the other element is 0
_FEW_CHANNELS = 16  # elements that share a bool
_WHOLE = {1: np.dtype(np.int8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: np.dtype(np.int64)}


def chosen(condition: Any, x: Array | DeviceArray | float, y: Any) -> np.ndarray:
    """`np.where(condition, x, y)` for a condition of bools, and x and y of one dtype, one of them maybe a Python number.

    Without an axis the result is a NumPy scalar, as that of every ufunc is.
    """
    size = condition.size if type(condition) is np.ndarray else 0
    if _SOME <= size < _BOUNDED and isinstance(y, np.floating) and condition.dtype.kind == "b":
        kept = _kept(condition, x, y)
        if kept is not None:
            return kept
    if size >= _SOME and condition.dtype.kind == "b":
        condition = _repeated_along(condition, x, y)
        size = condition.size
    if size >= _LARGE and condition.dtype.kind == "b":
        same = _all_of_one(condition, x, y)
        same = _ones_and_zeros(condition, x, y) if same is None else same
        if same is not None:
            return same
        like = x if isinstance(x, np.ndarray) else y
        whole = _WHOLE.get(like.dtype.itemsize) if isinstance(like, np.ndarray) else None
        if whole is not None:
            first, second = _bits(x, like, whole), _bits(y, like, whole)
            if first is not None and second is not None and _fits(condition, x) and _fits(condition, y):
                found: np.ndarray = _selected(condition, first, second, whole).view(like.dtype)
                return found
    plain: np.ndarray = np.where(condition, x, y)
    return plain if plain.ndim else plain[()]


def _repeated_along(condition: np.ndarray, x: Any, y: Any) -> np.ndarray:
    """The condition, written out where it has one bool for several elements next to each other, as the channels of a pixel: NumPy
    would begin a loop for each of these groups."""
    like = x if isinstance(x, np.ndarray) and x.ndim else y
    if not isinstance(like, np.ndarray) or like.ndim != condition.ndim or like.shape == condition.shape:
        return condition
    if (
        condition.shape[-1] != 1
        or like.shape[:-1] != condition.shape[:-1]
        or not 1 < like.shape[-1] <= _FEW_CHANNELS
    ):
        return condition
    return np.repeat(condition, like.shape[-1], -1)


def _kept(condition: np.ndarray, x: Any, y: np.floating) -> np.ndarray | None:
    """x where the condition holds, else 0, for an array of floats and y = 0; None for others."""
    if type(x) is not np.ndarray or y or math.copysign(1, y) < 0:
        return None
    dtype = x.dtype
    if (
        dtype is not y.dtype
        or dtype.itemsize not in _WHOLE
        or x.shape != condition.shape
        or not x.strides[-1]
    ):
        return None
    whole: Any = _WHOLE[dtype.itemsize]
    mask = np.negative(condition.view(np.int8)).astype(whole)  # all bits set where it holds
    np.bitwise_and(x.view(whole), mask, mask)
    found: np.ndarray = mask.view(dtype)
    return found


def _all_of_one(condition: np.ndarray, x: Any, y: Any) -> np.ndarray | None:
    """A copy of the operand that all elements come from, if there is one and the result has its shape."""
    first = condition.item(0)
    one, other = (x, y) if first else (y, x)
    if type(one) is not np.ndarray or one.shape != condition.shape or not _alike(x, y):
        return None
    if np.shape(other) not in ((), one.shape):
        return None
    return one.copy() if (condition.all() if first else not condition.any()) else None


def _ones_and_zeros(condition: np.ndarray, x: Any, y: Any) -> np.ndarray | None:
    """The condition as numbers, if it chooses between 1 and 0, as where a tape begins; each may be repeated without strides."""
    a, b = [z if isinstance(z, np.generic) else _repeated(z, condition.shape) for z in (x, y)]
    if a is None or b is None or a.dtype != b.dtype or a.dtype.kind != "f":
        return None
    if {a.item(), b.item()} != {0.0, 1.0} or math.copysign(1, a) != math.copysign(1, b):
        return None
    return (condition if a else ~condition).astype(a.dtype)


def _repeated(x: Any, shape: tuple[int, ...]) -> Any:
    """The number that all elements of an array of a shape are, if they lie in one place."""
    if type(x) is np.ndarray and x.shape == shape and not any(x.strides):
        return x[(0,) * x.ndim]
    return None


def _alike(x: Any, y: Any) -> bool:
    """Whether two operands have one dtype, of which the result is; a Python number takes that of the other."""
    return (
        isinstance(x, int | float)
        or isinstance(y, int | float)
        or getattr(x, "dtype", None) == getattr(y, "dtype", 0)
    )


def larger(x: Any, y: Any) -> Any:
    """`np.maximum(x, y)`."""
    if type(x) is np.ndarray and x.size < _BOUNDED:
        return np.maximum(x, y)
    pair = _bounded(x, y)
    return np.maximum(x, y) if pair is None else within(*pair, np.inf)


def smaller(x: Any, y: Any) -> Any:
    """`np.minimum(x, y)`."""
    if type(x) is np.ndarray and x.size < _BOUNDED:
        return np.minimum(x, y)
    pair = _bounded(x, y)
    return np.minimum(x, y) if pair is None else within(pair[0], -np.inf, pair[1])


def _bounded(x: Any, y: Any) -> tuple[Any, Any] | None:
    """Many floats and the number that bounds them, where one of x and y is such a number."""
    if type(x) is np.ndarray and x.size >= _BOUNDED:
        if is_bound(x, y) and x.dtype.kind == "f":
            return x, y
    elif type(y) is np.ndarray and y.size >= _BOUNDED:
        if is_bound(y, x) and y.dtype.kind == "f" and x:  # which of two zeros is taken depends on their order
            return y, x
    return None


def is_bound(x: Any, y: Any) -> bool:
    """Whether y is one number, neither NaN nor -0.0, and x an array of many: `np.clip` limits these in packed instructions."""
    if (
        type(x) is not np.ndarray
        or x.size < _LIMITED
        or np.ndim(y)
        or x.dtype.kind not in "fiu"
        or x.dtype == np.float16
    ):
        return False
    return bool(y == y) and bool(y or not np.signbit(y))


def within(x: Any, low: Any, high: Any) -> Any:
    """x limited to bounds as `is_bound` wants them. A zero at a bound is 0.0, as `np.maximum` and `np.minimum` have it."""
    y = np.clip(x, low, high)
    if y.dtype.kind == "f" and not (low and high):
        y += y.dtype.type(0)
    return y


def limited(x: Any, low: Any, high: Any) -> Any:
    """`np.minimum(np.maximum(x, low), high)` for two numbers."""
    return (
        within(x, low, high)
        if is_bound(x, low) and is_bound(x, high)
        else np.minimum(np.maximum(x, low), high)
    )


def _bits(x: Any, like: Any, whole: Any) -> Any:
    """The bits of the elements as integers; None if dtype or memory layout do not allow the view."""
    if not isinstance(x, np.ndarray):
        if isinstance(x, np.generic) and x.dtype != like.dtype:
            return None
        x = np.asarray(x, like.dtype)
    elif x.ndim and not any(x.strides):
        x = x[(slice(0, 1),) * x.ndim].reshape(())  # one number for all elements
    return x.view(whole) if x.dtype == like.dtype and x.dtype.kind != "O" else None


def _fits(condition: np.ndarray, x: Any) -> bool:
    return bool(np.ndim(x) == 0 or x.shape == condition.shape)


def _selected(condition: Any, x: Any, y: Any, whole: Any) -> Any:
    holds = condition.view(np.int8)
    if x.ndim == 0 and not x:
        mask = (holds - np.int8(1)).astype(whole)  # all bits set where it does not hold
        return np.bitwise_and(y, mask, out=mask)
    mask = (-holds).astype(whole)  # all bits set where it holds
    if y.ndim == 0 and not y:
        return np.bitwise_and(x, mask, out=mask)
    differing = x ^ y
    mask &= differing
    mask ^= y
    return mask


def negated(x: Any) -> Any:
    """-x; of one number for all elements, as a tape begins with, again one: NumPy would negate the elements one by one."""
    if type(x) is np.ndarray and x.size > FEW and not any(x.strides):
        return np.ndarray(x.shape, x.dtype, -x[(slice(0, 1),) * x.ndim], 0, x.strides)
    return -x


_ARRAY = np.ndarray  # looked up for every product of an eager step


def product(x: Any, y: Any) -> Any:
    """x * y; where one is 1 for all elements, as a tape begins with, the other one: a view, which nobody writes over."""
    if type(y) is _ARRAY and y.size > FEW:
        if type(x) is _ARRAY:
            if x.shape == y.shape:
                if are_ones(x, y.dtype):
                    return y[...]
                if are_ones(y, x.dtype):
                    return x[...]
        elif isinstance(x, np.generic) and x.dtype == y.dtype and not any(y.strides):
            return _of_one(x * y[(slice(0, 1),) * y.ndim], y)
    elif type(x) is _ARRAY and x.size > FEW and isinstance(y, np.generic):
        if x.dtype == y.dtype and not any(x.strides):
            return _of_one(x[(slice(0, 1),) * x.ndim] * y, x)
    return x * y


def quotient(x: Any, y: Any) -> Any:
    """x / y; of one number for all elements, as a tape begins with, and one other again one number: NumPy divides one by one."""
    if type(x) is _ARRAY and x.size > FEW and np.size(y) == 1 and np.ndim(y) <= x.ndim:
        if x.dtype == y.dtype and not any(x.strides):
            return _of_one(x[(slice(0, 1),) * x.ndim] / y, x)
    return x / y


def _of_one(number: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Again one number for all elements."""
    return np.ndarray(like.shape, like.dtype, number, 0, like.strides)


def copied(x: np.ndarray) -> np.ndarray:
    """A copy, in one pass of writing where all elements lie in one place."""
    if any(x.strides):
        return x.copy()
    made = np.empty(x.shape, x.dtype)
    made.fill(x[(0,) * x.ndim])
    return made


def are_ones(x: np.ndarray, dtype: Any) -> bool:
    """Whether an array of this dtype, which is a real one, is 1 for all elements, and they lie in one place."""
    return not any(x.strides) and x.dtype == dtype and dtype.kind == "f" and bool(x.item(0) == 1)


def without_nan(y: Any, out: Any) -> Any:
    """`out`, which nobody else holds, and 0 where y is 0."""
    if isinstance(out, np.generic):
        return out if y else out.dtype.type(0)
    if type(out) is np.ndarray and has_no_zero(y):
        return out
    out = chosen(y == 0, np.zeros((), out.dtype), out)
    return out if out.ndim else out[()]


_FEW = 256  # elements


def has_no_zero(y: Array | DeviceArray) -> bool:
    """Whether no element of an array is 0; False for what is no array of NumPy's."""
    if type(y) is not np.ndarray or not y.size:
        return False
    if y.size <= _FEW:  # one call, though for each element a slower one
        return bool(np.count_nonzero(y) == y.size)
    if not any(y.strides):  # one number for all elements
        y = y[(slice(0, 1),) * y.ndim]
    return not (y == 0).any()


_BITS: dict[int, tuple[Any, Any, Any]] = {
    4: (np.int32, np.int32(-(2**31)), np.float32(1).view(np.int32)),
    8: (np.int64, np.int64(-(2**63)), np.float64(1).view(np.int64)),
}


def signs(x: Any) -> Any:
    """`np.sign(x)`."""
    if type(x) is np.ndarray and x.size > 1024 and x.dtype.kind == "f" and x.dtype.itemsize in _BITS:
        y = np.abs(x)
        if np.minimum.reduce(y, None) > 0:  # neither a zero nor NaN: a one with the sign of x
            whole, sign, one = _BITS[x.dtype.itemsize]
            bits = y.view(whole)
            np.bitwise_and(x.view(whole), sign, out=bits)
            bits |= one
            return y
    return np.sign(x)


BESIDE = 8192  # elements of the larger operand
_FEW_COLUMNS, _ROW, _ROW_AT_LEAST = 64, 512, 32  # elements of the smaller operand, of a row
_ROWS_EACH = 8  # rows for each that is made of the smaller operand


def beside(formula: Any, x: Any, y: Any) -> Any:
    """`formula(x, y)` elementwise where one array has few elements, which meet each row of the many of the other, or has such for
    each of several stacks of rows: with several rows side by side, since NumPy starts a loop of its own for each. None where the
    operands do not lie like that."""
    if type(x) is not _ARRAY or type(y) is not _ARRAY:
        return None
    many, few = (x, y) if x.size > y.size else (y, x)
    if few.size < 2 or not many.flags.c_contiguous or few.ndim > many.ndim:
        return None
    sizes, inner, end = (1,) * (many.ndim - few.ndim) + few.shape, 1, many.ndim
    while end and sizes[end - 1] in (1, many.shape[end - 1]) and inner * many.shape[end - 1] <= _FEW_COLUMNS:
        end -= 1
        inner *= many.shape[end]
    if sizes[end:] != many.shape[end:]:  # a number for several columns: for each of them then
        if math.prod(sizes[:end]) * inner * _ROWS_EACH > many.size:
            return None
        sizes = sizes[:end] + many.shape[end:]
        few = np.broadcast_to(few, sizes)
    end = many.ndim
    while end and sizes[end - 1] == many.shape[end - 1]:
        end -= 1
    first, columns = end, few.size
    while first and sizes[first - 1] == 1:
        first -= 1
    if first:  # for each of several stacks of rows
        if sizes[:first] != many.shape[:first]:
            return None
        columns //= math.prod(sizes[:first])
    if not 1 < columns <= _FEW_COLUMNS:
        return None
    rows = math.prod(many.shape[first:end])
    fold = min(
        rows & -rows, 1 << (_ROW // columns).bit_length() - 1
    )  # a power of 2 that divides their number
    if fold * columns < _ROW_AT_LEAST:
        return None
    wide, tiled = many.reshape(-1, rows // fold, fold * columns), few.reshape(-1, 1, columns)
    tiled = np.concatenate([tiled] * fold, 2)
    found = formula(wide, tiled) if many is x else formula(tiled, wide)
    return found.reshape(many.shape)
