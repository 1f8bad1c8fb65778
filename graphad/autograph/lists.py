"""Lists that grow where a tensor decides (an optional feature): stacked tensors instead of Python lists.

`l.append(x)` becomes `l = append(l, x)`, which returns a `Grown` list while tracing. A branch or loop that a tensor decides and
that changes such a list is traced again with a `StagedList`, whose elements are one stacked tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphad.autograph.loops import Elements
from graphad.core.convert import lift
from graphad.core.errors import ArgumentTypeError
from graphad.core.levels import trace_in_progress
from graphad.ops.array.slice import getitem
from graphad.ops.control.tensor_array import TensorArray

if TYPE_CHECKING:
    from graphad.core.tensor import Tensor


class Grown(list):  # type: ignore[type-arg]
    """A list whose length changed while a function is traced."""


class StagedList:
    """A list of tensors of one shape, whose length is a tensor."""

    def __init__(self, array: TensorArray | None) -> None:
        self._array = array

    @classmethod
    def of(cls, items: Sequence[Any]) -> StagedList:
        """A list that begins with these elements."""
        tensors = [lift(item) for item in items]
        if not tensors:
            return cls(None)
        array = TensorArray(tensors[0].dtype, size=0, dynamic_size=True, clear_after_read=False)
        for k, x in enumerate(tensors):
            array = array.write(k, x)
        return cls(array)

    def size(self) -> Any:
        """The number of elements."""
        return lift(0) if self._array is None else self._array.size()

    def append(self, x: Tensor) -> StagedList:
        """The list with one more element."""
        x = lift(x)
        array = self._array
        if array is None:
            array = TensorArray(x.dtype, size=0, dynamic_size=True, clear_after_read=False)
        return StagedList(array.write(array.size(), x))

    def pop(self) -> tuple[StagedList, Any]:
        """The list without its last element, and that element."""
        rows = self.stack()
        array = TensorArray(rows.dtype, size=0, dynamic_size=True, clear_after_read=False)
        return StagedList(array.unstack(getitem(rows, slice(None, -1)))), getitem(rows, -1)

    def stack(self) -> Any:
        """The elements along a new first axis."""
        if self._array is None:
            raise ArgumentTypeError(
                "list: nothing was appended to it, so the shape of its elements is not known."
            )
        return self._array.stack()

    __graphad_tensor__ = stack

    def __getitem__(self, key: int) -> Any:
        return getitem(self.stack(), key)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.stack())

    def __graphad_elements__(self) -> Elements:
        return Elements(self.stack())

    # As part of the variables of branches and loops.

    @property
    def __graphad_complete__(self) -> bool:
        return self._array is not None and self._array.__graphad_complete__

    def __graphad_like__(self, other: StagedList) -> StagedList:
        array = self._array
        if array is None:
            array = TensorArray(other._array.dtype, size=0, dynamic_size=True, clear_after_read=False)  # type: ignore[union-attr]
        return StagedList(array.__graphad_like__(other._array))  # type: ignore[arg-type]

    def __graphad_supposed__(self) -> StagedList:
        return self if self._array is None else StagedList(self._array.__graphad_supposed__())

    def __graphad_parts__(self) -> tuple[list[Any], Callable[[list[Any]], Any]]:
        parts, make = self._array.__graphad_parts__()  # type: ignore[union-attr]
        return parts, lambda new: StagedList(make(new))

    def __graphad_loop_dims__(self) -> Sequence[Any]:
        return self._array.__graphad_loop_dims__()  # type: ignore[union-attr]

    def __graphad_loop_writes__(self) -> Sequence[Any]:
        return [None]


def append(items: Grown | StagedList | list[Tensor], x: Tensor) -> Any:
    """`items.append(x)`, and what `items` is afterwards."""
    if isinstance(items, StagedList):
        return items.append(x)
    if isinstance(items, list) and trace_in_progress() is not None:
        return Grown([*items, x])
    items.append(x)
    return items


def pop(items: Grown | StagedList) -> tuple[Any, Any]:
    """`items.pop()`: what `items` is afterwards, and the element."""
    if isinstance(items, StagedList):
        return items.pop()
    if isinstance(items, list) and trace_in_progress() is not None:
        return Grown(items[:-1]), items[-1]
    return items, items.pop()


def staged(before: Sequence[Tensor], *after: object) -> Any:
    """`before` as a StagedList if it is a list whose length a tensor decides from here on; itself otherwise."""
    if not isinstance(before, list):
        return before
    if all(isinstance(x, list) and len(x) == len(before) for x in after):
        return before
    if not any(isinstance(x, Grown | StagedList) for x in after):
        return before
    return StagedList.of(before)
