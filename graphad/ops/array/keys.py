"""Keys of x[key] as attributes: their encoding, and their effect on shapes.

An entry of an encoded key is an index, "..." , "new", or ("slice", start, stop, step, size) where start and stop are indices or
None, and size is the known size of the result (None if it follows from the rest). An index is an int or a reference to an
input (`core/references.py`): a tensor in a key whose value is not known while tracing becomes a given input of the op.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphad.core.annotations import RowAxis
from graphad.core.convert import lift, stands_for_tensor
from graphad.core.dims import Dim, Size
from graphad.core.errors import ArgumentTypeError, InvalidArgumentError, OutOfRangeError
from graphad.core.op import MIXED
from graphad.core.references import AT, Reference, filled, is_reference, references, text_of, well_formed
from graphad.core.schema import Kind, declare, too_many_axes
from graphad.core.shapes import MOST_AXES, Dims, format_dims, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.sizes import known_value

Key = tuple[Any, ...]
NEW, REST = "new", "..."
FULL = ("slice", None, None, None, None)
REFUSED = "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`), arrays of integers and masks are valid indices"


_LARGEST = 256
_LONGEST = 2 * MOST_AXES + 1  # an entry for each axis, new axes, and the ellipsis


def has_arrays(key: Any) -> bool:
    """Whether a key holds lists, arrays or tensors of rank 1 or more; convertible objects are tensors already."""
    return any(map(is_array, key)) if type(key) is tuple else is_array(key)


def is_array(item: object) -> bool:
    """The same for one entry of a key."""
    if isinstance(item, np.ndarray):
        return item.ndim > 0
    # A tensor of unknown rank counts as a scalar.
    return isinstance(item, list) or (isinstance(item, Tensor) and bool(item.dims))


def has_steps(key: object) -> bool:
    """Whether a slice of a key has a step without a value."""
    return any(map(is_stepped, key)) if type(key) is tuple else is_stepped(key)


def is_stepped(item: object) -> bool:
    """The same for one entry of a key."""
    if type(item) is not builtins.slice or not stands_for_tensor(item.step):
        return False
    return known_value(lift(item.step)) is None


def encode(key: object, given: list[Any]) -> Key:
    """A Python key as an attribute; scalar tensors whose value is not known are appended to `given`."""
    items = key if type(key) is tuple else (key,)
    out = [_entry(item, given) for item in items]
    if sum(1 for item in out if type(item) is str and item == REST) > 1:
        raise InvalidArgumentError("getitem: Multiple ellipses in slice spec not allowed.")
    return tuple(out)


def _entry(item: Any, given: list[Any]) -> Any:
    if type(item) is int or isinstance(item, Dim):
        return item
    if item is None:
        return NEW
    if item is Ellipsis:
        return REST
    if type(item) is builtins.slice:
        step = None if item.step is None else encode_bound(item.step, given)
        if type(step) is tuple:
            raise ArgumentTypeError("getitem: the step of a slice must be known while tracing; give an int.")
        if step == 0:
            raise InvalidArgumentError("getitem: slice step cannot be zero; give a step other than 0.")
        start, stop = encode_bound(item.start, given), encode_bound(item.stop, given)
        return ("slice", start, stop, step, None)
    return encode_bound(item, given)


def encode_bound(item: Any, given: list[Any]) -> Any:
    """One index or bound: an int, None, or a reference to the last of `given`."""
    if item is None or type(item) is int or isinstance(item, Dim):
        return item
    if stands_for_tensor(item):
        x = lift(item)
        if not x.dtype.is_integer or x.dims:
            raise ArgumentTypeError(f"{REFUSED}, got {item!r}.")
        value = known_value(x)
        if value is not None:
            return int(value)
        given.append(x)
        return (AT, len(given))
    if isinstance(item, bool | np.bool_) or not hasattr(item, "__index__") or np.ndim(item):
        raise ArgumentTypeError(f"{REFUSED}, got {item!r}.")
    return item.__index__()


def is_key(x: object) -> bool:
    """Whether an attribute is a key as this module encodes it."""
    if type(x) is not tuple or x.count(REST) > 1 or len(x) > _LONGEST:
        return False
    return all(_is_bound(entry) or entry in (NEW, REST) or _is_whole_slice(entry) for entry in x)


def _is_bound(x: Size | str | tuple[Size | str | tuple[int | str, ...] | None, ...]) -> bool:
    return type(x) is int or isinstance(x, Dim) or well_formed(x, 0)


def _is_whole_slice(x: tuple[Size | str | tuple[int | str, ...] | None, ...]) -> bool:
    if type(x) is not tuple or len(x) != 5 or x[0] != "slice":
        return False
    _, start, stop, step, size = x
    return (
        all(bound is None or _is_bound(bound) for bound in (start, stop))
        and (step is None or (type(step) is int and step != 0))
        and (size is None or isinstance(size, Dim) or (type(size) is int and size >= 0))
    )


class _Keys(Kind):
    """The kind of keys. References stay in them, since the effect of a key on a shape depends on their positions."""

    refers = True

    def __init__(self) -> None:
        super().__init__("Key", is_key, frozenset({int}))

    def complaint(self, x: Any) -> str:
        return too_many_axes(len(x)) if type(x) is tuple and len(x) > _LONGEST else super().complaint(x)

    def asked(self, x: object) -> list[Reference] | None:
        return references(x) or None

    def seen(self, x: object, given: Sequence[TensorSpec]) -> Any:
        return x

    def written_out(self, x: object, given: Sequence[TensorSpec]) -> Any:
        return x

    def filled(self, x: Any, values: Sequence[Any], op: str) -> Any:
        return tuple(
            [entry if type(entry) is not tuple or entry is FULL else filled(entry, values, op) for entry in x]
        )

    def rank_of(self, reference: Reference) -> int:
        return len(reference) - 2

    def text(self, x: Any, given: Sequence[str]) -> str:
        """In Python's notation, with the size after a slice if it is not implied: [%1, 2:%2 of 3, ...]."""
        return f"[{', '.join([_text(entry, given) for entry in x])}]"


