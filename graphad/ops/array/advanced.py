"""Indexing with arrays, with NumPy's meaning: x[[0, 2]], x[:, idx], x[rows, columns], x[mask, 0].

Arrays of integers are broadcast against each other and pick elements; their axes are at the position of the indices if these
are adjacent, else first. A mask of rank r means r index arrays of its true positions. Ints next to arrays count as arrays.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphad.core.convert import lift
from graphad.core.dtypes import int64
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError
from graphad.core.shapes import are_compatible, format_dims, is_definite
from graphad.core.tensor import EagerTensor, Tensor
from graphad.ops.array.broadcast import broadcast_to
from graphad.ops.array.gather import gather, gather_nd
from graphad.ops.array.join import stack
from graphad.ops.array.keys import REFUSED, is_array
from graphad.ops.array.shape import shape
from graphad.ops.array.sizes import known_value
from graphad.ops.array.static import broadcast_dynamic_shape
from graphad.ops.array.transpose import transpose
from graphad.ops.directly import directly, is_eager
from graphad.ops.math.cast import cast
from graphad.ops.math.select import where

if TYPE_CHECKING:
    from graphad.core.annotations import TensorLike


def mask_of(x: Tensor, key: Any) -> Tensor | None:
    """The mask, if the key is a single mask, else None. Raises: InvalidArgumentError: its sizes differ from those of x."""
    if type(key) is tuple and len(key) == 1:
        key = key[0]
    if not _is_mask(key):
        return None
    if x.dims is not None:
        _check_masks((key,), x, 0)
    return lift(key)


def pick(x: Tensor, key: object, basic: Callable[[Any, Any], Tensor]) -> Tensor:
    """x[key] for a key with arrays; `basic` is x[key] for one without.

    Raises: ArgumentTypeError: something else in the key; InvalidArgumentError: too many indices, or arrays that do not
    broadcast, or that need a known rank.
    """
    known = _for_numpy(key if type(key) is tuple else (key,))
    found = None if known is None else directly(_picked, x, key=known)
    if found is not None:
        return found
    if x.dims is None:
        return _pick_of_any_rank(x, key if type(key) is tuple else (key,), basic)
    items = _expanded(key if type(key) is tuple else (key,), len(x.dims), x)
    plain = tuple([builtins.slice(None) if isinstance(item, Tensor) else item for item in items])
    y = x if all(item == builtins.slice(None) for item in plain) else basic(x, plain)
    axes = [k for k, item in enumerate(items) if isinstance(item, Tensor)]
    indices = [_counted_from_start(items[k], y, k) for k in axes]
    if len(axes) == 1:
        return gather(y, indices[0], axis=axes[0])
    if axes != list(builtins.range(len(axes))):
        others = [k for k in builtins.range(len(items)) if k not in axes]
        y = transpose(y, axes + others)
    picked = gather_nd(y, stack(_alike(indices), -1))
    before = axes[0] if axes[-1] - axes[0] == len(axes) - 1 else 0
    whole = len(picked.dims or ())
    rank = whole - (len(items) - len(axes))
    if before == 0 or rank == 0:
        return picked
    order = list(builtins.range(rank, rank + before)) + list(builtins.range(rank))
    return transpose(picked, order + list(builtins.range(rank + before, whole)))


def _picked(x: np.ndarray, key: tuple[Any, ...]) -> Any:
    # `take` takes scalars for vectors of one number.
    if len(key) == 1 and x.ndim and key[0].dtype.kind != "b":
        return np.take(x, key[0], 0)  # x[key], in less time where the indices are narrow
    return x[key]


def _for_numpy(items: Sequence[Any]) -> tuple[Any, ...] | None:
    """A key whose arrays have values as NumPy's key, which means the same; None for another."""
    out = []
    for item in items:
        if type(item) is EagerTensor and item.data.dtype.kind in "iub":
            out.append(item.data)
        elif type(item) in _PLAIN:
            out.append(item)
        else:
            return None
    return tuple(out)


_PLAIN = (int, builtins.slice, type(None), type(Ellipsis))


def _pick_of_any_rank(x: Tensor, key: Sequence[Any], basic: Callable[[Any, Any], Tensor]) -> Tensor:
    """The same for a rank that is known only at run time: for one array, and for arrays before all other entries."""
    items: list[Any] = []
    for item in key:
        items.extend(_arrays(item) if is_array(item) or _is_whole_number(item) else [item])
    axes = [k for k, item in enumerate(items) if isinstance(item, Tensor)]
    rests = [k for k, item in enumerate(items) if item is Ellipsis]
    if axes != list(builtins.range(len(axes))) and (len(axes) > 1 or len(rests) > 1):
        raise InvalidArgumentError(
            "getitem: several index arrays after other indices need a tensor of known rank; set its shape."
        )
    plain = tuple([builtins.slice(None) if isinstance(item, Tensor) else item for item in items])
    y = basic(x, plain)
    if len(axes) > 1:
        indices = [_counted_from_start(items[k], y, k) for k in axes]
        return gather_nd(y, stack(_alike(indices), -1))
    axis = axes[0] - (len(items) if rests and rests[0] < axes[0] else 0)
    return gather(y, _counted_from_start(items[axes[0]], y, axis), axis=axis)


