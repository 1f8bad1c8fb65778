"""What the functions that a branch or a step calls assign to attributes and items.

    def add(self, v):
        self.total = self.total + v        `self.total` occurs nowhere in the function with the loop
    for x in xs:
        model.add(x)

The code of a branch or a loop shows what it assigns itself; it does not show this, nor items whose keys it computes. So converted
code notes each attribute and item before assigning it, while a branch or a step is traced. What afterwards holds another tensor
becomes one more variable of the branch or loop, which is then traced again.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any

from graphad.autograph.convert import noting
from graphad.autograph.state import UNBOUND, Attribute, Item, Parts, is_symbolic
from graphad.core.convert import lift_own
from graphad.core.levels import current, is_within
from graphad.core.tensor import Handle, Tensor


class Journal:
    """The attributes and items that are assigned inside of its block, with the values that they had before."""

    def __init__(self) -> None:
        self._before: dict[Any, tuple[Attribute | Item, Any]] = {}
        self._around: Journal | None = None

    def __enter__(self) -> Journal:
        self._around = noting.get()
        noting.set(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        noting.set(self._around)
        if self._around is not None:  # what is assigned in an inner branch is assigned in the outer one
            for key, noted in self._before.items():
                self._around._before.setdefault(key, noted)

    def note(self, place: Attribute | Item) -> None:
        """Remember the value of a place before its first assignment."""
        key = place.key()
        if key is not None and key not in self._before:
            self._before[key] = place, place.read()

    def changed(self, known: Sequence[Any], same_shape: bool) -> list[tuple[Attribute | Item, Any]]:
        """The places, besides the known ones, that were given other tensors, with what they held before.

        Numbers and other objects of Python that are replaced by such ones belong to the trace. Left out as well is what ends as
        a tensor of the trace and cannot be a variable: where nothing was before, or None, or a value of another kind. The
        tensor says where it belongs when it is used.

        Args:
          known: Places that are variables already.
          same_shape: Whether the shape must be that of before, as for a variable of a loop.
        """
        keys = {place.key() for place in known if isinstance(place, Attribute | Item)}
        return [
            (place, before)
            for key, (place, before) in self._before.items()
            if key not in keys and _is_variable(before, place.read(), same_shape)
        ]


def attribute_noted(value: Any, name: str, base: object, key: str) -> Any:
    """The value that an attribute is about to be given."""
    journal = noting.get()
    if journal is not None and not isinstance(getattr(type(base), key, None), property):
        place = Attribute(name, lambda: base, key).bound()
        if place is not None:
            journal.note(place)
    return value


def item_noted(value: Any, name: str, base: object, key: object) -> Any:
    """The value that an item is about to be given."""
    journal = noting.get()
    if journal is not None:
        place = Item(name, lambda: base, lambda: key).bound()
        if place is not None:
            journal.note(place)
    return value


def _is_variable(before: object, now: object, same_shape: bool) -> bool:
    """Whether a place that held `before` and holds `now` is a variable of what was traced."""
    if before is now or any(x is UNBOUND or x is None for x in (before, now)):
        return False
    old, new = Parts(before), Parts(now)
    if any(map(_is_lost, old.leaves)):  # in an object that was made in there
        return False
    if not any(isinstance(leaf, Tensor) for leaf in (*old.leaves, *new.leaves)):
        return False
    if any(map(_is_lost, new.leaves)):
        return _fit(old, new, same_shape)
    return any(isinstance(leaf, Tensor) for leaf in old.leaves)


def _fit(old: Parts, new: Parts, same_shape: bool) -> bool:
    """Whether two values can be those of one variable."""
    from graphad.ops.control.parts import same_structure  # most functions assign nothing in a branch or loop

    if old.dynamic != new.dynamic or not same_structure(old.structure, new.structure):
        return False
    for x, y, dynamic in zip(old.leaves, new.leaves, new.dynamic, strict=True):
        if not dynamic or isinstance(x, Handle):
            if x is not y:
                return False
            continue
        was, is_now = lift_own(x), lift_own(y)
        if was.dtype is not is_now.dtype or (same_shape and was.dims != is_now.dims):
            return False
    return True


def _is_lost(x: Any) -> bool:
    """Whether a tensor belongs to a trace that has ended."""
    trace = getattr(x, "trace", None) if is_symbolic(x) else None
    return trace is not None and not is_within(trace, current())
