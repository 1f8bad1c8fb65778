"""Selecting elements by index, by condition, by order; sorting.

Results whose size depends on the values (`nonzero`, masks) have an unknown size in a traced function.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from graphad.core import dtypes
from graphad.core.annotations import TensorLike
from graphad.core.bind import bind
from graphad.core.blame import blaming
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.kinds import INTEGER, require_kind
from graphad.core.refusal import members
from graphad.core.shapes import is_definite, normalize_axis, ranked
from graphad.core.tensor import Tensor
from graphad.ops import array, math
from graphad.ops.array.along import TakeAlong
from graphad.ops.array.sorting import ArgSort, sorted_along
from graphad.ops.directly import directly, is_eager, parts_directly
from graphad.ops.math import search
from graphad.ops.numpy.promotion import (
    along,
    by_numpy,
    cast_to,
    dims_of,
    on_axis,
    promoted,
    rank_of,
    tensor_of,
)
from graphad.ops.numpy.shapes import broadcast_arrays, ravel

if TYPE_CHECKING:
    from graphad.core.annotations import Array


def index_of(name: str, x: TensorLike) -> Tensor:
    x = tensor_of(x)
    if not x.dtype.is_integer:
        if x.dims == (0,):
            return math.cast(x, dtypes.int64)
        require_kind(name, x, INTEGER, "indices")
    return x if x.dtype in (dtypes.int32, dtypes.int64) else math.cast(x, dtypes.int64)


@blaming
def take(a: TensorLike, indices: TensorLike, axis: int | None = None, mode: str = "raise") -> Tensor:
    """The slices at given indices along an axis, or without an axis the elements of `a` flattened.

    Args:
      a: Tensor of any shape and dtype.
      indices: Integers of any shape; negative ones count from the end.
      axis: The axis.
      mode: "raise", or "wrap" or "clip" for indices that are out of range.
    Returns: Tensor with the shape of `indices` in place of the axis, of the dtype of `a`.
    Raises: InvalidArgumentError (a ValueError): `mode` is unknown, or the axis is out of range; OutOfRangeError (an
      IndexError): an index is out of range with mode "raise"; ArgumentTypeError (a TypeError): indices of another dtype.
    Example:
      >>> numpy.take([10, 20, 30], [2, 0]).numpy()
      array([30, 10])
    """
    a = tensor_of(a)
    a, axis = on_axis(a, axis)
    axis = normalize_axis("take", axis, rank_of("take", a))
    index = index_of("take", indices)
    found = directly(np.take, a, index, axis=axis, mode=mode)
    if found is not None:
        return found
    if mode != "raise":
        index = brought_in("take", index, array.shape(a)[axis], mode)
    return a[along(axis, index)]


def brought_in(name: str, index: Any, size: Any, mode: str) -> Any:
    """Indices of an axis as `mode` has those that are out of range. Raises: InvalidArgumentError: the mode is unknown."""
    if mode == "raise":
        return index
    size = math.cast(size, index.dtype)
    if mode == "wrap":
        return math.mod(index, size)
    if mode == "clip":
        return math.clip_by_value(index, cast_to(0, index.dtype), size - cast_to(1, index.dtype))
    raise InvalidArgumentError(f"{name}: mode {mode!r} is unknown; it is 'raise', 'wrap' or 'clip'.")


def take_along_axis(arr: TensorLike, indices: TensorLike, axis: int | None = -1) -> Tensor:
    """x[..., indices[..., j, ...], ...] along an axis; the other axes of both broadcast together.

    Args:
      arr: Tensor [..., size, ...], any dtype.
      indices: Integers [..., picks, ...] of the same rank.
      axis: The axis; None flattens `arr`.
    Returns: Tensor [..., picks, ...] of the dtype of arr.
    Raises: InvalidArgumentError (a ValueError): the ranks differ, or the axis is out of range; ArgumentTypeError (a
      TypeError): indices of another dtype.
    Example:
      >>> numpy.take_along_axis([[10, 30, 20]], [[0, 2, 1]], axis=1).numpy()
      array([[10, 20, 30]])
    """
    arr, index = tensor_of(arr), index_of("take_along_axis", indices)
    arr, axis = on_axis(arr, axis)
    rank = rank_of("take_along_axis", arr)
    axis = normalize_axis("take_along_axis", axis, rank)
    if rank_of("take_along_axis", index) != rank:
        raise InvalidArgumentError(
            f"take_along_axis: arr has rank {rank}, indices {index.ndim}; they must be equal."
        )
    others = [k for k in range(rank) if k != axis]
    if any(ranked(arr.dims)[k] != ranked(index.dims)[k] for k in others):
        first = broadcast_arrays(arr[along(axis, slice(0, 1))], index[along(axis, slice(0, 1))])[0]
        sizes = array.shape(first)
        arr, index = (
            array.broadcast_to(y, [array.shape(y)[axis] if k == axis else sizes[k] for k in range(rank)])
            for y in (arr, index)
        )
    return bind(TakeAlong(axis), arr, index)


@overload
def where(condition: TensorLike) -> tuple[Tensor, ...]: ...
@overload
def where(condition: TensorLike, x: TensorLike, y: TensorLike) -> Tensor: ...
def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None
) -> Tensor | tuple[Tensor, ...]:
    """x where `condition` holds, elsewhere y; with one argument the indices where it holds, as `nonzero`.

    Args:
      condition: Tensor of any shape; another dtype than bool holds where it is nonzero.
      x, y: Tensors of shapes that broadcast with it, of any dtypes, which are promoted.
    Returns: Tensor of their broadcast shape; each operand has gradient 0 where the other was selected. With one argument a
      tuple of int64 vectors, one for each axis.
    Raises: InvalidArgumentError (a ValueError): x is given without y, or shapes do not broadcast.
    Example:
      >>> numpy.where([True, False], [1, 2], [10, 20]).numpy()
      array([ 1, 20])
    """
    if (x is None) != (y is None):
        raise InvalidArgumentError("where: x and y must be given together, or neither.")
    if x is None:
        return nonzero(condition)
    condition = tensor_of(condition)
    if not condition.dtype.is_bool:
        condition = math.not_equal(condition, cast_to(0, condition.dtype))
    x, y = promoted(x, y)
    return math.where(condition, x, y)


def select(
    condlist: Sequence[TensorLike], choicelist: Sequence[TensorLike], default: TensorLike = 0
) -> Tensor:
    """For each element the choice of the first condition that holds, or `default` if none does.

    Args:
      condlist: Tensors of dtype bool, of shapes that broadcast with the choices.
      choicelist: As many tensors of any dtypes, which are promoted.
      default: A number or a tensor.
    Returns: Tensor of their broadcast shape.
    Raises: InvalidArgumentError (a ValueError): there are not as many choices as conditions, or shapes do not broadcast;
      ArgumentTypeError (a TypeError): one argument is not a list.
    Example:
      >>> x = numpy.arange(4)
      >>> numpy.select([x < 1, x > 2], [x - 10, x + 10]).numpy()
      array([-10,   0,   0,  13])
    """
    conditions = members("select", "condlist", condlist, "give a list of bool tensors")
    *choices, found = promoted(
        *members("select", "choicelist", choicelist, "give a list of tensors"), default
    )
    if len(conditions) != len(choices):
        raise InvalidArgumentError(
            f"select: condlist holds {len(conditions)} conditions, choicelist {len(choices)} choices; give one choice for each "
            "condition."
        )
    for condition, choice in reversed(list(zip(conditions, choices, strict=True))):
        found = where(condition, choice, found)
    return found


def nonzero(a: TensorLike) -> tuple[Tensor, ...]:
    """For each axis the indices of the nonzero elements, in row-major order.

    Args: a: Tensor of rank 1 or more, any dtype.
    Returns: A tuple of int64 vectors, one for each axis.
    Raises: InvalidArgumentError (a ValueError): a is a scalar.
    Example:
      >>> [k.numpy().tolist() for k in numpy.nonzero([[0, 1], [2, 0]])]
      [[0, 1], [1, 0]]
    """
    a = tensor_of(a)
    rank = rank_of("nonzero", a)
    if not rank:
        raise InvalidArgumentError("nonzero: a is a scalar; it must have an axis. Use atleast_1d(a).")
    found = parts_directly(np.nonzero, a)
    if found is not None:
        return tuple(found)
    places = math.where(a)
    if rank == 1:
        return (array.reshape(places, [-1]),)
    return tuple(array.unstack(places, num=rank, axis=1))


def argwhere(a: TensorLike) -> Tensor:
    """The indices of the nonzero elements, one row for each.

    Args: a: Tensor of any shape and dtype.
    Returns: int64 tensor [elements, rank].
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.argwhere([[0, 1], [2, 0]]).numpy()
      array([[0, 1],
             [1, 0]])
    """
    return math.where(tensor_of(a))


def flatnonzero(a: TensorLike) -> Tensor:
    """The indices of the nonzero elements of the flattened tensor.

    Args: a: Tensor of any shape and dtype.
    Returns: int64 vector.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    Example:
      >>> numpy.flatnonzero([[0, 1], [2, 0]]).numpy()
      array([1, 2])
    """
    return nonzero(ravel(a))[0]


def compress(condition: TensorLike, a: TensorLike, axis: int | None = None) -> Tensor:
    """The slices along an axis where a vector of bools holds.

    Args:
      condition: Vector of bools, or of numbers, which hold where they are nonzero.
      a: Tensor of any shape and dtype.
      axis: The axis; by default all elements are one vector.
    Returns: Tensor [..., slices, ...] of the dtype of `a`.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range, or the condition holds beyond its end.
    Example:
      >>> numpy.compress([True, False, True], [1, 2, 3]).numpy()
      array([1, 3])
    """
    a = tensor_of(a)
    a, axis = on_axis(a, axis)
    axis = normalize_axis("compress", axis, rank_of("compress", a))
    flags = ravel(condition)
    found = directly(_compressed, flags, a, axis=axis)
    if found is not None:
        return found
    if is_definite(flags.dims) and flags.dims[0] == ranked(a.dims)[axis]:
        return array.boolean_mask(a, math.cast(flags, dtypes.bool_), axis=axis)
    chosen = flatnonzero(flags)
    return array.gather(a, chosen, axis=axis)


def _compressed(flags: Any, a: Any, axis: int) -> Array | None:
    return np.compress(flags, a, axis) if len(flags) == a.shape[axis] else None


def extract(condition: TensorLike, arr: TensorLike) -> Tensor:
    """The elements where a condition of the same shape holds.

    Args:
      condition: Tensor of any shape; another dtype than bool holds where it is nonzero.
      arr: Tensor of as many elements, any dtype.
    Returns: Vector of the dtype of `arr`.
    Raises: InvalidArgumentError (a ValueError): the condition has more elements.
    Example:
      >>> numpy.extract([[True, False], [False, True]], [[1, 2], [3, 4]]).numpy()
      array([1, 4])
    """
    chosen, flat = ravel(condition), ravel(arr)
    if chosen.dims == flat.dims and is_definite(flat.dims):
        return array.boolean_mask(flat, math.cast(chosen, dtypes.bool_))
    return compress(chosen, flat)


@blaming
def trim_zeros(filt: TensorLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Tensor:
    """A tensor without the slices at its ends along each axis that hold zeros alone.

    Args:
      filt: Tensor of any shape, any dtype.
      trim: "f" for the front, "b" for the back, or both.
      axis: The axis or axes that are trimmed; all by default.
    Returns: Tensor of the same dtype, whose sizes depend on the values; 0 along these axes if all elements are 0.
    Raises: InvalidArgumentError (a ValueError): `trim` holds other letters, or an axis is out of range.
    Example:
      >>> numpy.trim_zeros([0, 1, 0, 2, 0]).numpy()
      array([1, 0, 2])
    """
    filt = tensor_of(filt)
    letters, rank = trim.lower(), rank_of("trim_zeros", filt)
    if not letters or set(letters) - set("fb"):
        raise InvalidArgumentError(f"trim_zeros: trim is {trim!r}; 'f', 'b' or 'fb' are needed.")
    chosen = range(rank) if axis is None else [axis] if isinstance(axis, int) else axis
    key: list[Any] = [slice(None)] * rank
    for place in (normalize_axis("trim_zeros", one, rank) for one in chosen):
        others = [k for k in range(rank) if k != place]
        is_kept = math.reduce_any(math.not_equal(filt, array.zeros_like(filt)), others) if others else filt
        key[place] = _between_ends(is_kept, letters)
    return filt[tuple(key)] if rank else filt


def _between_ends(x: Tensor, letters: str) -> slice:
    """From the first to the last element of a vector that is not 0, or from or to its ends."""
    places = flatnonzero(x)
    count = array.shape(x, dtypes.int64)[0]
    none = array.expand_dims(count, 0)
    first = math.reduce_min(array.concat([places, none], 0)) if "f" in letters else lift(np.int64(0))
    last = (
        math.reduce_max(array.concat([places, array.zeros_like(none) - 1], 0)) + 1
        if "b" in letters
        else count
    )
    return slice(first, math.maximum(first, last))


@blaming
def choose(a: TensorLike, choices: Iterable[TensorLike], *, mode: str = "raise") -> Tensor:
    """For each element k of `a` the corresponding element of choices[k].

    Args:
      a: Integer tensor of any shape.
      choices: Tensors of shapes that broadcast with it, of any dtypes, which are promoted.
      mode: "raise", or "wrap" or "clip" for numbers of no choice.
    Returns: Tensor of their broadcast shape.
    Raises: InvalidArgumentError (a ValueError): an element is not the number of a choice, or `mode` is unknown;
      ArgumentTypeError (a TypeError): `a` has another dtype.
    Example:
      >>> numpy.choose([0, 1], [[1, 2], [10, 20]]).numpy()
      array([ 1, 20])
    """
    given = members("choose", "choices", choices, "give a list of tensors")
    if not given:
        raise InvalidArgumentError("choose: choices is empty; give at least one tensor.")
    chosen = brought_in("choose", index_of("choose", a), len(given), mode)
    whole, *parts = broadcast_arrays(chosen, *promoted(*given))
    stacked = array.stack(parts, 0)
    return bind(TakeAlong(0), stacked, array.expand_dims(whole, 0))[0]


def _ordered(x: Tensor) -> Tensor:
    return math.cast(x, dtypes.uint8) if x.dtype.is_bool else x


@blaming
def argsort(
    a: TensorLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Tensor:
    """The indices that sort along an axis, stably and with NaN last. No gradient.

    Args:
      a: Tensor [..., size, ...], any dtype; complex numbers by their real parts, then by the imaginary ones.
      axis: The axis; None for all elements as one vector.
      kind, order, stable: Accepted for compatibility; the order of equal elements is always kept.
      descending: Whether the largest comes first.
    Returns: int64 tensor of the shape of `a`; a scalar counts as a vector of one element.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> numpy.argsort([3, 1, 2]).numpy()
      array([1, 2, 0])
    """
    a = tensor_of(a)
    a = array.reshape(a, [1]) if a.ndim == 0 else a
    a, axis = on_axis(a, axis)
    return bind(
        ArgSort(normalize_axis("argsort", axis, rank_of("argsort", a)), bool(descending), dtypes.int64), a
    )


@blaming
def sort(
    a: TensorLike,
    axis: int | None = -1,
    kind: str | None = None,
    order: str | None = None,
    *,
    descending: bool = False,
    stable: bool = True,
) -> Tensor:
    """The elements sorted along an axis, NaN last; the gradient goes back to the original positions.

    Args:
      a: Tensor [..., size, ...], any dtype; complex numbers by their real parts, then by the imaginary ones.
      axis: The axis; None for all elements as one vector.
      kind, order, stable: Accepted for compatibility; the order of equal elements is always kept.
      descending: Whether the largest comes first.
    Returns: Tensor of the shape and dtype of `a`.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> numpy.sort([3.0, 1.0, 2.0]).numpy()
      array([1., 2., 3.])
    """
    a = tensor_of(a)
    a, axis = on_axis(a, axis)
    axis = normalize_axis("sort", axis, rank_of("sort", a))
    return sorted_along(a, axis, descending, dtypes.int64)


def sort_complex(a: TensorLike) -> Tensor:
    """The elements sorted along the last axis, as complex numbers.

    Args: a: Tensor [..., size], a numeric dtype; complex numbers by their real parts, then by the imaginary ones.
    Returns: Complex tensor of the shape of `a`: complex64 for integers of up to 16 bits, else complex128.
    Raises: ArgumentTypeError (a TypeError): the argument cannot be converted to a tensor.
    """
    a = sort(a)
    narrow = a.dtype.is_integer and a.dtype.size <= 2
    return a if a.dtype.is_complex else math.cast(a, dtypes.complex64 if narrow else dtypes.complex128)


@blaming
def partition(a: TensorLike, kth: int | Sequence[int], axis: int | None = -1) -> Tensor:
    """The elements rearranged so that element `kth` is where sorting puts it. Here they are sorted.

    Args:
      a: Tensor [..., size, ...], any dtype; complex numbers by their real parts, then by the imaginary ones.
      kth: The index of an element; here all elements are sorted.
      axis: The axis; None for all elements as one vector.
    Returns: Tensor of the shape and dtype of `a`, with the gradient of `sort`.
    Raises: InvalidArgumentError (a ValueError): the axis or `kth` is out of range.
    """
    a = _with_rank("partition", a, kth, axis)
    return sort(a, axis)


def _with_rank(name: str, a: TensorLike, kth: int | Sequence[int], axis: int | None) -> Tensor:
    """`a` as a tensor. Raises: InvalidArgumentError: it has no element `kth` along the axis; ArgumentTypeError: no integer."""
    a = tensor_of(a)
    along_axis, place = on_axis(a, axis)
    size = dims_of(name, along_axis)[normalize_axis(name, place, rank_of(name, along_axis))]
    for k in by_numpy(name, np.ravel, kth).tolist():
        if not isinstance(k, int):
            raise ArgumentTypeError(f"{name}: kth is {k!r} of type {type(k).__name__}; an integer is needed.")
        end = max(size, 1) if isinstance(size, int) else None  # NumPy takes kth = 0 for an empty axis too
        if end is not None and not -size <= k < end:
            raise InvalidArgumentError(f"{name}: kth is {k}; the axis has size {size}.")
    return a


@blaming
def argpartition(a: TensorLike, kth: int | Sequence[int], axis: int | None = -1) -> Tensor:
    """The indices of `partition`; here those that sort.

    Args:
      a: Tensor [..., size, ...], any dtype; complex numbers by their real parts, then by the imaginary ones.
      kth: The index of an element; here all elements are sorted.
      axis: The axis; None for all elements as one vector.
    Returns: int64 tensor of the shape of `a`. No gradient.
    Raises: InvalidArgumentError (a ValueError): the axis or `kth` is out of range.
    """
    return argsort(_with_rank("argpartition", a, kth, axis), axis)


def lexsort(keys: Iterable[TensorLike], axis: int = -1) -> Tensor:
    """The indices that sort by several keys, the last one first.

    Args:
      keys: Tensors of one shape, or a tensor whose slices along axis 0 they are; any dtypes.
      axis: The axis.
    Returns: int64 tensor of that shape. No gradient.
    Raises: InvalidArgumentError (a ValueError): the axis is out of range.
    Example:
      >>> numpy.lexsort([[1, 0, 1], [2, 2, 1]]).numpy()
      array([2, 1, 0])
    """
    found = [tensor_of(key) for key in members("lexsort", "keys", keys, "give a list of tensors")]
    if not found:
        raise OutOfRangeError("lexsort: keys is empty; give at least one tensor.")
    axis = normalize_axis("lexsort", axis, rank_of("lexsort", found[0]))
    order = argsort(found[0], axis)
    for key in found[1:]:
        order = bind(TakeAlong(axis), order, argsort(bind(TakeAlong(axis), key, order), axis))
    return order


@blaming
def searchsorted(
    a: TensorLike, v: TensorLike, side: str = "left", sorter: TensorLike | None = None
) -> Tensor:
    """The position at which each element of v would be inserted into the sorted vector `a`: before equal ones, or with "right"
    after them.

    Args:
      a: Vector in ascending order, any dtype but a complex one.
      v: Tensor of any shape.
      side: "left" or "right".
      sorter: Indices that sort `a`, if it is not sorted.
    Returns: int64 tensor of the shape of v. No gradient.
    Raises: InvalidArgumentError (a ValueError): `a` is not a vector, `sorter` has another size, or `side` is unknown.
    Example:
      >>> numpy.searchsorted([1.0, 2.0, 3.0], [0.5, 2.0]).numpy()
      array([0, 1])
    """
    a, v = promoted(a, v)
    if rank_of("searchsorted", a) != 1:
        raise InvalidArgumentError(f"searchsorted: a has rank {a.ndim}; it is a vector.")
    if sorter is not None:
        order = index_of("searchsorted", sorter)
        if order.dims != a.dims and is_definite(order.dims) and is_definite(a.dims):
            raise InvalidArgumentError(
                f"searchsorted: sorter has shape {order.shape}, a {a.shape}; they must be equal."
            )
        a = array.gather(a, order)
    found = search.searchsorted(_ordered(a), array.reshape(_ordered(v), [-1]), side, dtypes.int64)
    return array.reshape(found, array.shape(v))


@blaming
def digitize(x: TensorLike, bins: TensorLike, right: bool = False) -> Tensor:
    """The index of the bin, between ascending or descending bounds, of each element.

    Args:
      x: Tensor of any shape, a real dtype.
      bins: Vector of bounds, ascending or descending.
      right: Whether a bin includes its upper bound and not its lower one.
    Returns: int64 tensor of the shape of x: 0 before the first bound, the number of bounds after the last.
    Raises: InvalidArgumentError (a ValueError): `bins` is not a vector, or neither ascends nor descends.
    Example:
      >>> numpy.digitize([0.5, 1.0, 2.5], [1.0, 2.0]).numpy()
      array([0, 1, 2])
    """
    x, bins = promoted(x, bins)
    if is_eager(bins) and bins.data.ndim == 1 and not x.dtype.is_complex:
        steps = bins.data[:-1] <= bins.data[1:]
        if not (steps.all() or (bins.data[:-1] >= bins.data[1:]).all()):
            raise InvalidArgumentError("digitize: the bounds neither ascend nor descend.")
    found = directly(np.digitize, x, bins, right=right) if not x.dtype.is_complex else None
    if found is not None:
        return found
    side = "left" if right else "right"
    rising = searchsorted(bins, x, side)
    falling = math.cast(array.shape(bins)[0], dtypes.int64) - searchsorted(array.reverse(bins, [0]), x, side)
    # True for an empty vector of bounds too.
    is_rising = math.reduce_all(math.less_equal(bins[:1], bins[-1:]))
    return math.where(is_rising, rising, falling)