def _expanded(items: Sequence[Any], rank: int, x: Tensor) -> list[Any]:
    """One entry for each axis of x after slices and new axes are applied; arrays and the ints next to them as integer
    tensors."""
    entries: list[Any] = []
    for item in items:
        entries.extend(_arrays(item) if is_array(item) or _is_whole_number(item) else [item])
    used = sum(1 for item in entries if item is not None and item is not Ellipsis)
    if used > rank:
        raise InvalidArgumentError(
            f"getitem: Too many indices: {used} for a tensor with shape {format_dims(x.dims)}."
        )
    rests = [k for k, item in enumerate(entries) if item is Ellipsis]
    if len(rests) > 1:
        raise InvalidArgumentError("getitem: Multiple ellipses in slice spec not allowed.")
    _check_masks(items, x, rank - used)
    place = rests[0] if rests else len(entries)
    entries[place : place + len(rests)] = [builtins.slice(None)] * (rank - used)
    return entries


def _check_masks(items: Sequence[Any], x: Tensor, rest: int) -> None:
    """Raise unless each mask has the known sizes of the axes that it covers; `...` is `rest` axes."""
    axis = 0
    for item in items:
        dims = lift(item).dims if _is_mask(item) else None
        if dims is not None and not are_compatible(dims, x.dims[axis : axis + len(dims)]):  # type: ignore[index]
            raise InvalidArgumentError(
                f"getitem: a mask with shape {format_dims(dims)} is for axes {axis} to {axis + len(dims) - 1} of a tensor with "
                f"shape {format_dims(x.dims)}; their sizes must be equal."
            )
        width = len(dims) if dims is not None else 0 if item is None else rest if item is Ellipsis else 1
        axis += width


def _is_mask(item: object) -> bool:
    return is_array(item) and not (isinstance(item, list) and not item) and lift(item).dtype.is_bool


def _is_whole_number(item: object) -> bool:
    if isinstance(item, bool | np.bool_):
        return False
    return hasattr(item, "__index__") or (
        isinstance(item, Tensor) and item.dims == () and item.dtype.is_integer
    )


def _arrays(item: TensorLike) -> list[Tensor]:
    index = lift(item) if not isinstance(item, list) or item else lift(np.zeros(0, np.int64))
    if index.dtype.is_bool:
        if index.dims is None:
            raise InvalidArgumentError(
                "getitem: a mask among other indices needs a known rank; set its shape."
            )
        # The value of a tensor may differ at run time.
        known = None if isinstance(item, Tensor) else known_value(index)
        if known is not None:
            return [lift(place) for place in np.nonzero(known)]
        places = where(index)
        return [gather(places, k, axis=1) for k in builtins.range(len(index.dims))]
    if not index.dtype.is_integer:
        raise ArgumentTypeError(f"{REFUSED}, got {item!r}.")
    return [cast(index, int64)]


def _counted_from_start(index: Tensor, y: Tensor, axis: int) -> Tensor:
    if is_eager(index) and (not index.data.size or index.data.min() >= 0):
        return index
    size = y.dims[axis] if y.dims is not None and is_definite(y.dims[axis : axis + 1]) else None
    count = lift(np.int64(size)) if isinstance(size, int) else cast(shape(y)[axis], int64)
    return where(index < 0, index + count, index)


def _alike(indices: list[Tensor]) -> list[Tensor]:
    """Index arrays broadcast to one shape."""
    known = [index.dims for index in indices if index.dims is not None and is_definite(index.dims)]
    if len(known) == len(indices):
        try:
            dims = np.broadcast_shapes(*known)
        except ValueError:
            shapes = ", ".join(map(format_dims, known))
            raise InvalidArgumentError(
                f"getitem: index arrays of shapes {shapes} do not broadcast; x[i, j] picks pairs."
            ) from None
        return [index if index.dims == dims else broadcast_to(index, dims) for index in indices]
    whole = shape(indices[0])
    for index in indices[1:]:
        whole = broadcast_dynamic_shape(whole, shape(index))
    return [broadcast_to(index, whole) for index in indices]
