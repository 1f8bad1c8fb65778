"""Short ways of sparse tensors: by where each row begins, and by SciPy's products.

What a function made of ops sorts, counts and adds by number, is one pass where the indices are in order. Each short way gives the
bits of the ops: sums begin with 0 and go on value by value. It returns None where the usual way must be taken, which also has
the words for what does not fit. Indices are never followed: where a tape follows the values, the places are found by NumPy all
the same, and the values come by one or two ops.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from graphad.core.bind import bind, constant_here
from graphad.core.ieee import unreported
from graphad.core.tensor import EagerTensor
from graphad.ops import library
from graphad.ops.array.gather import gather
from graphad.ops.array.join import concat
from graphad.ops.array.passing import identity
from graphad.ops.array.slice import getitem
from graphad.ops.directly import is_eager, is_free
from graphad.ops.math.arithmetic import ADD
from graphad.ops.rules import scalar_like
from graphad.ops.sparse.products import SparseProduct
from graphad.ops.sparse.tensor import SparseTensor

if TYPE_CHECKING:
    from graphad.core.annotations import Array
    from graphad.core.tensor import Tensor

_MANY = 4096  # products, for which SciPy's sparse matrices are worth their import
_EMPTY = 16  # times as many rows as values, beyond which rows are not worth a number each


class Order:
    """What was found out about the indices of a tensor, each thing when it is first asked for."""

    __slots__ = ("ascends", "rows")

    def __init__(self) -> None:
        self.rows: Rows | bool | None = None  # False where there are none
        self.ascends: bool | None = None


def _order_of(x: SparseTensor) -> Order:
    if x.order is None:
        x.order = Order()
    return x.order  # type: ignore[no-any-return]


class Rows(NamedTuple):
    """The places of a matrix's values row by row: where each row begins among them, and at the end their number; the column of
    each.
    """

    starts: np.ndarray
    columns: np.ndarray


def has_places(*xs: SparseTensor) -> bool:
    """Whether indices, values and sizes are known, and there are some; a tape may follow the values."""
    return all(
        is_eager(x.values)
        and is_eager(x.indices)
        and is_eager(x.dense_shape)
        and type(x.indices.data) is np.ndarray
        and x.indices.data.size
        for x in xs
    )


def sizes_of(x: SparseTensor) -> list[int]:
    """The sizes of a sparse tensor whose places are known."""
    return x.dense_shape.data.tolist()  # type: ignore[no-any-return]


def rows_of(x: SparseTensor) -> Rows | None:
    """The rows of a matrix of known places, whose indices are inside of it and in the order of rows; found once for a tensor."""
    order = _order_of(x)
    if order.rows is None:
        order.rows = _found(x.indices.data, sizes_of(x)) or False
    return order.rows or None  # type: ignore[return-value]


def _found(indices: np.ndarray, sizes: list[int]) -> Rows | None:
    if len(sizes) != 2 or not 0 < sizes[1] < 2**31 or not 0 < sizes[0] <= _EMPTY * len(indices) + _MANY:
        return None
    of_row, of_column = np.ascontiguousarray(indices[:, 0]), indices[:, 1]
    if of_row[0] < 0 or of_row[-1] >= sizes[0] or np.count_nonzero(of_row[1:] < of_row[:-1]):
        return None
    columns = of_column.astype(np.int32)
    if np.min(of_column) < 0 or np.max(of_column) >= sizes[1]:
        return None
    starts = np.zeros(sizes[0] + 1, np.int32 if len(indices) < 2**31 else np.int64)
    np.cumsum(np.bincount(of_row, minlength=sizes[0]), out=starts[1:])
    return Rows(starts, columns)


def _numbers(x: SparseTensor) -> np.ndarray | None:
    """The values, where SciPy computes with their dtype."""
    values: np.ndarray = x.values.data
    return values if values.dtype.char in "fd" else None


def _known(x: SparseTensor) -> tuple[np.ndarray, Rows, Any] | None:
    """The values and rows of a matrix for which SciPy is worth its import, and `scipy.sparse`."""
    if not has_places(x) or len(x.values.data) < _MANY:
        return None
    values, rows, scipy = _numbers(x), rows_of(x), library.sparse()
    return None if values is None or rows is None or scipy is None else (values, rows, scipy)


def product(a: SparseTensor, b: Any, adjoint: bool) -> Tensor | None:
    """The product of a matrix, or of its transpose, and a dense one."""
    if (
        not (is_eager(b) and has_places(a))
        or b.data.ndim != 2
        or len(a.values.data) * b.data.shape[1] < _MANY
    ):
        return None
    values, rows, scipy = _numbers(a), rows_of(a), library.sparse()
    if values is None or rows is None or scipy is None or b.data.dtype != values.dtype:
        return None
    if sizes_of(a)[0 if adjoint else 1] != len(b.data):
        return None
    if not is_free(a.values, b):
        columns, starts = constant_here(rows.columns), constant_here(rows.starts)
        return bind(SparseProduct(adjoint, sizes_of(a)[1]), a.values, columns, starts, b)
    matrix = scipy.csr_array((values, rows.columns, rows.starts), shape=sizes_of(a))
    return EagerTensor((matrix.T if adjoint else matrix) @ b.data)


def sums(x: SparseTensor) -> Tensor | None:
    """The sum of each row of a matrix."""
    known = _known(x)
    if known is None:
        return None
    values, rows, scipy = known
    alike = np.zeros(len(values), np.int32)  # the values of a row are all in one column, times 1
    if not is_free(x.values):
        places, one = (constant_here(part) for part in (alike, rows.starts)), np.ones((1, 1), values.dtype)
        found = bind(SparseProduct(False, 1), x.values, *places, constant_here(one))
        return getitem(found, (slice(None), 0))
    matrix = scipy.csr_array((values, alike, rows.starts), shape=(len(rows.starts) - 1, 1))
    return EagerTensor(matrix @ np.ones(1, values.dtype))


def maxima(x: SparseTensor) -> Tensor | None:
    """The largest value of each row of a matrix, 0 where there is none."""
    if not has_places(x):
        return None
    values, rows = x.values.data, rows_of(x)
    if rows is None or values.dtype.kind not in "fiu":
        return None
    filled = rows.starts[1:] > rows.starts[:-1]
    found = unreported(np.maximum.reduceat, values, rows.starts[:-1][filled])
    if values.dtype.kind == "f" and np.count_nonzero(found) < len(found):
        return None  # which of two zeros it is, is for the ops to say
    if not is_free(x.values):
        at = np.flatnonzero(values == np.repeat(found, np.diff(rows.starts)[filled]))
        # Rows without a value, ties and NaN are for the ops: a tie in one row may stand for a NaN in another.
        is_one = filled.all() and len(at) == len(found)
        is_one = is_one and np.all((at >= rows.starts[:-1]) & (at < rows.starts[1:]))
        return taken(x.values, at) if is_one else None
    whole = np.zeros(len(filled), values.dtype)
    whole[filled] = found
    return EagerTensor(whole)


def taken(x: Tensor, at: np.ndarray) -> Tensor:
    """The values at known places, with a dense derivative."""
    return EagerTensor(np.take(x.data, at)) if is_free(x) else gather(identity(x), constant_here(at))


def in_columns(*columns: Array) -> np.ndarray:
    """int64 [n, rank] of vectors [n]."""
    indices = np.empty((len(columns[0]), len(columns)), np.int64)
    for k, column in enumerate(columns):
        indices[:, k] = column
    return indices


def turned(x: SparseTensor) -> SparseTensor | None:
    """The transpose of a matrix, its indices in order."""
    known = _known(x)
    if known is None:
        return None
    values, rows, scipy = known
    height, width = sizes_of(x)
    is_followed = not is_free(x.values)
    moved = np.arange(len(values), dtype=np.int32) if is_followed else values
    matrix = scipy.csr_array((moved, rows.columns, rows.starts), shape=(height, width)).tocsc()
    of_row = np.repeat(np.arange(width, dtype=np.int32), np.diff(matrix.indptr))
    sizes = EagerTensor(x.dense_shape.data[::-1])
    return SparseTensor.of(
        EagerTensor(in_columns(of_row, matrix.indices)),
        taken(x.values, matrix.data) if is_followed else EagerTensor(matrix.data),
        sizes,
        (width, height),
    )


def part(x: SparseTensor, first: Any, count: Any) -> SparseTensor | None:
    """The values of a matrix from index `first` on, `count` along each axis, where these are inside of it."""
    if not (has_places(x) and is_eager(first) and is_eager(count)):
        return None
    rows = rows_of(x)
    if rows is None or first.data.shape != (2,) or count.data.shape != (2,):
        return None
    (top, left), (height, width) = first.data.tolist(), count.data.tolist()
    if top < 0 or left < 0 or top + height >= len(rows.starts):
        return None
    begin, end = rows.starts[top], rows.starts[top + height]
    columns = rows.columns[begin:end]
    at = np.flatnonzero((columns >= left) & (columns < left + width)) + begin
    lengths = np.diff(np.searchsorted(at, rows.starts[top : top + height + 1]))
    of_row = np.repeat(np.arange(height), lengths)
    indices = in_columns(of_row, np.take(rows.columns, at) - left)
    return SparseTensor.of(EagerTensor(indices), taken(x.values, at), count)


def moved(x: SparseTensor, sizes: Any) -> np.ndarray | None:
    """The indices of the values of a sparse tensor in another shape with as many elements."""
    if not (has_places(x) and is_eager(sizes)):
        return None
    old, new = sizes_of(x), sizes.data.tolist()
    if not old or not new or min(*old, *new) <= 0:
        return None
    indices = x.indices.data
    if np.min(indices) < 0:
        return None
    places = indices[:, 0].astype(np.uint64)
    for k, size in enumerate(old[1:], 1):
        places *= np.uint64(size)
        places += indices[:, k].view(np.uint64)
    columns = []
    for size in new[:0:-1]:
        above = places // np.uint64(size)
        places -= above * np.uint64(size)
        columns.append(places)
        places = above
    if np.max(places) >= new[0]:
        return None
    return in_columns(places, *columns[::-1])


def _places(x: SparseTensor) -> np.ndarray:
    """Where the values of a sparse tensor are in row-major order."""
    indices, sizes = x.indices.data, sizes_of(x)
    places: np.ndarray = indices[:, 0].copy()
    for k, size in enumerate(sizes[1:], 1):
        places *= size
        places += indices[:, k]
    return places


def _ascends(x: SparseTensor) -> bool:
    """Whether the indices of a sparse tensor are in row-major order, none of them twice, and its rows inside of it."""
    order = _order_of(x)
    if order.ascends is None:
        indices, places = x.indices.data, _places(x)
        is_inside = indices[0, 0] >= 0 and indices[-1, 0] < sizes_of(x)[0]
        order.ascends = bool(is_inside and not np.count_nonzero(places[1:] <= places[:-1]))
    return order.ascends


def total(a: SparseTensor, b: SparseTensor, threshold: Any) -> SparseTensor | None:
    """The sum of two sparse tensors of one shape whose indices are in order, none of them twice."""
    if not (
        has_places(a, b) and type(threshold) in (int, float) and a.values.data.dtype == b.values.data.dtype
    ):
        return None
    dtype = a.values.data.dtype
    if type(threshold) is float and dtype.kind != "f":
        return None
    if dtype.kind not in "fiu" or dtype.itemsize < 4 or sizes_of(a) != sizes_of(b):
        return None
    if not (_ascends(a) and _ascends(b)):
        return None
    if not is_free(a.values, b.values):
        return _added_in_place(a, b) if threshold == 0 and dtype.kind == "f" else None
    indices, values = unreported(_added, a, b, threshold)
    return SparseTensor.of(EagerTensor(indices), EagerTensor(values), a.dense_shape, a.dims)


def _added(a: SparseTensor, b: SparseTensor, threshold: float) -> tuple[np.ndarray, np.ndarray]:
    left, right = a.values.data, b.values.data
    ours, theirs = a.indices.data, b.indices.data
    if ours is theirs or np.array_equal(ours, theirs):
        indices, values, alone = ours, left + right, None
    else:
        places = np.concatenate([_places(a), _places(b)])
        order = np.argsort(places, kind="stable")  # two runs in order, which are merged
        places = places[order]
        again = np.flatnonzero(places[1:] == places[:-1])
        each = np.concatenate([left, right])[order]
        each[again] += each[again + 1]
        kept = np.ones(len(places), bool)
        kept[again + 1] = False
        first = np.flatnonzero(kept)
        indices, values = np.take(np.concatenate([ours, theirs]), order[first], 0), each[first]
        alone = np.ones(len(places), bool)
        alone[again] = False
        alone = alone[first]
    values += values.dtype.type(0)  # a sum begins with 0, which a -0 does not change
    if left.dtype.kind != "f" or threshold != 0 or np.isnan(np.max(values)):
        large = np.abs(values) >= threshold
        at = np.flatnonzero(large if alone is None else large | alone)
        if len(at) < len(values):
            indices, values = np.take(indices, at, 0), values[at]
    return indices, values


def _added_in_place(a: SparseTensor, b: SparseTensor) -> SparseTensor | None:
    """The sum of two whose values are followed and in the same places, where all of them count."""
    ours, theirs = a.indices.data, b.indices.data
    if not (ours is theirs or np.array_equal(ours, theirs)):
        return None
    values = bind(ADD, bind(ADD, a.values, b.values), scalar_like(0, a.values))  # a sum begins with 0
    if np.isnan(np.max(values.data)):
        return None
    return SparseTensor.of(a.indices, values, a.dense_shape, a.dims)


def behind_each_other(xs: list[SparseTensor], axis: int) -> SparseTensor | None:
    """Sparse tensors of one shape but along `axis`, behind each other, where their indices are in order afterwards."""
    if axis or not has_places(*xs) or len({x.values.data.dtype for x in xs}) != 1:
        return None
    shapes = [sizes_of(x) for x in xs]
    if any(sizes[1:] != shapes[0][1:] for sizes in shapes) or not all(map(_ascends, xs)):
        return None
    indices = np.concatenate([x.indices.data for x in xs])
    begin, start = 0, 0
    for x, sizes in zip(xs, shapes, strict=True):
        end = begin + len(x.values.data)
        indices[begin:end, 0] += start
        begin, start = end, start + sizes[0]
    whole = (start, *shapes[0][1:])
    values = concat([x.values for x in xs], 0)
    return SparseTensor.of(EagerTensor(indices), values, EagerTensor(np.array(whole, np.int64)), whole)