def _text(entry: Any, given: Sequence[str]) -> str:
    if is_slice(entry):
        _, start, stop, step, size = entry
        bounds = ["" if x is None else text_of(x, given) for x in (start, stop)]
        last = "" if step is None else f":{step}"
        return f"{':'.join(bounds)}{last}{'' if size is None else f' of {size}'}"
    return {NEW: "newaxis", REST: "..."}.get(entry) or text_of(entry, given)


declare(_Keys())


def is_slice(entry: object) -> bool:
    return type(entry) is tuple and entry[0] == "slice"


def _used(key: Key) -> int:
    """How many axes a key has entries for."""
    return len([entry for entry in key if type(entry) is not str])


def expand(key: Key, rank: int, dims: Any = None) -> Key:
    """The key with the ellipsis expanded: one entry for each axis, and the new axes."""
    used = _used(key)
    if used > rank:
        shown = format_dims(dims) if dims is not None else f"<rank {rank}>"
        raise InvalidArgumentError(
            f"getitem: Too many indices: {used} for a tensor with shape {shown}; give {rank} at most."
        )
    rest = (FULL,) * (rank - used)
    for k, entry in enumerate(key):
        if type(entry) is str and entry == REST:
            return key[:k] + rest + key[k + 1 :]
    return key + rest


def python_key(key: Key) -> tuple[Any, ...]:
    """A key of numbers in NumPy's form."""
    out: list[Any] = []
    for entry in key:
        if type(entry) is str:
            out.append(None if entry == NEW else Ellipsis)
        else:
            out.append(builtins.slice(*entry[1:4]) if type(entry) is tuple else entry)
    return tuple(out)


def resolve_slice(entry: Any, size: Any) -> tuple[Any, Any, Any]:
    """Start, step and number of elements of a slice with known bounds along an axis of a known size."""
    _, start, stop, step, _ = entry
    step = 1 if step is None else step
    if step == 1 and start is None and stop is None:
        return 0, 1, size
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def clamp(bound: Any, default: object) -> Any:
        if bound is None:
            return default
        bound = bound + size if bound < 0 else bound
        return low if bound < low else high if bound > high else bound

    first = clamp(start, low if step > 0 else high)
    last = clamp(stop, high if step > 0 else low)
    span = last - first if step > 0 else first - last
    if span <= 0:
        return 0, 1, 0
    width = abs(step)
    return first, step, span if width == 1 else (span + width - 1) // width


def front_index(entry: int, axis: int, size: Size) -> Any:
    """An index counted from the front. Raises: OutOfRangeError: it is out of range."""
    if not -size <= entry < size:
        raise OutOfRangeError(
            f"getitem: slice index {entry} of dimension {axis} out of bounds: the size is {size}."
        )
    return entry + size if entry < 0 else entry


def _sliced_size(entry: Sequence[int | str | None], size: Dim | int | None) -> Any:
    if entry[1] is None and entry[2] is None and entry[3] in (None, 1, -1) and size is not None:
        return size
    if size is None or is_reference(entry[1]) or is_reference(entry[2]):
        return entry[4]
    return resolve_slice(entry, size)[2]


