"""Choosing elements: by index, by truth, by order; sorted sequences and sets.

What has as many elements as the values say (`nonzero`, `unique_values`, masks) has an unknown size in a traced function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import AxisLike, TensorLike
from graphad.core.bind import bind
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, UnsupportedOptionError
from graphad.core.shapes import normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.gather import TakeAlong
from graphad.ops.array.sort import ArgSort
from graphad.ops.math import search
from graphad.ops.numpy.promotion import along, cast_to, on_axis, promoted, rank_of, tensor_of
from graphad.ops.numpy.shapes import broadcast_arrays, concat, ravel


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Any
    indices: Any
    inverse_indices: Any
    counts: Any


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Any
    counts: Any


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Any
    inverse_indices: Any


def _index(name: str, x: TensorLike) -> Tensor:
    x = tensor_of(x)
    if not x.dtype.is_integer:
        if x.dims == (0,):
            return math.cast(x, dtypes.int64)
        raise ArgumentTypeError(f"{name}: indices have dtype {x.dtype.name}; an integer dtype is needed.")
    return x if x.dtype in (dtypes.int32, dtypes.int64) else math.cast(x, dtypes.int64)


def take(a: TensorLike, indices: TensorLike, /, axis: int | None = None, mode: str = "raise") -> Tensor:
    """The slices at some indices along an axis, or without one elements of all as one vector.

    Args:
      a: Tensor.
      indices: Integers; negative ones count from the end.
      axis: The axis.
      mode: "raise", or "wrap" or "clip" for indices that are out of range.
    """
    a = tensor_of(a)
    a, axis = on_axis(a, axis)
    axis = normalize_axis("take", axis, rank_of("take", a))
    index = _index("take", indices)
    if mode != "raise":
        size = math.cast(array.shape(a)[axis], index.dtype)
        if mode == "wrap":
            index = math.mod(index, size)
        elif mode == "clip":
            index = math.clip_by_value(index, cast_to(0, index.dtype), size - cast_to(1, index.dtype))
        else:
            raise InvalidArgumentError(f"take: mode {mode!r} is unknown; it is 'raise', 'wrap' or 'clip'.")
    return a[along(axis, index)]


def take_along_axis(x: TensorLike, indices: TensorLike, /, axis: int | None = -1) -> Tensor:
    """x[..., indices[..., j, ...], ...] along an axis; the other axes of both broadcast together."""
    x, index = tensor_of(x), _index("take_along_axis", indices)
    x, axis = on_axis(x, axis)
    rank = rank_of("take_along_axis", x)
    axis = normalize_axis("take_along_axis", axis, rank)
    if rank_of("take_along_axis", index) != rank:
        raise InvalidArgumentError(
            f"take_along_axis: x has rank {rank}, indices {index.ndim}; they must be equal."
        )
    others = [k for k in range(rank) if k != axis]
    if any(ranked(x.dims)[k] != ranked(index.dims)[k] for k in others):
        first = broadcast_arrays(x[along(axis, slice(0, 1))], index[along(axis, slice(0, 1))])[0]
        sizes = array.shape(first)
        x, index = (
            array.broadcast_to(y, [array.shape(y)[axis] if k == axis else sizes[k] for k in range(rank)])
            for y in (x, index)
        )
    return bind(TakeAlong(axis), x, index)


def where(condition: TensorLike, x1: TensorLike | None = None, x2: TensorLike | None = None, /) -> Any:
    """x1 where `condition` holds, elsewhere x2; with one argument the indices where it holds, as `nonzero`."""
    if (x1 is None) != (x2 is None):
        raise InvalidArgumentError("where: x1 and x2 must be given together, or neither.")
    if x1 is None:
        return nonzero(condition)
    condition = tensor_of(condition)
    if not condition.dtype.is_bool:
        condition = math.not_equal(condition, cast_to(0, condition.dtype))
    x1, x2 = promoted(x1, x2)
    return math.where(condition, x1, x2)


def select(condlist: Any, choicelist: Any, default: TensorLike = 0) -> Tensor:
    """For each element the choice of the first condition that holds, `default` where none does."""
    *choices, found = promoted(*choicelist, default)
    for condition, choice in reversed(list(zip(condlist, choices, strict=True))):
        found = where(condition, choice, found)
    return found


def nonzero(x: TensorLike, /) -> tuple[Tensor, ...]:
    """For each axis the indices of the elements that are not 0, in row-major order."""
    x = tensor_of(x)
    rank = rank_of("nonzero", x)
    if not rank:
        raise InvalidArgumentError("nonzero: x is a scalar; it must have an axis. Use atleast_1d(x).")
    return tuple(array.unstack(math.where(x), num=rank, axis=1))


def argwhere(a: TensorLike) -> Tensor:
    """The indices of the elements that are not 0, one row for each."""
    return math.where(tensor_of(a))


def flatnonzero(a: TensorLike) -> Tensor:
    """The indices of the elements that are not 0 in all of them as one vector."""
    return nonzero(ravel(a))[0]


def compress(condition: TensorLike, a: TensorLike, axis: int | None = None) -> Tensor:
    """The slices along an axis where a vector of bools holds."""
    a = tensor_of(a)
    a, axis = on_axis(a, axis)
    chosen = flatnonzero(condition)
    return array.gather(a, chosen, axis=axis)


def extract(condition: TensorLike, arr: TensorLike) -> Tensor:
    """The elements where a condition of the same shape holds."""
    return compress(ravel(condition), ravel(arr))


def choose(a: Any, choices: Any) -> Tensor:
    """For each element k of `a` that of choices[k]."""
    stacked = array.stack([broadcast_arrays(a, choice)[1] for choice in promoted(*choices)], 0)
    whole = broadcast_arrays(_index("choose", a), stacked[0])[0]
    return bind(TakeAlong(0), stacked, array.expand_dims(whole, 0))[0]


def _ordered(x: Any) -> Tensor:
    return math.cast(x, dtypes.uint8) if x.dtype.is_bool else x


def argsort(
    a: TensorLike,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Tensor:
    """The indices that sort along an axis, equal elements in their order, NaN last. No gradient."""
    a = tensor_of(a)
    a, axis = on_axis(a, axis)
    return bind(
        ArgSort(normalize_axis("argsort", axis, rank_of("argsort", a)), bool(descending), dtypes.int64), a
    )


def sort(
    a: TensorLike,
    /,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Tensor:
    """The elements in order along an axis, NaN last; the gradient goes back to where each came from."""
    a = tensor_of(a)
    a, axis = on_axis(a, axis)
    axis = normalize_axis("sort", axis, rank_of("sort", a))
    return bind(TakeAlong(axis), a, argsort(a, axis, descending=descending))


def sort_complex(a: TensorLike) -> Tensor:
    """The elements in order along the last axis, complex."""
    a = sort(a)
    return a if a.dtype.is_complex else math.cast(a, dtypes.complex128)


def partition(a: TensorLike, kth: Any, axis: int | None = -1) -> Tensor:
    """The elements in an order with element `kth` where sorting puts it: sorted, which is one."""
    return sort(a, axis)


def argpartition(a: TensorLike, kth: Any, axis: int | None = -1) -> Tensor:
    """The indices of `partition`."""
    return argsort(a, axis)


def lexsort(keys: Any, axis: int = -1) -> Tensor:
    """The indices that sort by several keys, the last one first."""
    keys = [tensor_of(key) for key in keys]
    axis = normalize_axis("lexsort", axis, rank_of("lexsort", keys[0]))
    order = argsort(keys[0], axis)
    for key in keys[1:]:
        order = bind(TakeAlong(axis), order, argsort(bind(TakeAlong(axis), key, order), axis))
    return order


def searchsorted(x1: TensorLike, x2: TensorLike, /, side: str = "left", sorter: Any = None) -> Tensor:
    """Where each element of x2 would be put into the sorted vector x1: before equal ones, or with "right" behind them."""
    x1, x2 = promoted(x1, x2)
    if rank_of("searchsorted", x1) != 1:
        raise InvalidArgumentError(f"searchsorted: x1 has rank {x1.ndim}; it is a vector.")
    if sorter is not None:
        x1 = array.gather(x1, _index("searchsorted", sorter))
    found = search.searchsorted(_ordered(x1), array.reshape(_ordered(x2), [-1]), side, dtypes.int64)
    return array.reshape(found, array.shape(x2))


def digitize(x: TensorLike, bins: Any, right: bool = False) -> Tensor:
    """Between which of some rising or falling bounds each element lies."""
    x, bins = promoted(x, bins)
    sides = ("left", "right") if right else ("right", "left")
    rising = searchsorted(bins, x, sides[0])
    falling = math.cast(array.shape(bins)[0], dtypes.int64) - searchsorted(
        array.reverse(bins, [0]), x, sides[1]
    )
    return math.where(math.less_equal(bins[:1], bins[-1:]), rising, falling)


def _groups(x: TensorLike) -> tuple[Any, Any, Any, Any]:
    """The elements as a vector, the order that sorts them, where groups of equal ones start, and which element starts one."""
    flat = ravel(x)
    order = argsort(flat)
    ranked = array.gather(flat, order)
    starts = array.concat(
        [array.ones_like(ranked[:1], dtypes.bool_), math.not_equal(ranked[1:], ranked[:-1])], 0
    )
    return flat, order, array.reshape(math.where(starts), [-1]), starts


def unique_all(x: TensorLike, /) -> UniqueAll:
    """The different elements in order, where each is first, where each element of x is among them, and how often it occurs.

    NaN differs from all, so each is an element of its own. The values are differentiable.
    """
    flat, order, starts, is_start = _groups(x)
    indices = array.gather(order, starts)
    group = math.cumsum(math.cast(is_start, dtypes.int64)) - lift(np.int64(1))
    inverse = array.scatter_nd(array.expand_dims(order, 1), group, array.shape(flat, dtypes.int64))
    ends = array.concat([starts[1:], array.shape(flat, dtypes.int64)], 0)
    return UniqueAll(
        array.gather(flat, indices),
        indices,
        array.reshape(inverse, array.shape(tensor_of(x))),
        (ends - starts)[: _first(starts)],
    )


def _first(starts: Any) -> Tensor:
    return array.shape(starts)[0]


def unique_counts(x: TensorLike, /) -> UniqueCounts:
    """The different elements in order, and how often each occurs."""
    found = unique_all(x)
    return UniqueCounts(found.values, found.counts)


def unique_inverse(x: TensorLike, /) -> UniqueInverse:
    """The different elements in order, and where each element of x is among them."""
    found = unique_all(x)
    return UniqueInverse(found.values, found.inverse_indices)


def unique_values(x: TensorLike, /) -> Tensor:
    """The different elements in order; differentiable."""
    flat, order, starts, _ = _groups(x)
    return array.gather(flat, array.gather(order, starts))


def unique(
    ar: TensorLike, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False, axis: AxisLike = None,
    *, equal_nan: bool = True
) -> Any:  # fmt: skip
    """The different elements in order, all NaN being one, and on request what `unique_all` gives."""
    if axis is not None:
        raise UnsupportedOptionError("unique: axis is not supported; call it on the elements of a vector.")
    ar = tensor_of(ar)
    found = unique_all(ar)
    if equal_nan and ar.dtype.is_differentiable:
        found = _one_nan(found)
    wanted = [True, return_index, return_inverse, return_counts]
    parts = [part for part, is_wanted in zip(found, wanted, strict=True) if is_wanted]
    return parts[0] if len(parts) == 1 else tuple(parts)


def _one_nan(found: UniqueAll) -> UniqueAll:
    nan = math.is_nan(math.real(found.values))
    kept = array.reshape(math.where(math.logical_or(math.logical_not(nan), _is_first(nan))), [-1])
    last = math.cast(array.shape(kept)[0], dtypes.int64) - lift(np.int64(1))
    many = math.reduce_sum(math.where(nan, found.counts, array.zeros_like(found.counts)))
    values, indices, counts = (
        array.gather(part, kept) for part in (found.values, found.indices, found.counts)
    )
    counts = math.where(math.is_nan(math.real(values)), many, counts)
    return UniqueAll(values, indices, math.minimum(found.inverse_indices, last), counts)


def _is_first(mask: Any) -> Tensor:
    return math.equal(math.cumsum(math.cast(mask, dtypes.int64)), lift(np.int64(1)))


def isin(
    element: TensorLike,
    test_elements: TensorLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Tensor:
    """Which elements are among others."""
    element, others = promoted(element, test_elements)
    others = sort(ravel(others))
    if others.dims == (0,):
        found = array.zeros_like(element, dtypes.bool_)
    else:
        place = searchsorted(others, element)
        size = math.cast(array.shape(others)[0], dtypes.int64)
        near = math.minimum(place, math.maximum(size - lift(np.int64(1)), lift(np.int64(0))))
        found = math.equal(array.gather(others, near), element)
    return math.logical_not(found) if invert else found


def union1d(ar1: TensorLike, ar2: TensorLike) -> Tensor:
    """The different elements of two tensors, in order."""
    found: Tensor = unique(concat([ravel(ar1), ravel(ar2)]))
    return found


def intersect1d(
    ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False, return_indices: bool = False
) -> Any:
    """The different elements that are in both of two tensors, in order, and on request where they are first."""
    first, second = unique_all(ar1), unique_all(ar2)
    a, b = promoted(first.values, second.values)
    chosen = flatnonzero(isin(a, b))
    values = array.gather(a, chosen)
    if not return_indices:
        return values
    where_second = array.gather(second.indices, searchsorted(b, values))
    return values, array.gather(first.indices, chosen), where_second


def setdiff1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The different elements of the first tensor that are not in the second, in order."""
    values = unique(ar1)
    return array.gather(values, flatnonzero(isin(values, ar2, invert=True)))


def setxor1d(ar1: TensorLike, ar2: TensorLike, assume_unique: bool = False) -> Tensor:
    """The different elements that are in one of two tensors and not in both, in order."""
    return union1d(setdiff1d(ar1, ar2), setdiff1d(ar2, ar1))


def unravel_index(indices: TensorLike, shape: Sequence[int]) -> tuple[Tensor, ...]:
    """The index along each axis of elements that are numbered in row-major order."""
    rest = _index("unravel_index", indices)
    found = []
    for size in reversed(list(shape)):
        found.append(math.mod(rest, cast_to(int(size), rest.dtype)))
        rest = math.floordiv(rest, cast_to(int(size), rest.dtype))
    return tuple(reversed(found))


def ravel_multi_index(multi_index: Any, dims: Sequence[int]) -> Tensor:
    """The numbers in row-major order of elements whose indices are given for each axis."""
    total = tensor_of(0)
    for index, size in zip(multi_index, dims, strict=True):
        total = total * cast_to(int(size), total.dtype) + math.cast(
            _index("ravel_multi_index", index), total.dtype
        )
    return total
