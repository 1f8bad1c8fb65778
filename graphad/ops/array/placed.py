"""Keys whose bounds are inputs: the form of their part, and the sizes that its slices probably have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import graphad.kernels as kernels
from graphad.core.annotations import Array
from graphad.core.convert import lift
from graphad.core.dims import UndecidedSize, at_most, run_time_symbols
from graphad.core.op import Op
from graphad.core.references import AT, is_reference
from graphad.core.shapes import Dims, is_definite, ranked
from graphad.core.spec import TensorSpec
from graphad.core.tensor import Tensor
from graphad.ops.array.keys import FULL, NEW, Key, expand, front_index, is_slice, only_index, resolve_slice

_INDEXED = {
    "take": (0, 1),
    "put": (0, 2, 1),
}  # the inputs that a lookup or an update by one position has, in its order


def placed_form(way: str, key: Key, dims: Dims, given: int) -> kernels.forms.Form | None:
    """The form of a key with places that are inputs, so many, for an array of this shape; None where its other bounds are no
    numbers."""
    if not is_definite(dims) or any(map(is_reference, dims)):
        return None
    axis = only_index(key, len(ranked(dims))) if given == 1 else None
    if axis is not None and way in _INDEXED:
        return kernels.forms.Indexed(way, 0, axis, negative="wrap", given=_INDEXED[way])
    found: list[Any] = []
    sizes = iter(ranked(dims))
    for entry in expand(key, len(ranked(dims))):
        if type(entry) is str:
            found.append(NEW)
            continue
        size = next(sizes)
        kind, low, high, step = "index", entry, None, 1
        if is_slice(entry):
            kind, low, high, step = "slice", entry[1], entry[2], entry[3] or 1
        if not is_reference(low) and not is_reference(high):
            if kind == "index":
                low, step = front_index(entry, len(found), size), 1
                found.append(("index", low, None, 1))
            else:
                low, step, _ = resolve_slice(entry, size)
                found.append(("fixed", low, None, step))
        else:
            found.append((kind, low, high, step))
        numbers = [low, high, step]
        if any(not (x is None or type(x) is int or is_reference(x)) for x in numbers):
            return None
        if step < 1 and found[-1][0] != "fixed":
            return None
    return kernels.forms.Placed(way, tuple(found))


class Keyed(Op):
    """The part of an array at a key, or its transpose: its sizes where numbers of the key are inputs."""

    refers_to_sizes = False

    def whole(self, dims: Dims) -> Dims:
        """The shape of the array; `dims` is that of the first input."""
        return dims

    def _at(self, key: Key) -> Op:
        own: Any = self
        if key == own.key:
            return self
        rest = [getattr(self, field) for field in self.attributes[1:]]
        return own.op_class(key, *rest)  # type: ignore[no-any-return]

    def measurable(self, *inputs: Tensor) -> tuple[Op, Sequence[Tensor]] | None:
        """With all places along axes of such sizes as inputs, so that the run clips and checks them."""
        own: Any = self
        dims = self.whole(inputs[0].dims)
        if not is_definite(dims) or not run_time_symbols(ranked(dims)):
            return None
        more: list[Any] = []

        def given(place: Any) -> Any:
            if type(place) is not int:
                return place
            more.append(lift(np.int64(place)))
            return AT, len(inputs) + len(more) - 1

        key = []
        sizes = iter(ranked(dims))
        for entry in expand(own.key, len(ranked(dims))):
            size = None if type(entry) is str else next(sizes)
            if run_time_symbols([size]):
                if is_slice(entry) and is_settled(entry, size):
                    pass
                elif is_slice(entry):
                    entry = (entry[0], given(entry[1]), given(entry[2]), *entry[3:])
                else:
                    entry = given(entry)
            key.append(entry)
        return (self._at(tuple(key)), [*inputs, *more]) if more else None

    def with_likely_sizes(self, difference: Callable[[int, int], Any]) -> Op:
        return self._at(sized(self.key, difference))  # type: ignore[attr-defined]

    def with_measured_sizes(self, inputs: Sequence[TensorSpec], symbol: Callable[..., Any]) -> Op:
        return self._at(measured(self.key, self.whole(inputs[0].dims), symbol))  # type: ignore[attr-defined]

    def measures(self, inputs: Sequence[TensorSpec]) -> Sequence[Any]:
        return measures(self.key, self.whole(inputs[0].dims))  # type: ignore[attr-defined]


def sized(key: Key, difference: Callable[[int, int], Any]) -> Key:
    """The key whose slices from input to input have their difference as their size, which they have unless they are clipped."""
    return tuple([_sized(entry, difference) for entry in key])


def is_settled(entry: Any, size: Any) -> bool:
    """Whether numbers say how many elements a slice takes, as of `x[:n]` for the size n itself."""
    try:
        return not is_measured(entry) and resolve_slice(entry, size) is not None
    except UndecidedSize:
        return False


def measured(key: Key, dims: Dims, symbol: Callable[..., Any]) -> Key:
    """The key with a symbol for the size of each slice whose bounds are inputs and whose size is not known."""
    if not is_definite(dims):
        return key
    found = []
    sizes = iter(ranked(dims))
    is_changed = False
    for entry in expand(key, len(ranked(dims))):
        size = None if type(entry) is str else next(sizes)
        if is_measured(entry) and entry[4] is None and (entry[3] or 1) >= 1:
            entry = (*entry[:4], symbol(size, entry[3] or 1, entry[1], entry[2]))
            is_changed = True
        found.append(entry)
    return tuple(found) if is_changed else key


def is_measured(entry: Any) -> bool:
    """Whether only the run knows the size of what an entry of a key takes."""
    return is_slice(entry) and (is_reference(entry[1]) or is_reference(entry[2]))


def measures(key: Key, dims: Dims) -> list[Any]:
    """The `Op.measures` of a key for an array of a shape."""
    if not is_definite(dims):
        return []
    entries = [entry for entry in expand(key, len(ranked(dims))) if type(entry) is not str]
    return [
        (entry[4], size, entry[3] or 1, entry[1], entry[2])
        for entry, size in zip(entries, ranked(dims), strict=True)
        if is_measured(entry) and run_time_symbols([entry[4]])
    ]


def _sized(entry: Any, difference: Callable[[int, int], Any]) -> Any:
    if not is_slice(entry) or entry[4] is not None or (entry[3] or 1) < 1:
        return entry
    _, low, high, step, _ = entry
    if not (is_reference(low) and is_reference(high) and len(low) == len(high) == 2):
        return entry
    size = difference(high[1], low[1])
    if size is None or not at_most(0, size):
        return entry
    return ("slice", low, high, step, size if step in (None, 1) else (size + step - 1) // step)


def taken_at(
    key: Key, specs: Sequence[TensorSpec], evaluate: Callable[..., Any]
) -> Callable[..., Any] | None:
    """A function for x[i] and x[i, :, j] with indices that are inputs, of operands of known sizes; None for other keys.

    What is outside, and slices that may be clipped, are left to `evaluate`.
    """
    dims = ranked(specs[0].dims)
    if len(key) > len(dims) or specs[0].dtype.numpy.kind not in "biufc":
        return None
    whole: list[Any] = []
    places = []
    for axis, entry in enumerate(key):
        if entry == FULL:
            whole.append(slice(None))
        elif is_reference(entry) and len(entry) == 2 and specs[entry[1]].dtype.is_integer:
            places.append((axis, entry[1] - 1))
            whole.append(None)
        elif type(entry) is int:
            whole.append(entry)
        else:
            return None

    def at(x: Array, i: Any) -> Any:
        try:
            return x[i] if type(x) is np.ndarray else evaluate(x, i)
        except IndexError:
            return evaluate(x, i)

    def at_several(x: Array, *given: Any) -> Any:
        part = whole.copy()
        for axis, k in places:
            part[axis] = given[k]
        try:
            return x[tuple(part)] if type(x) is np.ndarray else evaluate(x, *given)
        except IndexError:
            return evaluate(x, *given)

    return at if key == ((AT, 1),) and len(specs) == 2 else at_several
