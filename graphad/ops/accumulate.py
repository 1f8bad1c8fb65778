"""Sums and products of many NumPy numbers, accumulated wide: two-byte floats in float32, and rounded once at the end.

In float16 a running sum of ones stays at 2048. Every `eval` that adds up more than two numbers does it with these.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

import graphad.kernels as kernels
from graphad.core import arrays
from graphad.core.dims import product
from graphad.core.shapes import ranked
from graphad.ops import library
from graphad.ops.native_steps import by_step

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from graphad.core.annotations import Array
    from graphad.core.spec import TensorSpec
    from graphad.devices.array import DeviceArray


_FLOAT32 = np.dtype(np.float32)
# `reduce` with its arguments by position, which is quicker; NumPy's stubs want names.
PLAIN_SUM: Any = np.add.reduce
ALL_TRUE: Any = np.logical_and.reduce
ANY_TRUE: Any = np.logical_or.reduce


_FEW, MANY = (
    8,
    1024,
)  # columns that NumPy takes one after the other; rows for which its loop costs more than the numbers


def has_short_rows(x: Array, axes: Sequence[int] | None, most: int = _FEW - 1) -> bool:
    """Whether `axes` is the last axis alone of many rows of a few floats, `most` or fewer, that lie behind each other.

    For each of these NumPy starts a loop of its own. Column by column, in its order, the same bits come far quicker.
    """
    if type(x) is not np.ndarray or x.size < MANY or axes is None:
        return False
    last = x.ndim - 1
    return (
        1 < x.shape[last] <= most
        and last > 0
        and ((x.dtype.kind == "f" and x.dtype.itemsize > 2) or x.dtype == np.int64)
        and axes in ((last,), (-1,))
        and x.flags.c_contiguous
    )


def by_columns(formula: np.ufunc, x: Array, keepdims: bool) -> Array:
    """What `formula.reduce` gives for rows as `has_short_rows` wants them."""
    y: Array = x[..., 0]
    count, first = x.shape[-1], 1
    if formula is np.add:
        if count >= _FEW and x.dtype.kind == "f":  # the first eight in pairs of pairs
            pairs = [x[..., k] + x[..., k + 1] for k in range(0, _FEW, 2)]
            pairs[0] += pairs[1]
            pairs[2] += pairs[3]
            y, first = np.add(pairs[0], pairs[2], pairs[0]), _FEW
        y = y + x.dtype.type(0)  # of zeros the sum is 0.0, whatever their sign
    for k in range(first, count):
        y = formula(y, x[..., k])
    return y[..., None] if keepdims else y


def ADDED(
    x: Array, axes: Sequence[int] | None, dtype: np.dtype[Any] | None, out: None, keepdims: bool
) -> Array:
    """`np.add.reduce`, with its arguments by position."""
    if x.size >= MANY and (dtype is None or dtype == x.dtype):
        if has_short_rows(x, axes, 2 * _FEW - 1):
            return by_columns(np.add, x, keepdims)
        if x.size >= _WORTH_FOLDING and axes is not None:
            found = _folded(x, axes, keepdims)
            if found is not None:
                return found
    total: Array = PLAIN_SUM(x, axes, dtype, out, keepdims)
    return total


_WORTH_FOLDING = 4096  # numbers
_WIDE, _TIMES = 512, 4  # numbers of a wide row, and how many such rows there are at least


def _folded(x: Array, axes: Sequence[int], keepdims: bool) -> Array | None:
    """The sums over axes that others follow, in an array of floats that lie behind each other; None where NumPy's are as quick.

    For each row of few elements NumPy starts a loop of its own: bias and mean of pictures with few channels, means of groups
    of channels. Here several rows side by side are one wide row, the sums of those rows are rows again, and what is left is
    NumPy's. In float32 the running sums are shorter, and so have more digits.
    """
    if type(x) is not np.ndarray or x.dtype.kind != "f" or x.dtype.itemsize < 4 or not x.flags.c_contiguous:
        return None
    gone = sorted([axis % x.ndim for axis in axes])
    if not gone:
        return None
    first = end = gone[0]
    while end in gone:  # axes that follow each other are one
        end += 1
    columns = math.prod(x.shape[end:])
    if columns < 2 or (columns > _WIDE // _TIMES and gone[-1] < end):
        return None
    lead, count = math.prod(x.shape[:first]), math.prod(x.shape[first:end])
    if count * columns < _TIMES * _WIDE:
        return None
    fold = max(1, _WIDE // columns)
    whole = count - count % fold
    flat = x.reshape(lead, count, columns)
    rows = flat if whole == count else flat[:, :whole]
    total = PLAIN_SUM(rows.reshape(lead, whole // fold, fold * columns), 1).reshape(lead, fold, columns)
    total = PLAIN_SUM(total, 1) if fold > 1 else total[:, 0]
    if whole < count:
        total += PLAIN_SUM(flat[:, whole:], 1)
    total = total.reshape(*x.shape[:first], *(1,) * (end - first), *x.shape[end:])
    rest = tuple([axis for axis in gone if axis >= end])
    if rest:
        total = PLAIN_SUM(total, rest, None, None, True)
    if keepdims:
        return total  # type: ignore[no-any-return]
    return total.reshape([size for k, size in enumerate(x.shape) if k not in gone])  # type: ignore[no-any-return]


def is_narrow(dtype: np.dtype[Any]) -> bool:
    """Whether this is float16 or bfloat16."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which numbers of `dtype` are accumulated."""
    return _FLOAT32 if dtype.itemsize == 2 and is_narrow(dtype) else dtype