def indexed_dims(key: Key, dims: tuple[Any, ...] | None) -> Any:
    """The shape of x[key], as far as it is known."""
    if dims is None:
        return None
    out, axis = [], 0
    for entry in expand(key, len(dims), dims):
        if type(entry) is str:
            out.append(1)
            continue
        size = dims[axis]
        if is_slice(entry):
            out.append(_sliced_size(entry, size))
        elif type(entry) is not tuple and size is not None:
            front_index(entry, axis, size)
        axis += 1
    return tuple(out)


def indexed_rows(key: Key, dims: Dims, axis: int | None) -> RowAxis:
    """The position of axis `axis` of x in x[key] if it is kept whole, else MIXED; sizes may be references."""
    if axis is None:
        return None
    dims = ranked(dims)
    place, at = 0, 0
    for entry in expand(key, len(dims), dims):
        if type(entry) is str:
            place += 1
            continue
        if at == axis:
            return place if is_slice(entry) and resolve_whole(entry, dims[axis]) else MIXED
        at += 1
        place += is_slice(entry)
    return MIXED


def resolve_whole(entry: Any, size: Any) -> bool:
    """Whether a slice keeps an axis unchanged."""
    if entry[1:4] == FULL[1:4]:
        return True
    if size is None or is_reference(size) or is_reference(entry[1]) or is_reference(entry[2]):
        return False
    return resolve_slice(entry, size)[:2] == (0, 1) and resolve_slice(entry, size)[2] == size


def normal_key(key: Key, dims: Sequence[Dim | int]) -> tuple[Any, Any, Any]:
    starts, strides, sizes = [], [], []
    entries = [entry for entry in expand(key, len(dims), dims) if type(entry) is not str]
    for axis, entry in enumerate(entries):
        first, step, count = (
            resolve_slice(entry, dims[axis])
            if is_slice(entry)
            else (front_index(entry, axis, dims[axis]), 1, 1)
        )
        starts.append(first)
        strides.append(step)
        sizes.append(count)
    return tuple(starts), tuple(strides), tuple(sizes)


def steps_key(starts: Sequence[int], strides: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    """The key for NumPy of a block as the op `slice` has it."""
    out = []
    for start, stride, size in zip(starts, strides, sizes, strict=True):
        stop = start + stride * size
        out.append(slice(start, stop if stop >= 0 else None, stride) if size else slice(0, 0))
    return tuple(out)


def has_claims(key: Key) -> bool:
    """Whether the key declares the size of a slice."""
    for entry in key:  # noqa: SIM110 called for every x[key]
        if type(entry) is tuple and entry[0] == "slice" and entry[4] is not None:
            return True
    return False


def check_claims(key: Key, dims: Sequence[Dim | int]) -> None:
    """Raise InvalidArgumentError unless every slice has the size that the key declares."""
    entries = [entry for entry in expand(key, len(dims), dims) if type(entry) is not str]
    for axis, entry in enumerate(entries):
        if is_slice(entry) and entry[4] is not None:
            size = resolve_slice(entry, dims[axis])[2]
            if size != entry[4]:
                raise InvalidArgumentError(
                    f"getitem: the slice of dimension {axis} has {size} elements and was made to have {entry[4]}; "
                    f"the size of the dimension is {dims[axis]}."
                )


def only_index(key: Key, rank: int) -> int | None:
    """The axis of a key that takes one index from an input and keeps all other axes, None for other keys, and for tensors that
    have fewer axes."""
    if any(type(entry) is str and entry == NEW for entry in key) or _used(key) > rank:
        return None
    entries = expand(key, rank)
    at = [axis for axis, entry in enumerate(entries) if is_reference(entry) and len(entry) == 2]
    whole = len([entry for entry in entries if entry == FULL]) == len(entries) - 1
    return at[0] if whole and len(at) == 1 else None


def spilled(key: Key, given: list[Any]) -> Key:
    """The key with large numbers as inputs, so that a Python loop over rows does not create an op for each row."""

    def number(bound: int | None) -> tuple[str, int] | int | None:
        if type(bound) is not int or -_LARGEST < bound < _LARGEST:
            return bound
        given.append(lift(np.int64(bound)))
        return (AT, len(given))

    return tuple(
        ("slice", number(e[1]), number(e[2]), e[3], e[4])
        if is_slice(e)
        else number(e)
        if type(e) is int
        else e
        for e in key
    )