def is_plain(x: TensorSpec) -> bool:
    """Whether an operand with axes has so few numbers, accumulated in their own dtype, that NumPy's loop is the quickest."""
    return bool(x.dims) and product(ranked(x.dims)) < MANY and wide(x.dtype.numpy) is x.dtype.numpy


def widened(x: Array) -> Array:
    """`x` itself, or in float32 if it is narrow."""
    return x.astype(_FLOAT32) if is_narrow(x.dtype) else x


def as_dtype_of(y: Array, x: Array) -> Array:
    """`y` rounded to the dtype of `x`."""
    return y if y.dtype is x.dtype else y.astype(x.dtype)


def by_position(formula: np.ufunc) -> Callable[..., Array]:
    """The formula's `reduce`, for calls whose arguments come by position."""
    return formula.reduce


def combined(formula: np.ufunc, x: Array, axes: Sequence[int] | None, keepdims: bool = False) -> Array:
    """x with some axes (None for all) combined away by np.add or np.multiply."""
    dtype = x.dtype
    if has_short_rows(x, axes):
        return by_columns(formula, x, keepdims)
    accumulated = wide(dtype)
    y = by_position(formula)(x, axes, accumulated, None, keepdims)
    # Sums of size symbols (dtype object) are Python objects.
    return y if accumulated is dtype else y.astype(dtype)


def summed(x: Array, axes: Sequence[int] | None, keepdims: bool = False) -> Array:
    """x summed over some axes, None for all."""
    dtype = x.dtype
    accumulated = _FLOAT32 if dtype.itemsize == 2 and is_narrow(dtype) else dtype  # `wide`, in line: hot
    if type(x) is np.ndarray and x.size >= MANY:
        y = _count_of_ones(x, axes, accumulated, keepdims)
        if y is None:
            y = ADDED(x, axes, accumulated, None, keepdims)
    else:
        y = PLAIN_SUM(x, axes, accumulated, None, keepdims)
    return y if accumulated is dtype else y.astype(dtype)  # type: ignore[no-any-return]


def log_sum_of_few(
    axes: Sequence[int] | None, dims: Sequence[Any], evaluate: Callable[..., Any]
) -> Callable[..., Any]:
    """A function for log(sum(exp(x))) of fewer than `MANY` numbers, of that shape; where the largest are not finite it is
    `evaluate`."""
    log, exp, is_finite, top_of = np.log, np.exp, np.isfinite, by_position(np.maximum)
    want = tuple(dims)

    def of_finite(x: Array) -> Any:
        top = top_of(x, axes, None, None, True)
        if not ALL_TRUE(is_finite(top), None):
            return evaluate(x)
        y = log(PLAIN_SUM(exp(x - top), axes, None, None, True)) + top
        return y.reshape(want) if want else y[(0,) * x.ndim]

    return of_finite


_EXACT = 1 << 24  # the integers up to it are floats of 4 bytes


def _count_of_ones(x: np.ndarray, axes: Any, dtype: Any, keepdims: bool) -> Any:
    """The sums of many floats that are all 1 and lie in one place, as a tape begins with: their number, which is exact."""
    if any(x.strides) or x.dtype.kind != "f":
        return None
    if x.item(0) != 1 or x.size > _EXACT:
        return None
    gone = range(x.ndim) if axes is None else {axis % x.ndim for axis in axes}
    shape = [1 if k in gone else n for k, n in enumerate(x.shape) if keepdims or k not in gone]
    count = x.size
    for size in shape:
        count //= size
    return np.full(shape, count, dtype)[()]


def running(formula: np.ufunc, x: Array, axis: int) -> Any:
    """The running np.add, np.multiply or np.logaddexp of x along an axis."""
    y = formula.accumulate(widened(x), axis)
    return y if y.dtype is x.dtype else y.astype(x.dtype)


def added_at(shape: Sequence[int], key: Array | tuple[Any, ...], values: Array, axis: int = 0) -> Array:
    """Zeros of a shape, to which `values` are added at `key`; repeated positions add up.

    Args:
      key: As for `out[key] += values`, where `axis` of `out` and of `values` stands first.
    """
    out = arrays.zeros(shape, wide(values.dtype), values)
    into, added = (np.moveaxis(out, axis, 0), np.moveaxis(values, axis, 0)) if axis else (out, values)
    add_at(into, key, added)
    return as_dtype_of(out, values)


_BLOCK = 1 << 20
_WORTH_SCIPY = 1 << 18  # numbers, for which SciPy's sparse matrices are worth their import
_AT_ONCE = 1024  # numbers, for which NumPy's way takes less time than to choose another
_FEW_ALIKE = 4  # rows of one number
_LONG_ROW = 96  # numbers, which are added at once as quickly as a position of each would be made
_FEW_COLUMNS, _MANY_ROWS, _ROWS_EACH = (
    32,
    512,
    8,
)  # where columns one by one are quicker than positions of all numbers

_PAIRS = {np.dtype(np.float32): np.dtype(np.complex64), np.dtype(np.float64): np.dtype(np.complex128)}


def _add_lines(into: np.ndarray, number: np.ndarray, rows: np.ndarray) -> None:
    """Add each of the rows to that of its number, in order; where few have one number, all first ones at once, then all second
    ones."""
    if number[0] >= 0 and (number[1:] >= number[:-1]).all():
        firsts = np.flatnonzero(np.concatenate([[True], number[1:] != number[:-1]]))
        counts = np.diff(firsts, append=len(number))
        if counts.max() <= _FEW_ALIKE:
            for k in range(counts.max()):
                mine = firsts[counts > k]
                into[number[mine]] += rows[mine + k]
            return
    for k, line in zip(number.tolist(), rows):
        into[k] += line


def add_at(into: Array, key: Array | tuple[Any, ...], added: Any) -> None:
    """`np.add.at(into, key, added)`, in the same order, for arrays of positions along the first axes that are not negative.

    NumPy is fast only for one axis, so whole rows are added element by element, in blocks.
    """
    if not added.size:
        return  # positions of nothing may have any dtype
    parts = key if type(key) is tuple else (key,)
    lead, row = into.shape[: len(parts)], into.shape[len(parts) :]
    if added.size <= _AT_ONCE or (not row and len(parts) == 1) or not _takes_rows(into, parts, added, row):
        np.add.at(into, key, added)
        return
    number = parts[0].astype(np.int64, copy=False)
    for part, count in zip(parts[1:], lead[1:]):
        number = number * count + part
    size = int(np.prod(row, dtype=np.int64))
    flat, number, rows = into.reshape(-1), number.reshape(-1), added.reshape(-1, size)
    if size == 1:
        np.add.at(flat, number, rows[:, 0])
        return
    if _added_to_zeros(flat.reshape(-1, size), number, rows):
        return
    # Its way takes every row of each column, those that nothing is added to as well.
    if size <= _FEW_COLUMNS and len(number) >= max(_MANY_ROWS, len(flat) // (_ROWS_EACH * size)):
        whole_rows = flat.reshape(-1, size)
        pair: Any = _PAIRS.get(rows.dtype) if size % 2 == 0 and rows.flags.c_contiguous else None
        if pair is not None:  # two columns at once: complex numbers are added part by part
            rows, whole_rows = rows.view(pair), whole_rows.view(pair)
        turned = np.ascontiguousarray(rows.T)
        for column, whole in zip(turned, whole_rows.T):
            part = np.ascontiguousarray(whole)
            np.add.at(part, number, column)
            whole[...] = part
        return
    if size >= _LONG_ROW:
        _add_lines(flat.reshape(-1, size), number, rows)
        return
    columns = np.arange(size)
    step = max(1, _BLOCK // max(size, 1))
    for start in range(0, len(number), step):
        places = number[start : start + step, None] * size + columns
        np.add.at(flat, places.reshape(-1), rows[start : start + step].reshape(-1))


def _added_to_zeros(into: np.ndarray, number: np.ndarray, rows: np.ndarray) -> bool:
    """Whether many rows were added to zeros: by the step of compiled code, or by SciPy, as the product with a matrix that has a 1
    for each, both in their order."""
    if into.itemsize not in (4, 8) or into.view(f"u{into.itemsize}").any():
        return False
    form, found = kernels.forms.Indexed("add", 0, 0), None
    if rows.shape == (*number.shape, *into.shape[1:]):
        found = by_step(form, (rows, number), into.shape, into.dtype, rows.size)
    if found is not None:
        into[...] = found
        return True
    if rows.size < _WORTH_SCIPY or rows.dtype.char not in "fd":
        return False
    scipy = library.sparse()
    if scipy is None:
        return False
    ones, starts = np.ones(len(rows), rows.dtype), np.arange(len(rows) + 1)
    into[...] = scipy.csc_array((ones, number, starts), shape=(len(into), len(rows))) @ rows
    return True


def _takes_rows(
    into: object, parts: tuple[DeviceArray | Array, ...], added: DeviceArray | Array, row: tuple[int, ...]
) -> bool:
    """Whether positions are arrays that broadcast and `added` has a whole row of numbers for each."""
    return (
        isinstance(into, np.ndarray)
        and isinstance(added, np.ndarray)
        and into.flags.c_contiguous
        and into.dtype == added.dtype
        and all(isinstance(part, np.ndarray) and part.dtype.kind in "iu" for part in parts)
        and added.shape == (*np.broadcast_shapes(*[part.shape for part in parts]), *row)
        and all(not part.size or (part.min() >= 0 and part.max() < n) for part, n in zip(parts, into.shape))
    )
